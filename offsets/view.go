package offsets

// Bounds is what the broker said of one partition at one moment.
type Bounds struct {
	// Start is the log start offset: the first offset that retention and DeleteRecords have left.
	Start int64
	// End is where a reader of the asked isolation level can read to now: the last stable offset under
	// read_committed, the high watermark under read_uncommitted.
	End int64
	// HighWatermark is the end of the replicated log; it is above End while a transaction is open.
	HighWatermark int64
	// LeaderEpoch is the epoch of the partition's leader (KIP-320), -1 if the broker does not tell.
	LeaderEpoch int32
}

// View is what the subscribed topics held at one moment. Taken once per run it is what "available now" means.
type View struct {
	// ClusterID identifies the Kafka cluster; empty if the broker does not tell.
	ClusterID string
	// TopicIDs holds the id of each topic (KIP-516): it changes when a topic is deleted and created again. A topic of
	// a broker too old to tell is missing here.
	TopicIDs map[string]string
	// Partitions holds every partition that the subscription matches now.
	Partitions map[TopicPartition]Bounds
	// Cuts is where logs were cut below what was read of them, once that was asked.
	Cuts Offsets
}

// Ends maps every partition to its End.
func (v *View) Ends() Offsets {
	ends := make(Offsets, len(v.Partitions))
	for tp, b := range v.Partitions {
		ends[tp] = b.End
	}
	return ends
}

// Blocked is the number of offsets that open transactions hold back: from End to the high watermark.
func (b Bounds) Blocked() int64 { return max(0, b.HighWatermark-b.End) }

// Blocked sums the offsets that open transactions hold back.
func (v *View) Blocked() int64 {
	var n int64
	for _, b := range v.Partitions {
		n += b.Blocked()
	}
	return n
}
