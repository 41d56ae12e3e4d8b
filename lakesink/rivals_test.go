package lakesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/offsets"
)

// attempt writes the offsets [from, until) of partition 0 as one attempt at a task, under a given id.
func attempt(t testing.TB, s *Iceberg, c catalog.Catalog, id string, from, until int64) ([]batch.DataFile, error) {
	t.Helper()
	w, err := s.Write(context.Background(), taskFor(load(t, c)), id, rawSchema())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := w.Write(context.Background(), rawRows(0, from, until)); err != nil {
		return nil, err
	}
	return w.Close(context.Background())
}

// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/253: two owners of one partition wrote one name, and
// the shorter file took the place of the longer one.
func TestTwoAttemptsAtATaskShareNoName(t *testing.T) {
	s, c := newTable(t)
	plan := func(until int64) *batch.Plan {
		p := planOf(0, 0, until)
		for _, o := range []offsets.Offsets{p.Start, p.End} {
			delete(o, offsets.TopicPartition{Topic: topic, Partition: 1})
		}
		return p
	}
	a, b := plan(40), plan(25)
	var commits []*batch.Commit
	var paths []string
	for _, p := range []*batch.Plan{a, b} {
		results, err := execute(context.Background(), s, queryID, p)
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, commitOf(s, queryID, p, results))
		paths = append(paths, results[0].Files[0].Path)
	}
	if paths[0] == paths[1] {
		t.Fatalf("both attempts wrote %s", paths[0])
	}
	applied, err := s.Commit(context.Background(), commits[0])
	if err != nil || applied.Ledger.Next()[offsets.TopicPartition{Topic: topic}] != 40 {
		t.Fatalf("got %+v, %v", applied, err)
	}
	_, err = s.Commit(context.Background(), commits[1])
	wantClass(t, err, batch.Inconsistent, "another plan")
	if rows := scan(t, load(t, c)); len(rows) != 40 {
		t.Errorf("the table has %d rows, want 40", len(rows))
	}
}

