package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/offsets"
)

// mainTable is the role of the table that rows go to.
const mainTable = "main"

// preflight asks everything that may be missing before the first object is written: a first run with a wrong topic
// name or catalog leaves nothing behind. The lease is an object, so this comes before it.
func (r *run) preflight(ctx context.Context) (err error) {
	if r.query, err = r.Log.Query(ctx); err != nil || r.query != "" {
		return err
	}
	if r.start, err = r.Source.Start(ctx); err != nil {
		return err
	}
	_, err = r.admit(ctx)
	return err
}

// open finds out who we are and what checkpoint and table say. The order of reading makes every observation
// one-sided: table, commits, offsets. A batch's plan precedes its snapshot precedes its marker, so what a rival adds
// meanwhile can only make the later reading newer.
func (r *run) open(ctx context.Context) (err error) {
	if r.query == "" {
		if err := r.identify(ctx); err != nil {
			return err
		}
	}
	r.record(ctx, nil, nil)
	if r.identity, err = r.Log.Identity(ctx); err != nil {
		return err
	}
	if err := r.openTable(ctx); err != nil {
		return err
	}
	if r.log, err = r.Log.Last(ctx); err != nil {
		return err
	}
	r.view, err = r.Source.View(ctx, r.isolation(), r.known())
	if err != nil {
		return err
	}
	return r.checkIdentity(ctx)
}

// identify gives the checkpoint its query id. A rival may have done so while we waited for the lease.
func (r *run) identify(ctx context.Context) (err error) {
	if r.query, err = r.Log.Query(ctx); err != nil || r.query != "" {
		return err
	}
	id, err := r.admit(ctx)
	if err != nil {
		return err
	}
	r.query, err = r.Log.CreateQuery(ctx, id)
	return err
}

// admit decides which id a checkpoint without one gets. A table that remembers a query of this name, or one of Spark's,
// which have no names, means that the checkpoint was lost or the wrong one was given: a new id would read everything
// again (SPARK-55058).
func (r *run) admit(ctx context.Context) (string, error) {
	table, err := r.Sink.Table(ctx, "")
	if err != nil {
		return "", err
	}
	var suspects []string
	for _, id := range slices.Sorted(maps.Keys(table.Queries)) {
		if name := table.Queries[id]; name == r.Name {
			suspects = append(suspects, id)
		} else if name == "" {
			suspects = append(suspects, id+" (Spark)")
		}
	}
	switch {
	case r.Adopt != "":
		if _, ok := table.Queries[r.Adopt]; !ok {
			return "", &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the table has no bookkeeping of query %s to adopt", r.Adopt),
				Hint: "give --adopt one of: " + strings.Join(suspects, ", ")}
		}
		return r.Adopt, nil
	case len(suspects) > 0 && !r.NewQuery:
		// The checkpoint was read before the table: another run may have begun the query in between.
		if id, err := r.Log.Query(ctx); err != nil || id != "" {
			return id, err
		}
		return "", &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("the checkpoint is empty, but the table holds batches that query %q may have written: %s", r.Name, strings.Join(suspects, ", ")),
			Hint:    "point checkpoint at the folder that was used before; if it is lost, --adopt ID continues where the table is; --new-query starts over and reads from startingOffsets"}
	}
	if !r.NewQuery {
		if err := r.readAlready(ctx, table); err != nil {
			return "", err
		}
	}
	return uuid.NewString(), nil
}

// readAlready refuses a new query whose records another query has put into the same table: a job that was renamed, and
// with that got an empty checkpoint, would put them there again.
func (r *run) readAlready(ctx context.Context, table *batch.Table) error {
	for _, id := range slices.Sorted(maps.Keys(table.Queries)) {
		other, err := r.Sink.Table(ctx, id)
		if err != nil {
			return err
		}
		if other.Applied.Ledger == nil {
			continue
		}
		var again []string
		for _, tp := range r.start.Partitions() {
			if a, ok := other.Applied.Ledger.Accounts[tp]; ok && a.First < a.Next && r.start[tp] < a.Next {
				again = append(again, fmt.Sprintf("%s up to %d", tp, a.Next))
			}
		}
		if len(again) > 0 {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("the checkpoint is empty, but query %q (%s) has read the same records into this table: %s", table.Queries[id], id, list(again)),
				Hint: fmt.Sprintf("if the job was renamed, give it its old name and checkpoint; to take over from that query use startingOffsets %s; --new-query puts the records there again",
					other.Applied.Ledger.Next())}
		}
	}
	return nil
}

