//go:build integration && linux

package cmd_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// foreignValue is a value as a record has it, and as rig/foreign_tables.py prints it; no text is null.
type foreignValue struct{ json, text string }

// foreignColumn is a column of the tables of rig/foreign_tables.py.
type foreignColumn struct {
	ddl    string
	values []foreignValue
}

func column(ddl string, values ...foreignValue) foreignColumn { return foreignColumn{ddl, values} }

// numbers are written alike in records and by readers.
func numbers(texts ...string) (values []foreignValue) {
	for _, text := range texts {
		values = append(values, foreignValue{text, text})
	}
	return append(values, foreignValue{"null", ""})
}

// texts are texts in records, and what readers make of them: the same where it is not said.
func texts(pairs ...string) (values []foreignValue) {
	for _, pair := range pairs {
		sent, text, other := strings.Cut(pair, " -> ")
		if !other {
			text = sent
		}
		quoted, _ := json.Marshal(sent) // a text can be marshalled
		values = append(values, foreignValue{string(quoted), text})
	}
	return append(values, foreignValue{"null", ""})
}

func blobs(bytes ...string) []foreignValue {
	var all []string
	for _, b := range bytes {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(b)))
	}
	return texts(all...)
}

func foreignColumns() map[string]foreignColumn {
	words := texts("", "a=b", "a/b/c", "日本", "x y", "..", "null", "e\u0301", "é", "100%", "__HIVE_DEFAULT_PARTITION__", "a#b?c&d", `\`)
	few := texts("", "k=v/w", "日本語", "?")
	ints := numbers("-7", "0", "34", "-2147483640", "2147483647")
	cents := numbers("-5.00", "0.00", "10.65", "9999999.99", "-0.01")
	days := texts("1969-12-31", "1970-01-01", "1582-10-04", "2026-03-04", "0001-03-01", "9999-12-30")
	return map[string]foreignColumn{
		"id":       column("BIGINT"),
		"n":        column("INT", ints...),
		"word":     column("STRING", words...),
		"das wort": column("STRING", words...),
		"late":     column("STRING", few...),
		"amount":   column("DECIMAL(9,2)", cents...),
		"wide":     column("DECIMAL(38,4)", numbers("-1234567890123456789012345678901234.5678", "0.0001", "9223372036854775808.0000")...),
		"day":      column("DATE", days...),
		"at":       column("TIMESTAMP_NTZ", texts("1969-12-31T23:59:59.999999", "1900-01-01T00:00:00.000001", "2026-03-04T05:06:07.000000", "2026-03-04T23:59:59.999999")...),
		"since": column("TIMESTAMP", texts("1970-01-01T00:59:59+01:00 -> 1969-12-31T23:59:59.000000", "2026-03-04T00:30:00+01:00 -> 2026-03-03T23:30:00.000000",
			"1883-11-18T12:00:00Z -> 1883-11-18T12:00:00.000000")...),
		"hour":      column("TIME", texts("00:00:00.000000", "22:31:08.000001", "23:59:59.999999")...),
		"uid":       column("UUID", texts("00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "ffffffff-ffff-4fff-bfff-ffffffffffff")...),
		"blob":      column("BINARY", blobs("", "\x00", "\xff\x01\x02", "abc")...),
		"price":     column("DOUBLE", numbers("1.5", "-0.25", "1e+300")...),
		"place":     column("STRUCT<`the city`: STRING, zip: STRING>", foreignValue{`{"the city":"Köln/Süd","zip":"5"}`, `{"the city": "Köln/Süd", "zip": "5"}`}, foreignValue{`{"the city":""}`, `{"the city": "", "zip": null}`}, foreignValue{"null", ""}),
		"order id":  column("STRING", words...),
		"größe/é":   column("INT", ints...),
		"k=v":       column("STRING", few...),
		"日本":        column("STRING", words...),
		"a.b":       column("INT", numbers("1", "-1")...),
		`say "hi"`:  column("DECIMAL(9,2)", cents...),
		"it's 100%": column("DATE", days...),
		"back`tick": column("STRING", few...),
	}
}

