package lakesink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// Keys of a snapshot's summary. They are for people and other programs; the ledger decides. Spark's own are among them,
// so that a Spark query which continues from our checkpoint skips what we applied, and we skip what Spark applied.
const (
	keyQuery       = "sluice.query-id"
	keyName        = "sluice.query-name"
	keyBatch       = "sluice.batch-id"
	keyPlan        = "sluice.plan"
	keyRun         = "sluice.run-id"
	keyRecords     = "sluice.records"
	keyDeadLetters = "sluice.dead-letters"
	keyDropped     = "sluice.dropped"
	keyNulled      = "sluice.nulled"
	keyAccepted    = "sluice.accepted" // only where somebody has decided about rows that the table lost
	keyLost        = "sluice.lost"     // offsets whose loss was accepted; only where there were some, or losses that cannot be counted
	keyLosses      = "sluice.losses"   // the first of their ranges
	keyAltered     = "sluice.altered"  // only where the table was altered for the batch
	keySparkQuery  = "spark.sql.streaming.queryId"
	keySparkEpoch  = "spark.sql.streaming.epochId"
)

// Table reads the table afresh and says what was applied of the query. A table that is not there is no error; one that
// cannot be read is.
func (i *Iceberg) Table(ctx context.Context, query string) (*batch.Table, error) {
	t, err := i.Load(ctx)
	if isMissing(err) {
		none := &batch.Table{Applied: batch.Applied{Batch: batch.None, InHistory: batch.None}}
		if missing := (*DatabaseMissing)(nil); errors.As(err, &missing) {
			none.CatalogMissing = missing.Path
		}
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	return i.reading(t, query)
}

// reading is what a reading of the table says.
func (i *Iceberg) reading(t *table.Table, query string) (*batch.Table, error) {
	applied, err := appliedOf(t, query)
	if err != nil {
		return nil, i.unreadable(err)
	}
	queries, err := queriesOf(t)
	if err != nil {
		return nil, i.unreadable(err)
	}
	m := t.Metadata()
	return &batch.Table{Exists: true, UUID: m.TableUUID().String(), Location: t.Location(), SchemaID: t.Schema().ID, SpecID: m.DefaultPartitionSpec(),
		Columns: columnsOf(tableFields(t.Schema().Fields())), Sequence: m.LastSequenceNumber(), Applied: *applied, Queries: queries}, nil
}

// unreadable is the fault of bookkeeping that is there and makes no sense: never to be taken for none.
func (i *Iceberg) unreadable(err error) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the bookkeeping of table %s cannot be read", i.TableName()), Err: err,
		Hint: "somebody changed the table's sluice.query.* properties, or a newer sluice wrote them: restore them, or use that version"}
}

// history is the main branch from the head backwards.
type history struct {
	snapshots []table.Snapshot
	// complete says that the walk ended where the history began, or that there is none.
	complete bool
}

func historyOf(t *table.Table) history {
	head := t.CurrentSnapshot()
	if head == nil {
		return history{complete: true}
	}
	snapshots, rootless := table.AncestorsOfChecked(head.SnapshotID, t.Metadata().SnapshotByID)
	return history{snapshots, rootless && began(&snapshots[len(snapshots)-1])}
}

// began reports whether a snapshot without a parent is the first of its history. No parent is not enough: where
// PyIceberg's expire_snapshots removes a parent, the child is left with none
// (https://github.com/apache/iceberg-python, pyiceberg/table/update), and if the table was overwritten before, the child
// holds nothing but what it added, as a first snapshot does. The first one of a table has the sequence number 1; those of
// format version 1 have no numbers, and there what it holds has to do.
func began(s *table.Snapshot) bool {
	return s.SequenceNumber == 1 || s.SequenceNumber < 1 && onlyAdded(s)
}

// onlyAdded reports whether a snapshot says that it holds what it added and nothing from before.
func onlyAdded(s *table.Snapshot) bool {
	p := summary(s)
	for _, total := range []string{"data-files", "records"} {
		if p["total-"+total] == "" || p["total-"+total] != cmp.Or(p["added-"+total], "0") || cmp.Or(p["deleted-"+total], "0") != "0" {
			return false
		}
	}
	return true
}

func (h history) has(id int64) bool {
	for _, s := range h.snapshots {
		if s.SnapshotID == id {
			return true
		}
	}
	return false
}

