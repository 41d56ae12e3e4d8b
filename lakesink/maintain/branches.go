package maintain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go/table"
)

// unpublished says why main must stay where it is, empty if it need not: a branch has main's head in its history, so that main
// can be moved forward to it (write-audit-publish). A snapshot of ours on main would end that, for good.
func unpublished(m table.Metadata) string {
	refs := maps.Collect(m.Refs())
	head, ok := refs[table.MainBranch]
	if !ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if ref := refs[name]; name != table.MainBranch && ref.SnapshotRefType == table.BranchRef && inHistory(m, ref.SnapshotID, head.SnapshotID) {
			return fmt.Sprintf("branch %s is made from where main is, and could not be published any more: publish it or drop it first", name)
		}
	}
	return ""
}

// inHistory reports whether a snapshot is the one with the id from, or one of its ancestors.
func inHistory(m table.Metadata, from, id int64) bool {
	for seen := map[int64]bool{}; !seen[from]; {
		if from == id {
			return true
		}
		seen[from] = true
		s := m.SnapshotByID(from)
		if s == nil || s.ParentSnapshotID == nil {
			return false
		}
		from = *s.ParentSnapshotID
	}
	return false
}
