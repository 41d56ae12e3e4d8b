package lakesink

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// pretended is a manifest of so many files.
func pretended(name string, snapshot, files int64) iceberg.ManifestFile {
	return iceberg.NewManifestFile(2, name, 4300+entryBytes*files, 0, snapshot).ExistingFiles(int32(files)).SequenceNum(snapshot, 1).Build()
}

// The library, like the reference implementation, writes an entry 50 times on the way to 10,000 commits, this one some times.
func TestMergesWriteAnEntryALogarithmOfTimes(t *testing.T) {
	for _, least := range []int{2, 10, 100} {
		for _, perBatch := range []func(n int64) int64{
			func(int64) int64 { return 1 }, func(int64) int64 { return 3 }, func(n int64) int64 { return 1 + n*n%7 }, func(n int64) int64 { return 1 + 400*((n%97)/96) },
		} {
			policy := &merging{least: least, target: math.MaxInt64}
			var list []iceberg.ManifestFile
			var files, written int64
			for n := int64(1); n <= 3_000; n++ {
				list = slices.Insert(list, 0, pretended(fmt.Sprint(n), n, perBatch(n)))
				files += perBatch(n)
				for _, group := range policy.choose(list, n, map[int32]bool{0: false}) {
					var sum int64
					for _, f := range group {
						sum += filesIn(f)
					}
					written += sum
					list = (&merged{inputs: group, outputs: []iceberg.ManifestFile{pretended(fmt.Sprint("merged-", n), n, sum)}}).replace(list)
				}
				if most := max(least, bits.Len64(uint64(files))+2); len(list) > most {
					t.Fatalf("least %d: %d manifests after %d batches, want at most %d", least, len(list), n, most)
				}
			}
			if most := files * int64(bits.Len64(uint64(files))); written > most {
				t.Errorf("least %d: merges wrote %d entries for %d files, want at most %d", least, written, files, most)
			}
		}
	}
}

func TestOnlyManifestsThatCanBeWrittenAgainAreChosen(t *testing.T) {
	policy := &merging{least: 4, target: 1 << 20}
	own := pretended("own", 9, 1)
	a, b, c := pretended("a", 1, 1), pretended("b", 1, 1), pretended("c", 1, 1)
	deletes := iceberg.NewManifestFile(2, "deletes", 4300, 0, 1).Content(iceberg.ManifestContentDeletes).ExistingFiles(1).Build()
	sealed := iceberg.NewManifestFile(2, "sealed", 4300, 0, 1).KeyMetadata([]byte("key")).ExistingFiles(1).Build()
	dropped := iceberg.NewManifestFile(2, "of a column that is gone", 4300, 7, 1).ExistingFiles(1).Build()
	large := pretended("large", 1, 1<<19/entryBytes)
	for _, test := range []struct {
		list []iceberg.ManifestFile
		want []string
	}{
		{[]iceberg.ManifestFile{own, a, b}, nil},
		{[]iceberg.ManifestFile{own, a, b, c}, []string{"a", "b", "c"}},
		{[]iceberg.ManifestFile{own, deletes, a, sealed, b, dropped, large}, nil},
		{[]iceberg.ManifestFile{own, deletes, a, sealed, b, large, dropped, c}, []string{"a", "b", "c"}},
		{[]iceberg.ManifestFile{own, a, pretended("three", 1, 3), b, pretended("nine", 1, 9)}, []string{"a", "three", "b"}},
	} {
		var got []string
		for _, group := range policy.choose(test.list, 9, map[int32]bool{0: false}) {
			for _, f := range group {
				got = append(got, f.FilePath())
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("got %v, want %v", got, test.want)
		}
	}
	if got := policy.choose([]iceberg.ManifestFile{own, a, b, large, c}, 9, map[int32]bool{0: true}); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("with partitions: got %v", got)
	}
}

// entryOf is what a manifest must go on saying of a file.
type entryOf struct {
	snapshot, sequence, fileSequence int64
	firstRow                         int64
	partition                        string
	rows                             int64
}

// entries are those of a table's head, and the statuses that they have.
func entries(t testing.TB, tbl *table.Table) (map[string]entryOf, map[iceberg.ManifestEntryStatus]int) {
	t.Helper()
	fs, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, statuses := map[string]entryOf{}, map[iceberg.ManifestEntryStatus]int{}
	for _, m := range manifests(t, tbl) {
		for e, err := range m.Entries(fs, false) {
			if err != nil {
				t.Fatal(err)
			}
			f := e.DataFile()
			is := entryOf{snapshot: e.SnapshotID(), sequence: e.SequenceNum(), firstRow: -1, partition: PartitionText(f.Partition()), rows: f.Count()}
			if n := e.FileSequenceNum(); n != nil {
				is.fileSequence = *n
			}
			if id := f.FirstRowID(); id != nil {
				is.firstRow = *id
			}
			if _, twice := all[f.FilePath()]; twice {
				t.Errorf("%s is listed twice", f.FilePath())
			}
			all[f.FilePath()] = is
			statuses[e.Status()]++
		}
	}
	return all, statuses
}

