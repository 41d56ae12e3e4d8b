package decode

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/malformed"
)

// Parser reads the value of one record into columns (decode/json).
type Parser interface {
	// Schema is the columns that Append fills.
	Schema() columns.Schema
	// Append adds the row of value to dst, which columns.Make made for the schema. A malformed value is a
	// *malformed.Error, and leaves dst as it was; any other error ends the batch.
	Append(dst []columns.Array, value []byte) error
}

// Policy says what becomes of a record that is no row.
type Policy uint8

// The policies.
const (
	// Fail ends the batch with a BadRecords fault that names the record.
	Fail Policy = iota
	// AsNull makes a row whose columns of the schema are null; the kafka_ columns tell which record it was. For a
	// tombstone that is the row it stands for.
	AsNull
	// Drop leaves the record out. It is for tombstones alone.
	Drop
	// Reject hands the record to TypedOptions.Rejected and leaves it out.
	Reject
)

// TypedOptions are the choices that a job has.
type TypedOptions struct {
	// NoMetadata leaves the kafka_ columns out; nothing then tells where a row came from.
	NoMetadata bool
	// Headers adds kafka_headers.
	Headers bool
	// RawValue adds kafka_value, the bytes that the columns were read from.
	RawValue bool
	// Key reads keys into kafka_key; nil keeps their bytes.
	Key *Keys
	// OnMalformed is Fail, AsNull or Reject.
	OnMalformed Policy
	// OnUnknown, where it is Reject, is before OnMalformed for records with a field that the schema does not have.
	OnUnknown Policy
	// OnTombstone is about records without a value: AsNull, Drop, Reject, or Fail.
	OnTombstone Policy
	// Rejected is handed every record that Reject leaves out, as row of records, in order and before Decode returns. An
	// error of it ends the batch. records and why are valid during the call alone.
	Rejected func(records *columns.Records, row int, why *malformed.Error) error
	// Lenient, if not nil, is for looking at records: whatever the policies are, a record that is no row becomes nulls, also
	// where the schema has NOT NULL, and Lenient is told of it. records and why are valid during the call alone.
	Lenient func(records *columns.Records, row int, why *malformed.Error)
}

// Typed gives the columns of a schema, read from the records' values, and columns about the record: kafka_key,
// kafka_value (RawValue), kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, kafka_headers (Headers). It is
// used by one goroutine.
type Typed struct {
	parser  Parser
	options TypedOptions
	schema  columns.Schema
	// width is how many of the schema's columns the parser fills.
	width int
	rows  columns.Batch
	// at is where it stands in the records, rest what makes the batch that is next.
	at   gauge
	rest func() (*columns.Batch, error)
	// own holds the memory of the columns that else alias the records; it is used when a record is left out.
	own []columns.Array
	// kept are the records that became rows.
	kept []int
	// required is a column that cannot be null, empty if there is none.
	required string
	// format is value.format, for what an error advises; empty if nobody said.
	format string
	// framed are those of the parsers that need the records' headers.
	framed []*framed
	// collector is the parser, if it is one.
	collector collector
	undecided error
	// read says that the value of the record in hand was read; it has size bytes.
	read bool
	size int
}

// The columns about the record.
const (
	kafkaKey       = "kafka_key"
	kafkaValue     = "kafka_value"
	kafkaTopic     = "kafka_topic"
	kafkaPartition = "kafka_partition"
	kafkaOffset    = "kafka_offset"
	kafkaTimestamp = "kafka_timestamp"
	kafkaHeaders   = "kafka_headers"
)

// NewTyped makes a decoder of values that parser reads. A choice that cannot work with the schema is a NotSetUp fault.
func NewTyped(parser Parser, o TypedOptions) (*Typed, error) {
	t := &Typed{parser: parser, options: o, schema: slices.Clone(parser.Schema()), width: len(parser.Schema())}
	if c, ok := parser.(collector); ok && c.collects() {
		t.collector = c
	}
	for _, f := range t.schema {
		if f.Required && t.required == "" {
			t.required = f.Name
		}
	}
	t.framed = framedIn(parser, o.Key)
	t.schema = append(t.schema, metadata(o)...)
	if err := t.check(); err != nil {
		return nil, err
	}
	t.rows.Columns = columns.Make(t.schema)
	t.own = columns.Make(t.schema)
	t.at.width, t.rest = columns.Width(t.schema[:t.width])+bytesPerRecord, t.slice
	return t, nil
}

func metadata(o TypedOptions) columns.Schema {
	value := columns.Field{Name: kafkaValue, Type: columns.Type{Kind: columns.Binary}}
	if o.NoMetadata {
		if o.RawValue {
			return columns.Schema{value}
		}
		return nil
	}
	schema := columns.Schema{o.Key.field()}
	if o.RawValue {
		schema = append(schema, value)
	}
	schema = append(schema, columns.Schema{
		{Name: kafkaTopic, Type: columns.Type{Kind: columns.String}, Required: true},
		{Name: kafkaPartition, Type: columns.Type{Kind: columns.Int32}, Required: true},
		{Name: kafkaOffset, Type: columns.Type{Kind: columns.Int64}, Required: true},
		{Name: kafkaTimestamp, Type: columns.Type{Kind: columns.TimestampTZ}},
	}...)
	if o.Headers {
		schema = append(schema, columns.Field{Name: kafkaHeaders, Type: headersType()})
	}
	return schema
}

