package maintain

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

const week = 7 * 24 * time.Hour

func (s *small) orphans(o OrphanOptions, options Options) *Orphans {
	s.t.Helper()
	found, err := Open(s.sink, options).Orphans(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// put writes a file into the table's folder.
func (s *small) put(name string) string {
	s.t.Helper()
	path := filepath.Join(s.root(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("left"), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestOrphansAreWhatNothingRefersToAndNothingElse(t *testing.T) {
	s := filled(t, 4)
	s.expire(ExpireOptions{RetainLast: 2}, Options{Now: later(9)})
	lost := s.stage(pairRows(len(s.rows), 3))
	s.add(pairRows(len(s.rows), 3)) // the same batch, by another attempt
	s.change(func(tx *table.Transaction) error { return tx.SetProperties(iceberg.Properties{"x": "y"}) })
	left := []string{s.put("data/somebody.parquet"), s.put("data/deep/er/x.orc"), s.put("metadata/11111111-m0.avro"), s.put("metadata/snap-1-1-x.avro"), s.put("metadata/stale.stats"),
		strings.TrimPrefix(lost.commit.Results[0].Files[0].Path, "file://")}
	hidden := []string{s.put("_checkpoint/offsets.parquet"), s.put("data/.staging/x.parquet"), s.put("README.md"), s.put("metadata/version-hint.text"), s.put("data/_SUCCESS")}
	young := s.orphans(OrphanOptions{Remove: true}, Options{})
	if young.Found.Files != 0 || young.Young.Files != int64(len(left)) {
		t.Errorf("of young files: got %+v", young)
	}
	aged(t, s.root(), week)
	shown := s.orphans(OrphanOptions{Show: 2}, Options{})
	if shown.Found.Files != int64(len(left)) || shown.Removed.Files != 0 || len(shown.First) != 2 || shown.OlderThan != DefaultOrphanAge {
		t.Errorf("shown: got %+v", shown)
	}
	if dry := s.orphans(OrphanOptions{Remove: true}, Options{DryRun: true}); dry.Removed.Files != 0 || dry.Found != shown.Found {
		t.Errorf("a dry run: got %+v", dry)
	}
	done := s.orphans(OrphanOptions{Remove: true}, Options{})
	if done.Removed != shown.Found || done.Found != shown.Found || done.Others.Files != 2 {
		t.Errorf("got %+v", done)
	}
	for _, f := range left {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s is left", f)
		}
	}
	for _, f := range hidden {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	s.sound()
	s.fill(1)
	s.sound()
}

// Files of a batch that the table has not reached stay, however old: whoever sleeps with them may wake up
// (https://github.com/apache/iceberg/issues/4194, https://github.com/StarRocks/starrocks/pull/77394).
func TestFilesOfABatchThatMayStillBeCommittedStay(t *testing.T) {
	s := filled(t, 2)
	asleep := s.stage(pairRows(len(s.rows), 3))
	aged(t, s.root(), 100*week)
	o := s.orphans(OrphanOptions{Remove: true}, Options{})
	if o.Open.Files != 1 || o.Found.Files != 0 {
		t.Fatalf("got %+v", o)
	}
	s.commit(asleep)
	s.sound()
	first := newSmall(t, pairSchema()) // its query has no ledger yet
	asleep = first.stage(pairRows(0, 3))
	aged(t, first.root(), week)
	if o := first.orphans(OrphanOptions{Remove: true}, Options{Query: smallQuery}); o.Open.Files != 1 || o.Found.Files != 0 {
		t.Fatalf("a first batch: got %+v", o)
	}
	first.commit(asleep)
	first.sound()
	lost := first.stage(pairRows(3, 3))
	aged(t, first.root(), week)
	if o := first.orphans(OrphanOptions{Remove: true, Abandoned: []string{smallQuery}}, Options{}); o.Removed.Files != 1 || o.Open.Files != 0 {
		t.Errorf("of a query that does not run any more: got %+v, %s", o, lost.commit.Results[0].Files[0].Path)
	}
	first.sound()
}

func TestAnAgeBelowTheFloorIsRefused(t *testing.T) {
	s := filled(t, 1)
	_, err := Open(s.sink, Options{}).Orphans(context.Background(), OrphanOptions{OlderThan: time.Hour, Remove: true})
	if err == nil || batch.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	s.put("data/x.parquet")
	aged(t, s.root(), 2*time.Hour)
	if o := s.orphans(OrphanOptions{OlderThan: time.Hour, Unsafe: true, Remove: true}, Options{}); o.Removed.Files != 1 {
		t.Errorf("got %+v", o)
	}
	s.sound()
}

// A host whose clock is ahead must not take files of today for old ones: the store's clock counts.
func TestTheStoresClockCounts(t *testing.T) {
	s := filled(t, 1)
	path := s.put("data/x.parquet")
	if o := s.orphans(OrphanOptions{Remove: true}, Options{Now: later(1000)}); o.Removed.Files != 0 || o.Young.Files != 1 {
		t.Errorf("got %+v", o)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	for _, f := range filesBelow(t, s.root()) {
		if strings.Contains(f, "probe") {
			t.Errorf("%s is left", f)
		}
	}
}

// What engines write into metadata for the same file differs: https://github.com/apache/iceberg/issues/4346.
func TestOddAddressesOfLiveFilesAreNoOrphans(t *testing.T) {
	s := filled(t, 2)
	root := s.root()
	for i, odd := range []string{"file://" + root + "//data//odd0.parquet", "file:" + root + "/data/../data/odd1.parquet", root + "/data/odd2.parquet", "file://" + root + "/data/s=a%20b/odd3.parquet"} {
		from := onDisk(t, s.load())[0]
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(root, "data")
		if i == 3 {
			folder = filepath.Join(folder, "s=a b")
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(odd)), content, 0o644); err != nil {
			t.Fatal(err)
		}
		live := liveFiles(t, s.load())[0]
		b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, odd, iceberg.ParquetFile, nil, nil, nil, live.Count(), live.FileSizeBytes())
		if err != nil {
			t.Fatal(err)
		}
		s.change(func(tx *table.Transaction) error {
			return tx.AddDataFiles(context.Background(), []iceberg.DataFile{b.Build()}, nil, table.WithoutAutoNameMapping())
		})
	}
	aged(t, root, week)
	before := filesBelow(t, root)
	if o := s.orphans(OrphanOptions{Remove: true}, Options{}); o.Found.Files != 0 {
		t.Errorf("got %+v", o)
	}
	if after := filesBelow(t, root); !slices.Equal(before, after) {
		t.Errorf("there were %v and are %v", before, after)
	}
}

// A file with the name of one that is referred to in another folder: the table may have been moved, or is read by another path.
func TestAFileWithTheNameOfALiveOneIsDoubtful(t *testing.T) {
	s := filled(t, 1)
	s.put("moved/" + filepath.Base(onDisk(t, s.load())[0]))
	aged(t, s.root(), week)
	if o := s.orphans(OrphanOptions{Remove: true}, Options{}); o.Doubtful.Files != 1 || o.Found.Files != 0 {
		t.Errorf("got %+v", o)
	}
	s.sound()
}

// https://github.com/apache/iceberg/issues/17213, https://github.com/apache/iceberg/issues/4265,
// https://github.com/apache/iceberg/pull/12278
func TestATableThatSharesItsFolderIsRefused(t *testing.T) {
	for name, location := range map[string]func(string) string{
		"the same":      func(root string) string { return root },
		"another form":  func(root string) string { return strings.Replace(root, "file://", "file:", 1) + "//" },
		"one inside":    func(root string) string { return root + "/inner" },
		"one around it": func(root string) string { return filepath.Dir(strings.TrimPrefix(root, "file://")) },
	} {
		s := filled(t, 1)
		schema := s.load().Schema()
		if err := s.c.CreateNamespace(context.Background(), table.Identifier{"other"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.c.CreateTable(context.Background(), table.Identifier{"other", "twin"}, schema, catalog.WithLocation(location(s.load().Location()))); err != nil {
			t.Fatal(err)
		}
		aged(t, s.root(), week)
		_, err := Open(s.sink, Options{}).Orphans(context.Background(), OrphanOptions{Remove: true})
		if batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), "other.twin") {
			t.Errorf("%s: got %v", name, err)
		}
		s.sound()
	}
}

// A table that no catalog here knows has its metadata in the folder.
func TestMetadataOfAnotherTableInTheFolderIsRefused(t *testing.T) {
	s, strange := filled(t, 1), filled(t, 1)
	content, err := os.ReadFile(strings.TrimPrefix(strange.load().MetadataLocation(), "file://"))
	if err != nil {
		t.Fatal(err)
	}
	name := "metadata/" + filepath.Base(strange.load().MetadataLocation())
	if err := os.WriteFile(s.put(name), content, 0o644); err != nil {
		t.Fatal(err)
	}
	s.put("data/x.parquet")
	s.put("metadata/00007-broken.metadata.json")
	aged(t, s.root(), week)
	uuid := strange.load().Metadata().TableUUID().String()
	_, err = Open(s.sink, Options{}).Orphans(context.Background(), OrphanOptions{Remove: true})
	if batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(batch.HintOf(err), "--dropped-table "+uuid) {
		t.Errorf("got %v, %s", err, batch.HintOf(err))
	}
	if o := s.orphans(OrphanOptions{Remove: true, Dropped: []string{uuid}}, Options{}); o.Removed.Files != 2 || o.Doubtful.Files != 1 {
		t.Errorf("of a table that was dropped: got %+v", o)
	}
	s.sound()
}

// https://github.com/apache/amoro/issues/1959
func TestStatisticsAreReferredTo(t *testing.T) {
	s := filled(t, 2)
	head := s.load().CurrentSnapshot()
	path := s.put("metadata/x.stats")
	_, _, err := s.c.CommitTable(context.Background(), s.load().Identifier(), nil, []table.Update{table.NewSetStatisticsUpdate(table.StatisticsFile{SnapshotID: head.SnapshotID, StatisticsPath: "file://" + path, FileSizeInBytes: 4, FileFooterSizeInBytes: 1, BlobMetadata: []table.BlobMetadata{}})})
	if err != nil {
		t.Fatal(err)
	}
	aged(t, s.root(), week)
	if o := s.orphans(OrphanOptions{Remove: true}, Options{}); o.Found.Files != 0 {
		t.Errorf("got %+v", o)
	}
	s.fill(1)
	if e := s.expire(ExpireOptions{RetainLast: 1}, Options{Now: later(9)}); e.Metadata.Files != 3 {
		t.Errorf("its snapshot has expired: got %+v", e)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the statistics of an expired snapshot are left")
	}
}

// Who cannot read all that a table refers to knows no orphan.
func TestNothingIsRemovedWhereAManifestIsGone(t *testing.T) {
	s := filled(t, 2)
	extra := s.put("data/x.parquet")
	tbl := s.load()
	store, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(store)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimPrefix(manifests[0].FilePath(), "file://")); err != nil {
		t.Fatal(err)
	}
	aged(t, s.root(), week)
	if _, err := Open(s.sink, Options{}).Orphans(context.Background(), OrphanOptions{Remove: true}); err == nil || !strings.Contains(err.Error(), manifests[0].FilePath()) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(extra); err != nil {
		t.Error(err)
	}
}

// What is committed between the listing and the removal is looked for again (https://github.com/apache/paimon/issues/3074).
func TestAFileThatIsCommittedDuringTheRemovalStays(t *testing.T) {
	s := filled(t, 1)
	asleep := s.stage(pairRows(len(s.rows), 3))
	aged(t, s.root(), week)
	loads := 0
	wrapped := laketest.Wrap(s.c, &laketest.Script{})
	wrapped.FailLoad = func() error {
		if loads++; loads == 3 { // listing, what is referred to, and before the removal
			s.commit(asleep)
		}
		return nil
	}
	o, err := Open(sinkOf(wrapped), Options{}).Orphans(context.Background(), OrphanOptions{Remove: true, Abandoned: []string{smallQuery}})
	if err != nil || o.Found.Files != 1 || o.Removed.Files != 0 {
		t.Errorf("got %+v, %v", o, err)
	}
	s.sound()
}

func TestARemovalOfOrphansStruckAnywhereHarmsNothing(t *testing.T) {
	t.Parallel()
	s := newSmall(t, pairSchema())
	s.fill(1)
	strike(t, "create file, remove data, remove file", func(script *laketest.Script) error {
		lost := s.stage(pairRows(len(s.rows), 3))
		s.add(lost.rows)
		aged(t, s.root(), week)
		pending := s.stage(pairRows(len(s.rows), 3))
		_, err := s.broken(script, Options{}).Orphans(context.Background(), OrphanOptions{Remove: true})
		s.sound()
		s.commit(pending)
		s.sound()
		return err
	})
}
