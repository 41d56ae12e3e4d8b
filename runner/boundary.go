package runner

import (
	"context"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
	"sluice/progress"
)

// Source is where records come from (kafkasrc).
type Source interface {
	// Start resolves where a query that has read nothing begins: a number for every partition that the subscription
	// matches now, never a symbolic offset. A partition that the user named and that is not there, or the other way
	// round, is an error that lists all of them.
	Start(ctx context.Context) (offsets.Offsets, error)
	// View reads, once, what every subscribed partition holds now, with ends for the given isolation level. known
	// are offsets that the query has already reached: an end below its known offset is asked again a bounded number
	// of times, since brokers report one for a moment while leadership moves (KAFKA-7703). A topic that is not there is
	// a NotSetUp fault, unless known has offsets of it: then it is just missing from the view.
	View(ctx context.Context, isolation batch.Isolation, known offsets.Offsets) (*offsets.View, error)
	// Cuts finds logs that were cut below what was read of them, whatever has grown there since (KIP-320), and says where:
	// reached is where reading stands, epochs the leader epochs that the logs had there. told is false where brokers are too
	// old to say.
	Cuts(ctx context.Context, reached offsets.Offsets, epochs map[offsets.TopicPartition]int32) (cuts offsets.Offsets, told bool, err error)
	// Read opens a task's pieces for reading, in their order.
	Read(ctx context.Context, task *batch.Task) (Reader, error)
}

// Reader reads the pieces of a task, each exactly from From to Until. It is used by one goroutine.
type Reader interface {
	// Next returns the next records, never none; they are valid until the next call. After the last piece has reached
	// its end it returns io.EOF. Records that retention has removed since planning, or a topic that was created
	// again, are a DataLoss fault, unless the task accepts such losses.
	Next(ctx context.Context) (*columns.Records, error)
	// Piece is the index of the piece that the records of the last Next belong to.
	Piece() int
	// Positions lists where reading stands in every piece: From before it began, at least Until when it is done.
	Positions() []int64
	// Lost lists, by piece, what could not be read and the task accepts the loss of.
	Lost() [][]batch.Loss
	// ReadBytes counts what was fetched, as sent by the broker.
	ReadBytes() int64
	// Close ends outstanding requests. It is safe to call twice.
	Close() error
}

// Weigher is a Reader that knows what the records of its pieces take in Kafka, whatever was fetched for them.
type Weigher interface {
	// RecordBytes counts the bytes of the record batches that the pieces are made of, as sent.
	RecordBytes() int64
}

// Decoder turns records into rows of a schema. It is used by one goroutine.
type Decoder interface {
	// Schema is what Decode returns, the same on every call.
	Schema() columns.Schema
	// Decode returns the rows of records, or of the first of them, valid until the next call; Batch.Rest has the others.
	// Records that are no rows are counted there.
	Decode(records *columns.Records) (*columns.Batch, error)
}

// NewDecoder makes a decoder for what a plan, or a job, says of the records' values, with or without their headers. An
// error means that this program cannot do what the plan says.
type NewDecoder func(value batch.Value, includeHeaders bool) (Decoder, error)

// Sink is the table that batches end up in (lakesink).
type Sink interface {
	// Table reads the table afresh and says what was applied of the query. A table that is not there is no error.
	Table(ctx context.Context, query string) (*batch.Table, error)
	// Create makes the table for the schema if it is not there, and checks that an existing one takes the schema.
	// It is safe to repeat and to race.
	Create(ctx context.Context, schema columns.Schema) error
	// Write starts the data files of one attempt at a task. attempt is in every file's name.
	Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (Writer, error)
	// Commit makes a batch part of the table: files, bookkeeping and summary at once, and only if the batch before it
	// is the newest one there. It returns what the table says afterwards. A batch of the same plan hash that is there
	// before Commit offers its own is success; one that appears after that is another run's replay of the plan, to which
	// this run has lost. Fenced: another run applied it or went on. UnknownOutcome: nothing is known and nothing was
	// deleted. Commit may outlive the end of ctx, to find out what became of it; a run waits for that for some seconds.
	Commit(ctx context.Context, commit *batch.Commit) (*batch.Applied, error)
	// Maintain keeps the table's metadata bounded after a commit. Its failure harms nothing.
	Maintain(ctx context.Context, applied *batch.Applied) error
}