var (
	plainForeign  = []string{"id", "n", "word", "amount", "wide", "day", "at", "since", "hour", "uid", "blob", "price", "place"}
	oddForeign    = []string{"id", "order id", "größe/é", "k=v", "日本", "a.b", `say "hi"`, "it's 100%", "back`tick"}
	grownForeign  = []string{"day", "id", "wide", "n", "das wort", "amount", "at", "since", "hour", "uid", "blob", "place", "late"}
	lesserForeign = []string{"id", "n", "word", "amount", "wide", "day", "at", "since", "uid", "blob", "price", "place"}
)

// foreignTable is a table of rig/foreign_tables.py, its columns before and after it is altered.
type foreignTable struct {
	name          string
	before, after []string
}

var foreignTables = []foreignTable{
	{"odd", oddForeign, oddForeign}, {"times", plainForeign, plainForeign}, {"values", plainForeign, plainForeign}, {"first", plainForeign, plainForeign},
	{"grown", plainForeign, grownForeign}, {"dropped", plainForeign, lesserForeign}, {"sorted", plainForeign, plainForeign}, {"placed", plainForeign, plainForeign}, {"third", plainForeign, plainForeign},
}

// foreignStage is a topic of records that every table gets.
type foreignStage struct {
	kafka *kafka
	dir   string
	// catalog is the address of a catalog's server; without one the catalog is a file in dir.
	catalog string
	// tables are the names of those that are written to; nil is all.
	tables []string
	// want are the records as readers see them: place, then values by column, nil for null.
	want map[string]map[string]*string
}

// produce makes records with all columns. Columns with another name for the same have the same values.
func (s *foreignStage) produce(t *testing.T, rng *rand.Rand, from, until int64) {
	t.Helper()
	all := foreignColumns()
	for i := from; i < until; i++ {
		var fields []string
		seen := map[string]*string{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			v := foreignValue{fmt.Sprint(i), fmt.Sprint(i)}
			if values := all[name].values; len(values) > 0 {
				v = values[rng.IntN(len(values))]
			}
			if name == "das wort" {
				continue
			}
			quoted, _ := json.Marshal(name) // a name can be marshalled
			fields = append(fields, string(quoted)+":"+v.json)
			seen[name] = &v.text
			if v.json == "null" {
				seen[name] = nil
			}
			if name == "word" {
				fields, seen["das wort"] = append(fields, `"das wort":`+v.json), seen[name]
			}
		}
		if from == 0 {
			seen["late"] = nil // the table has it from the second run on
		}
		record := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Offset: i / 2, Value: []byte("{" + strings.Join(fields, ",") + "}")}
		s.kafka.produce(t, record)
		s.want[fmt.Sprint(record.Partition, "/", record.Offset)] = seen
	}
}

// run drains the topic into each table, and has verify prove it.
func (s *foreignStage) run(t *testing.T, columnsOf func(*foreignTable) []string, rows int) {
	t.Helper()
	all := foreignColumns()
	for i := range foreignTables {
		table := &foreignTables[i]
		if s.tables != nil && !slices.Contains(s.tables, table.name) {
			continue
		}
		t.Run(table.name, func(t *testing.T) {
			var ddl []string
			for _, name := range columnsOf(table) {
				ddl = append(ddl, "`"+strings.ReplaceAll(name, "`", "``")+"` "+all[name].ddl)
			}
			p := &pipeline{kafka: s.kafka, dir: s.dir, flags: []string{"--bootstrap-servers", s.kafka.addr, "--subscribe", "orders", "--warehouse", s.dir, "--table", "foreign." + table.name,
				"--value-format", "json", "--value-schema", strings.Join(ddl, ", ")}}
			if s.catalog != "" {
				p = p.with("--catalog-uri", s.catalog)
			}
			p.run(t)
			p.proves(t, "proved", rows)
		})
	}
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
	s.run(t, func(f *foreignTable) []string { return f.before }, 32)
	rig.AlterForeign(t, catalog, dir)
	s.produce(t, rng, 32, 64)
	s.run(t, func(f *foreignTable) []string { return f.after }, 64)
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

func shown(text *string) string {
	if text == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *text)
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
