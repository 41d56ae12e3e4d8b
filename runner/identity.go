package runner

import (
	"context"
	"fmt"
	"maps"

	"sluice/batch"
	"sluice/offsets"
)

// identityNow is the identity that this run would write.
func (r *run) identityNow() *batch.Identity {
	is := &batch.Identity{Version: batch.FormatVersion, Name: r.Name, ClusterID: r.view.ClusterID, Sink: r.SinkName, Tables: map[string]string{}, Keys: r.Keys}
	if was := r.identity; was != nil {
		maps.Copy(is.Tables, was.Tables)
		is.LostLetters, is.Imported = was.LostLetters, was.Imported
	}
	is.Tables[mainTable] = r.table.UUID
	if r.letters != nil && r.letters.table.Exists {
		is.Tables[lettersRole(r.letters.place)] = r.letters.table.UUID
	}
	return is
}

// sameTable says that both are of the table with the same UUID.
func sameTable(was, is *batch.Identity) bool { return was.Tables[mainTable] == is.Tables[mainTable] }

// checkIdentity refuses a table or a job that is not the checkpoint's. What is free to change is not in an identity.
func (r *run) checkIdentity() error {
	if err := r.checkTable(); err != nil || r.identity == nil {
		return err
	}
	is := r.identityNow()
	if err := r.checkQuery(r.identity, is); err != nil {
		return err
	}
	return r.checkMoved(r.identity, is)
}

// checkMoved looks at the catalog that the checkpoint's table was in, where it is in another one now.
func (r *run) checkMoved(was, is *batch.Identity) error {
	if r.CheckSink == nil || was.Sink == is.Sink || !sameTable(was, is) {
		return nil
	}
	remark, err := r.CheckSink(r.table.UUID, was.Sink, is.Sink)
	if remark != "" {
		r.remark(remark)
	}
	return err
}

// sign writes down what the checkpoint belongs to, the first time and where a permitted change was made.
func (r *run) sign(ctx context.Context) error {
	is := r.identityNow()
	if was := r.identity; was != nil && !r.unsigned && was.Sink == is.Sink && maps.Equal(was.Tables, is.Tables) && maps.Equal(was.Keys, is.Keys) {
		return nil
	}
	if err := r.Log.SetIdentity(ctx, is); err != nil {
		return err
	}
	r.identity, r.unsigned = is, false
	return nil
}

// tableReplaced says that the table is not the one this checkpoint's rows went to.
func (r *run) tableReplaced() bool {
	if r.identity == nil {
		return false
	}
	was := r.identity.Tables[mainTable]
	return was != "" && !(r.table.Exists && was == r.table.UUID) // wherever its catalog is now
}

// checkTable refuses a table that is not the one this checkpoint's rows went to, unless somebody has chosen what to do
// about those rows.
func (r *run) checkTable() error {
	if !r.tableReplaced() || r.LostRows != "" {
		return nil
	}
	switch was := r.identity.Tables[mainTable]; {
	case r.table.CatalogMissing != "":
		return r.catalogMissing(was)
	case r.identity.Sink != r.SinkName:
		return otherQueryFault(fmt.Sprintf("sink was %s and is %s", r.identity.Sink, r.SinkName))
	case !r.table.Exists:
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the %s %s is gone; this query wrote to the one with UUID %s", r.table.Word(), r.TableName, was),
			Hint: "bring the " + r.table.Word() + " back, or " + lostRowsHint + " with a new " + r.table.Word()}
	default:
		return &batch.Fault{Class: batch.Inconsistent,
			Message: fmt.Sprintf("the %s %s is not the one this query wrote to: its UUID is %s and was %s (dropped and created again?)", r.table.Word(), r.TableName, r.table.UUID, was),
			Hint:    "bring the old " + r.table.Word() + " back, or " + lostRowsHint}
	}
}

// catalogMissing is the fault of a catalog's database that is not there. The table itself may well be: nothing offers to
// read the rows again, for that would make a second table in the folder of the first.
func (r *run) catalogMissing(table string) error {
	message := fmt.Sprintf("the catalog's database %s does not exist; this query wrote to the table %s with UUID %s", r.table.CatalogMissing, r.TableName, table)
	if r.identity.Sink != r.SinkName {
		message += fmt.Sprintf("; sink was %s and is %s", r.identity.Sink, r.SinkName)
	}
	return &batch.Fault{Class: batch.Inconsistent, Message: message,
		Hint: "check that its disk is mounted and that sink.iceberg.catalog.uri is right, or restore the file from a backup; the table's own files are not touched by this"}
}

// checkPlanned refuses a table that is not the one that a plan was made for. Spark's plans do not say.
func (r *run) checkPlanned(plan *batch.Plan) error {
	was := plan.Tables[mainTable]
	if was == "" || was == r.table.UUID {
		return nil
	}
	return &lostRowsError{&batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("batch %d was planned for the %s with UUID %s, but %s now has %s (dropped and created again?)", plan.Batch, r.table.Word(), was, r.TableName, r.table.UUID),
		Hint:    "bring the old " + r.table.Word() + " back, or " + lostRowsHint}}
}

func otherQueryFault(changes string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: "this checkpoint belongs to another query: " + changes,
		Hint: "use the checkpoint of this query, or give the changed one a new name and checkpoint"}
}

// checkQuery compares the job with what the checkpoint belongs to. A broker that does not tell its cluster's id is no
// other cluster.
func (r *run) checkQuery(was, is *batch.Identity) error {
	var changes []string
	for _, c := range []struct{ what, was, is string }{{"name", was.Name, is.Name}, {"Kafka cluster", was.ClusterID, is.ClusterID}, {"sink", was.Sink, is.Sink}} {
		moved := c.what == "sink" && sameTable(was, is) // the same table in another catalog: see checkMoved
		if c.was != c.is && c.was != "" && c.is != "" && !moved {
			changes = append(changes, fmt.Sprintf("%s was %s and is %s", c.what, c.was, c.is))
		}
	}
	if len(changes) > 0 {
		return otherQueryFault(list(changes))
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
