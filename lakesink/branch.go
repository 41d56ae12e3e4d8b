package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// branchView is a table's metadata as who reads a branch sees it: the branch's head is the current snapshot. Nothing is
// written from it.
type branchView struct {
	table.Metadata
	head *table.Snapshot
}

// CurrentSnapshot is the head of the branch.
func (v branchView) CurrentSnapshot() *table.Snapshot { return v.head }

// unviewed is the metadata of a table itself, whatever it is seen as.
func unviewed(m table.Metadata) table.Metadata {
	if v, ok := m.(branchView); ok {
		return v.Metadata
	}
	return m
}

// onBranch is the table as the sink's branch has it. While the branch is not there it is main, which the first commit forks it
// from: so a branch that was published, by moving main forward to it, and removed, is found in main's history with all that it
// had; one that was removed unpublished is not.
func (i *Iceberg) onBranch(t *table.Table) (*table.Table, error) {
	ref, ok := refOf(t, i.options.Branch)
	switch {
	case i.options.Branch == table.MainBranch || !ok:
		return t, nil
	case ref.SnapshotRefType != table.BranchRef:
		return nil, notSetUp(fmt.Sprintf("%s is a %s of table %s, and no branch", i.options.Branch, ref.SnapshotRefType, i.TableName()), "choose another sink.iceberg.branch, or remove the "+string(ref.SnapshotRefType), nil)
	}
	head := t.SnapshotByID(ref.SnapshotID)
	if head == nil {
		return nil, &batch.Fault{Class: batch.Inconsistent, Hint: damaged,
			Message: fmt.Sprintf("branch %s of table %s is at snapshot %d, which is not there", i.options.Branch, i.TableName(), ref.SnapshotID)}
	}
	return table.New(t.Identifier(), branchView{t.Metadata(), head}, t.MetadataLocation(), t.FS, i.catalog), nil
}

func refOf(t *table.Table, name string) (table.SnapshotRef, bool) {
	for n, ref := range unviewed(t.Metadata()).Refs() {
		if n == name {
			return ref, true
		}
	}
	return table.SnapshotRef{}, false
}

// begin starts a transaction on the sink's branch that holds only while the branch is where it was read. One that is not there
// yet is forked from main, and main has to stay as well: another run may have made the branch, published it and removed it
// again meanwhile, and what it committed is on main then.
func (i *Iceberg) begin(t *table.Table) (*table.Transaction, error) {
	tx, err := t.NewTransactionOnBranchWithError(i.options.Branch)
	if err != nil {
		return nil, err
	}
	if _, there := refOf(t, i.options.Branch); !there && i.options.Branch != table.MainBranch {
		if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
			return nil, err
		}
	}
	if err := tx.AssertRefSnapshotID(i.options.Branch); err != nil {
		return nil, err
	}
	return tx, tx.AssertDefaultShape()
}

// unmoved are the requirements that hold while the sink's branch is where it was read, or, while it is not there, main.
func (i *Iceberg) unmoved(t *table.Table) []table.Requirement {
	var all []table.Requirement
	for _, name := range []string{i.options.Branch, table.MainBranch} {
		ref, there := refOf(t, name)
		if !there {
			all = append(all, table.AssertRefSnapshotID(name, nil))
			continue
		}
		return append(all, table.AssertRefSnapshotID(name, &ref.SnapshotID))
	}
	return all
}
