package decode

import (
	"strings"
	"unicode/utf8"

	"sluice/columns"
	"sluice/decode/malformed"
)

// Where the columns of a dead letter stand.
const (
	letterKey = iota
	letterValue
	letterHeaders
	letterTopic
	letterPartition
	letterOffset
	letterTimestamp
	letterReason
	letterError
)

// DeadLetterSchema is the columns of a record that is no row: the record as Kafka has it, and why. The reason
// (malformed.Reason) is in error_class, the whole text in error.
func DeadLetterSchema() columns.Schema {
	binary, text := columns.Type{Kind: columns.Binary}, columns.Type{Kind: columns.String}
	return columns.Schema{
		letterKey:       {Name: kafkaKey, Type: binary},
		letterValue:     {Name: kafkaValue, Type: binary},
		letterHeaders:   {Name: kafkaHeaders, Type: headersType()},
		letterTopic:     {Name: kafkaTopic, Type: text, Required: true},
		letterPartition: {Name: kafkaPartition, Type: columns.Type{Kind: columns.Int32}, Required: true},
		letterOffset:    {Name: kafkaOffset, Type: columns.Type{Kind: columns.Int64}, Required: true},
		letterTimestamp: {Name: kafkaTimestamp, Type: columns.Type{Kind: columns.TimestampTZ}},
		letterReason:    {Name: "error_class", Type: text, Required: true, Doc: "why the record is no row, in a word that does not change"},
		letterError:     {Name: "error", Type: text, Required: true, Doc: "the column, what is wrong, and where"},
	}
}

// withDeadLetters is a Typed whose rejected records are rows of DeadLetterSchema.
type withDeadLetters struct {
	*Typed
	letters columns.Batch
}

// lettersOf makes of a Typed one that keeps what it rejects.
func lettersOf(parser Parser, o TypedOptions) (*withDeadLetters, error) {
	d := &withDeadLetters{}
	d.letters.Columns = columns.Make(DeadLetterSchema())
	o.Rejected = d.reject
	var err error
	if d.Typed, err = NewTyped(parser, o); err != nil {
		return nil, err
	}
	d.rest, d.at.letters = d.slice, d.letters.Columns
	return d, nil
}

// slice reads the next rows of the records in hand, and the dead letters among them.
func (d *withDeadLetters) slice() (*columns.Batch, error) {
	d.letters.Rows = 0
	if columns.Held(d.letters.Columns) > keptBytes {
		copy(d.letters.Columns, columns.Make(DeadLetterSchema()))
	}
	for i := range d.letters.Columns {
		d.letters.Columns[i].Reset()
	}
	rows, err := d.Typed.slice()
	if err != nil {
		return nil, err
	}
	if rows.Rejected = nil; d.letters.Rows > 0 {
		rows.Rejected = &d.letters
	}
	return rows, nil
}

// reject keeps a record as a dead letter.
func (d *withDeadLetters) reject(records *columns.Records, row int, why *malformed.Error) error {
	c := d.letters.Columns
	appendCopy(&c[letterKey], &records.Key, row)
	appendCopy(&c[letterValue], &records.Value, row)
	appendHeaders(&c[letterHeaders], &records.Headers, row)
	c[letterTopic].AppendBytes([]byte(records.Topic))
	c[letterPartition].AppendInt32(records.Partition)
	c[letterOffset].AppendInt64(records.Offsets[row])
	if ms := records.Timestamps[row]; ms == -1 || ms > maxMillis || ms < minMillis {
		c[letterTimestamp].Int64s = append(c[letterTimestamp].Int64s, 0)
		c[letterTimestamp].AppendNull()
	} else {
		c[letterTimestamp].AppendInt64(ms * 1000)
	}
	c[letterReason].AppendBytes([]byte(why.Reason))
	c[letterError].AppendBytes([]byte(errorText(why)))
	d.letters.Rows++
	return nil
}

// appendHeaders adds the headers of a record; none where they were not read.
func appendHeaders(to, from *columns.Array, row int) {
	if row >= from.Len || !from.Valid(row) {
		to.AppendNullSpan()
		return
	}
	pair, pairs := &to.Children[0], &from.Children[0]
	for k, until := from.Span(row); k < until; k++ {
		appendCopy(&pair.Children[0], &pairs.Children[0], k)
		appendCopy(&pair.Children[1], &pairs.Children[1], k)
		pair.AppendStruct()
	}
	to.AppendSpan()
}

// longestError bounds the text of an error: a path may have the names of a hostile record.
const longestError = 1024

// errorText is what is wrong with a record, cut where it is long. It is UTF-8 and safe for a terminal.
func errorText(why *malformed.Error) string {
	text := strings.ToValidUTF8(why.Error(), "\ufffd")
	if len(text) > longestError {
		cut := longestError
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