// https://github.com/apache/seatunnel/issues/9133: names from a counter that began anew, so later files took the place of
// earlier ones. A name that is taken is an error, and another attempt has another name.
func TestANameThatIsTakenIsAnError(t *testing.T) {
	s, c := newTable(t)
	first, err := attempt(t, s, c, "the-same", 0, 50)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(localPath(first[0].Path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attempt(t, s, c, "the-same", 0, 20); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want it to say that the file exists", err)
	}
	if after, err := os.ReadFile(localPath(first[0].Path)); err != nil || !slices.Equal(before, after) {
		t.Errorf("the first file was changed: %d bytes, %v, before %d", len(after), err, len(before))
	}
	if _, err := attempt(t, s, c, "another", 0, 20); err != nil {
		t.Error(err)
	}
}

// https://github.com/apache/iceberg/issues/17340: the same data files were in two consecutive snapshots.
func TestTheSameFileIsNeverAddedTwice(t *testing.T) {
	s, c := newTable(t)
	results, err := execute(context.Background(), s, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	doubled := slices.Clone(results)
	doubled[1].Files = doubled[0].Files
	_, err = s.Commit(context.Background(), commitOf(s, queryID, planN(0), doubled))
	wantClass(t, err, batch.Failed, results[0].Files[0].Path, "listed twice")
	if load(t, c).CurrentSnapshot() != nil {
		t.Error("it was committed")
	}
}

// https://github.com/apache/iceberg/issues/17551, https://github.com/apache/iceberg/issues/17340: a writer that came back after
// a pause set the offsets back. The right number is not enough: a batch begins where the one before it ended.
func TestABatchBeginsWhereTheTableEnds(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	mustApply(t, s, queryID, planN(1))
	for name, plan := range map[string]*batch.Plan{"back": planOf(2, 10, 30), "ahead": planOf(2, 21, 30), "to nothing": planOf(2, 10, 10)} {
		_, err := apply(s, queryID, plan)
		wantClass(t, err, batch.Inconsistent, "batch 2 starts at", "up to 20", topic+"-0")
		if a, err := s.Table(context.Background(), queryID); err != nil || a.Applied.Batch != 1 || a.Applied.Ledger.Next()[offsets.TopicPartition{Topic: topic}] != 20 {
			t.Errorf("%s: the table is at %+v, %v", name, a, err)
		}
	}
	grown := planN(2)
	grown.Start[offsets.TopicPartition{Topic: topic, Partition: 2}], grown.End[offsets.TopicPartition{Topic: topic, Partition: 2}] = 5, 5 // new partitions begin anywhere
	mustApply(t, s, queryID, grown)
	wantOffsets(t, c, 30, 0)
}

// https://github.com/apache/iceberg-go/issues/976: a retry after a conflict was built on the old snapshot, and the rival's
// rows were gone.
func TestARetryIsBuiltOnTheRivalsSnapshot(t *testing.T) {
	_, c := newTable(t)
	rival(t, c, 3)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	var rivals int64
	wrapped.BeforeCommit = func(table.Identifier) {
		wrapped.BeforeCommit = nil
		rival(t, c, 5)
		rivals = load(t, c).CurrentSnapshot().SnapshotID
	}
	if _, err := apply(newSink(wrapped), queryID, planN(0)); err != nil {
		t.Fatal(err)
	}
	tbl := load(t, c)
	head := tbl.CurrentSnapshot()
	if head.ParentSnapshotID == nil || *head.ParentSnapshotID != rivals || head.Summary.Properties["total-records"] != "28" {
		t.Errorf("the parent is %s with %v, want the rival's %d", idText(head.ParentSnapshotID), head.Summary.Properties, rivals)
	}
	live := paths(liveFiles(t, tbl))
	if len(live) != 4 || slices.Max(slices.Collect(maps.Values(live))) != 1 {
		t.Errorf("live files %v, want 2 of the rival's and 2 of ours, each once", live)
	}
	wantOffsets(t, c, 10, 8)
}

// withoutCounters rewrites the head's manifest list as writers of format version 1 may leave it: no manifest says how many
// files it has.
func withoutCounters(t testing.TB, c catalog.Catalog) {
	t.Helper()
	tbl := load(t, c)
	head := tbl.CurrentSnapshot()
	var out bytes.Buffer
	w, err := iceberg.NewManifestListWriterV1(&out, head.SnapshotID, head.ParentSnapshotID)
	if err != nil {
		t.Fatal(err)
	}
	var list []iceberg.ManifestFile
	for _, m := range manifests(t, tbl) {
		list = append(list, iceberg.NewManifestFile(1, m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
			AddedFiles(-1).ExistingFiles(-1).DeletedFiles(-1).AddedRows(-1).ExistingRows(-1).DeletedRows(-1).Build())
	}
	if err := errors.Join(w.AddManifests(list), w.Close(), os.WriteFile(localPath(head.ManifestList), out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests(t, tbl) {
		if m.AddedDataFiles() >= 0 || m.ExistingDataFiles() >= 0 {
			t.Fatalf("%s still has counters", m.FilePath())
		}
	}
}

// https://github.com/apache/iceberg-go/issues/869: an append lost the live files of manifests without counters.
func TestAManifestOfFormat1WithoutCountersIsNotLost(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"format-version": "1"} })
	rival(t, c, 4)
	withoutCounters(t, c)
	mustApply(t, s, queryID, planN(0))
	wantOffsets(t, c, 10, 4)
	withoutCounters(t, c)
	mustApply(t, s, queryID, planN(1))
	wantOffsets(t, c, 20, 4)
}

// trusting is a catalog that keeps to no requirement.
type trusting struct {
	catalog.Catalog
	before func()
}

func (c *trusting) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return table.New(id, t.Metadata(), t.MetadataLocation(), t.FS, c), nil
}

func (c *trusting) CommitTable(ctx context.Context, id table.Identifier, _ []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if c.before != nil {
		c.before()
		c.before = nil
	}
	return c.Catalog.CommitTable(ctx, id, nil, updates)
}

// https://github.com/apache/iceberg/issues/14979: a catalog that took a commit for another table than the one it was made
// for. Where the requirement is not enforced, reading the table again tells.
func TestACommitToTheWrongTableRaisesTheAlarm(t *testing.T) {
	s, c := newTable(t)
	rogue := &trusting{Catalog: c}
	again := newSink(rogue)
	results, err := execute(context.Background(), again, queryID, planN(0))
	if err != nil {
		t.Fatal(err)
	}
	commit := commitOf(s, queryID, planN(0), results)
	rogue.before = func() {
		if err := c.DropTable(context.Background(), catalog.ToIdentifier(tableName)); err != nil {
			t.Fatal(err)
		}
		if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = again.Commit(context.Background(), commit)
	head := load(t, c).CurrentSnapshot()
	if head == nil {
		t.Fatal("the commit did not land: the test does not reach what it is about")
	}
	wantClass(t, err, batch.Inconsistent, commit.TableUUID, "to another table", fmt.Sprint(head.SnapshotID))
	if strings.Contains(batch.HintOf(err), "nothing was committed") {
		t.Errorf("the hint is %q", batch.HintOf(err))
	}
}
