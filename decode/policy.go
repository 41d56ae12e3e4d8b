package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/malformed"
)

// malformed does with a record that is no row what the policy for its fault says.
func (t *Typed) malformed(typed []columns.Array, records *columns.Records, row int, why *malformed.Error) (bool, error) {
	policy := t.options.OnMalformed
	if why.Reason == malformed.Unknown && t.options.OnUnknown == Reject {
		policy = Reject
	}
	t.rows.Bad++
	return t.apply(policy, typed, records, row, why)
}

// timed rejects a row whose record has a timestamp that its column cannot hold; the batch would otherwise end with it.
func (t *Typed) timed(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	ms := records.Timestamps[row]
	if ms <= maxMillis && ms >= minMillis {
		return true, nil
	}
	t.takeBack(typed)
	return t.malformed(typed, records, row, &malformed.Error{Reason: malformed.Overflow, Path: kafkaTimestamp,
		Detail: fmt.Sprintf("the record's timestamp, %d ms, is beyond what microseconds can hold", ms)})
}

// collected notes what the record of a row has beyond the schema, and rejects the row if that can never be a column: one
// record must not hold up the others.
func (t *Typed) collected(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	err := t.collect(records, row)
	if err == nil {
		return true, nil
	}
	var why *malformed.Error
	if !errors.As(err, &why) {
		return false, err
	}
	t.takeBack(typed)
	return t.malformed(typed, records, row, why)
}

// takeBack removes the row that was read last, and was not kept yet.
func (t *Typed) takeBack(typed []columns.Array) {
	columns.TruncateAll(typed, len(t.kept))
	if t.readsKeys() {
		t.rows.Columns[t.width].Truncate(len(t.kept))
	}
}

// apply does with a record that is no row what the policy says.
func (t *Typed) apply(policy Policy, typed []columns.Array, records *columns.Records, row int, why *malformed.Error) (bool, error) {
	if policy != Fail {
		t.note(records.Offsets[row], why)
	}
	switch {
	case t.options.Lenient != nil:
		t.options.Lenient(records, row, why)
		fallthrough
	case policy == AsNull:
		t.appendNulls(typed)
		t.rows.Nulled++
		return true, nil
	case policy == Reject:
		return false, t.options.Rejected(records, row, why)
	}
	return false, &batch.Fault{
		Class:   batch.BadRecords,
		Message: fmt.Sprintf("record %s-%d at offset %d is malformed", records.Topic, records.Partition, records.Offsets[row]),
		Hint:    t.hint(why, records.Value.Bytes(row)), Err: why,
	}
}

// note counts a record that is no row.
func (t *Typed) note(offset int64, why *malformed.Error) {
	if t.rows.Reasons == nil {
		t.rows.Reasons = map[string]int64{}
	}
	t.rows.Reasons[string(why.Reason)]++
	if len(t.rows.Examples) < batch.MaxExamples {
		t.rows.Examples = append(t.rows.Examples, columns.Example{Offset: offset, Reason: string(why.Reason), Text: errorText(why)})
	}
}

// hint is what can be done about a record that is no row. A batch that failed is open, and is finished by whatever the job
// says when it is tried again.
func (t *Typed) hint(why *malformed.Error, value []byte) string {
	const then = "; nothing of the batch is in the table, and the next run finishes it"
	without := ""
	if t.required != "" {
		without = " and leave NOT NULL out of value.schema"
	}
	if ofKey(why) {
		return "correct key.format or key.schema if the key is right; if it is wrong, set value.onMalformed to null" + without +
			", which makes such records rows of nulls, or to deadLetter" + then
	}
	switch why.Reason {
	case malformed.Tombstone:
		return "set value.onTombstone to drop or deadLetter, or leave NOT NULL out of value.schema, so that a tombstone is a row of nulls" + then
	case malformed.Schema:
		return "give as value.schema columns that every schema of the topic fills, wide enough for all and none NOT NULL that one of them lacks; if the record is wrong, set value.onMalformed to deadLetter, or to null" +
			without + then
	case malformed.Framing:
		return "set value.framing to none if the values of the topic carry no ids of schemas; if the record is wrong, set value.onMalformed to deadLetter, or to null" + without + then
	case malformed.Unknown:
		return "add the field to value.schema, and the column to the table; or set value.onUnknownField to ignore, to deadLetter, or to addColumn, which adds both" + then
	}
	came := ""
	if t.collector != nil {
		came = "; a column that came from records keeps the type that its first batch gave it: for another, rename or drop it with any engine, and declare it in value.schema"
	}
	return t.mistaken(why, value) + t.correct() + " if the record is right; if it is wrong, set value.onMalformed to null" + without +
		", which makes such records rows of nulls, or to deadLetter, which sends them to deadLetter.table, deadLetter.path or deadLetter.topic" + came + then
}

// correct says what makes a row of a record that is right.
func (t *Typed) correct() string {
	switch t.format {
	case FormatAvro, FormatProtobuf:
		if _, byID := t.parser.(*framed); !byID {
			return "correct value.schemaFile, which has to be the schema that it was written with, or value.schema"
		}
		return "correct value.schema or the way value." + t.format + " reads it"
	case FormatString:
		return "make it a query with value.format raw, which keeps bytes that are no text,"
	}
	return "correct value.schema or the way value.json reads it"
}

// mistaken says where to look first if the value looks like one of another format, or framed otherwise; empty if not.
func (t *Typed) mistaken(why *malformed.Error, value []byte) string {
	if why.Reason != malformed.Syntax && (why.Reason != malformed.WrongType || why.Position != 0) {
		return ""
	}
	looks := looksLike(value)
	_, byID := t.parser.(*framed)
	switch {
	case t.format == FormatString || byID:
		return "" // text is whatever it is, and of a framed value the framing was right
	case t.format != FormatJSON && looks == "" && bytes.HasPrefix(bytes.TrimSpace(value), []byte("{")):
		looks = "JSON"
	case t.format != FormatJSON && strings.HasPrefix(looks, "binary"):
		return ""
	}
	if looks == "" {
		return ""
	}
	return "the value looks like " + looks + ": if the topic's values are that, correct value.format or value.framing; otherwise "
}
