package kafkasink

import (
	"strconv"

	"sluice/columns"
	"sluice/offsets"
)

// The headers of a dead letter, all text. Marker begins them and says which layout they have.
const (
	Marker          = "sluice.dead-letter"
	HeaderTopic     = "sluice.topic"
	HeaderPartition = "sluice.partition"
	HeaderOffset    = "sluice.offset"
	HeaderTimestamp = "sluice.timestamp"
	HeaderReason    = "sluice.reason"
	HeaderError     = "sluice.error"
	HeaderBatch     = "sluice.batch-id"
	HeaderQuery     = "sluice.query-id"
	HeaderQueryName = "sluice.query-name"
)

// Layout is the value of Marker.
const Layout = "1"

// Headers are the names in their order.
var Headers = []string{Marker, HeaderTopic, HeaderPartition, HeaderOffset, HeaderTimestamp, HeaderReason, HeaderError, HeaderBatch, HeaderQuery, HeaderQueryName}

// Letter is what the headers of a dead letter say, and what the record had.
type Letter struct {
	offsets.TopicPartition
	Offset int64
	// TimestampMs is the record's own time, in milliseconds since 1970; -1 if it has none.
	TimestampMs int64
	// Reason is why the record is no row, in a word; Error says it in full.
	Reason, Error string
	// Batch of Query is the one that read the record; QueryName is its name.
	Batch            int64
	Query, QueryName string
	// Key and Value are the record's, nil where it has none; Headers are its own.
	Key, Value []byte
	Headers    []Header
}

// Header is one header of a record; its value is nil where it has none.
type Header struct {
	Key   string
	Value []byte
}

// ParseLetter reads the dead letter in one row of records that were read with their headers. A record without our headers,
// or with others in their place, is none. What it returns aliases the records.
func ParseLetter(records *columns.Records, row int) (*Letter, bool) {
	if row >= records.Headers.Len || !records.Headers.Valid(row) {
		return nil, false
	}
	from, until := records.Headers.Span(row)
	pairs := &records.Headers.Children[0]
	all := make([]Header, 0, until-from)
	for k := from; k < until; k++ {
		all = append(all, Header{string(pairs.Children[0].Bytes(k)), pairs.Children[1].Bytes(k)})
	}
	at := lastMarker(all)
	if at < 0 || len(all)-at < len(Headers) {
		return nil, false
	}
	l, ok := facts(all[at : at+len(Headers)])
	l.Key, l.Value, l.Headers = records.Key.Bytes(row), records.Value.Bytes(row), all[:at:at]
	return l, ok
}

func lastMarker(all []Header) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Key == Marker {
			return i
		}
	}
	return -1
}

// facts reads our headers; ok says that they are all there, in their order, and hold what they should.
func facts(ours []Header) (l *Letter, ok bool) {
	for i, h := range ours {
		if h.Key != Headers[i] {
			return &Letter{}, false
		}
	}
	l = &Letter{Reason: text(ours, HeaderReason), Error: text(ours, HeaderError), Query: text(ours, HeaderQuery), QueryName: text(ours, HeaderQueryName)}
	l.Topic = text(ours, HeaderTopic)
	partition, err1 := strconv.ParseInt(text(ours, HeaderPartition), 10, 32)
	offset, err2 := strconv.ParseInt(text(ours, HeaderOffset), 10, 64)
	timestamp, err3 := strconv.ParseInt(text(ours, HeaderTimestamp), 10, 64)
	number, err4 := strconv.ParseInt(text(ours, HeaderBatch), 10, 64)
	l.Partition, l.Offset, l.TimestampMs, l.Batch = int32(partition), offset, timestamp, number
	whole := err1 == nil && err2 == nil && err3 == nil && err4 == nil && l.Topic != "" && l.Query != ""
	return l, whole && text(ours, Marker) == Layout && partition >= 0 && offset >= 0
}

func text(ours []Header, name string) string {
	for _, h := range ours {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}
