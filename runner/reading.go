package runner

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// mainTable is the role of the table that rows go to.
const mainTable = "main"

// reading is what a run decides from: the newest answers of checkpoint, table and brokers.
type reading struct {
	// queryID is the query's id, empty while the checkpoint has none.
	queryID  string
	identity *batch.Identity
	table    *batch.Table
	// letters is the place of dead letters that the job names, nil if it names none.
	letters *letters
	// entries are the checkpoint's newest plan and marker.
	entries *batch.LogState
	view    *offsets.View
	// viewed is when view was asked for.
	viewed time.Time
	// inside is what there is of view up to the bound, which is nil until it is asked, and for a run without one.
	inside *offsets.View
	bound  offsets.Offsets
	// start is where a query that has read nothing begins, nil until it is asked.
	start offsets.Offsets
	// idsNow are the ids of the topics, nil until they are asked.
	idsNow map[string]string
}

// preflight asks everything that may be missing before the first object is written: a first run with a wrong topic
// name or catalog leaves nothing behind. The lease is an object, so this comes before it. It returns the id that the
// checkpoint has, or would get.
func (r *run) preflight(ctx context.Context) (id string, err error) {
	if id, err = r.Log.Query(ctx); err != nil {
		return "", err
	}
	if id != "" {
		r.begun(id)
		return id, nil
	}
	if id, err = r.cutShort(ctx); id != "" || err != nil {
		return id, err
	}
	if r.start, err = r.Source.Start(ctx); err != nil {
		return "", err
	}
	if err := r.mayBegin(ctx); err != nil {
		return "", err
	}
	return r.admit(ctx)
}

// read asks what checkpoint, table and brokers say. The order makes every observation one-sided: dead letters, table,
// commits, offsets, ends of the log. A batch's plan precedes its snapshot precedes its marker, so what a rival adds meanwhile can
// only make the later reading newer.
func (r *run) read(ctx context.Context) (err error) {
	if r.identity, err = r.Log.Identity(ctx); err != nil {
		return err
	}
	if err = r.readLetters(ctx); err != nil {
		return err
	}
	if r.table, err = r.Sink.Table(ctx, r.queryID); err != nil {
		return err
	}
	if r.entries, err = r.Log.Last(ctx); err != nil {
		return err
	}
	r.view, err = r.Source.View(ctx, r.isolation(), r.known())
	r.inside, r.viewed = r.view, r.Now()
	return err
}

// known is what the newest plan reads up to: no end may be reported below it.
func (r *run) known() offsets.Offsets {
	switch {
	case r.entries.Plan != nil && r.entries.Commit < r.entries.Plan.Batch:
		return r.entries.Plan.Start // its end was right when it was planned; whether it still is shows when it is read
	case r.entries.Plan != nil:
		return r.entries.Plan.End
	}
	return r.entries.Start
}

// isolation is the level that the next reading needs: a plan that is to be replayed keeps its own.
func (r *run) isolation() batch.Isolation {
	if p := r.entries.Plan; p != nil && r.entries.Commit < p.Batch {
		return p.Isolation
	}
	return r.Isolation
}
