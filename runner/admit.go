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

// identify makes sure that the checkpoint has a query id. A rival may have given it one while we waited for the lease.
// The table comes first: where it cannot be made, or does not take our rows, the checkpoint stays empty, and the job
// may be changed as if it had never run. Before it, the checkpoint is proved, so that no table is made for one that
// cannot be had.
func (r *run) identify(ctx context.Context) error {
	if r.queryID != "" {
		return nil
	}
	id, err := r.Log.Query(ctx)
	if err != nil {
		return err
	}
	if id != "" {
		r.begun(id)
		return nil
	}
	if id, err = r.cutShort(ctx); id == "" && err == nil {
		id, err = r.admit(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.Log.Prove(ctx); err != nil {
		return err
	}
	if err := r.shape(ctx); err != nil {
		return err
	}
	r.queryID, err = r.Log.CreateQuery(ctx, id)
	return err
}

// cutShort is the id that an import wanted to give to the checkpoint and did not come to: whatever it was to write follows from the
// identity that it wrote. Empty if there is no such import.
func (r *run) cutShort(ctx context.Context) (id string, err error) {
	identity, err := r.Log.Identity(ctx)
	if err != nil || identity == nil || identity.Imported == nil {
		return "", err
	}
	r.start = identity.Imported.Start()
	return identity.Imported.Query, nil
}

// begun takes the id that the checkpoint has. What decides about a checkpoint without one is idle then.
func (r *run) begun(id string) {
	r.queryID, r.empty, r.missing = id, false, false
	if r.NewQuery {
		r.idle("--new-query", fmt.Sprintf("the checkpoint is that of query %s, which goes on; a new query needs an empty checkpoint", id))
	}
	if r.Adopt != "" {
		r.idle("--adopt", fmt.Sprintf("the checkpoint is that of query %s already, which goes on", id))
	}
}

// idle notes that an option changed nothing, for whoever gave it.
func (r *run) idle(option, because string) {
	text := option + " had no effect: " + because
	if !slices.Contains(r.unused, text) {
		r.unused = append(r.unused, text)
	}
}

// remark keeps what a person should know before rows are written.
func (r *run) remark(text string) {
	if !slices.Contains(r.remarks, text) {
		r.remarks = append(r.remarks, text)
	}
}

// admit decides which id a checkpoint without one gets.
func (r *run) admit(ctx context.Context) (string, error) {
	table, err := r.Sink.Table(ctx, "")
	if err != nil {
		return "", err
	}
	r.empty, r.missing = true, !table.Exists
	suspects := r.suspects(table)
	if r.Adopt != "" {
		if _, ok := table.Queries[r.Adopt]; !ok {
			return "", &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the table has no bookkeeping of query %s to adopt", r.Adopt),
				Hint: "give --adopt one of: " + strings.Join(suspects, ", ")}
		}
		return r.Adopt, r.adoptable(ctx)
	}
	if len(suspects) > 0 && !r.NewQuery {
		// The checkpoint was read before the table: another run may have begun the query in between.
		if id, err := r.Log.Query(ctx); err != nil || id != "" {
			return id, err
		}
	}
	switch err := r.mistaken(ctx, table, suspects); {
	case err == nil && r.NewQuery:
		r.idle("--new-query", "the table holds nothing that this query would read again")
	case err != nil && !(r.NewQuery && batch.ClassOf(err) == batch.Inconsistent):
		return "", err
	}
	return uuid.NewString(), nil
}

// adoptable refuses an id that nobody could go on with: the checkpoint stays empty, and another choice is still open.
// Where Spark has written last, the table has the number of its batch and no offsets.
func (r *run) adoptable(ctx context.Context) error {
	table, err := r.Sink.Table(ctx, r.Adopt)
	if err != nil {
		return err
	}
	if _, err := decide(&batch.LogState{Commit: batch.None}, table); err != nil {
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("query %s cannot be adopted: %v", r.Adopt, err),
			Hint: "bring back the checkpoint that it had; if that is lost, use --new-query with startingOffsets where that query ended"}
	}
	return nil
}

// suspects lists the queries of this name that the table remembers, and Spark's, which have no names.
func (r *run) suspects(table *batch.Table) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(table.Queries)) {
		switch table.Queries[id] {
		case r.Name:
			ids = append(ids, id)
		case "":
			ids = append(ids, id+" (Spark)")
		}
	}
	return ids
}

// mistaken refuses an empty checkpoint where the table shows that it was lost, or that it is the wrong one: a new id
// would read everything again (SPARK-55058).
func (r *run) mistaken(ctx context.Context, table *batch.Table, suspects []string) error {
	if len(suspects) == 0 {
		return r.readAlready(ctx, table)
	}
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the checkpoint is empty, but the table holds batches that query %q may have written: %s", r.Name, strings.Join(suspects, ", ")),
		Hint:    "point checkpoint at the folder that was used before; if it is lost, --adopt ID continues where the table is (not after Spark: the table has no offsets of its batches); --new-query starts over and reads from startingOffsets"}
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
		ids, err := r.topicIDsNow(ctx)
		if err != nil {
			return err
		}
		var again []string
		beyond := r.start.Clone()
		for _, tp := range r.start.Partitions() {
			a, ok := other.Applied.Ledger.Accounts[tp]
			if ok && a.First < a.Next && r.start[tp] < a.Next && !otherTopic(other.Applied.Ledger.TopicIDs[tp.Topic], ids[tp.Topic]) {
				again = append(again, fmt.Sprintf("%s up to %d", tp, a.Next))
				beyond[tp] = a.Next
			}
		}
		if len(again) > 0 {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("%s, but query %q (%s) has read the same records into this table: %s", r.nothingYet(), table.Queries[id], id, list(again)),
				Hint: fmt.Sprintf("if the job was renamed, give it its old name and checkpoint; to take over from that query use startingOffsets %s; --new-query puts the records there again",
					beyond)}
		}
	}
	return nil
}

// nothingYet is why it could be another query's job.
func (r *run) nothingYet() string {
	if r.queryID == "" {
		return "the checkpoint is empty"
	}
	return "this query has read nothing yet"
}

// readMeanwhile asks the same of a query that was begun by an import, or by a run that came no further, and has planned nothing: since
// then another query, such as the same job under another name, may have read its records.
func (r *run) readMeanwhile(ctx context.Context, start offsets.Offsets) error {
	if r.empty { // this run has begun it, and has just looked
		return nil
	}
	r.start, r.idsNow = start, r.view.TopicIDs
	err := r.readAlready(ctx, r.table)
	if r.NewQuery && batch.ClassOf(err) == batch.Inconsistent {
		r.unused = slices.DeleteFunc(r.unused, func(text string) bool { return strings.HasPrefix(text, "--new-query") })
		return nil
	}
	return err
}

// topicIDsNow are the ids of the topics as they are: those of one name may have been another topic's once, whose records
// are not the same.
func (r *run) topicIDsNow(ctx context.Context) (map[string]string, error) {
	if r.idsNow == nil {
		view, err := r.Source.View(ctx, r.Isolation, nil)
		if err != nil {
			return nil, err
		}
		r.idsNow = view.TopicIDs
	}
	return r.idsNow, nil
}
