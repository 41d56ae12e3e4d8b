package runner

import (
	"context"
	"errors"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
	"sluice/progress"
)

// Options are how a query runs. All but Name, SinkName and Keys may change from run to run.
type Options struct {
	// Name is the query's name, RunID this run's id: a fresh UUID.
	Name  string
	RunID string
	// SinkName says which table this is, without secrets; Keys are the job keys that make a new query when they change.
	SinkName string
	Keys     map[string]string
	// CheckKeys compares the keys a checkpoint was made with and those of this run; an error forbids the run. read lists
	// the partitions that the query has planned, nil if it has planned none. Optional.
	CheckKeys func(was, is map[string]string, read []offsets.TopicPartition) error
	// CheckSink compares the words for the sink (SinkName) that a checkpoint was made with and those of this run, where
	// both are of the same table, told by its UUID; an error forbids the run, a remark is told. Optional.
	CheckSink func(tableUUID, was, is string) (remark string, err error)
	// OddLocation remarks on where a table is that was there before the query; empty if there is nothing odd. Optional.
	OddLocation func(location string) (remark string)
	// Isolation is what new plans read; a replay keeps its plan's.
	Isolation batch.Isolation
	// IncludeHeaders is what the rows of new plans have; a replay keeps its plan's.
	IncludeHeaders bool
	// Value says how the values of new plans' records become columns; a replay keeps its plan's, unless it cannot be
	// finished with them.
	Value batch.Value
	// MaxOffsetsPerTrigger bounds the offsets of a batch; MaxBytesPerTrigger is a target for its bytes in Kafka, which the offsets
	// of the newest batches estimate. Both hold; 0 is no bound.
	MaxOffsetsPerTrigger int64
	MaxBytesPerTrigger   int64
	// MinOffsetsPerTrigger is what must be there for a run to begin, unless the newest batch was done MaxTriggerDelay ago; 0 for
	// nothing. It is asked once, before the first batch.
	MinOffsetsPerTrigger int64
	MaxTriggerDelay      time.Duration
	// MaxBatches bounds the batches of a run, MaxDuration the time after which no further one begins; 0 for no bound.
	MaxBatches  int
	MaxDuration time.Duration
	// Workers is how many tasks run at a time; MinPartitions how many tasks a batch has at least (a hint, as in Spark),
	// MaxRecordsPerPartition how many offsets a task has at most, 0 for any number.
	Workers                int
	MinPartitions          int
	MaxRecordsPerPartition int64
	// Grace bounds what is still finished after ctx has been cancelled: the commit in hand and its marker.
	Grace time.Duration
	// Adopt gives a checkpoint without identity this query id; NewQuery lets it take a new one although the table holds
	// bookkeeping of this name. At most one is set.
	Adopt    string
	NewQuery bool
	// LostRows decides, for this run, about rows that the table lost. Empty: the run stops and asks.
	LostRows batch.Choice
	// Accepts are the causes of which records that are gone from Kafka are gone on without, and recorded as lost. Without one
	// the run stops and asks. It holds for replays too.
	Accepts batch.Causes
	// AcceptLostLetters decides, for this run, to go on without dead letters that their place has lost: it is gone, replaced or
	// rolled back. Without it the run stops and asks.
	AcceptLostLetters bool
	// StartGiven names an option that somebody gave to say where a new query begins; empty if nobody did. Like Adopt,
	// NewQuery, LostRows and AcceptLostLetters it is told to Reporter, with why, if it changes nothing.
	StartGiven string
	// TableName names the table to people, SourceName the source in progress reports.
	TableName  string
	SourceName string
	// ConsumerGroup names the Mirror, empty if there is none.
	ConsumerGroup string
	// Started is when the process began, for reports; the zero value stands for now.
	Started time.Time
	// Now is the clock. It reaches reports and plans, never the data.
	Now func() time.Time
	// ExitCode is what the process will exit with for an error, for the record of the run.
	ExitCode func(error) int
}

func (o *Options) cutting() Cutting {
	return Cutting{Workers: o.Workers, MinPartitions: o.MinPartitions, MaxRecordsPerPartition: o.MaxRecordsPerPartition}
}

// ErrInterrupted is the cause to cancel a run's context with when a person or a scheduler asks it to stop.
var ErrInterrupted = errors.New("stopped before everything available was read; the next run goes on from here")

// Query is a named job, topics to table. One value serves one run.
type Query struct {
	Source     Source
	Sink       Sink
	Log        Log
	Journal    Journal
	Lease      Lease
	Reporter   Reporter
	NewDecoder NewDecoder
	// DeadLetters is the sink of a place of dead letters: the same value for the same place. DeadLetterSchema is the columns
	// that decoders give them. Both may be nil where no job or plan has any.
	DeadLetters      func(place batch.LetterPlace) Sink
	DeadLetterSchema columns.Schema
	// Widening is nil where records never alter the table.
	Widening *Widening
	// Bound is nil where a run ends where the log does.
	Bound Bound
	// Mirror is nil where nobody is shown the query's offsets.
	Mirror Mirror
	Options
}

// Run drains what is available now and returns what it did, also when it fails. It may be started at any time, any
// number of times at once, and killed anywhere: the table has every record of every planned range once.
//
// Cancelling ctx stops it at a safe point: a batch that is being read is dropped (its plan is replayed by the next
// run), a commit in hand is finished within Grace. The error is then the cause of the cancellation.
func (q *Query) Run(ctx context.Context) (*progress.Summary, error) {
	r := newRun(q)
	err := r.do(ctx)
	return r.finish(ctx, err), err
}

// Refuse is a run that could not begin, because its broker or catalog did not answer: it records the failure if the
// checkpoint has a query, so that whoever watches can tell a run that failed from none, and returns its summary. Of the
// query only Log (nil if there is none), Journal, Reporter and Options are used.
func (q *Query) Refuse(ctx context.Context, failure error) *progress.Summary {
	r := newRun(q)
	if q.Log != nil {
		id, err := q.Log.Query(ctx)
		if err != nil {
			q.Reporter.Notice("the record of this run was not stored", "error", err)
		}
		r.queryID = id
	}
	return r.finish(ctx, failure)
}