// merger commits batches of small files, without rows, to a table.
type merger struct {
	sink *Iceberg
	file batch.DataFile
	next int64
	uuid string
}

func newMerger(t testing.TB, s *Iceberg) *merger {
	t.Helper()
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Table(context.Background(), queryID)
	if err != nil {
		t.Fatal(err)
	}
	return &merger{sink: s, file: results[0].Files[0], uuid: at.UUID}
}

// commit commits a batch with one file for each of some values of the table's first partition field, in JSON.
func (m *merger) commit(t testing.TB, values ...string) {
	t.Helper()
	n := m.next
	m.next++
	var files []batch.DataFile
	for k, v := range values {
		f := m.file
		f.Path = strings.Replace(f.Path, "-0-0-", fmt.Sprintf("-%d-%d-", n, k), 1)
		f.Partition = maps.Clone(f.Partition)
		for id := range f.Partition {
			f.Partition[id] = json.RawMessage(v)
		}
		files = append(files, f)
	}
	plan := planOf(n, 10*n, 10*n+10)
	results := []batch.TaskResult{{Version: batch.FormatVersion, Query: queryID, Batch: n, Plan: plan.Hash, SchemaID: 0, SpecID: m.file.SpecID, Files: files}}
	if _, err := m.sink.Commit(context.Background(), &batch.Commit{Query: queryID, Name: "orders", Run: "run", Plan: plan, Results: results, TableUUID: m.uuid}); err != nil {
		t.Fatalf("batch %d: %v", n, err)
	}
}

func tableWith(p map[string]string) func(*Options) {
	return func(o *Options) { o.TableProperties = p }
}

// Merged entries stay what they are: of the snapshot and sequence number that brought them, with their first row id, and existing.
func TestMergedManifestsSayOfAFileWhatTheyDid(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		t.Run(version, func(t *testing.T) {
			s, c := newTable(t, tableWith(map[string]string{table.PropertyFormatVersion: version, table.ManifestMinMergeCountKey: "4"}))
			m := newMerger(t, s)
			known := map[string]entryOf{}
			taken := map[int64]bool{}
			for n := range 25 {
				if n == 13 {
					m.commit(t) // no files
				} else {
					m.commit(t, "", "")
				}
				tbl := load(t, c)
				has, statuses := entries(t, tbl)
				for path, was := range known {
					if is := has[path]; is != was {
						t.Fatalf("after batch %d %s is %+v and was %+v", n, path, is, was)
					}
				}
				if got := statuses[iceberg.EntryStatusDELETED] + statuses[iceberg.EntryStatusEXISTING]*(len(has)-len(known)); n < 3 && got != 0 {
					t.Errorf("after batch %d: %v", n, statuses)
				}
				for path, is := range has {
					if _, old := known[path]; old {
						continue
					}
					if is.snapshot != tbl.CurrentSnapshot().SnapshotID || is.sequence != tbl.CurrentSnapshot().SequenceNumber || is.fileSequence != is.sequence || (is.firstRow >= 0) != (version == "3") || taken[is.firstRow] {
						t.Errorf("%s is new in batch %d as %+v", path, n, is)
					}
					taken[is.firstRow] = version == "3"
				}
				known = has
				if got := len(manifests(t, tbl)); got > 7 { // 4, or the logarithm of 50 files
					t.Errorf("%d manifests after batch %d", got, n)
				}
			}
			if len(known) != 48 {
				t.Errorf("%d files are listed, want 48", len(known))
			}
			wantRowIDs(t, load(t, c))
		})
	}
}

// wantRowIDs checks that no id that a snapshot has taken is given again.
func wantRowIDs(t *testing.T, tbl *table.Table) {
	t.Helper()
	if tbl.Metadata().Version() < 3 {
		return
	}
	next := int64(0)
	for _, s := range tbl.Metadata().Snapshots() {
		if *s.FirstRowID < next {
			t.Errorf("snapshot %d begins at row id %d, the one before ended at %d", s.SnapshotID, *s.FirstRowID, next)
		}
		next = *s.FirstRowID + *s.AddedRows
	}
	if tbl.Metadata().NextRowID() < next {
		t.Errorf("the table goes on at row id %d, its snapshots end at %d", tbl.Metadata().NextRowID(), next)
	}
	has, _ := entries(t, tbl)
	for path, e := range has {
		if e.firstRow+e.rows > next {
			t.Errorf("%s has row ids up to %d, beyond %d", path, e.firstRow+e.rows, next)
		}
	}
}

