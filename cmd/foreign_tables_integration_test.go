//go:build integration && linux

package cmd_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/rig"
)

var (
	plainForeign  = []string{"id", "n", "word", "amount", "wide", "day", "at", "since", "hour", "uid", "blob", "price", "place"}
	oddForeign    = []string{"id", "order id", "größe/é", "k=v", "日本", "a.b", `say "hi"`, "it's 100%", "back`tick"}
	grownForeign  = []string{"day", "id", "wide", "n", "das wort", "amount", "at", "since", "hour", "uid", "blob", "place", "late"}
	lesserForeign = []string{"id", "n", "word", "amount", "wide", "day", "at", "since", "uid", "blob", "price", "place"}
)

var foreignTables = []foreignTable{
	{name: "odd", before: oddForeign, after: oddForeign}, {name: "times", before: plainForeign, after: plainForeign}, {name: "values", before: plainForeign, after: plainForeign}, {name: "first", before: plainForeign, after: plainForeign},
	{name: "grown", before: plainForeign, after: grownForeign}, {name: "dropped", before: plainForeign, after: lesserForeign}, {name: "sorted", before: plainForeign, after: plainForeign}, {name: "placed", before: plainForeign, after: plainForeign}, {name: "third", before: plainForeign, after: plainForeign},
}

// Tables that others have made, with names, partitions, orders, places and histories that sluice would not give them, get
// rows that others read: as they were produced, and with a filter as many as without.
func TestTablesOfOthersAreWrittenAsTheyAre(t *testing.T) {
	rig.Python(t)
	dir := filepath.Join(t.TempDir(), "lake")
	s := &foreignStage{kafka: embedded(t, "orders"), dir: dir, want: map[string]map[string]*string{}}
	catalog := filepath.Join(dir, "catalog.db")
	rng := rand.New(rand.NewPCG(3, 4))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rig.MakeForeign(t, catalog, dir)
	s.produce(t, rng, 0, 32)
	s.run(t, foreignTables, false, 32)
	rig.AlterForeign(t, catalog, dir)
	s.produce(t, rng, 32, 64)
	s.run(t, foreignTables, true, 64)
	if t.Failed() {
		return // nothing to read
	}
	got := rig.ReadForeign(t, catalog)
	for _, table := range foreignTables {
		t.Run(table.name+" is read", func(t *testing.T) { s.wants(t, table.name, table.after, got[table.name]) })
	}
	t.Run("sorted files", func(t *testing.T) { wantSorted(t, got) })
	t.Run("properties", func(t *testing.T) { wantPlaced(t, dir, got["placed"].Files) })
}

// wants compares what both engines see with what was produced.
func (s *foreignStage) wants(t *testing.T, table string, names []string, got rig.Foreign) {
	for _, name := range []string{"duckdb", "pyiceberg"} {
		engine := got.Engines[name]
		if n := len(engine.Rows["kafka_offset"]); n != len(s.want) || engine.Asked < 10 && table != "dropped" {
			t.Errorf("%s: got %d rows and %d filters, want %d and 10", name, n, engine.Asked, len(s.want))
			continue
		}
		for _, wrong := range engine.Wrong {
			t.Errorf("%s: %s", name, wrong)
		}
		for i, offset := range engine.Rows["kafka_offset"] {
			place := *engine.Rows["kafka_partition"][i] + "/" + *offset
			for _, column := range names {
				if got, want := engine.Rows[column][i], s.want[place][column]; shown(got) != shown(want) {
					t.Errorf("%s: record %s, %s: got %s, want %s", name, place, column, shown(got), shown(want))
				}
			}
		}
	}
}

// wantSorted expects files in the order that the table had when they were written, by what manifests say and as they are.
func wantSorted(t *testing.T, got map[string]rig.Foreign) {
	for name, want := range map[string][]int{"odd": {1, 1}, "times": {0, 0}, "values": {1, 1}, "first": {1, 1}, "grown": {1, 1}, "dropped": {1, 2}, "sorted": {1, 2}, "placed": {0, 0}, "third": {1, 1}} {
		for snapshot, files := range bySnapshot(got[name].Files) {
			for _, f := range files {
				if order := orderOf(f); order != want[snapshot] || f.Unsorted {
					t.Errorf("%s: %s: order %d, want %d; unsorted %v", name, f.Path, order, want[snapshot], f.Unsorted)
				}
			}
		}
	}
}

func orderOf(f rig.ForeignFile) int {
	if f.Order == nil {
		return 0
	}
	return *f.Order
}

// fileOfTheSecond is a name with the number of a batch, a task, an attempt and a file in it.
var fileOfTheSecond = regexp.MustCompile(`-1-\d+-[0-9a-f-]{36}-\d+\.parquet$`)

// bySnapshot are the files of the first batch, and those of the second.
func bySnapshot(files []rig.ForeignFile) [2][]rig.ForeignFile {
	var batches [2][]rig.ForeignFile
	for _, f := range files {
		batch := 0
		if fileOfTheSecond.MatchString(f.Path) {
			batch = 1
		}
		batches[batch] = append(batches[batch], f)
	}
	return batches
}

// wantPlaced expects what the properties of the table say, of each batch what they said then.
func wantPlaced(t *testing.T, dir string, files []rig.ForeignFile) {
	batches := bySnapshot(files)
	for batch, want := range []struct {
		folder, codec string
		word          int
	}{{"elsewhere/a+table/data", "SNAPPY", 6}, {"quite/else~where", "UNCOMPRESSED", 30}} {
		if len(batches[batch]) == 0 {
			t.Errorf("batch %d has no files", batch)
		}
		for _, f := range batches[batch] {
			if !strings.HasPrefix(strings.TrimPrefix(f.Path, "file://"), filepath.Join(dir, want.folder)+"/") || f.Codec != want.codec || f.Bounds["id"] != 8 || f.Bounds["word"] > want.word {
				t.Errorf("batch %d: %+v, want it in %s, %s", batch, f, want.folder, want.codec)
			}
			if want := []string{"amount", "id", "place.the city", "word"}; !slices.Equal(f.Counted, want) {
				t.Errorf("%s: counts of %q, want %q", f.Path, f.Counted, want)
			}
			if _, ok := f.Bounds["amount"]; ok || f.Bounds["place.the city"] > 2 {
				t.Errorf("%s: bounds %v", f.Path, f.Bounds)
			}
		}
	}
}
