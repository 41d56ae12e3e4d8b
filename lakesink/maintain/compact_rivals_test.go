package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/laketest"
)

var numbers = columns.Schema{fieldOf("n", columns.Int64), fieldOf("s", columns.String)}

// newNumbers is a table with so many files of two rows.
func newNumbers(t testing.TB, files int64, change ...func(*lakesink.Options)) *small {
	t.Helper()
	s := newSmall(t, numbers, change...)
	for range files {
		s.addNumber()
	}
	return s
}

func numberRows(n int64) [][]any { return [][]any{{2 * n, fmt.Sprint("row ", n)}, {2*n + 1, nil}} }

func (s *small) addNumber() { s.t.Helper(); s.add(numberRows(s.next)) }

// through compacts through a catalog of its own.
func through(c catalog.Catalog, o CompactOptions) (*Compaction, error) {
	return Open(sinkOf(c), Options{}).Compact(context.Background(), o)
}

func TestABatchStagedBeforeAndCommittedAfterACompactionLands(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	staged := s.stage(numberRows(s.next))
	s.compact(CompactOptions{})
	s.commit(staged)
	s.wantSame()
	if got := len(liveFiles(t, s.load())); got != 2 {
		t.Errorf("%d files, want the compacted one and that of the batch", got)
	}
}

func TestACompactionThatABatchOvertakesLands(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	between := laketest.Wrap(s.c, &laketest.Script{})
	times := 0
	between.BeforeCommit = func(table.Identifier) {
		if times++; times <= 2 {
			s.addNumber()
		}
	}
	c, err := through(between, CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.wantSame()
	if c.Commits != 1 || times != 3 || len(liveFiles(t, s.load())) != 3 || len(onDisk(t, s.load())) != 9 {
		t.Errorf("%+v after %d offers; %d files are live, %d on disk", c, times, len(liveFiles(t, s.load())), len(onDisk(t, s.load())))
	}
	s.addNumber()
	s.wantSame()
}

// Whoever commits second finds that the files are gone, and drops what it made.
func TestOfTwoCompactionsAtOnceOneDoesTheWork(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	second := laketest.Wrap(s.c, &laketest.Script{})
	once := false
	second.Script.Step = func(name string, after bool) {
		if after && strings.HasPrefix(name, "create data") && !once {
			once = true
			if c, err := through(s.c, CompactOptions{}); err != nil || c.Commits != 1 {
				t.Errorf("the first: %+v, %v", c, err)
			}
		}
	}
	c, err := through(second, CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.wantSame()
	if !once || c.Commits != 0 || states(c)[Dropped] != 1 || !strings.Contains(c.Groups[0].Why, "removed") || c.Abandoned.Files != 0 {
		t.Errorf("the second: %+v", c)
	}
	if got := len(onDisk(t, s.load())); got != 7 {
		t.Errorf("%d data files on disk, want 6 and the compacted one", got)
	}
}

// beforeCommit compacts while somebody else does something right before the first commit, or right before the n-th.
func (s *small) beforeCommit(o CompactOptions, do func()) (*Compaction, error) {
	between := laketest.Wrap(s.c, &laketest.Script{})
	done := false
	between.BeforeCommit = func(table.Identifier) {
		if !done {
			done = true
			do()
		}
	}
	return through(between, o)
}

// deleteRow deletes the rows of a number as another engine would; mode is copy-on-write or merge-on-read.
func (s *small) deleteRow(n int64, mode string) {
	s.t.Helper()
	s.change(func(tx *table.Transaction) error {
		return tx.SetProperties(iceberg.Properties{"write.delete.mode": mode})
	})
	s.change(func(tx *table.Transaction) error {
		return tx.Delete(context.Background(), iceberg.EqualTo(iceberg.Reference("n"), n), nil)
	})
	s.rows = slices.DeleteFunc(s.rows, func(row []any) bool { return row[0] == n })
}

func TestGroupsWhoseRowsSomebodyDeletesMeanwhileAreDropped(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"copy-on-write", "merge-on-read"} {
		t.Run(mode, func(t *testing.T) {
			s := newNumbers(t, 10)
			o := CompactOptions{TargetFileBytes: 5200, MinInputFiles: 2, MaxCommits: 1} // some groups
			c, err := s.beforeCommit(o, func() { s.deleteRow(3, mode) })
			if err != nil {
				t.Fatal(err)
			}
			s.wantSame()
			if n := states(c); n[Dropped] < 1 || mode == "copy-on-write" && n[Compacted] < 1 {
				t.Errorf("%+v", c)
			}
			if _, err := through(s.c, CompactOptions{MinInputFiles: 2}); err != nil {
				t.Fatal(err)
			}
			s.wantSame()
			if got := len(liveFiles(t, s.load())); got != 1 {
				t.Errorf("%d files in the end", got)
			}
		})
	}
}

// A delete by equality that came after the plan is for the compacted rows too, also where nobody noticed it.
func TestDeletesByEqualityHoldForCompactedRows(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	s.compact(CompactOptions{})
	f := liveFiles(t, s.load())[0]
	tasks, err := s.load().Scan().PlanFiles(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := *tasks[0].DataSequenceNumber; got != 6 {
		t.Errorf("%s has data sequence number %d, want 6, that of the head that the rows were read at", f.FilePath(), got)
	}
}

func TestATableThatWasAlteredMeanwhileIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	c, err := s.beforeCommit(CompactOptions{}, func() {
		s.change(func(tx *table.Transaction) error {
			return tx.UpdateSchema(true, false).AddColumn([]string{"more"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
		})
	})
	if !errors.Is(err, errAltered) || c.Commits != 0 || states(c)[Dropped] != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	if got := len(liveFiles(t, s.load())); got != 6 {
		t.Errorf("%d files", got)
	}
}

func TestATableMadeAnewMeanwhileIsNotTouched(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 6)
	c, err := s.beforeCommit(CompactOptions{}, func() {
		if err := s.c.DropTable(context.Background(), catalog.ToIdentifier(smallTable)); err != nil {
			t.Fatal(err)
		}
		if err := sinkOf(s.c).Create(context.Background(), numbers); err != nil {
			t.Fatal(err)
		}
	})
	if batch.ClassOf(err) != batch.Inconsistent || c.Commits != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	if head := s.load().CurrentSnapshot(); head != nil {
		t.Errorf("the new table has snapshot %d", head.SnapshotID)
	}
}

// Position deletes of iceberg-go name no data file: their bounds are cut.
func TestRowsThatAreDeletedByPositionAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 12)
	s.deleteRow(3, "merge-on-read")
	s.deleteRow(20, "merge-on-read")
	before := s.load().CurrentSnapshot().Summary.Properties["total-records"]
	c, err := Open(s.sink, Options{}).Compact(context.Background(), CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.wantSame()
	if c.Commits != 1 || c.Groups[0].In.Files != 12 || c.Groups[0].Rows != 22 || before != "24" {
		t.Errorf("%+v of %s", c, before)
	}
	if got := len(liveFiles(t, s.load())); got != 1 {
		t.Errorf("%d files", got)
	}
	s.addNumber()
	s.deleteRow(4, "merge-on-read") // of a row that was moved
	s.wantSame()
	if c, err = Open(s.sink, Options{}).Compact(context.Background(), CompactOptions{MinInputFiles: 2}); err != nil || c.Groups[0].Rows != 23 {
		t.Errorf("%+v, %v", c, err)
	}
	s.wantSame()
}

// The small files go with the snapshots that have them, the new ones stay.
func TestExpiryAfterACompactionRemovesTheSmallFiles(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 5, func(o *lakesink.Options) { o.ExpireEvery, o.KeepSnapshots = 2, 2 })
	s.compact(CompactOptions{})
	for range 4 {
		s.addNumber()
		if err := s.sink.Maintain(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		s.wantSame()
	}
	if live, there := len(liveFiles(t, s.load())), len(onDisk(t, s.load())); live != 5 || there != 5 {
		t.Errorf("%d files are live and %d on disk, want 5", live, there)
	}
}

func TestFilesOfEarlierSpecsAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newNumbers(t, 2)
	s.change(func(tx *table.Transaction) error {
		return tx.UpdateSpec(true).AddIdentity("s").Commit()
	})
	for range 5 {
		s.addNumber()
	}
	c := s.compact(CompactOptions{})
	if c.Left.OtherSpecs != 2 || c.Commits != 1 || len(c.Groups) != 1 || c.Groups[0].Partition != "s=null" {
		t.Errorf("%+v", c)
	}
}