// openTable reads the table and makes it if this checkpoint never had one.
func (r *run) openTable(ctx context.Context) (err error) {
	if r.table, err = r.Sink.Table(ctx, r.query); err != nil {
		return err
	}
	if err := r.oldTable(); err != nil || r.table.Exists {
		return err
	}
	if err := r.Sink.Create(ctx, r.schema()); err != nil {
		return err
	}
	r.shaped = true
	r.table, err = r.Sink.Table(ctx, r.query)
	return err
}

// oldTable refuses a table that is not the one this checkpoint's rows went to, unless somebody has chosen what to do
// about those rows.
func (r *run) oldTable() error {
	if r.identity == nil || r.LostRows != "" {
		return nil
	}
	switch was := r.identity.Tables[mainTable]; {
	case was == "" || r.table.Exists && was == r.table.UUID:
		return nil // wherever its catalog is now
	case r.identity.Sink != r.SinkName:
		return anotherQuery(fmt.Sprintf("sink was %s and is %s", r.identity.Sink, r.SinkName))
	case !r.table.Exists:
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the table %s is gone; this query wrote to the one with UUID %s", r.Table, was),
			Hint: "bring the table back, or " + lostRowsHint + " with a new table"}
	default:
		return &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("the table %s is not the one this query wrote to: its UUID is %s and was %s (dropped and created again?)", r.Table, r.table.UUID, was),
			Hint:    "bring the old table back, or " + lostRowsHint}
	}
}

// fits says whether table and job are those of the checkpoint.
func (r *run) fits() error {
	if err := r.oldTable(); err != nil || r.identity == nil {
		return err
	}
	return r.sameQuery(r.identity, r.isNow())
}

// isNow is the identity that this run would write.
func (r *run) isNow() *batch.Identity {
	return &batch.Identity{Version: batch.FormatVersion, Name: r.Name, ClusterID: r.view.ClusterID, Sink: r.SinkName,
		Tables: map[string]string{mainTable: r.table.UUID}, Keys: r.Keys}
}

// checkIdentity compares the job with what the checkpoint belongs to, and writes that down the first time. What is
// free to change is not in it.
func (r *run) checkIdentity(ctx context.Context) error {
	is := r.isNow()
	if was := r.identity; was != nil {
		if err := r.sameQuery(was, is); err != nil {
			return err
		}
		if maps.Equal(was.Tables, is.Tables) && maps.Equal(was.Keys, is.Keys) {
			return nil
		}
	}
	if err := r.Log.SetIdentity(ctx, is); err != nil {
		return err
	}
	r.identity = is
	return nil
}

func anotherQuery(changes string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: "this checkpoint belongs to another query: " + changes,
		Hint: "use the checkpoint of this query, or give the changed one a new name and checkpoint"}
}

func (r *run) sameQuery(was, is *batch.Identity) error {
	var changes []string
	for _, c := range []struct{ what, was, is string }{{"name", was.Name, is.Name}, {"Kafka cluster", was.ClusterID, is.ClusterID}, {"sink", was.Sink, is.Sink}} {
		moved := c.what == "sink" && maps.Equal(was.Tables, is.Tables) // the same table in a catalog that moved
		if c.was != c.is && c.was != "" && !moved {
			changes = append(changes, fmt.Sprintf("%s was %s and is %s", c.what, c.was, c.is))
		}
	}
	if len(changes) > 0 {
		return anotherQuery(list(changes))
	}
	if r.CheckKeys == nil {
		return nil
	}
	var read []offsets.TopicPartition
	if r.log.Plan != nil {
		read = r.log.Plan.End.Partitions()
	}
	return r.CheckKeys(was.Keys, is.Keys, read)
}
