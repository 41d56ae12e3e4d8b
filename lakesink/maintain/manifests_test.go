package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink"
	"sluice/lakesink/laketest"
	"sluice/layout"
)

// listed are the entries of the table's head, each as all that a reader goes by, and how many manifests have them.
func (s *small) listed() (entries []string, manifests int) {
	s.t.Helper()
	tbl := s.load()
	store, err := tbl.FS(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := tbl.CurrentSnapshot().Manifests(store)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range all {
		for e, err := range m.Entries(store, true) {
			if err != nil {
				s.t.Fatal(err)
			}
			f := e.DataFile()
			row, sequence := int64(-1), int64(0)
			if f.FirstRowID() != nil {
				row = *f.FirstRowID()
			}
			if e.FileSequenceNum() != nil { // format version 1 has none
				sequence = *e.FileSequenceNum()
			}
			entries = append(entries, fmt.Sprint(f.FilePath(), f.Count(), f.FileSizeBytes(), f.Partition(), f.NullValueCounts(), f.LowerBoundValues(), f.UpperBoundValues(), f.SplitOffsets(), e.SnapshotID(), e.SequenceNum(), sequence, row))
		}
	}
	slices.Sort(entries)
	return entries, len(all)
}

func (s *small) rewriteManifests(o Options) *Manifests {
	s.t.Helper()
	m, err := Open(s.sink, o).RewriteManifests(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func TestManyManifestsBecomeFew(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			s := filled(t, 10, func(o *lakesink.Options) { o.TableProperties = map[string]string{"format-version": version} })
			entries, _ := s.listed()
			head := s.load().CurrentSnapshot()
			if m := s.rewriteManifests(Options{DryRun: true}); m.Rewritten.Files != 10 || m.Written.Files != 1 || m.Skipped != "" || s.load().CurrentSnapshot().SnapshotID != head.SnapshotID {
				t.Errorf("a dry run: got %+v", m)
			}
			m := s.rewriteManifests(Options{})
			got, manifests := s.listed()
			if manifests != 1 || !slices.Equal(got, entries) || m.Rewritten.Files != 10 || m.Written.Files != 1 || m.Entries != 10 {
				t.Errorf("got %+v, and %d manifests with\n%v\nwant\n%v", m, manifests, got, entries)
			}
			now := s.load().CurrentSnapshot()
			if now.Summary.Operation != table.OpReplace || now.SnapshotID != m.Snapshot || *now.ParentSnapshotID != head.SnapshotID {
				t.Errorf("got snapshot %+v", now)
			}
			for _, total := range []string{"total-records", "total-data-files", "total-files-size"} {
				if now.Summary.Properties[total] != head.Summary.Properties[total] {
					t.Errorf("%s was %s and is %s", total, head.Summary.Properties[total], now.Summary.Properties[total])
				}
			}
			s.sound()
			if m := s.rewriteManifests(Options{}); m.Skipped == "" || m.Snapshot != 0 {
				t.Errorf("a second time: got %+v", m)
			}
			s.fill(2)
			s.sound()
		})
	}
}

// A query for one region is to read few manifests, also where the partition field's name is none that Avro allows.
func TestEntriesOfOnePartitionComeTogether(t *testing.T) {
	region, err := layout.ParseTerm("region")
	if err != nil {
		t.Fatal(err)
	}
	s := newSmall(t, pairSchema(), func(o *lakesink.Options) {
		o.PartitionBy = []layout.Term{region}
	})
	s.fill(12)
	s.change(func(tx *table.Transaction) error {
		return errors.Join(tx.SetProperties(iceberg.Properties{"commit.manifest.target-size-bytes": "20000"}), tx.UpdateSpec(true).RenameField("region", "the region.of it").Commit())
	})
	entries, _ := s.listed()
	m := s.rewriteManifests(Options{})
	got, manifests := s.listed()
	if !slices.Equal(got, entries) || manifests < 2 || manifests > 6 || m.Written.Files != int64(manifests) {
		t.Fatalf("got %+v, %d manifests", m, manifests)
	}
	tbl := s.load()
	store, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := tbl.CurrentSnapshot().Manifests(store)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, m := range all {
		regions := map[any]bool{}
		for e, err := range m.Entries(store, true) {
			if err != nil {
				t.Fatal(err)
			}
			for v := range maps.Values(e.DataFile().Partition()) {
				regions[v] = true
			}
		}
		most = max(most, len(regions))
	}
	if most > 2 {
		t.Errorf("a manifest has files of %d regions", most)
	}
	s.sound()
}

func TestARewriteOfManifestsYieldsToOthersAndGoesOn(t *testing.T) {
	s := filled(t, 10)
	pending := s.stage(pairRows(len(s.rows), 3))
	wrapped := laketest.Wrap(s.c, &laketest.Script{})
	wrapped.BeforeCommit = func(table.Identifier) { wrapped.BeforeCommit = nil; s.commit(pending) }
	m, err := Open(sinkOf(wrapped), Options{}).RewriteManifests(context.Background())
	if err != nil || m.Rewritten.Files != 11 {
		t.Errorf("got %+v, %v", m, err)
	}
	s.sound()
}

func TestARewriteOfManifestsStruckAnywhereHarmsNothing(t *testing.T) {
	t.Parallel()
	s := newSmall(t, pairSchema())
	s.fill(8)
	strike(t, "commit snapshot, create manifest", func(script *laketest.Script) error {
		_, manifests := s.listed()
		s.fill(max(0, 9-manifests))
		pending := s.stage(pairRows(len(s.rows), 3))
		_, err := s.broken(script, Options{}).RewriteManifests(context.Background())
		s.sound()
		s.commit(pending)
		s.sound()
		return err
	})
	s.rewriteManifests(Options{})
	s.sound()
}

func TestHowPartitionsSort(t *testing.T) {
	for _, values := range [][]any{{nil, int32(-5), int32(0), int32(7)}, {int64(-1 << 63), int64(-1), int64(1)}, {iceberg.Date(-3), iceberg.Date(20000)}, {"", "a", "b"}} {
		var texts []string
		for _, v := range values {
			texts = append(texts, lakesink.PartitionText(map[int]any{1000: v}))
		}
		if !slices.IsSorted(texts) {
			t.Errorf("%v: got %q", values, texts)
		}
	}
}

func TestAnEmptyMainIsSaidToBeEmpty(t *testing.T) {
	s := filled(t, 0, func(o *lakesink.Options) { o.Branch = "audit" })
	on := Open(s.sink, Options{})
	c, err := on.Compact(context.Background(), CompactOptions{})
	if err != nil || c.Skipped != "main has no snapshot" {
		t.Errorf("compact: got %+v, %v", c, err)
	}
	if m := s.rewriteManifests(Options{}); m.Skipped != "main has no snapshot" {
		t.Errorf("manifests: got %+v", m)
	}
	if on.Name() != smallTable {
		t.Errorf("it is called %s, want %s", on.Name(), smallTable)
	}
}
