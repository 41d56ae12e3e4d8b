package maintain

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/laketest"
)

// later is the time so many days from now.
func later(days int) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(days) * 24 * time.Hour) }
}

func pairSchema() columns.Schema {
	return columns.Schema{{Name: "region", Type: columns.Type{Kind: columns.String}}, {Name: "l", Type: columns.Type{Kind: columns.Int64}}}
}

// pairRows are n rows of regions that come again.
func pairRows(from, n int) (rows [][]any) {
	for i := from; i < from+n; i++ {
		rows = append(rows, []any{fmt.Sprintf("r%d", i%3), int64(i)})
	}
	return rows
}

// filled is a table with so many batches.
func filled(t testing.TB, batches int, change ...func(*lakesink.Options)) *small {
	t.Helper()
	s := newSmall(t, pairSchema(), change...)
	s.fill(batches)
	return s
}

func (s *small) fill(batches int) {
	s.t.Helper()
	for range batches {
		s.add(pairRows(len(s.rows), 3))
	}
}

// aged makes all files of a table's folder so old.
func aged(t testing.TB, root string, by time.Duration) {
	t.Helper()
	when := time.Now().Add(-by)
	for _, f := range filesBelow(t, root) {
		if err := os.Chtimes(f, when, when); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *small) root() string {
	s.t.Helper()
	return strings.TrimPrefix(s.load().Location(), "file://")
}

// filesBelow are all files in a folder and below.
func filesBelow(t testing.TB, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// referred are all files that the table refers to, as a reader meets them, with its metadata files.
func (s *small) referred() map[string]bool {
	s.t.Helper()
	tbl := s.load()
	store, err := tbl.FS(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]bool{tbl.MetadataLocation(): true}
	for entry := range tbl.Metadata().PreviousFiles() {
		all[entry.MetadataFile] = true
	}
	for _, snapshot := range tbl.Metadata().Snapshots() {
		all[snapshot.ManifestList] = true
		manifests, err := snapshot.Manifests(store)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range manifests {
			all[m.FilePath()] = true
			for e, err := range m.Entries(store, true) {
				if err != nil {
					s.t.Fatal(err)
				}
				all[e.DataFile().FilePath()] = true
			}
		}
	}
	paths := map[string]bool{}
	for p := range all {
		paths[strings.TrimPrefix(p, "file://")] = true
	}
	return paths
}

// superfluous are the files of the table's folder that it does not refer to; it is an error if one that it refers to is gone.
func (s *small) superfluous() (extra []string) {
	s.t.Helper()
	refers := s.referred()
	there := filesBelow(s.t, s.root())
	for _, f := range there {
		if !refers[f] {
			extra = append(extra, f)
		}
	}
	for f := range refers {
		if !slices.Contains(there, f) {
			s.t.Errorf("%s is referred to and gone", f)
		}
	}
	return extra
}

// applied is what the table says of the query.
func (s *small) applied() *batch.Applied {
	s.t.Helper()
	at, err := sinkOf(s.c).Table(context.Background(), smallQuery)
	if err != nil {
		s.t.Fatal(err)
	}
	return &at.Applied
}

// sound checks that nothing was lost, nothing is there twice, and the query can go on.
func (s *small) sound() {
	s.t.Helper()
	s.wantSame()
	if a := s.applied(); a.Batch != s.next-1 || a.RolledBack {
		s.t.Fatalf("the table is at %+v, want batch %d", a, s.next-1)
	}
	s.superfluous()
}

// broken is the table behind a script, as another process has it.
func (s *small) broken(script *laketest.Script, o Options) *Table {
	return Open(sinkOf(laketest.Wrap(s.c, script)), o)
}

func snapshots(t *table.Table) int { return len(t.Metadata().Snapshots()) }

const otherQuery = "3f6c0a52-0000-4000-8000-00000000000d"

// others commits so many batches of another query.
func (s *small) others(batches int) {
	s.t.Helper()
	for range batches {
		at, err := s.sink.Table(context.Background(), otherQuery)
		if err != nil {
			s.t.Fatal(err)
		}
		b := s.stage(pairRows(1000+len(s.rows), 3))
		b.commit.Query, b.commit.Name, b.commit.Plan = otherQuery, "other", planN(at.Applied.Batch+1)
		b.commit.Results[0].Query, b.commit.Results[0].Batch = otherQuery, b.commit.Plan.Batch
		if _, err := s.sink.Commit(context.Background(), b.commit); err != nil {
			s.t.Fatal(err)
		}
		s.rows = append(s.rows, b.rows...)
	}
}

var full = flag.Bool("full", false, "strike every request of a sweep in every way, not only the first two of each kind")

// strike repeats a work with every effect of it going wrong in every way, or the first of each kind, until it has met each. The
// work returns what the caller of the broken action was told.
func strike(t *testing.T, kinds string, work func(*laketest.Script) error) {
	t.Helper()
	kindOf := func(name string) string { return strings.Replace(name, smallTable+" ", "", 1) }
	for _, mode := range laketest.Modes() {
		if *full {
			for n := 0; ; n++ {
				script := laketest.BreakAt(n, mode)
				told(t, script, mode, work(script))
				if !script.Broke() {
					break
				}
			}
			continue
		}
		for _, kind := range strings.Split(kinds, ", ") {
			if mode == laketest.KilledAfter && !strings.HasPrefix(kind, "commit ") {
				continue // the same as before the next one
			}
			script := laketest.BreakWhen(func(name string) bool { return kindOf(name) == kind }, mode)
			told(t, script, mode, work(script))
			if !script.Broke() {
				t.Errorf("there was no effect %q: %v", kind, script.Effects())
			}
		}
	}
}

// told checks that a fault that matters is reported.
func told(t *testing.T, script *laketest.Script, mode laketest.Mode, err error) {
	t.Helper()
	if script.Broke() && err == nil && script.Dead() {
		t.Errorf("%s at %s: no error", mode, script.Broken())
	}
	if !script.Broke() && err != nil {
		t.Errorf("nothing was broken: %v", err)
	}
}
