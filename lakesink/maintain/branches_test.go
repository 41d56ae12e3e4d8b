package maintain

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
)

// fork makes the branch audit where main is.
func (s *small) fork() {
	s.t.Helper()
	t := s.load()
	at := table.NewSetSnapshotRefUpdate("audit", t.CurrentSnapshot().SnapshotID, table.BranchRef, 0, 0, 0)
	if _, _, err := s.c.CommitTable(context.Background(), t.Identifier(), nil, []table.Update{at}); err != nil {
		s.t.Fatal(err)
	}
}

// A branch that main can be moved forward to is not cut off by maintenance; one that main has left behind hinders nothing.
func TestMainStaysWhileABranchWaitsToBePublished(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 12)
	s.fork()
	head := s.load().CurrentSnapshot().SnapshotID
	if c := s.compact(CompactOptions{}); len(c.Groups) != 0 || !strings.Contains(c.Skipped, "branch audit") {
		t.Errorf("compaction: got %+v", c)
	}
	m, err := Open(s.sink, Options{}).RewriteManifests(t.Context())
	if err != nil || !strings.Contains(m.Skipped, "branch audit") {
		t.Errorf("manifests: got %+v, %v", m, err)
	}
	if got := s.load().CurrentSnapshot().SnapshotID; got != head {
		t.Errorf("main has moved from %d to %d", head, got)
	}
	s.addNumber()
	if c := s.compact(CompactOptions{}); c.Skipped != "" || c.Commits != 1 {
		t.Errorf("with a branch left behind: got %+v", c)
	}
}

// New files of a compaction that somebody took for orphans are noticed before the table names them.
func TestACompactionWhoseNewFilesAreGoneIsDropped(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	c, err := s.beforeCommit(CompactOptions{}, func() {
		for _, path := range onDisk(t, s.load()) {
			if strings.Contains(path, "/"+compactedQuery+"-") {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
		}
		s.addNumber() // the offer is overtaken, and made again
	})
	if err != nil || len(c.Groups) != 1 || c.Groups[0].State != Dropped || !strings.Contains(c.Groups[0].Why, "is gone") {
		t.Errorf("got %+v, %v", c, err)
	}
	s.wantSame()
}

// What a compaction wrote today it may be about to commit, whatever age is asked for.
func TestNewFilesOfACompactionAreNoOrphans(t *testing.T) {
	t.Parallel()
	s := filled(t, 1)
	s.put("data/" + compactedQuery + "-0-0-d5b1f2a4-0.parquet")
	aged(t, s.root(), 2*time.Hour)
	now := OrphanOptions{OlderThan: time.Hour, Unsafe: true, Remove: true}
	if o := s.orphans(now, Options{}); o.Removed.Files != 0 || o.Open.Files != 1 {
		t.Errorf("got %+v", o)
	}
	aged(t, s.root(), 25*time.Hour)
	if o := s.orphans(now, Options{}); o.Removed.Files != 1 {
		t.Errorf("a day later: got %+v", o)
	}
	s.sound()
}
