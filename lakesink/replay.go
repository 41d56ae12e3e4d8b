package lakesink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
)

// Keys of the summary of a snapshot that holds replayed dead letters. It is of no batch: none of the keys of a batch is
// there.
const (
	keyReplayQuery = "sluice.replay.query-id"
	keyReplayName  = "sluice.replay.query-name"
	keyReplayRun   = "sluice.replay.run-id"
	keyReplayed    = "sluice.replay.records"
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
func (i *Iceberg) Replay(ctx context.Context, letters []*Iceberg, o ReplayOptions) (*Replayed, error) {
	r := &replay{sink: i, from: letters, options: o}
	for attempt := 1; attempt <= i.options.Attempts; attempt++ {
		if attempt > 1 {
			if err := i.options.Sleep(ctx, i.options.Backoff(attempt-1)); err != nil {
				return nil, err
			}
		}
		done, err := r.try(ctx)
		if err != nil || done {
			return &r.found, err
		}
	}
	return nil, &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("the replayed dead letters are not in table %s: the commit was not accepted in %d attempts", i.TableName(), i.options.Attempts),
		Hint: "run again; if other writers commit to this table all the time, pause them for a moment", Err: r.answer}
}

// replay is one call of Replay.
type replay struct {
	sink    *Iceberg
	from    []*Iceberg
	options ReplayOptions
	// all are the places of the dead letters, exact those of them that are in tables, newest the last batch that they are of;
	// read once.
	all    Places
	exact  Places
	newest int64
	// added counts the new rows by partition, in the attempt in hand.
	added  map[offsets.TopicPartition]int64
	found  Replayed
	answer error
}

// try reads the table, searches it, writes what is not there and offers it. done says that nothing is left to do.
func (r *replay) try(ctx context.Context) (done bool, err error) {
	t, ledger, err := r.base(ctx)
	if err != nil {
		return false, err
	}
	if r.all == nil {
		if err := r.place(ctx, ledger.Batch); err != nil {
			return false, err
		}
	}
	there, err := r.all.presentIn(ctx, t, noBound)
	if r.moved(ctx, t, err) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Sprintf("search table %s for dead letters that are rows already", r.sink.TableName()), err)
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
	return r.offer(ctx, t, files, r.after(ledger, there))
}

// base is the table as it is, with the query's ledger.
func (r *replay) base(ctx context.Context) (*table.Table, *batch.Ledger, error) {
	t, err := r.sink.load(ctx)
	if err != nil {
		return nil, nil, explain(fmt.Sprintf("read table %s", r.sink.TableName()), err)
	}
	if err := r.sameTable("", r.sink, t); err != nil {
		return nil, nil, err
	}
	applied, err := appliedOf(t, r.options.Query)
	switch {
	case err != nil:
		return nil, nil, r.sink.unreadable(err)
	case applied.Ledger == nil:
		return nil, nil, notSetUp(fmt.Sprintf("table %s has no batch of query %s", r.sink.TableName(), r.options.Query), "run sluice run first", nil)
	case applied.RolledBack:
		return nil, nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table %s was rolled back: snapshot %d, which holds batch %d, is no longer in its history", r.sink.TableName(), applied.Ledger.Snapshot, applied.Ledger.Batch),
			Hint: "run sluice run first: it says what the choices are"}
	}
	return t, applied.Ledger, r.sink.checkClock(t)
}

func (r *replay) sameTable(name string, i *Iceberg, t *table.Table) error {
	was, is := r.options.UUIDs[name], t.Metadata().TableUUID().String()
	if was == "" || was == is {
		return nil
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table %s is not the one that this query wrote to: its UUID is %s and was %s", i.TableName(), is, was),
		Hint: "bring the old one back, or run sluice run: it says what the choices are"}
}

