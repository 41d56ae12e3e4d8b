package offsets

// Committed is what a consumer group has of a partition.
type Committed struct {
	// Next is the next offset to read, Epoch the leader epoch that the log had there (KIP-320), -1 if unknown.
	Next  int64
	Epoch int32
	// Note is the text that was committed with it, empty for most clients.
	Note string
}
