// Package batch is the vocabulary of the protocol: what a batch reads (Plan), a worker's share of it (Task), what the
// worker wrote (TaskResult), what the table remembers (Ledger, Applied), and how failures are classed (Fault). All are
// plain values with a versioned JSON form, so that planning, executing and committing need nothing of each other's
// memory and may run in different processes.
package batch

import (
	"fmt"

	"sluice/offsets"
)

// Isolation is Kafka's isolation.level.
type Isolation string

// The two levels.
const (
	ReadCommitted   Isolation = "read_committed"
	ReadUncommitted Isolation = "read_uncommitted"
)

// Plan is what one batch reads. It is durable before anything is read and replayed as written.
type Plan struct {
	// Batch is its number: 0, 1, 2, … without gaps.
	Batch int64
	// Start and End name the same partitions: all that the query tracks, also those without new records.
	Start, End offsets.Offsets
	// TopicIDs and LeaderEpochs are what the log said of itself when the plan was made; empty where it does not tell.
	TopicIDs     map[string]string
	LeaderEpochs map[offsets.TopicPartition]int32
	// Tables maps the role of each output ("main") to its table's UUID.
	Tables map[string]string
	// Isolation is the level that the ends were read at, and so the one to read and replay with.
	Isolation Isolation
	// IncludeHeaders says whether the rows have the records' headers; nil where the plan does not tell: then the job does.
	IncludeHeaders *bool
	// Value says how the records' values become columns; nil where the plan does not tell: then the job does.
	Value *Value
	// LeaseEpoch is the epoch of the lease that the planning run held, for people to read.
	LeaseEpoch int64
	// TableSequence is the table's last sequence number when the plan was made: whatever applied the plan has a higher
	// one. 0 if unknown.
	TableSequence int64
	// Rebuilt is the ledger's plan hash where this entry was rebuilt from the table's ledger after the checkpoint had
	// lost the original; empty otherwise.
	Rebuilt string
	// Accepted is set where somebody has decided about rows that the table lost; nil otherwise.
	Accepted *Acceptance
	// Losses is what this batch goes on without, by the job's policies. A loss by retention lies at the beginning of its
	// partition's range and is not read. One of a topic that was created again, or of a log that was cut, begins the partition
	// anew: Start is a position in the new log, From of the loss that in the old one.
	Losses []Loss
	// Absent are partitions in Start and End that Kafka does not have, and that the query has gone on without, with their
	// positions: their loss was recorded by this plan or one before it.
	Absent offsets.Offsets
	// MaxOffsets and MaxBytes are the rate limits in force, 0 for none, for people to read.
	MaxOffsets, MaxBytes int64
	// TimestampMs is when the plan was made, in milliseconds since 1970.
	TimestampMs int64
	// Nonce makes the plan's bytes unlike those of any other run with the same ranges: the plan that is there is ours
	// exactly if the nonce is.
	Nonce string
	// Hash identifies the plan: the SHA-256 of its stored form, in hex. The checkpoint sets it when the plan is
	// written or read.
	Hash string
	// Foreign marks a plan that Spark wrote: it has none of our fields, Start was taken from the batch before.
	Foreign bool
}

// Choice is what to do about rows that a query committed and the table no longer has.
type Choice string

// The choices.
const (
	// Reread reads them again, from where the newest batch still in the table ended.
	Reread Choice = "reread"
	// Accept goes on where the checkpoint is: the rows stay gone.
	Accept Choice = "accept"
)

// Acceptance records a decision about lost rows in the plan that carries it out, so that a replay knows of it. It holds
// for one state of the table alone.
type Acceptance struct {
	Choice Choice `json:"choice"`
	// Batch and Snapshot are what the table's bookkeeping said when the decision was made: batch None and snapshot 0
	// if it had none.
	Batch    int64 `json:"batch"`
	Snapshot int64 `json:"snapshot"`
}

// String is the decision in JSON.
func (a *Acceptance) String() string {
	return fmt.Sprintf(`{"choice":%q,"batch":%d,"snapshot":%d}`, a.Choice, a.Batch, a.Snapshot)
}

// Covers reports whether the decision was made about what the table says now.
func (a *Acceptance) Covers(applied *Applied) bool {
	return a != nil && a.Batch == applied.Batch && a.Snapshot == applied.Snapshot
}

// Ranges lists what there is to read, in order of topic and partition.
func (p *Plan) Ranges() []offsets.Range { return offsets.Between(p.ReadFrom(), p.End) }

// Offsets is the number of offsets that there are to read, an upper bound on the records.
func (p *Plan) Offsets() int64 { return offsets.Total(p.Ranges()) }

// Is reports whether this is the plan that a ledger names by its hash.
func (p *Plan) Is(hash string) bool {
	return hash != "" && (p.Hash == hash || p.Rebuilt == hash)
}

// Validate checks what every reader of a plan relies on: the same partitions on both sides, no negative or symbolic
// offset, no end before its start.
func (p *Plan) Validate() error {
	if len(p.Start) != len(p.End) {
		return fmt.Errorf("plan %d: %d partitions at the start, %d at the end", p.Batch, len(p.Start), len(p.End))
	}
	for tp, end := range p.End {
		start, ok := p.Start[tp]
		switch {
		case !ok:
			return fmt.Errorf("plan %d: %s has an end but no start", p.Batch, tp)
		case start < 0 || end < start:
			return fmt.Errorf("plan %d: %s goes from %d to %d", p.Batch, tp, start, end)
		}
	}
	return p.validLosses()
}
