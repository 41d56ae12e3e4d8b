package maintain

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink"
)

func formatThree(o *lakesink.Options) {
	o.TableProperties = map[string]string{"format-version": "3"}
}

// lineageOf are the table's rows, each with its id and the sequence number of its last change.
func (s *small) lineageOf() []string {
	s.t.Helper()
	tbl := s.load()
	if tbl.Metadata().Version() < 3 {
		return scanned(s.t, tbl)
	}
	return scanned(s.t, tbl, table.WithRowLineage())
}

// compactMoved is compact for tables with deletes: their totals are not compared.
func (s *small) compactMoved(o CompactOptions) *Compaction {
	s.t.Helper()
	before := s.lineageOf()
	c, err := Open(s.sink, Options{}).Compact(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantSame()
	wantTexts(s.t, s.lineageOf(), before)
	return c
}

// Specification, Row Lineage: a row that moves to another file keeps its id and the sequence number of its last change.
func TestRowsThatMoveKeepTheirIDs(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 5, formatThree)
	if c := s.compactMoved(CompactOptions{}); c.Commits != 1 || c.Groups[0].Rows != 10 {
		t.Errorf("%+v", c)
	}
	s.addNumber()
	s.addNumber()
	if c := s.compactMoved(CompactOptions{MinInputFiles: 2}); c.Groups[0].In.Files != 3 { // one of which has ids of its own
		t.Errorf("%+v", c)
	}
	s.addNumber() // new ids are those of nobody else
	s.wantSame()
	seen := map[string]bool{}
	for _, row := range s.lineageOf() {
		id := strings.Split(row, ",")[2] // behind n and s
		if seen[id] {
			t.Errorf("row id %s is there twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 16 {
		t.Errorf("%d ids of 16 rows", len(seen))
	}
}

func TestDeletionVectorsGoWithTheFilesThatTheyAreFor(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6, formatThree)
	s.deleteRow(3, "merge-on-read")
	s.deleteRow(8, "merge-on-read")
	if got := s.deleteFiles(); got != 2 {
		t.Fatalf("%d deletion vectors, want 2", got)
	}
	if c := s.compactMoved(CompactOptions{}); c.Commits != 1 || c.Groups[0].Rows != 10 {
		t.Errorf("%+v", c)
	}
	if got := s.deleteFiles(); got != 0 {
		t.Errorf("%d deletion vectors are left", got)
	}
	s.addNumber()
	s.deleteRow(4, "merge-on-read")
	s.compactMoved(CompactOptions{MinInputFiles: 2})
}

// deleteFiles is how many delete files the head has.
func (s *small) deleteFiles() (n int) {
	s.t.Helper()
	tbl := s.load()
	store, err := tbl.FS(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(store)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for _, err := range m.Entries(store, true) {
			if err != nil {
				s.t.Fatal(err)
			}
			n++
		}
	}
	return n
}

// A column that was added with a default has it in rows that were there before (specification, Default values), also when they have
// moved.
func TestColumnsThatWereAddedWithADefaultKeepIt(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 5, formatThree)
	s.change(func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).AddColumn([]string{"late"}, iceberg.PrimitiveTypes.Int64, "", false, iceberg.Int64Literal(7)).Commit()
	})
	before := s.lineageOf()
	if _, err := Open(s.sink, Options{}).Compact(context.Background(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, s.lineageOf(), before)
	if got := scanned(t, s.load(), table.WithSelectedFields("late")); len(got) != 10 || got[0] != "[int64(7),]" {
		t.Errorf("got %v", got)
	}
}

// Files of a table that was given format version 3 afterwards have rows without ids until somebody commits.
func TestRowsWithoutIDsStayWhereTheyAreUntilTheyHaveSome(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 5)
	s.change(func(tx *table.Transaction) error { return tx.UpgradeFormatVersion(3) })
	if c := s.compact(CompactOptions{}); c.Left.WithoutIDs != 5 || len(c.Groups) != 0 {
		t.Errorf("%+v", c)
	}
	s.addNumber()
	s.compactMoved(CompactOptions{})
	if got := len(liveFiles(t, s.load())); got != 1 {
		t.Errorf("%d files", got)
	}
}

// A delete by equality is for all files that are older than it: those that it may be for are left alone, and one that comes
// between the plan and its commit, or after it, is for the compacted rows too.
func TestDeletesByEqualityKeepTheirRows(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 5)
	s.deleteEqual(4)
	for range 5 {
		s.addNumber()
	}
	c := s.compactMoved(CompactOptions{})
	if c.Left.WithDeletes != 5 || c.Commits != 1 || c.Groups[0].In.Files != 5 {
		t.Errorf("%+v", c)
	}
	s.deleteEqual(11) // of a compacted row
	s.wantSame()
	for range 5 {
		s.addNumber()
	}
	c, err := s.beforeCommit(CompactOptions{}, func() { s.deleteEqual(25) })
	if err != nil || states(c)[Dropped] != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	s.wantSame()
}
