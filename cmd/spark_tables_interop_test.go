//go:build interop && linux

package cmd_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/rig"
)

var (
	sparkPlain = []string{"id", "n", "word", "amount", "wide", "day", "at", "since", "blob", "price", "place"}
	sparkOdd   = []string{"id", "order id", "größe/é", "k=v", "日本", "a.b", `say "hi"`, "it's 100%", "back`tick"}
	sparkGrown = []string{"day", "id", "wide", "n", "das wort", "amount", "at", "since", "blob", "place", "late"}
)

// The columns of sparkPlain and those of a record's place in Kafka, as rig/spark_tables.py has them.
const (
	sparkPlainDDL = "id BIGINT, n INT, word STRING, amount DECIMAL(9,2), wide DECIMAL(38,4), day DATE, at TIMESTAMP_NTZ, since TIMESTAMP, blob BINARY, price DOUBLE, place STRUCT<`the city`: STRING, zip: STRING>"
	sparkPlaceDDL = "kafka_key BINARY, kafka_topic STRING NOT NULL, kafka_partition INT NOT NULL, kafka_offset BIGINT NOT NULL, kafka_timestamp TIMESTAMP"
)

// sparkTables are those of rig/spark_tables.py.
var sparkTables = []foreignTable{
	{name: "odd", before: sparkOdd, after: sparkOdd}, {name: "times", before: sparkPlain, after: sparkPlain}, {name: "values", before: sparkPlain, after: sparkPlain},
	{name: "first", before: sparkPlain, after: sparkPlain}, {name: "grown", before: sparkPlain, after: sparkGrown}, {name: "read", before: sparkPlain, after: sparkPlain, deleted: 1},
	{name: "third", before: sparkPlain, after: sparkPlain, deleted: 1}, {name: "kept", before: sparkPlain, after: sparkPlain},
}

// ownTables are made by sluice, for Spark to read.
var ownTables = []struct {
	foreignTable
	partitionBy, sortBy string
}{
	{foreignTable{name: "own_times", after: sparkPlain}, "years(day), months(at), days(since), hours(kafka_timestamp)", "since DESC"},
	{foreignTable{name: "own_values", after: sparkPlain}, "word, bucket(4, wide), truncate(1, blob), bucket(3, n)", "amount"},
	{foreignTable{name: "own_places", after: sparkPlain}, "place.`the city`, truncate(100, amount), bucket(2, at)", "n ASC NULLS LAST, word DESC"},
	{foreignTable{name: "own_odd", after: sparkOdd}, "`order id`, bucket(3, `größe/é`), `日本`, `it's 100%`", "`back``tick`"},
	{foreignTable{name: "own_plain", after: sparkPlain}, "", ""},
}

// sparkRead is what rig/spark_tables.py prints of a table.
type sparkRead struct {
	rig.ForeignRows
	// Answers is how many rows each filter finds.
	Answers map[string]int `json:"answers"`
	Files   []struct {
		Order *int `json:"order"`
	} `json:"files"`
}

// onTables runs rig/spark_tables.py on the stage's folder.
func (s *foreignStage) onTables(t *testing.T, verb string, names ...string) string {
	t.Helper()
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(root, "rig", "spark"), append([]string{"--iceberg", filepath.Join(root, "rig", "spark_tables.py"), verb, s.dir}, names...)...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", verb, err, said.String())
	}
	return string(out)
}

// Tables that a real Spark has made, altered, deleted rows of, compacted and expired get rows that Spark reads as they were
// produced; so do tables that sluice has made. With a filter Spark finds as many as without, whatever it prunes by.
func TestSparkReadsTablesOfItsOwnAndOfOurs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &foreignStage{kafka: embedded(t, "orders"), dir: dir, flags: []string{"--catalog-name", "lake"}, want: map[string]map[string]*string{}}
	rng := rand.New(rand.NewPCG(5, 6))
	s.onTables(t, "make")
	s.produce(t, rng, 0, 32)
	s.run(t, sparkTables, false, 32)
	s.onTables(t, "alter")
	s.produce(t, rng, 32, 64)
	s.run(t, sparkTables, true, 64)
	names := []string{}
	for _, table := range sparkTables {
		names = append(names, "foreign."+table.name)
	}
	for _, own := range ownTables {
		made := *s
		for flag, list := range map[string]string{"sink.iceberg.partitionBy": own.partitionBy, "sink.iceberg.sortBy": own.sortBy} {
			if list != "" {
				made.flags = append(slices.Clone(made.flags), "--set", flag+"=["+list+"]")
			}
		}
		made.run(t, []foreignTable{own.foreignTable}, true, 64)
		names = append(names, "foreign."+own.name)
	}
	if t.Failed() {
		return // nothing to read
	}
	out := s.onTables(t, "read", names...)
	_, line, _ := strings.Cut(out, "read: ")
	var got map[string]sparkRead
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, table := range sparkTables {
		t.Run(table.name+" is read", func(t *testing.T) { s.wantsBySpark(t, &table, got["foreign."+table.name]) })
	}
	for _, own := range ownTables {
		t.Run(own.name+" is read", func(t *testing.T) { s.wantsBySpark(t, &own.foreignTable, got["foreign."+own.name]) })
	}
}

// wantsBySpark compares what Spark sees with what was produced, but for the record with id 3 where it was deleted and the
// price of that with id 4 in "read", which was updated.
func (s *foreignStage) wantsBySpark(t *testing.T, table *foreignTable, got sparkRead) {
	want := maps.Clone(s.want)
	if table.deleted > 0 {
		delete(want, "1/1") // id 3
	}
	if table.name == "read" {
		price := "1.5"
		want["0/2"] = maps.Clone(want["0/2"])
		want["0/2"]["price"] = &price
	}
	if len(got.Rows["kafka_offset"]) != len(want) || got.Asked < 30 {
		t.Fatalf("got %d rows and %d filters, want %d and 30", len(got.Rows["kafka_offset"]), got.Asked, len(want))
	}
	for _, wrong := range got.Wrong {
		t.Error(wrong)
	}
	for i, offset := range got.Rows["kafka_offset"] {
		place := *got.Rows["kafka_partition"][i] + "/" + *offset
		for _, column := range table.after {
			if got, want := got.Rows[column][i], want[place][column]; shown(got) != shown(want) {
				t.Errorf("record %s, %s: got %s, want %s", place, column, shown(got), shown(want))
			}
		}
	}
	if len(got.Files) == 0 {
		t.Error("no files are listed")
	}
}
