package runner

import (
	"context"
	"fmt"
	"maps"

	"sluice/batch"
	"sluice/offsets"
)

// isNow is the identity that this run would write.
func (r *run) isNow() *batch.Identity {
	return &batch.Identity{Version: batch.FormatVersion, Name: r.Name, ClusterID: r.view.ClusterID, Sink: r.SinkName,
		Tables: map[string]string{mainTable: r.table.UUID}, Keys: r.Keys}
}

// fits says whether table and job are those of the checkpoint. What is free to change is not in an identity.
func (r *run) fits() error {
	if err := r.oldTable(); err != nil || r.identity == nil {
		return err
	}
	return r.sameQuery(r.identity, r.isNow())
}

// sign writes down what the checkpoint belongs to, the first time and where a permitted change was made.
func (r *run) sign(ctx context.Context) error {
	is := r.isNow()
	if was := r.identity; was != nil && maps.Equal(was.Tables, is.Tables) && maps.Equal(was.Keys, is.Keys) {
		return nil
	}
	if err := r.Log.SetIdentity(ctx, is); err != nil {
		return err
	}
	r.identity = is
	return nil
}

// anotherTable says that the table is not the one this checkpoint's rows went to.
func (r *run) anotherTable() bool {
	if r.identity == nil {
		return false
	}
	was := r.identity.Tables[mainTable]
	return was != "" && !(r.table.Exists && was == r.table.UUID) // wherever its catalog is now
}

// oldTable refuses a table that is not the one this checkpoint's rows went to, unless somebody has chosen what to do
// about those rows.
func (r *run) oldTable() error {
	if !r.anotherTable() || r.LostRows != "" {
		return nil
	}
	switch was := r.identity.Tables[mainTable]; {
	case r.identity.Sink != r.SinkName:
		return anotherQuery(fmt.Sprintf("sink was %s and is %s", r.identity.Sink, r.SinkName))
	case !r.table.Exists:
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the table %s is gone; this query wrote to the one with UUID %s", r.TableName, was),
			Hint: "bring the table back, or " + lostRowsHint + " with a new table"}
	default:
		return &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("the table %s is not the one this query wrote to: its UUID is %s and was %s (dropped and created again?)", r.TableName, r.table.UUID, was),
			Hint:    "bring the old table back, or " + lostRowsHint}
	}
}

// sameTable checks that the table is the one that a plan was made for. Spark's plans do not say.
func (r *run) sameTable(plan *batch.Plan) error {
	was := plan.Tables[mainTable]
	if was == "" || was == r.table.UUID {
		return nil
	}
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("batch %d was planned for the table with UUID %s, but %s now has %s (dropped and created again?)", plan.Batch, was, r.TableName, r.table.UUID),
		Hint:    "bring the old table back, or " + lostRowsHint}}
}

func anotherQuery(changes string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: "this checkpoint belongs to another query: " + changes,
		Hint: "use the checkpoint of this query, or give the changed one a new name and checkpoint"}
}

// sameQuery compares the job with what the checkpoint belongs to. A broker that does not tell its cluster's id is no
// other cluster.
func (r *run) sameQuery(was, is *batch.Identity) error {
	var changes []string
	for _, c := range []struct{ what, was, is string }{{"name", was.Name, is.Name}, {"Kafka cluster", was.ClusterID, is.ClusterID}, {"sink", was.Sink, is.Sink}} {
		moved := c.what == "sink" && maps.Equal(was.Tables, is.Tables) // the same table in a catalog that moved
		if c.was != c.is && c.was != "" && c.is != "" && !moved {
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
	if r.entries.Plan != nil {
		read = r.entries.Plan.End.Partitions()
	}
	return r.CheckKeys(was.Keys, is.Keys, read)
}
