//go:build (integration || interop) && linux

package cmd_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
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

// foreignTable is a table that others have made, its columns before and after it is altered.
type foreignTable struct {
	name          string
	before, after []string
	// deleted is how many of its rows an engine has deleted by the end.
	deleted int
}

// foreignStage is a topic of records that every table gets.
type foreignStage struct {
	kafka *kafka
	dir   string
	// flags are what every run has besides, such as the address of a catalog's server; without one the catalog is a file in dir.
	flags []string
	// environ are variables of theirs.
	environ []string
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
func (s *foreignStage) run(t *testing.T, tables []foreignTable, altered bool, rows int) {
	t.Helper()
	all := foreignColumns()
	for i := range tables {
		table := &tables[i]
		t.Run(table.name, func(t *testing.T) {
			columns, live := table.before, rows
			if altered {
				columns, live = table.after, rows-table.deleted
			}
			var ddl []string
			for _, name := range columns {
				ddl = append(ddl, "`"+strings.ReplaceAll(name, "`", "``")+"` "+all[name].ddl)
			}
			p := &pipeline{kafka: s.kafka, dir: s.dir, environ: s.environ, flags: append([]string{"--bootstrap-servers", s.kafka.addr, "--subscribe", "orders", "--warehouse", s.dir, "--table", "foreign." + table.name,
				"--value-format", "json", "--value-schema", strings.Join(ddl, ", ")}, s.flags...)}
			p.run(t)
			p.proves(t, "proved", live)
		})
	}
}

func shown(text *string) string {
	if text == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *text)
}
