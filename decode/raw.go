// Package decode turns Kafka records into rows of a schema. Raw gives the columns of Spark's Kafka source, in its order
// and under its names, so that a table and its queries can be taken over. Typed gives the columns of a schema, read from
// the records' values by the parser of a format (decode/json), and says of each row where it came from; it knows what
// becomes of records that are no row (decode/malformed). decode/ddl reads schemas.
package decode

import (
	"fmt"
	"math"

	"sluice/batch"
	"sluice/columns"
)

// Raw gives records as they are: key and value are bytes. It is used by one goroutine.
type Raw struct {
	schema columns.Schema
	rows   columns.Batch
}

// Where the columns stand.
const (
	rawKey = iota
	rawValue
	rawTopic
	rawPartition
	rawOffset
	rawTimestamp
	rawTimestampType
	rawHeaders
)

// NewRaw makes a decoder to the columns key, value, topic, partition, offset, timestamp, timestampType and, if asked
// for, headers.
//
// key, value and headers are null where the record has none; timestamp is null where the record carries none (-1), for
// which Spark says 1969-12-31T23:59:59.999Z. In Spark every column may be null; here topic, partition, offset and
// timestampType are required, since they always have a value. Header keys are the bytes that the producer sent: Kafka
// asks for UTF-8 and does not check it, and nothing is replaced here.
func NewRaw(includeHeaders bool) *Raw {
	schema := columns.Schema{
		rawKey:           {Name: "key", Type: columns.Type{Kind: columns.Binary}},
		rawValue:         {Name: "value", Type: columns.Type{Kind: columns.Binary}},
		rawTopic:         {Name: "topic", Type: columns.Type{Kind: columns.String}, Required: true},
		rawPartition:     {Name: "partition", Type: columns.Type{Kind: columns.Int32}, Required: true},
		rawOffset:        {Name: "offset", Type: columns.Type{Kind: columns.Int64}, Required: true},
		rawTimestamp:     {Name: "timestamp", Type: columns.Type{Kind: columns.TimestampTZ}},
		rawTimestampType: {Name: "timestampType", Type: columns.Type{Kind: columns.Int32}, Required: true},
	}
	if includeHeaders {
		schema = append(schema, columns.Field{Name: "headers", Type: headersType()})
	}
	r := &Raw{schema: schema}
	r.rows.Columns = make([]columns.Array, len(schema))
	for i := range schema {
		r.rows.Columns[i].Kind = schema[i].Type.Kind
	}
	return r
}

func headersType() columns.Type {
	pair := columns.Type{Kind: columns.Struct, Fields: []columns.Field{
		{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true},
		{Name: "value", Type: columns.Type{Kind: columns.Binary}},
	}}
	return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: pair, Required: true}}}
}

// Schema is the columns of NewRaw.
func (r *Raw) Schema() columns.Schema { return r.schema }

// Decode returns the rows of records. key, value, offset and headers alias the records; all is valid until the next
// call. A timestamp that does not fit into microseconds is a BadRecords fault: it cannot be told from a wrong one.
func (r *Raw) Decode(records *columns.Records) (*columns.Batch, error) {
	rows := records.Rows
	c := r.rows.Columns
	r.rows.Rows = rows
	c[rawKey], c[rawValue] = records.Key, records.Value
	c[rawOffset].Len, c[rawOffset].Int64s = rows, records.Offsets
	repeatText(&c[rawTopic], records.Topic, rows)
	repeatInt(&c[rawPartition], records.Partition, rows)
	repeatInt(&c[rawTimestampType], records.TimestampType, rows)
	if err := micros(&c[rawTimestamp], records); err != nil {
		return nil, err
	}
	if len(c) > rawHeaders {
		if records.Headers.Len != rows {
			return nil, fmt.Errorf("decode %s-%d: %d records come with %d header lists", records.Topic, records.Partition, rows, records.Headers.Len)
		}
		c[rawHeaders] = records.Headers
	}
	return &r.rows, nil
}

// repeatText makes a column of one value for all rows.
func repeatText(a *columns.Array, value string, rows int) {
	a.Data = append(a.Data[:0], value...)
	a.Offsets = append(a.Offsets[:0], 0, int32(len(value)))
	a.Len, a.Repeat = rows, true
}

func repeatInt(a *columns.Array, value int32, rows int) {
	a.Int32s = append(a.Int32s[:0], value)
	a.Len, a.Repeat = rows, true
}

// The milliseconds that fit into 64-bit microseconds.
const (
	maxMillis = math.MaxInt64 / 1000
	minMillis = math.MinInt64 / 1000
)

// micros turns the records' milliseconds into microseconds, and -1 into null.
func micros(a *columns.Array, records *columns.Records) error {
	a.Reset()
	for i := range records.Rows {
		if err := appendMicros(a, records, i); err != nil {
			return err
		}
	}
	return nil
}

func appendMicros(a *columns.Array, records *columns.Records, row int) error {
	ms := records.Timestamps[row]
	if ms > maxMillis || ms < minMillis {
		return beyondMicros(records, row)
	}
	a.Int64s = append(a.Int64s, ms*1000)
	if ms != -1 {
		a.AppendPresent()
	} else {
		a.AppendNull()
	}
	return nil
}

func beyondMicros(records *columns.Records, row int) error {
	return &batch.Fault{
		Class: batch.BadRecords,
		Message: fmt.Sprintf("record %s-%d at offset %d: its timestamp, %d ms, is beyond what microseconds can hold",
			records.Topic, records.Partition, records.Offsets[row], records.Timestamps[row]),
		Hint: "The producer likely sends nanoseconds where Kafka has milliseconds; correct it, and leave the record out.",
	}
}
