package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/offsets"
)

// Stop is where another system stopped, as somebody has read it from there.
type Stop struct {
	// From, Place and Reached are as in batch.Imported.
	From, Place, Reached string
	// Told is the next offset to read of every partition that the other system knows and the job reads.
	Told offsets.Offsets
	// Epochs are the leader epochs that it keeps beside them; empty where it keeps none.
	Epochs map[offsets.TopicPartition]int32
}

// The states of an import.
const (
	// ImportNew: the checkpoint is empty.
	ImportNew = "new"
	// ImportUnfinished: an import from there was cut short; what it began is finished.
	ImportUnfinished = "unfinished"
	// ImportDone: the same was imported before, and nothing is left to do.
	ImportDone = "done"
)

// Arrival is what an import would do, or did.
type Arrival struct {
	// State is one of the constants above.
	State string
	// Imported is what the checkpoint gets, or has.
	Imported *batch.Imported
	// QueryID is the query's id once it has one, and Planned the newest batch that it has planned since, batch.None if none.
	QueryID string
	Planned int64
	View    *offsets.View
	Table   *batch.Table
	// Losses are what the log has lost already of what would be read.
	Losses []Judged
	// Remarks are what else a person should know; Refusal is why it is not imported, nil if it can be.
	Remarks []string
	Refusal error
}

// ForeseeImport says what Import would do, and writes nothing. An error means that something could not be read; what Import
// would refuse is in the Arrival.
func (q *Query) ForeseeImport(ctx context.Context, stop *Stop) (*Arrival, error) {
	_, a, err := q.foreseeImport(ctx, stop)
	return a, err
}

func (q *Query) foreseeImport(ctx context.Context, stop *Stop) (*run, *Arrival, error) {
	r := newRun(q)
	a := &Arrival{State: ImportNew, Planned: batch.None}
	err := r.arrive(ctx, stop, a)
	a.View, a.Table, a.Losses, a.Remarks = r.view, r.table, r.judged, r.remarks
	if err != nil && !refused(err) {
		return nil, nil, err
	}
	a.Refusal = err
	return r, a, nil
}

// Import makes the beginning of a query: identity.json, which says all of it, then sources/0/0, then metadata. Each is created
// only if there is none, so that of any number of imports and runs at once one decides; what one that was cut short has left
// undone, the next import from there finishes, or the next run. read is asked again under the lease, so that an import of what is
// still moving is noticed. Fenced: a run, or another import, was faster.
func (q *Query) Import(ctx context.Context, read func(context.Context) (*Stop, error)) (a *Arrival, err error) {
	held, _, err := q.Lease.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := q.Lease.Release(context.WithoutCancel(ctx)); failed != nil {
			q.Reporter.Notice("the lease was not released; it runs out by itself", "error", failed)
		}
	}()
	stop, err := read(held)
	if err != nil {
		return nil, err
	}
	r, a, err := q.foreseeImport(held, stop)
	if err != nil || a.Refusal != nil || a.State == ImportDone {
		return a, err
	}
	return a, r.begin(held, a)
}

// arrive reads all that decides, in the order of a run, and judges it.
func (r *run) arrive(ctx context.Context, stop *Stop, a *Arrival) (err error) {
	if r.queryID, err = r.Log.Query(ctx); err != nil {
		return err
	}
	if r.identity, err = r.Log.Identity(ctx); err != nil {
		return err
	}
	if r.table, err = r.Sink.Table(ctx, r.queryID); err != nil {
		return err
	}
	if r.entries, err = r.Log.Last(ctx); err != nil {
		return err
	}
	if r.view, err = r.Source.View(ctx, r.Isolation, stop.Told); err != nil {
		return err
	}
	if r.entries.Plan != nil {
		a.Planned = r.entries.Plan.Batch
	}
	a.QueryID, a.Imported = r.queryID, r.importOf(stop)
	there, err := r.importedBefore(a.Imported)
	if err != nil {
		return err
	}
	if there != nil {
		a.Imported, a.State = there, ImportUnfinished
		if r.queryID != "" && (r.entries.Start != nil || r.entries.Plan != nil) {
			a.State = ImportDone
			return nil
		}
	}
	if err := r.checkNewcomer(ctx, a.Imported); err != nil {
		return err
	}
	return r.face(ctx, position{reached: a.Imported.Start(), topicIDs: a.Imported.TopicIDs, epochs: epochsOf(stop, there)}, nil)
}