// accounted refuses to go on where more dead letters are rows than replays have made: to count them as replayed would hide
// what is wrong.
func (r *replay) accounted(ledger *batch.Ledger, there Places) error {
	for tp := range there {
		if n, replayed := there.and(r.exact, tp), ledger.Accounts[tp].Replayed; n > replayed {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("%d dead letters of %s are rows of table %s, and only %d were replayed", n, tp, r.sink.TableName(), replayed),
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
func (r *replay) begin(ctx context.Context, t *table.Table) (replayWriter, error) {
	if r.options.DryRun {
		_, err := r.sink.fieldsFor(t, r.options.Schema)
		return noWriter{}, err
	}
	task := &batch.Task{Version: batch.FormatVersion, Query: r.options.Query, Batch: r.newest, SchemaID: t.Schema().ID, SpecID: t.Metadata().DefaultPartitionSpec()}
	return r.sink.Write(ctx, task, "replay-"+uuid.NewString(), r.options.Schema)
}

// replayWriter takes the rows of a replay.
type replayWriter interface {
	Write(ctx context.Context, rows *columns.Batch) error
	Close(ctx context.Context) ([]batch.DataFile, error)
	Abort()
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

func (r *replay) decode(ctx context.Context, writer replayWriter, records *columns.Records) error {
	rows, err := r.options.Decode(records)
	for ; err == nil && rows != nil; rows, err = rows.Next() {
		if err := r.take(ctx, writer, records, rows); err != nil {
			return err
		}
	}
	return err
}

// take writes what became rows, and counts.
func (r *replay) take(ctx context.Context, writer replayWriter, records *columns.Records, rows *columns.Batch) error {
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

// offer commits the files, and finds out what became of it.
func (r *replay) offer(ctx context.Context, t *table.Table, files []batch.DataFile, ledger *batch.Ledger) (done bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	o, err := r.stage(ctx, t, files, ledger)
	if r.moved(ctx, t, err) {
		return false, nil
	}
	if err != nil {
		return false, explain(fmt.Sprintf("prepare the commit of replayed dead letters to table %s", r.sink.TableName()), err)
	}
	detached := context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeout(detached, r.sink.options.Timeout)
	_, r.answer = o.tx.Commit(limited)
	cancel()
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if err := r.sink.options.Sleep(detached, r.sink.options.Backoff(attempt)); err != nil {
				return false, err
			}
		}
		limited, cancel := context.WithTimeout(detached, r.sink.options.Timeout)
		now, err := r.sink.load(limited)
		cancel()
		if err == nil {
			r.found.Snapshot = o.snapshot.SnapshotID
			return historyOf(now).has(o.snapshot.SnapshotID), nil
		}
		failure = err
	}
	if r.answer == nil { // the commit was conditional, and the catalog said yes
		r.found.Snapshot = o.snapshot.SnapshotID
		return true, nil
	}
	return false, &batch.Fault{Class: batch.UnknownOutcome, Message: fmt.Sprintf("the replayed dead letters may or may not be in table %s: the commit ended with an error and the table cannot be read", r.sink.TableName()),
		Hint: "run again when catalog and store answer: what is there is not added again", Err: errors.Join(r.answer, failure)}
}

// moved reports whether an error is only that of a reading which is old by now: maintenance has taken what it refers to.
func (r *replay) moved(ctx context.Context, t *table.Table, err error) bool {
	if err == nil || !isGone(err) {
		return false
	}
	now, loadErr := r.sink.load(ctx)
	return loadErr == nil && now.MetadataLocation() != t.MetadataLocation()
}

// stage prepares the commit on one reading of the table, as that of a batch.
func (r *replay) stage(ctx context.Context, t *table.Table, files []batch.DataFile, ledger *batch.Ledger) (*offer, error) {
	fenced, f, err := r.sink.fenced(t)
	if err != nil {
		return nil, err
	}
	tx := fenced.NewTransaction()
	if err := errors.Join(tx.AssertRefSnapshotID(""), tx.AssertDefaultShape()); err != nil {
		return nil, err
	}
	added, err := icebergFiles(fenced, []batch.TaskResult{{Files: files}})
	if err != nil {
		return nil, err
	}
	summary := iceberg.Properties{keyReplayQuery: r.options.Query, keyReplayName: r.options.Name, keyReplayRun: r.options.Run, keyReplayed: strconv.FormatInt(r.found.Rows, 10)}
	if err := appendFiles(ctx, tx, fenced, added, summary); err != nil {
		return nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	o := &offer{tx: tx, fence: f, parent: t.CurrentSnapshot(), snapshot: staged.CurrentSnapshot()}
	if err := o.boundEmptyText(ctx, fenced); err != nil {
		return nil, err
	}
	if err := o.check(ctx, fenced, len(added)); err != nil {
		return nil, err
	}
	return o, o.setLedger(t, ledger)
}
