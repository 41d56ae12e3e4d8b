package lakesink

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/parquet-go/parquet-go"

	"sluice/batch"
	"sluice/columns"
	"sluice/layout"
)

func sortBy(t testing.TB, terms ...string) []layout.Order {
	t.Helper()
	parsed := []layout.Order{}
	for _, text := range terms {
		order, err := layout.ParseOrder(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, order)
	}
	return parsed
}

// fileRows are the values of p and n in a data file, in its order.
func fileRows(t *testing.T, f batch.DataFile) (p []string, n []int64) {
	t.Helper()
	file, err := os.Open(localPath(f.Path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type row struct {
		N int64   `parquet:"n,optional"`
		P *string `parquet:"p,optional"`
	}
	rows, err := parquet.Read[row](file, f.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		n = append(n, r.N)
		if r.P == nil {
			p = append(p, "(null)")
		} else {
			p = append(p, *r.P)
		}
	}
	return p, n
}

func TestRowsAreSortedWithinEachFile(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		memory      int64
		partitionBy []string
		most        int
	}{
		"one file":                       {64 << 20, nil, 1},
		"as many as memory makes":        {8 << 20, nil, 12},
		"of partitions":                  {64 << 20, []string{"bucket(3, n)"}, 3},
		"of partitions in little memory": {8 << 20, []string{"bucket(3, n)"}, 36},
	} {
		s, rows := spreadTable(t, c.memory, func(o *Options) {
			o.PartitionBy, o.SortBy = partitionBy(t, c.partitionBy...), sortBy(t, "p DESC", "n")
		})
		partition := func(i int) string { return fmt.Sprint("p", i*7919%100) }
		var batches []*columns.Batch
		for from := 0; from < n; from += 1000 {
			batches = append(batches, spreadRows(from, 1000, partition, always(200)))
		}
		files := writeFiles(t, s, s.catalog, spreadSchema, batches...)
		if len(files) > c.most {
			t.Errorf("%s: got %d files, want at most %d", name, len(files), c.most)
		}
		for _, f := range files {
			p, n := fileRows(t, f)
			for i := 1; i < len(p); i++ {
				if cmp.Or(cmp.Compare(p[i], p[i-1]), cmp.Compare(n[i-1], n[i])) >= 0 {
					t.Fatalf("%s: row %d (%s, %d) does not follow (%s, %d)", name, i, p[i], n[i], p[i-1], n[i-1])
				}
			}
			if f.SortOrderID != 1 {
				t.Errorf("%s: a file is of sort order %d", name, f.SortOrderID)
			}
		}
		addFiles(t, s.catalog, files)
		wantRows(t, rows(), n, partition, always(200))
		if order := load(t, s.catalog).SortOrder(); order.Len() != 2 || order.Field(0).Direction != table.SortDESC || order.Field(0).NullOrder != table.NullsLast {
			t.Errorf("%s: the table's order is %s", name, order)
		}
	}
}

func TestTheOrderOfATableIsFollowedUnlessAJobHasItsOwn(t *testing.T) {
	s, _ := spreadTable(t, 32<<20, func(o *Options) { o.PartitionBy, o.SortBy = nil, sortBy(t, "p NULLS LAST") })
	rng := rand.New(rand.NewPCG(1, 1))
	rows := spreadRows(0, 500, func(i int) string { return fmt.Sprint("p", rng.IntN(9)) }, always(5))
	for name, c := range map[string]struct {
		sortBy []layout.Order
		id     int
		sorted func(p []string, n []int64) bool
	}{
		"nothing said": {nil, 1, func(p []string, _ []int64) bool { return slices.IsSorted(p) }},
		"the same":     {sortBy(t, "p ASC NULLS LAST"), 1, func(p []string, _ []int64) bool { return slices.IsSorted(p) }},
		"another":      {sortBy(t, "n DESC"), 0, func(_ []string, n []int64) bool { return n[0] == 499 && n[499] == 0 }},
		"other nulls":  {sortBy(t, "p"), 0, func(p []string, _ []int64) bool { return slices.IsSorted(p) }},
		"none":         {sortBy(t), 0, func(_ []string, n []int64) bool { return slices.IsSorted(n) }},
		"a transform":  {sortBy(t, "truncate(100, n) DESC"), 0, func(_ []string, n []int64) bool { return n[0] == 400 && n[99] == 499 && n[100] == 300 }},
	} {
		o := s.options
		o.SortBy, o.PartitionBy = c.sortBy, nil
		files := writeFiles(t, New(s.catalog, o), s.catalog, spreadSchema, rows)
		p, n := fileRows(t, files[0])
		if len(files) != 1 || files[0].SortOrderID != c.id || !c.sorted(p, n) {
			t.Errorf("%s: got %d files, the first of sort order %d with %v…", name, len(files), files[0].SortOrderID, n[:5])
		}
	}
	o := s.options
	o.SortBy = sortBy(t, "missing")
	wantClass(t, New(s.catalog, o).Create(t.Context(), spreadSchema), batch.Inconsistent, "no column missing")
	o.Table = "db.other"
	wantClass(t, New(s.catalog, o).Create(t.Context(), spreadSchema), batch.NotSetUp, "no column missing")
}

// The format does not make writers sort: what sluice cannot sort by it leaves as it comes, and says so of each file.
func TestAnOrderThatSluiceCannotMakeIsLeftAside(t *testing.T) {
	s, _ := spreadTable(t, 32<<20, func(o *Options) { o.PartitionBy = nil })
	tbl := load(t, s.catalog)
	odd, err := iceberg.ParseTransform("zorder")
	if err != nil {
		t.Fatal(err)
	}
	order, err := table.NewSortOrder(1, []table.SortField{{SourceIDs: []int{1}, Transform: odd, Direction: table.SortASC, NullOrder: table.NullsFirst}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.catalog.CommitTable(t.Context(), tbl.Identifier(), nil, []table.Update{table.NewAddSortOrderUpdate(&order), table.NewSetDefaultSortOrderUpdate(-1)}); err != nil {
		t.Fatal(err)
	}
	files := writeFiles(t, New(s.catalog, s.options), s.catalog, spreadSchema, spreadRows(0, 50, always("p"), always(5)))
	if len(files) != 1 || files[0].SortOrderID != 0 || !strings.Contains(load(t, s.catalog).SortOrder().String(), "zorder") {
		t.Errorf("got %+v", files)
	}
}
