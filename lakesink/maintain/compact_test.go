package maintain

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

func fieldOf(name string, kind columns.Kind) columns.Field {
	return columns.Field{Name: name, Type: columns.Type{Kind: kind}}
}

// everyKind has a column of each kind, and nested ones.
func everyKind() columns.Schema {
	point := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "x", Type: columns.Type{Kind: columns.Float64}, Required: true}, fieldOf("label", columns.String)}}
	pair := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, fieldOf("value", columns.Binary)}}
	return columns.Schema{
		fieldOf("b", columns.Bool), fieldOf("i", columns.Int32), {Name: "l", Type: columns.Type{Kind: columns.Int64}, Required: true}, fieldOf("f", columns.Float32), fieldOf("d", columns.Float64),
		{Name: "d9", Type: columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}}, {Name: "d18", Type: columns.Type{Kind: columns.Decimal, Precision: 18, Scale: 2}},
		{Name: "d38", Type: columns.Type{Kind: columns.Decimal, Precision: 38, Scale: 5}}, fieldOf("date", columns.Date), fieldOf("time", columns.Time),
		fieldOf("ts", columns.Timestamp), fieldOf("tz", columns.TimestampTZ), fieldOf("s", columns.String), fieldOf("bin", columns.Binary),
		{Name: "fix", Type: columns.Type{Kind: columns.Fixed, Width: 5}}, fieldOf("uuid", columns.UUID), {Name: "point", Type: point},
		{Name: "tags", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{fieldOf("element", columns.String)}}},
		{Name: "attrs", Type: columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "value", Type: point}}}},
		{Name: "headers", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Required: true, Type: pair}}}},
		{Name: "deep", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: point}}}}}}},
	}
}

func TestCompactionKeepsEveryValueOfEveryKind(t *testing.T) {
	t.Parallel()
	s := newSmall(t, everyKind())
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		s.add(rowtest.RandomRows(rng, s.schema, 1+rng.IntN(40)))
	}
	c := s.compact(CompactOptions{})
	if got := liveFiles(t, s.load()); len(got) != 1 || c.Commits != 1 || len(c.Groups) != 1 || c.Groups[0].In.Files != 12 || c.Groups[0].Out.Files != 1 || c.Groups[0].Rows != int64(len(s.rows)) {
		t.Errorf("%d files are left after %+v", len(got), c)
	}
	if c := s.compact(CompactOptions{}); len(c.Groups) != 0 || c.Left.Few != 1 {
		t.Errorf("a second time: %+v", c)
	}
	s.add(rowtest.RandomRows(rng, s.schema, 5)) // the ledger goes on
	s.wantSame()
}

// byRegion is a table with partitions; values fill files.
func byRegion(t testing.TB, change ...func(*lakesink.Options)) *small {
	region, err := layout.ParseTerm("region")
	if err != nil {
		t.Fatal(err)
	}
	day, err := layout.ParseTerm("days(at)")
	if err != nil {
		t.Fatal(err)
	}
	schema := columns.Schema{fieldOf("region", columns.String), fieldOf("at", columns.TimestampTZ), fieldOf("n", columns.Int64), fieldOf("fill", columns.Binary)}
	return newSmall(t, schema, append([]func(*lakesink.Options){func(o *lakesink.Options) { o.PartitionBy = []layout.Term{region, day} }}, change...)...)
}

// regionRows are n rows of so many bytes that do not compress, in three regions, one of which is null, on two days.
func regionRows(rng *rand.Rand, n, bytes int) [][]any {
	var rows [][]any
	for range n {
		fill := make([]byte, bytes)
		for i := range fill {
			fill[i] = byte(rng.Uint32())
		}
		var region any
		if k := rng.IntN(3); k > 0 {
			region = []string{"", "", "é/u =%"}[k]
		}
		rows = append(rows, []any{region, 1772600000000000 + rng.Int64N(2)*86_400_000_000, rng.Int64N(1000), fill})
	}
	return rows
}

