package verify_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/verify"
)

func TestADataFileGoneFromTheStoreIsNamedWithItsRows(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	first := w.paths()[0]
	w.apply(ordersQuery, reading("orders", 0, 100, 130))
	must(t, os.Remove(local(first)))
	r := w.verify(w.whole())
	wantOnly(t, r, verify.FileGone, verify.MissingRows)
	p := wantProblem(t, r, verify.FileGone)
	if p.Count != 100 || !slices.Equal(p.Files, []string{first}) || !slices.Equal(p.Offsets, []verify.Span{{From: 0, Until: 100}}) {
		t.Errorf("got %d rows of %v at %v, want 100 of %s at 0-99", p.Count, p.Files, p.Offsets, first)
	}
	if !strings.Contains(p.Evidence, "batch 0 of query orders-1") {
		t.Errorf("got evidence %q, want the batch that added the file", p.Evidence)
	}
	if r.Missing != 100 || r.Rows != 30 {
		t.Errorf("got %d missing and %d rows, want 100 and 30", r.Missing, r.Rows)
	}
}

func TestADamagedDataFileIsAFindingWhateverIsDamaged(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 3000))
	path := local(w.paths()[0])
	good, err := os.ReadFile(path)
	must(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for range 60 {
		bad := slices.Clone(good)
		at := random.IntN(len(bad))
		for i := at; i < min(at+16, len(bad)); i++ {
			bad[i] ^= byte(1 + random.IntN(255))
		}
		must(t, os.WriteFile(path, bad, 0o644))
		r := w.verify(w.whole())
		for _, p := range r.Problems { // damage to other columns or unused bytes may go unseen, but never end in an error
			if p.Kind == verify.FileGone {
				t.Errorf("damage at byte %d: got %s, want the file unreadable or its rows wrong", at, p)
			}
		}
		seen += min(1, len(r.Problems))
	}
	if seen == 0 {
		t.Error("got no damage noticed in 60 tries")
	}
	must(t, os.WriteFile(path, good[:len(good)/2], 0o644))
	r := w.verify(w.whole())
	wantProblem(t, r, verify.FileSize)
	if p := wantProblem(t, r, verify.FileUnreadable); p.Count != 3000 {
		t.Errorf("got %d rows unreadable, want 3000", p.Count)
	}
}

func TestAStoreThatDoesNotAnswerIsAnError(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	path := local(w.paths()[0])
	must(t, os.Remove(path))
	must(t, os.Symlink(path, path)) // a loop: neither there nor gone
	if r, err := verify.Table(t.Context(), w.load, w.whole()); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("got report %+v and error %v, want an error that names the file", r, err)
	}
}

func TestAManifestGoneOrDamaged(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	fs, err := w.table.FS(t.Context())
	must(t, err)
	manifests, err := w.table.CurrentSnapshot().Manifests(fs)
	must(t, err)
	for _, path := range []string{manifests[0].FilePath(), w.table.CurrentSnapshot().ManifestList} {
		good, err := os.ReadFile(local(path))
		must(t, err)
		must(t, os.WriteFile(local(path), good[:len(good)/2], 0o644))
		r := w.verify(w.whole())
		wantOnly(t, r, verify.ManifestUnreadable)
		wantProblem(t, r, verify.ManifestUnreadable)
		must(t, os.Remove(local(path)))
		r = w.verify(w.whole())
		wantOnly(t, r, verify.ManifestGone)
		if p := wantProblem(t, r, verify.ManifestGone); !slices.Equal(p.Files, []string{path}) {
			t.Errorf("got files %v, want %s", p.Files, path)
		}
		wantLimit(t, r, verify.RowsUnread)
		if r.Partitions[0].Verdict == verify.Proved || r.Missing != 0 {
			t.Errorf("got verdict %s and %d missing of a partition whose rows were not read", r.Partitions[0].Verdict, r.Missing)
		}
		must(t, os.WriteFile(local(path), good, 0o644))
	}
	wantOK(t, w.verify(w.whole()))
}