func TestATableSaysWhetherItsManifestsAreMerged(t *testing.T) {
	for _, test := range []struct {
		enabled string
		want    bool
	}{{"", true}, {"true", true}, {"false", false}} { // nothing said is what the reference implementation takes for true
		s, c := newTable(t, tableWith(map[string]string{table.ManifestMinMergeCountKey: "3"}))
		m := newMerger(t, s)
		change(t, c, func(tx *table.Transaction) error { return tx.RemoveProperties([]string{table.ManifestMergeEnabledKey}) })
		if test.enabled != "" {
			change(t, c, func(tx *table.Transaction) error {
				return tx.SetProperties(iceberg.Properties{table.ManifestMergeEnabledKey: test.enabled})
			})
		}
		for range 8 {
			m.commit(t, "")
		}
		m.commit(t)
		if got := len(manifests(t, load(t, c))); got < 8 != test.want {
			t.Errorf("%q: %d manifests of 8 batches", test.enabled, got)
		}
		if got := load(t, c).Properties()[table.ManifestMergeEnabledKey]; got != test.enabled {
			t.Errorf("the property was %q and is %q", test.enabled, got)
		}
	}
}

// Each batch has files of the same four days: in a merge those of a day come together, and a filter on it skips the others.
func TestMergedManifestsAreOfFewPartitions(t *testing.T) {
	const piece = leastPiece
	s, c := newTable(t, func(o *Options) { o.PartitionBy = partitionBy(t, "days(timestamp)") },
		tableWith(map[string]string{table.ManifestMinMergeCountKey: "40", table.ManifestTargetSizeBytesKey: fmt.Sprint(pieces * piece)}))
	m := newMerger(t, s)
	days := []string{`"2026-03-01"`, `"2026-03-02"`, `"2026-03-03"`, `"2026-03-04"`}
	for k := range 41 {
		var values []string
		for range 15 {
			values = append(values, days[k%4], days[(k+1)%4], days[(k+2)%4], days[(k+3)%4])
		}
		m.commit(t, values...)
	}
	tbl := load(t, c)
	of := map[string]int{} // manifests by the days that they have
	for _, f := range manifests(t, tbl) {
		if filesIn(f) == 60 {
			continue // a batch's own
		}
		if f.Length() < piece/2 {
			t.Errorf("%s has %d bytes, of pieces of %d", f.FilePath(), f.Length(), piece)
		}
		low, high := *f.Partitions()[0].LowerBound, *f.Partitions()[0].UpperBound
		for day := binary.LittleEndian.Uint32(low); day <= binary.LittleEndian.Uint32(high); day++ {
			of[fmt.Sprint(day)]++
		}
		of["all"]++
	}
	if of["all"] < 2 || len(of) != 5 || of["20513"]+of["20514"]+of["20515"]+of["20516"] != 4 {
		t.Errorf("merged manifests by day: %v, want several and each day in one", of)
	}
	if has, _ := entries(t, tbl); len(has) != 41*60 {
		t.Errorf("%d files are listed, want %d", len(has), 41*60)
	}
}

func TestManifestsOfEverySpecAreMerged(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.PartitionBy = partitionBy(t, "days(timestamp)") }, tableWith(map[string]string{table.ManifestMinMergeCountKey: "7"}))
	m := newMerger(t, s)
	for range 5 {
		m.commit(t, `"2026-03-01"`, "null")
	}
	evolveSpec(t, load(t, c), func(u *table.UpdateSpec) { u.RemoveField("timestamp_day") })
	follower := New(c, testOptions())
	next := newMerger(t, follower)
	next.next = m.next
	for range 5 {
		next.commit(t, "")
	}
	counts := map[int32]int{}
	for _, f := range manifests(t, load(t, c)) {
		counts[f.PartitionSpecID()]++
	}
	if counts[0] != 1 || counts[0]+counts[1] >= 7 {
		t.Errorf("manifests by spec: %v", counts)
	}
	if has, _ := entries(t, load(t, c)); len(has) != 15 {
		t.Errorf("%d files are listed, want 15", len(has))
	}
}

// A lost race costs no second merge: with a hundred writers at one table everyone would write it anew for each offer.
func TestAMergeIsUsedAgainAfterALostRace(t *testing.T) {
	_, c := newTable(t, tableWith(map[string]string{table.ManifestMinMergeCountKey: "6"}))
	change(t, c, func(tx *table.Transaction) error { return tx.RemoveProperties([]string{table.ManifestMergeEnabledKey}) }) // the rivals do not merge
	script := &laketest.Script{}
	wrapped := laketest.Wrap(c, script)
	m := newMerger(t, New(wrapped, testOptions()))
	for range 5 {
		m.commit(t, "")
	}
	before := len(script.Effects())
	offers := rivalsFirst(t, wrapped, 3)
	m.commit(t, "")
	if *offers != 4 {
		t.Fatalf("%d offers were made, want 4", *offers)
	}
	made := map[string]int{}
	for _, e := range script.Effects()[before:] {
		made[e]++
	}
	if got := made["create manifest"]; got != 5 { // one of each offer, and that of the merge
		t.Errorf("%d manifests were written, want 5: %v", got, made)
	}
	if got := len(manifests(t, load(t, c))); got != 5 {
		t.Errorf("%d manifests: want that of the merge, three of the rivals and our own", got)
	}
	if has, _ := entries(t, load(t, c)); len(has) != 9 {
		t.Errorf("%d files are listed, want 9", len(has))
	}
}
