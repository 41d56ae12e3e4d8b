package columns

// Records are consecutive records of one partition, as Kafka holds them and before any decoding.
type Records struct {
	Topic     string
	Partition int32
	// TimestampType is Kafka's code for all of them: 0 create time, 1 log append time, -1 none (message format 0).
	TimestampType int32
	// Rows is the number of records.
	Rows int
	// Offsets ascend; compaction and transactions leave gaps.
	Offsets []int64
	// Timestamps are milliseconds since 1970-01-01T00:00:00Z; -1 where the record has none.
	Timestamps []int64
	// Key and Value are Binary; null and empty differ.
	Key, Value Array
	// Headers is a List of Struct{key String, value Binary} in the record's order, repeated keys kept. It has Len 0
	// unless headers were asked for.
	Headers Array
}

// Reset empties r and keeps its memory.
func (r *Records) Reset() {
	r.Rows, r.Offsets, r.Timestamps = 0, r.Offsets[:0], r.Timestamps[:0]
	r.Key.Reset()
	r.Value.Reset()
	r.Headers.Reset()
}