func TestPartitionsAreCompactedApartToTheTargetSize(t *testing.T) {
	t.Parallel()
	s := byRegion(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		s.add(regionRows(rng, 30, 4000)) // about 20 kB a partition
	}
	const target = 90_000
	c := s.compact(CompactOptions{TargetFileBytes: target, MinInputFiles: 2, MemoryBytes: 128 << 20, MaxCommits: 3})
	if c.Commits > 3 || c.Commits < 2 || states(c)[Compacted] != len(c.Groups) {
		t.Errorf("%d commits, groups %v", c.Commits, states(c))
	}
	partitions := map[string]bool{}
	for _, g := range c.Groups {
		partitions[g.Partition] = true
		if g.Out.Files != 1 || g.Out.Bytes > target*14/10 {
			t.Errorf("partition %s: %+v of %+v", g.Partition, g.Out, g.In)
		}
	}
	if len(partitions) != 6 {
		t.Errorf("partitions %v, want 6", partitions)
	}
	if got := len(liveFiles(t, s.load())); got > 18 || got < 12 {
		t.Errorf("%d files of 1 MB in 6 partitions for a target of 90 kB", got)
	}
	if c := s.compact(CompactOptions{TargetFileBytes: target}); len(c.Groups) != 0 {
		t.Errorf("a second time there is still %+v", c)
	}
}

func TestADryRunTellsThePlanAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := byRegion(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		s.add(regionRows(rng, 20, 100))
	}
	before := s.load()
	dry := func() *Compaction {
		c, err := Open(s.sink, Options{DryRun: true}).Compact(context.Background(), CompactOptions{MinInputFiles: 2})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := dry()
	if !reflect.DeepEqual(first, dry()) || states(first)[Planned] != 6 {
		t.Errorf("two plans of one table: %+v and %+v", first, dry())
	}
	for _, g := range first.Groups {
		if g.Out != (Count{Files: 1, Bytes: g.In.Bytes}) {
			t.Errorf("a dry run estimates %+v for a group of %+v, want one file of its bytes", g.Out, g.In)
		}
	}
	if after := s.load(); after.MetadataLocation() != before.MetadataLocation() || len(onDisk(t, after)) != len(liveFiles(t, after)) {
		t.Errorf("a dry run wrote something")
	}
	c := s.compact(CompactOptions{MinInputFiles: 2})
	for i := range c.Groups {
		g := c.Groups[i]
		g.Out, g.State = first.Groups[i].Out, Planned
		if !reflect.DeepEqual(g, first.Groups[i]) {
			t.Errorf("group %d was planned as %+v and is %+v", i, first.Groups[i], g)
		}
	}
}

func TestCompactedFilesAreSortedAsTheTableSays(t *testing.T) {
	t.Parallel()
	by, err := layout.ParseOrder("n desc")
	if err != nil {
		t.Fatal(err)
	}
	s := byRegion(t, func(o *lakesink.Options) { o.SortBy = []layout.Order{by} })
	rng := rand.New(rand.NewPCG(7, 8))
	for range 5 {
		s.add(regionRows(rng, 40, 10))
	}
	s.compact(CompactOptions{})
	tbl := s.load()
	for _, f := range liveFiles(t, tbl) {
		if f.SortOrderID() == nil || *f.SortOrderID() != tbl.SortOrder().OrderID() {
			t.Errorf("%s does not say that it is sorted", f.FilePath())
		}
		_, records, err := tbl.Scan(table.WithSelectedFields("n")).ReadTasks(context.Background(), []table.FileScanTask{{File: f, Length: f.FileSizeBytes()}})
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int64
		for r, err := range records {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rowtest.FromArrow(r) {
				numbers = append(numbers, row[0].(int64))
			}
		}
		if !slices.IsSortedFunc(numbers, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("rows of %s are %v", f.FilePath(), numbers)
		}
	}
}

func TestTooFewFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	empty := newSmall(t, columns.Schema{fieldOf("n", columns.Int64)})
	if c, err := Open(empty.sink, Options{}).Compact(context.Background(), CompactOptions{}); err != nil || len(c.Groups) != 0 {
		t.Errorf("a table without rows: %+v, %v", c, err)
	}
	for n := range int64(4) {
		empty.add([][]any{{n}})
	}
	if c := empty.compact(CompactOptions{}); c.Left.Few != 4 || c.Commits != 0 {
		t.Errorf("four files: %+v", c)
	}
	if c := empty.compact(CompactOptions{MinInputFiles: 2}); c.Commits != 1 {
		t.Errorf("four files where two are enough: %+v", c)
	}
}