// entry adds a copy of the table's only data file under a changed manifest entry, in place of the old one.
func (w *world) entry(change func(records, size *int64, bounds map[int][]byte)) {
	w.t.Helper()
	tasks, err := w.table.Scan().PlanFiles(w.t.Context())
	must(w.t, err)
	old := tasks[0].File
	records, size := old.Count(), old.FileSizeBytes()
	lower := map[int][]byte{}
	for id, b := range old.LowerBoundValues() {
		lower[id] = slices.Clone(b)
	}
	change(&records, &size, lower)
	path := strings.TrimSuffix(old.FilePath(), ".parquet") + "-copy.parquet"
	text, err := os.ReadFile(local(old.FilePath()))
	must(w.t, err)
	must(w.t, os.WriteFile(local(path), text, 0o644))
	b, err := iceberg.NewDataFileBuilder(w.table.Spec(), iceberg.EntryContentData, path, iceberg.ParquetFile, nil, nil, nil, records, size)
	must(w.t, err)
	b.LowerBoundValues(lower).UpperBoundValues(old.UpperBoundValues()).ValueCounts(old.ValueCounts()).NullValueCounts(old.NullValueCounts())
	w.change(func(tx *table.Transaction) error {
		return tx.NewRewrite(nil).DeleteFile(old).AddDataFile(b.Build()).Commit(w.t.Context())
	})
}

func TestManifestsThatDoNotMatchTheirFiles(t *testing.T) {
	for name, c := range map[string]struct {
		kind   verify.Kind
		change func(records, size *int64, lower map[int][]byte)
	}{
		"size":            {verify.FileSize, func(_, size *int64, _ map[int][]byte) { *size++ }},
		"rows":            {verify.FileRows, func(records, _ *int64, _ map[int][]byte) { *records-- }},
		"no rows":         {verify.FileRows, func(records, _ *int64, _ map[int][]byte) { *records = 0 }}, // readers skip such a file
		"offset bound":    {verify.FileBounds, func(_, _ *int64, lower map[int][]byte) { binary.LittleEndian.PutUint64(lower[4], 3) }},
		"partition bound": {verify.FileBounds, func(_, _ *int64, lower map[int][]byte) { binary.LittleEndian.PutUint32(lower[3], 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(ordersQuery, reading("orders", 0, 0, 10))
			w.entry(c.change)
			r := w.verify(w.whole())
			wantOnly(t, r, c.kind)
			if p := wantProblem(t, r, c.kind); len(p.Files) != 1 || !strings.HasSuffix(p.Files[0], "-copy.parquet") {
				t.Errorf("got files %v, want the file with the changed entry", p.Files)
			}
		})
	}
}

func TestAFileThatACompactionTookAwayMeanwhileIsNoProblem(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.apply(ordersQuery, reading("orders", 0, 10, 20))
	loads := 0
	load := func(ctx context.Context) (*table.Table, error) {
		tbl, err := w.load(ctx)
		if loads++; loads == 1 {
			w.compact()
			w.expire(1)
		}
		return tbl, err
	}
	r, err := verify.Table(t.Context(), load, w.whole())
	must(t, err)
	wantVerdict(t, r, verify.Proved)
	if loads < 3 || r.Files != 1 {
		t.Errorf("got %d loads and %d files, want the table read again and one file", loads, r.Files)
	}
}

func TestProblemsOfAKindAreCountedBeyondTheFirst(t *testing.T) {
	w := newWorld(t)
	for i := range int64(23) {
		w.apply(ordersQuery, reading("orders", 0, i, i+1))
	}
	for _, path := range w.paths() {
		must(t, os.Remove(local(path)))
	}
	r := w.verify(w.whole())
	told := 0
	for _, p := range r.Problems {
		if p.Kind == verify.FileGone {
			told++
		}
	}
	if last := r.Problems[len(r.Problems)-1]; told != 21 || last.Count != 3 {
		t.Errorf("got %d problems of 23 files gone, the last for %d, want 20 and one for the other 3", told, last.Count)
	}
	if r.Missing != 23 {
		t.Errorf("got %d missing, want 23", r.Missing)
	}
}
