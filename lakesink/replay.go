package lakesink

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
)

// ReplayOptions say whose dead letters become rows, and how.
type ReplayOptions struct {
	Query, Name, Run string
	// UUIDs are what the tables of dead letters and, under "", that of the rows should be; one that is not among them may
	// be any.
	UUIDs map[string]string
	// Schema is the columns that Decode gives. Records that are no row are rejected, or left out, and counted there.
	Schema columns.Schema
	Decode func(*columns.Records) (*columns.Batch, error)
	// DryRun decodes and counts, and writes nothing.
	DryRun bool
	// Others visits the dead letters of the query that are in no table, each at least once; nil if there are none. Records
	// that became rows otherwise than by a replay may be among them.
	Others func(ctx context.Context, visit func(*Letter) error) error
}

// Replayed is what a replay came to.
type Replayed struct {
	// Letters counts the dead letters of the query's batches that are in the table: each record once. Before of them were
	// rows already, Rows became rows now, and Still are none yet, for the reasons counted in Misfits.
	Letters, Before, Rows, Still int64
	Misfits                      batch.Misfits
	// Snapshot is the one that holds the new rows, 0 if there are none.
	Snapshot int64
}

// Replay decodes the dead letters of a query again and adds those that are rows now to the table: all in one commit, each
// exactly once, whatever else happens at the same time. The commit holds only while the table is where it was when it was
// searched for the records, and says in the ledger how many dead letters of each partition are rows besides. Repeating is
// safe: what is there is not added again. The dead letters stay where they are.
//
// NotSetUp: the table or its ledger is not there. Inconsistent: a table is not the one that it should be, or records are
// rows and dead letters that nobody replayed. UnknownOutcome: as with Commit.
func (i *Iceberg) Replay(ctx context.Context, letters []Letterbox, o ReplayOptions) (*Replayed, error) {
	return Replay(ctx, intoTable{i}, letters, o)
}

// ReplayTarget is where replayed dead letters become rows: a table, or what can be read like one.
type ReplayTarget interface {
	TableName() string
	// Base reads it afresh, with the ledger of the query. uuid is what it should be, empty for any.
	Base(ctx context.Context, query, uuid string) (*table.Table, *batch.Ledger, error)
	// Takes is an Inconsistent fault if it does not take rows of the schema.
	Takes(t *table.Table, schema columns.Schema) error
	// Begin starts the files of new rows.
	Begin(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (ReplayWriter, error)
	// Offer adds files to the reading that was searched. moved says that it is not there any more: look again. snapshot is
	// the one that holds the rows.
	Offer(ctx context.Context, t *table.Table, c *ReplayCommit) (moved bool, snapshot int64, err error)
	// Moved reports whether an error of searching is only that of a reading which is old by now.
	Moved(ctx context.Context, t *table.Table, err error) bool
	// Pause waits before the given attempt (2, 3, …), and is an error if there are to be no more.
	Pause(ctx context.Context, attempt int) error
}

// ReplayWriter takes the rows of a replay.
type ReplayWriter interface {
	Write(ctx context.Context, rows *columns.Batch) error
	Close(ctx context.Context) ([]batch.DataFile, error)
	Abort()
}

// ReplayCommit is what a replay adds: files with so many records, and the ledger after them.
type ReplayCommit struct {
	Query, Name, Run string
	Files            []batch.DataFile
	Records          int64
	Ledger           *batch.Ledger
}

// Replay is Iceberg.Replay for any target.
func Replay(ctx context.Context, into ReplayTarget, letters []Letterbox, o ReplayOptions) (*Replayed, error) {
	r := &replay{into: into, from: letters, options: o}
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			if err := into.Pause(ctx, attempt); err != nil {
				return nil, err
			}
		}
		done, err := r.try(ctx)
		if err != nil || done {
			return &r.found, err
		}
	}
}

// replay is one call of Replay.
type replay struct {
	into    ReplayTarget
	from    []Letterbox
	options ReplayOptions
	// all are the places of the dead letters, exact those of them that are in tables, newest the last batch that they are of;
	// read once.
	all    Places
	exact  Places
	newest int64
	// added counts the new rows by partition, in the attempt in hand.
	added map[offsets.TopicPartition]int64
	found Replayed
}

// try reads the table, searches it, writes what is not there and offers it. done says that nothing is left to do.
func (r *replay) try(ctx context.Context) (done bool, err error) {
	t, ledger, err := r.into.Base(ctx, r.options.Query, r.options.UUIDs[""])
	if err != nil {
		return false, err
	}
	if r.all == nil {
		if err := r.place(ctx, ledger.Batch); err != nil {
			return false, err
		}
	}
	there, err := r.all.presentIn(ctx, t, noBound)
	if r.into.Moved(ctx, t, err) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Sprintf("search table %s for dead letters that are rows already", r.into.TableName()), err)
	}
	if err := r.accounted(ledger, there); err != nil {
		return false, err
	}
	files, err := r.write(ctx, t, there)
	if err != nil {
		return false, err
	}
	r.found.Letters, r.found.Before = r.all.Total(), there.Total()
	r.found.Still = r.found.Letters - r.found.Before - r.found.Rows
	if r.found.Rows == 0 || r.options.DryRun {
		return true, nil
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	moved, snapshot, err := r.into.Offer(ctx, t, &ReplayCommit{Query: r.options.Query, Name: r.options.Name, Run: r.options.Run, Files: files, Records: r.found.Rows, Ledger: r.after(ledger, there)})
	r.found.Snapshot = snapshot
	return err == nil && !moved, err
}