// Writer writes the data files of one task. It is used by one goroutine.
type Writer interface {
	// Write adds rows; it keeps nothing of the batch after it returns.
	Write(ctx context.Context, rows *columns.Batch) error
	// Close finishes the files and describes them. They are not part of the table yet.
	Close(ctx context.Context) ([]batch.DataFile, error)
	// Abort gives up: files not yet finished leave nothing behind, finished ones are left for orphan removal. It does
	// nothing after Close.
	Abort()
}

// Spiller is a Writer that keeps in temporary files what memory does not hold.
type Spiller interface {
	// Spilled says, after Close, what went there.
	Spilled() batch.Spilled
}

// Log is the checkpoint: the durable record of what was planned and what was done (checkpoint). A batch depends on it.
type Log interface {
	// Query is the query's id; empty if the checkpoint has none yet. A checkpoint with entries but no id is an
	// Inconsistent fault.
	Query(ctx context.Context) (string, error)
	// Prove fails with a NotSetUp fault if the store cannot be relied on, or be written to, and leaves nothing behind.
	Prove(ctx context.Context) error
	// CreateQuery writes the id if there is none and returns the one that is there in the end.
	CreateQuery(ctx context.Context, id string) (string, error)
	// Last lists commits, then offsets, and reads the newest entries. The order matters: what a concurrent run adds
	// in between can only make the plan newer than the commit.
	Last(ctx context.Context) (*batch.LogState, error)
	// ReadPlan reads the plan of one batch; nil if it is not there (purged, or never written).
	ReadPlan(ctx context.Context, batch int64) (*batch.Plan, error)
	// PinStart writes where the query starts, once, and returns what is there in the end.
	PinStart(ctx context.Context, start offsets.Offsets) (offsets.Offsets, error)
	// WritePlan makes a plan durable and sets its Hash. Fenced if the batch has another plan already.
	WritePlan(ctx context.Context, plan *batch.Plan) error
	// WriteCommit marks a batch as done; repeating it is success.
	WriteCommit(ctx context.Context, batch int64) error
	// Identity reads what the checkpoint belongs to; nil if it was never written.
	Identity(ctx context.Context) (*batch.Identity, error)
	// SetIdentity replaces the identity that Identity or the last SetIdentity returned. Fenced if another run did so.
	SetIdentity(ctx context.Context, identity *batch.Identity) error
}

// Journal is the part of the checkpoint that may fail without harm (checkpoint): no batch depends on it.
type Journal interface {
	// WriteProgress keeps the report of a batch, WriteRun that of a run. They are for people and monitoring.
	WriteProgress(ctx context.Context, batch int64, report []byte) error
	// Progress reads the report of a batch; nil if there is none.
	Progress(ctx context.Context, batch int64) ([]byte, error)
	WriteRun(ctx context.Context, run string, report []byte) error
	// Purge removes entries beyond the retained ones: all commits first, then the offsets.
	Purge(ctx context.Context, newest int64) error
}

// Lease is the polite lock (checkpoint). Nothing relies on it for correctness.
type Lease interface {
	// Acquire takes the lease, waiting for a dead owner's to run out. Fenced if another run holds on to it. The
	// returned context ends when the lease is lost; epoch rises with every owner.
	Acquire(ctx context.Context) (held context.Context, epoch int64, err error)
	// Release lets the next run in at once.
	Release(ctx context.Context) error
}

// Mirror is a place outside that shows people and monitoring where the query has come to (kafkasrc: a consumer group). Nothing
// that is read there decides about a batch, and its failures harm nothing.
type Mirror interface {
	// Shown reads what it has of all partitions.
	Shown(ctx context.Context) (map[offsets.TopicPartition]offsets.Committed, error)
	// Show replaces what it has of these partitions. After an error it may have done so for some, or all.
	Show(ctx context.Context, at map[offsets.TopicPartition]offsets.Committed) error
}

// Reporter is told what happens (progress). Calls come from several goroutines; none may block for long.
type Reporter interface {
	// Planned announces a batch that is about to be read: its number, its offsets, and how many are left after it.
	Planned(batch, offsets, remaining int64, replayed bool)
	// Advanced adds records that have been read and written to files since the last call. A negative number takes back
	// those of a batch that is read again.
	Advanced(records int64)
	// Committed reports a batch that is in the table.
	Committed(report *progress.Batch)
	// Notice tells something that a person should know and that is no error.
	Notice(message string, attributes ...any)
	// Warning is a Notice that is not to be missed, though the run goes on: rows or records may be in question.
	Warning(message string, attributes ...any)
}