// epochsOf are the leader epochs that the offsets are compared by: those of the other system, or of an import that was cut short.
func epochsOf(stop *Stop, there *batch.Imported) map[offsets.TopicPartition]int32 {
	if there != nil {
		return there.Epochs()
	}
	return stop.Epochs
}

// importOf is what a checkpoint gets: the offsets of the other system, and what the logs say of themselves now.
func (r *run) importOf(stop *Stop) *batch.Imported {
	i := &batch.Imported{From: stop.From, Place: stop.Place, Reached: stop.Reached, Query: uuid.NewString(), Told: stop.Told.Clone(), Earliest: offsets.Offsets{},
		TopicIDs: maps.Clone(r.view.TopicIDs), LeaderEpochs: offsets.Offsets{}, TimeMs: r.Now().UnixMilli()}
	for tp, bounds := range r.view.Partitions {
		if _, known := stop.Told[tp]; !known {
			i.Earliest[tp] = bounds.Start
		}
		if bounds.LeaderEpoch >= 0 {
			i.LeaderEpochs[tp] = int64(bounds.LeaderEpoch)
		}
	}
	return i
}

// importedBefore is what the checkpoint has of an import already; nil if it is empty. An error if it is anything but the beginning
// of this import.
func (r *run) importedBefore(now *batch.Imported) (*batch.Imported, error) {
	inUse := func(format string, parts ...any) error {
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf(format, parts...),
			Hint: "give the new query a name and a checkpoint of its own; what is there is not touched"}
	}
	if r.identity == nil || r.identity.Imported == nil {
		switch {
		case r.queryID != "":
			return nil, inUse("the checkpoint has a query already: %s", r.queryID)
		case r.identity != nil, r.entries.Plan != nil, r.entries.Start != nil, r.entries.Commit != batch.None:
			return nil, inUse("the checkpoint is not empty, though it names no query")
		}
		return nil, nil
	}
	was := r.identity.Imported
	if !was.Same(now) {
		return nil, inUse("the checkpoint has a query that was imported from %s %s at other offsets: %s; now they are %s", was.From, was.Place, was.Told, now.Told)
	}
	if r.entries.Start != nil && !r.entries.Start.Equal(was.Start()) {
		return nil, inUse("the checkpoint's start (sources/0/0) is not the one that was imported")
	}
	return was, r.checkIdentity()
}

// checkNewcomer refuses where the table knows this query already, or another of sluice's that has read the same records.
func (r *run) checkNewcomer(ctx context.Context, i *batch.Imported) error {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(r.table.Queries)) {
		if r.table.Queries[id] == r.Name && id != i.Query {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the %s has rows of a query %q already: %s", r.table.Word(), r.Name, list(ids)),
			Hint: "give it the checkpoint that it had, or the new query another name"}
	}
	r.start, r.idsNow = i.Start(), r.view.TopicIDs
	err := r.readAlready(ctx, r.table)
	if batch.ClassOf(err) == batch.Inconsistent {
		return &batch.Fault{Class: batch.Inconsistent, Message: "what would be imported lies before what is there", Err: err,
			Hint: "another query of sluice's has gone on already: use its name and checkpoint, or write the rows to another table"}
	}
	return err
}

// begin writes the beginning of the query.
func (r *run) begin(ctx context.Context, a *Arrival) error {
	if err := r.Log.Prove(ctx); err != nil {
		return err
	}
	if a.State == ImportNew {
		identity := r.identityNow()
		identity.Imported = a.Imported
		if err := r.Log.SetIdentity(ctx, identity); err != nil {
			return err
		}
	}
	start := a.Imported.Start()
	pinned, err := r.Log.PinStart(ctx, start)
	if err != nil {
		return err
	}
	if !pinned.Equal(start) {
		return overtaken("it has pinned another start")
	}
	a.QueryID, err = r.Log.CreateQuery(ctx, a.Imported.Query)
	return err
}
