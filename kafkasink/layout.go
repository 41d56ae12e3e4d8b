package kafkasink

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/columns"
	"sluice/offsets"
)

// The columns that a dead letter has.
const (
	columnKey       = "kafka_key"
	columnValue     = "kafka_value"
	columnHeaders   = "kafka_headers"
	columnTopic     = "kafka_topic"
	columnPartition = "kafka_partition"
	columnOffset    = "kafka_offset"
	columnTimestamp = "kafka_timestamp"
	columnReason    = "error_class"
	columnError     = "error"
	columnBatch     = "batch_id"
	columnQuery     = "query_id"
	columnQueryName = "query_name"
)

// kinds is what each column is.
var kinds = map[string]columns.Kind{
	columnKey: columns.Binary, columnValue: columns.Binary, columnHeaders: columns.List, columnTopic: columns.String, columnPartition: columns.Int32,
	columnOffset: columns.Int64, columnTimestamp: columns.TimestampTZ, columnReason: columns.String, columnError: columns.String,
	columnBatch: columns.Int64, columnQuery: columns.String, columnQueryName: columns.String,
}

// layout says where in a batch the columns of a dead letter are.
type layout map[string]int

func layoutOf(schema columns.Schema) (layout, error) {
	at := layout{}
	for i := range schema {
		if kind, known := kinds[schema[i].Name]; !known || kind != schema[i].Type.Kind {
			return nil, fmt.Errorf("dead letters have a column %s, which a topic has no place for", schema[i].Name)
		}
		at[schema[i].Name] = i
	}
	for name := range kinds {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("dead letters have no column %s", name)
		}
	}
	return at, nil
}

// origin is the record that a dead letter is of.
type origin struct {
	offsets.TopicPartition
	offset int64
}

func (o origin) String() string { return fmt.Sprintf("%s@%d", o.TopicPartition, o.offset) }

// record makes the record of one dead letter. It keeps nothing of the columns.
func (at layout) record(topic string, letters *columns.Batch, row int) (*kgo.Record, origin) {
	column := func(name string) *columns.Array { return &letters.Columns[at[name]] }
	number := func(name string) int64 { return int64At(column(name), row) }
	from := origin{offsets.TopicPartition{Topic: string(column(columnTopic).Bytes(row)), Partition: int32At(column(columnPartition), row)}, number(columnOffset)}
	timestamp := int64(-1)
	if column(columnTimestamp).Valid(row) {
		timestamp = number(columnTimestamp) / 1000
	}
	r := &kgo.Record{Topic: topic, Key: copied(column(columnKey).Bytes(row)), Value: copied(column(columnValue).Bytes(row)), Headers: originals(column(columnHeaders), row)}
	add := func(name string, value []byte) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: copied(value)})
	}
	decimal := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	add(Marker, []byte(Layout))
	add(HeaderTopic, []byte(from.Topic))
	add(HeaderPartition, decimal(int64(from.Partition)))
	add(HeaderOffset, decimal(from.offset))
	add(HeaderTimestamp, decimal(timestamp))
	add(HeaderReason, column(columnReason).Bytes(row))
	add(HeaderError, column(columnError).Bytes(row))
	add(HeaderBatch, decimal(number(columnBatch)))
	add(HeaderQuery, column(columnQuery).Bytes(row))
	add(HeaderQueryName, column(columnQueryName).Bytes(row))
	return r, from
}

// originals are the headers that the record came with.
func originals(from *columns.Array, row int) []kgo.RecordHeader {
	if !from.Valid(row) {
		return nil
	}
	first, until := from.Span(row)
	pairs := &from.Children[0]
	headers := make([]kgo.RecordHeader, 0, until-first+len(Headers))
	for k := first; k < until; k++ {
		headers = append(headers, kgo.RecordHeader{Key: string(pairs.Children[0].Bytes(k)), Value: copied(pairs.Children[1].Bytes(k))})
	}
	return headers
}

// copied is nil for nil, and never nil for an empty value: null and empty differ.
func copied(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append(make([]byte, 0, len(value)), value...)
}

func int64At(a *columns.Array, row int) int64 {
	if a.Repeat {
		row = 0
	}
	return a.Int64s[row]
}

func int32At(a *columns.Array, row int) int32 {
	if a.Repeat {
		row = 0
	}
	return a.Int32s[row]
}