func (t *Typed) check() error {
	unfit := func(message, hint string) error {
		return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: hint}
	}
	seen := map[string]string{}
	for _, f := range t.schema {
		name := strings.ToLower(f.Name)
		if before, twice := seen[name]; twice {
			return unfit(fmt.Sprintf("the schema has a column %s, which is the name of a column about the record", before),
				"Give the column another name.")
		}
		seen[name] = f.Name
	}
	switch o := t.options; {
	case o.Lenient != nil:
	case o.OnMalformed == AsNull && t.required != "":
		return unfit(fmt.Sprintf("malformed records cannot become null: column %s is NOT NULL", t.required),
			"Set onMalformed to fail or deadLetter, or leave NOT NULL out.")
	case o.OnMalformed == Drop:
		return unfit("malformed records cannot be dropped silently", "Set onMalformed to fail, null or deadLetter.")
	case o.Headers && o.NoMetadata:
		return unfit("headers are wanted, and the kafka_ columns are switched off", "Switch one of the two.")
	case (o.OnMalformed == Reject || o.OnTombstone == Reject || o.OnUnknown == Reject) && o.Rejected == nil:
		return fmt.Errorf("decode: records are to be rejected and nothing takes them")
	}
	return nil
}

// Schema is the parser's columns and those about the record.
func (t *Typed) Schema() columns.Schema { return t.schema }

// Decode reads the rows of records, or of as many of them as have room in one batch, whose Rest goes on with the others.
// Some records may give no row, and are counted. All is valid until the next call, and some of it aliases the records.
//
// A value that is null is a tombstone. A tombstone that should be kept as nulls is malformed if a column is required. A
// value of no bytes is no tombstone; what it is the parser says.
func (t *Typed) Decode(records *columns.Records) (*columns.Batch, error) {
	if err := t.begin(records); err != nil {
		return nil, err
	}
	return t.rest()
}

// slice reads the next rows of the records in hand.
func (t *Typed) slice() (*columns.Batch, error) {
	t.clear()
	records, full := t.at.records, false
	typed := t.rows.Columns[:t.width]
	for t.at.next < records.Rows && !full {
		row := t.at.next
		keep, err := t.row(typed, records, row)
		if err != nil {
			return nil, err
		}
		if keep {
			t.kept = append(t.kept, row)
		}
		t.at.next++
		if t.at.left -= t.at.width + bytesPerByte*t.size; t.at.left <= 0 {
			full = t.full()
		}
	}
	if t.rows.Rest = nil; t.at.next < records.Rows {
		t.rows.Rest = t.rest
	}
	t.rows.Rows = len(t.kept)
	return &t.rows, t.describe(records)
}

// row reads one record, with all that can make it none, and reports whether it became a row.
func (t *Typed) row(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	for _, f := range t.framed {
		f.carry(records, row)
	}
	keep, err := t.record(typed, records, row)
	if keep && t.options.OnMalformed == Reject {
		keep, err = t.timed(typed, records, row)
	}
	if err == nil && keep && t.read {
		keep, err = t.collected(typed, records, row)
	}
	return keep, err
}

// record reads value and key of one record and reports whether they became a row.
func (t *Typed) record(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	nulled := t.rows.Nulled
	t.read = false
	keep, err := t.value(typed, records, row)
	if keep && t.readsKeys() {
		keep, err = t.key(typed, records, row, t.rows.Nulled > nulled)
	}
	t.read = t.read && t.rows.Nulled == nulled
	return keep, err
}

// value reads the value of a record.
func (t *Typed) value(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	value := records.Value.Bytes(row)
	t.size = len(value)
	if value == nil {
		return t.tombstone(typed, records, row)
	}
	err := t.parser.Append(typed, value)
	if err == nil {
		t.read = true
		return true, nil
	}
	why, err := reasonOf(err, records, row)
	if err != nil {
		return false, err
	}
	return t.malformed(typed, records, row, why)
}

func (t *Typed) tombstone(typed []columns.Array, records *columns.Records, row int) (bool, error) {
	switch policy := t.options.OnTombstone; {
	case policy == Drop && t.options.Lenient == nil:
		t.rows.Dropped++
		return false, nil
	case policy == AsNull && t.required == "":
		t.appendNulls(typed)
		return true, nil
	case policy == AsNull:
		why := &malformed.Error{Reason: malformed.Tombstone, Path: t.required, Detail: "the record has no value (a tombstone), and the column is required"}
		return t.malformed(typed, records, row, why)
	default:
		return t.apply(policy, typed, records, row, &malformed.Error{Reason: malformed.Tombstone, Detail: "the record has no value (a tombstone)"})
	}
}

func (t *Typed) appendNulls(typed []columns.Array) {
	for i := range typed {
		typed[i].AppendNothing(&t.schema[i].Type)
	}
}