// sameTable refuses a table that took the place of the one that the query wrote to; was is empty if unknown.
func sameTable(was, called string, t *table.Table) error {
	is := t.Metadata().TableUUID().String()
	if was == "" || was == is {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table %s is not the one that this query wrote to: its UUID is %s and was %s", called, is, was),
		Hint: "bring the old one back, or run sluice run: it says what the choices are"}
}

// accounted refuses to go on where more dead letters are rows than replays have made: to count them as replayed would hide
// what is wrong.
func (r *replay) accounted(ledger *batch.Ledger, there Places) error {
	for tp := range there {
		if n, replayed := there.and(r.exact, tp), ledger.Accounts[tp].Replayed; n > replayed {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("%d dead letters of %s are rows of table %s, and only %d were replayed", n, tp, r.into.TableName(), replayed),
				Hint:    "sluice verify says which; another query that reads the same records into this table leads to this too, and its dead letters cannot be told from those rows"}
		}
	}
	return nil
}

// write decodes the dead letters that are not there and writes those that are rows.
func (r *replay) write(ctx context.Context, t *table.Table, there Places) ([]batch.DataFile, error) {
	r.found, r.added = Replayed{}, map[offsets.TopicPartition]int64{}
	writer, err := r.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	defer writer.Abort()
	taken := Places{}
	var records *columns.Records
	flush := func() error {
		if records == nil {
			return nil
		}
		full := records
		records = nil
		return r.decode(ctx, writer, full)
	}
	err = r.each(ctx, WholeLetters, func(l *Letter) error {
		if there.Has(l.TopicPartition, l.Offset) || taken.Has(l.TopicPartition, l.Offset) {
			return nil
		}
		taken.Add(l.TopicPartition, l.Offset)
		if records != nil && (records.Topic != l.Topic || records.Partition != l.Partition || records.Rows == lettersAtOnce) {
			if err := flush(); err != nil {
				return err
			}
		}
		if records == nil {
			records = newRecords(l.TopicPartition)
		}
		l.append(records)
		return nil
	})
	if err = errors.Join(err, flushUnless(err, flush)); err != nil {
		return nil, err
	}
	return writer.Close(ctx)
}

// begin starts the files of the new rows.
func (r *replay) begin(ctx context.Context, t *table.Table) (ReplayWriter, error) {
	if r.options.DryRun {
		return noWriter{}, r.into.Takes(t, r.options.Schema)
	}
	task := &batch.Task{Version: batch.FormatVersion, Query: r.options.Query, Batch: r.newest, SchemaID: t.Schema().ID, SpecID: t.Metadata().DefaultPartitionSpec()}
	return r.into.Begin(ctx, task, "replay-"+uuid.NewString(), r.options.Schema)
}

// noWriter is that of a replay which writes nothing.
type noWriter struct{}

func (noWriter) Write(context.Context, *columns.Batch) error     { return nil }
func (noWriter) Close(context.Context) ([]batch.DataFile, error) { return nil, nil }
func (noWriter) Abort()                                          {}

func flushUnless(err error, flush func() error) error {
	if err != nil {
		return nil
	}
	return flush()
}

func (r *replay) decode(ctx context.Context, writer ReplayWriter, records *columns.Records) error {
	rows, err := r.options.Decode(records)
	for ; err == nil && rows != nil; rows, err = rows.Next() {
		if err := r.take(ctx, writer, records, rows); err != nil {
			return err
		}
	}
	return err
}

// take writes what became rows, and counts.
func (r *replay) take(ctx context.Context, writer ReplayWriter, records *columns.Records, rows *columns.Batch) error {
	said := batch.Misfits{Malformed: int64(rows.Bad), Reasons: rows.Reasons}
	for _, e := range rows.Examples {
		said.Examples = append(said.Examples, batch.Misfit{Topic: records.Topic, Partition: records.Partition, Offset: e.Offset, Reason: e.Reason, Text: e.Text})
	}
	r.found.Misfits.Add(&said)
	r.found.Rows += int64(rows.Rows)
	r.added[offsets.TopicPartition{Topic: records.Topic, Partition: records.Partition}] += int64(rows.Rows)
	return writer.Write(ctx, rows)
}

// after is the ledger with what is replayed then: the batch, and the snapshot that holds it, stay.
func (r *replay) after(ledger *batch.Ledger, there Places) *batch.Ledger {
	l := *ledger
	l.Accounts = maps.Clone(ledger.Accounts)
	for tp := range r.all {
		a := l.Accounts[tp]
		before := there.and(r.exact, tp)
		before += min(there.Count(tp)-before, max(0, a.Replayed-before)) // of the others no more than were replayed
		if r.all.Count(tp) < a.DeadLetters {                             // some are gone: those of them that are rows cannot be looked for
			before = max(before, a.Replayed)
		}
		a.Replayed = before + r.added[tp]
		l.Accounts[tp] = a
	}
	return &l
}
