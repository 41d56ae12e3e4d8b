package batch

import "sluice/offsets"

// Imported is where a query began that goes on where another system stopped. It is part of the checkpoint's identity, which is
// created at once and only if there is none: what else the beginning of a query is made of follows from it.
type Imported struct {
	// From is the kind of what was read: spark, group, kafka-connect.
	From string `json:"from"`
	// Place names it, without secrets, and Reached says in words how far it was.
	Place   string `json:"place"`
	Reached string `json:"reached,omitempty"`
	// Query is the id that the query gets.
	Query string `json:"query"`
	// Told is the next offset to read of every partition that the other system knew, and Earliest the first offset that the log
	// then had of every other.
	Told     offsets.Offsets `json:"told"`
	Earliest offsets.Offsets `json:"earliest,omitempty"`
	// TopicIDs and LeaderEpochs are what the logs said of themselves when it was imported; empty where they do not tell.
	TopicIDs     map[string]string `json:"topicIds,omitempty"`
	LeaderEpochs offsets.Offsets   `json:"leaderEpochs,omitempty"`
	// TimeMs is when it was imported, in milliseconds since 1970.
	TimeMs int64 `json:"timeMs"`
}

// Start is where the query begins.
func (i *Imported) Start() offsets.Offsets {
	start := i.Earliest.Clone()
	for tp, at := range i.Told {
		start[tp] = at
	}
	return start
}

// Epochs are the leader epochs by partition.
func (i *Imported) Epochs() map[offsets.TopicPartition]int32 {
	epochs := make(map[offsets.TopicPartition]int32, len(i.LeaderEpochs))
	for tp, epoch := range i.LeaderEpochs {
		epochs[tp] = int32(epoch)
	}
	return epochs
}

// Same says that both are of the same place at the same offsets: which of two imports came first makes no difference then, but
// to the first offsets of partitions that the other system did not know.
func (i *Imported) Same(other *Imported) bool {
	return i.From == other.From && i.Place == other.Place && i.Told.Equal(other.Told)
}
