package batch

import (
	"slices"

	"sluice/columns"
)

// None is the batch number before the first.
const None int64 = -1

// Applied is what a table says was applied of one query. It comes from one reading of the table and is the authority
// over the checkpoint.
type Applied struct {
	// Batch is the newest batch in the table, None if there is none: the larger of the ledger's batch and the newest
	// epoch that Spark committed under this query id after it.
	Batch int64
	// Plan is the plan hash of Batch; empty if Spark applied it.
	Plan string
	// Snapshot is the snapshot that applied it, 0 if none.
	Snapshot int64
	// Ledger is our bookkeeping, nil if we never committed. Its batch may be below Batch if Spark went on after us.
	Ledger *Ledger
	// InHistory is the newest batch of this query, ours or Spark's, that a snapshot from the head backwards names; None if
	// there is none. It differs from Batch after a rollback.
	InHistory int64
	// RolledBack says that the ledger's snapshot is no longer part of the table's history: somebody rolled the table
	// back and rows that the ledger counts are gone.
	RolledBack bool
	// Cut says that snapshot expiry ended the walk from the head before it met the ledger's snapshot (or the root), so
	// that a batch which Spark applied in between may be hidden.
	Cut bool
	// CutAt is, where Cut, the sequence number of the oldest snapshot that the walk could reach: only older ones are
	// hidden.
	CutAt int64
	// Broken is why the bookkeeping behind Batch is not whole, though Batch is there: an Inconsistent fault that no decision about
	// lost rows settles; nil where nothing is known to be wrong.
	Broken error
}

// Table is one reading of the sink's table.
type Table struct {
	// Exists is false where the table is not there; then only the zero values follow, and CatalogMissing.
	Exists bool
	// CatalogMissing is the path of the catalog's database where that is what does not exist; else empty.
	CatalogMissing string
	// Folder says that it is a folder of files and no table; see Word.
	Folder bool
	// UUID identifies the table through renames and tells it from another one of the same name.
	UUID string
	// Location is where the table lives.
	Location string
	// SchemaID and SpecID are the current schema and partition spec.
	SchemaID, SpecID int
	// Columns are those of the table that we have a word for, in its order.
	Columns columns.Schema
	// Sequence is the table's last sequence number.
	Sequence int64
	// Applied is what it says of the query that was asked for.
	Applied Applied
	// Queries maps the id of every query with bookkeeping in the table, ours or Spark's, to its name; Spark's have none.
	Queries map[string]string
}

// Word is what messages call it: table or folder.
func (t *Table) Word() string {
	if t.Folder {
		return "folder"
	}
	return "table"
}

// Commit asks a sink to make one batch part of its table.
type Commit struct {
	Query string
	Name  string
	Run   string
	Plan  *Plan
	// Results holds one complete result per task; none for an empty batch, which is committed all the same.
	Results []TaskResult
	// TableUUID is the table that the plan was made for.
	TableUUID string
	// DeadLetters are set where the table is one of dead letters and Results are theirs; nil for the rows' table.
	DeadLetters *Letters
	// Accepted is a decision about dead letters that their table lost; nil for the rows' table, whose plan has it.
	Accepted *Acceptance
	// Altered says how the table was altered for the batch; none for most.
	Altered []string
}

// Losses is what the batch goes on without: by its plan, and as its tasks came upon it.
func (c *Commit) Losses() []Loss {
	return append(slices.Clip(c.Plan.Losses), LostIn(c.Results)...)
}

// Decision is what somebody has decided about the table of the commit; nil for nothing.
func (c *Commit) Decision() *Acceptance {
	if c.DeadLetters != nil {
		return c.Accepted
	}
	return c.Plan.Accepted
}
