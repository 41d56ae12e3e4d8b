package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/hivecatalog"
	"sluice/lakesink/restcatalog"
)

// Some catalogs take a commit and leave out, or refuse, properties of a table that they do not know. Without the ledger nobody
// could tell what is in the table once its snapshots have expired, so that is found out with the first table and the first
// batch.

const keepProperties = "use a catalog that keeps table properties whose names begin with sluice., or have it allow them: the ledger among them is what keeps a batch from being written twice or lost"

// keptMark is a fault if a table that was just made does not have the mark that it was made with.
func (i *Iceberg) keptMark(t *table.Table) error {
	if t.Properties()[createdBy] != "" {
		return nil
	}
	return &batch.Fault{Class: batch.NotSetUp, Hint: keepProperties,
		Message: fmt.Sprintf("table %s was made, and the catalog has dropped its property %s: nothing was written to it", i.TableName(), createdBy)}
}

// kept is a fault if the newest snapshot is that of an offer, and the ledger that came with it is not there. Where others have
// committed since, theirs may have changed it.
func (d *deal) kept(t *table.Table, o *offer) error {
	head := t.CurrentSnapshot()
	if head == nil || head.SnapshotID != o.snapshot.SnapshotID || d.answer != nil {
		return nil // after an answer that was lost it may have been somebody else, and a catalog is found out by the next batch
	}
	ledger, err := batch.ParseLedger(t.Properties(), d.commit.Query)
	if err != nil || ledger != nil && ledger.Snapshot == o.snapshot.SnapshotID {
		return err
	}
	return &batch.Fault{Class: batch.Inconsistent, Hint: keepProperties,
		Message: fmt.Sprintf("the catalog has put batch %d into table %s and dropped the ledger that came with it, the property %s%s: the rows are there, once, as snapshot %d, and this query stops here",
			d.commit.Plan.Batch, d.sink.TableName(), batch.LedgerPrefix, d.commit.Query, head.SnapshotID)}
}

// orphaned says whether a snapshot has lost its parent because the table no longer knows that: Nessie's catalog tells of the
// newest snapshot alone, and some expiries leave a child without.
func (o *offer) orphaned(t *table.Table, s *table.Snapshot) bool {
	return s.ParentSnapshotID == nil && o.snapshot.ParentSnapshotID != nil && t.SnapshotByID(*o.snapshot.ParentSnapshotID) == nil
}

// isRefusal says whether a catalog's no will be the same the next time.
func isRefusal(err error) bool { return restcatalog.IsRefusal(err) || hivecatalog.IsRefusal(err) }

// refusedFault is the end of a batch that the catalog will not take, however often it is offered.
func (d *deal) refusedFault() error {
	class, hint := meaning(d.answer)
	return &batch.Fault{Class: class, Hint: hint, Err: d.answer,
		Message: fmt.Sprintf("batch %d is not in table %s: the catalog refused the commit", d.commit.Plan.Batch, d.sink.TableName())}
}