// oldest is the last snapshot that the walk reached, nil if there is none.
func (h history) oldest() *table.Snapshot {
	if len(h.snapshots) == 0 {
		return nil
	}
	return &h.snapshots[len(h.snapshots)-1]
}

// appliedOf is T, what the table says was applied of a query: the larger of the ledger's batch and the newest epoch
// that Spark committed between the head and the ledger's snapshot. Recovery, the check before a commit and the decision
// after one all use this function.
func appliedOf(t *table.Table, query string) (*batch.Applied, error) {
	ledger, err := batch.ParseLedger(t.Properties(), query)
	if err != nil {
		return nil, err
	}
	h := historyOf(t)
	a := &batch.Applied{Batch: batch.None, InHistory: batch.None, Ledger: ledger}
	if ledger != nil {
		a.Batch, a.Plan, a.Snapshot = ledger.Batch, ledger.Plan, ledger.Snapshot
	}
	met := false
	for k := range h.snapshots {
		s := &h.snapshots[k]
		n, plan, ok := batchOf(s, query)
		if ok && a.InHistory == batch.None {
			a.InHistory = n
		}
		if ledger != nil && s.SnapshotID == ledger.Snapshot {
			met = true
		}
		if ok && !met && n > a.Batch {
			a.Batch, a.Plan, a.Snapshot = n, plan, s.SnapshotID
		}
	}
	if !met {
		miss(a, t, h)
	}
	return a, nil
}

// miss says why the walk did not meet the ledger's snapshot: the table was rolled back, or old snapshots have expired.
func miss(a *batch.Applied, t *table.Table, h history) {
	switch {
	case a.Ledger != nil && (h.complete || rolledBack(t, a.Ledger, h.oldest())):
		a.RolledBack = true
	case !h.complete:
		a.Cut, a.CutAt = true, h.oldest().SequenceNumber
	}
}

// rolledBack decides where expiry has cut the walk. Sequence numbers only rise along a branch, so a ledger at or above
// the oldest snapshot that was reached would have been met. Tables of format version 1 have no sequence numbers: there
// a snapshot that is still known and younger was left behind.
func rolledBack(t *table.Table, ledger *batch.Ledger, oldest *table.Snapshot) bool {
	known := t.SnapshotByID(ledger.Snapshot)
	if t.Metadata().Version() >= 2 {
		return ledger.Sequence >= oldest.SequenceNumber || known != nil && replaced(oldest)
	}
	return known != nil && known.TimestampMs >= oldest.TimestampMs
}

// replaced reports whether the table looks as if it had begun anew at a snapshot, as CREATE OR REPLACE TABLE makes it,
// which keeps older snapshots and ledgers. Whether older snapshots are still there has to be looked at besides.
func replaced(s *table.Snapshot) bool { return s.ParentSnapshotID == nil && onlyAdded(s) }

// batchOf is the batch of a query that a snapshot says it applied: ours, with its plan, or Spark's.
func batchOf(s *table.Snapshot, query string) (n int64, plan string, ok bool) {
	p := summary(s)
	switch query {
	case "":
		return 0, "", false
	case p[keyQuery]:
		n, err := strconv.ParseInt(p[keyBatch], 10, 64)
		return n, p[keyPlan], err == nil
	case p[keySparkQuery]:
		n, err := strconv.ParseInt(p[keySparkEpoch], 10, 64)
		return n, "", err == nil
	}
	return 0, "", false
}

// summary is never nil; foreign snapshots of format version 1 may lack one.
func summary(s *table.Snapshot) iceberg.Properties {
	if s.Summary == nil || s.Summary.Properties == nil {
		return iceberg.Properties{}
	}
	return s.Summary.Properties
}

// queriesOf lists all queries with bookkeeping in the table, by id.
func queriesOf(t *table.Table) (map[string]string, error) {
	queries, err := batch.LedgerQueries(t.Properties())
	if err != nil {
		return nil, err
	}
	for _, s := range historyOf(t).snapshots {
		p := summary(&s)
		for _, id := range []string{p[keyQuery], p[keySparkQuery]} {
			if _, ok := queries[id]; !ok && id != "" {
				queries[id] = p[keyName]
			}
		}
	}
	return queries, nil
}