// A group that cannot be read keeps no other from being compacted.
func TestADamagedFileFailsItsGroupAlone(t *testing.T) {
	t.Parallel()
	s := byRegion(t)
	var rows [][]any
	for k := range 6 {
		rows = append(rows, []any{[]string{"a", "b"}[k%2], int64(0), int64(k), []byte("x")})
	}
	for range 5 {
		s.add(rows)
	}
	var broken string
	for _, path := range onDisk(t, s.load()) {
		if strings.Contains(path, "region=a") {
			broken = path
		}
	}
	damage(t, broken)
	c, err := Open(s.sink, Options{}).Compact(context.Background(), CompactOptions{})
	if err == nil || !strings.Contains(err.Error(), "compact 1 groups of 2") || states(c)[FailedGroup] != 1 || states(c)[Compacted] != 1 || c.Commits != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	if got := len(liveFiles(t, s.load())); got != 6 {
		t.Errorf("%d files, want 5 and 1", got)
	}
}

// deleteEqual deletes the rows of a number by equality, as a streaming writer would.
func (s *small) deleteEqual(n int64) {
	s.t.Helper()
	ctx := context.Background()
	s.change(func(tx *table.Transaction) error {
		schema, err := table.SchemaToArrowSchema(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "n", Type: iceberg.PrimitiveTypes.Int64}), nil, true, false)
		if err != nil {
			return err
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		b.Append(n)
		column := b.NewArray()
		defer column.Release()
		rows := array.NewRecordBatch(schema, []arrow.Array{column}, 1)
		files, err := tx.WriteEqualityDeletes(ctx, []int{1}, func(yield func(arrow.RecordBatch, error) bool) { yield(rows, nil) })
		if err != nil {
			return err
		}
		return tx.NewRowDelta(nil).AddDeletes(files...).Commit(ctx)
	})
	s.rows = slices.DeleteFunc(s.rows, func(row []any) bool { return row[0] == n })
}
