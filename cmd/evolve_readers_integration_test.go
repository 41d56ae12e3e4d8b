//go:build integration && linux

package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// DuckDB and PyIceberg read files of before and after the table was altered together: widened numbers by their values, also
// with a filter, older rows without what came later, and what was added inside of structs and lists.
func TestForeignReadersSeeATableThatHasGrown(t *testing.T) {
	readTable := rig.Python(t)
	for _, kind := range []string{"sql", "hadoop"} {
		t.Run(kind, func(t *testing.T) {
			k := embedded(t, "orders")
			p := newPipeline(t, k).with("--value-format", "json", "--catalog-type", kind)
			var rows []rig.Row
			for i := range int64(200) {
				record := &kgo.Record{Topic: "orders", Partition: int32(i % 2), Offset: i / 2, Timestamp: millis(1_700_000_000_000)}
				values, value := grown(i)
				record.Value = []byte(value)
				rows = append(rows, rig.Row{Topic: "orders", Partition: record.Partition, Offset: record.Offset, Values: values})
				k.produce(t, record)
				switch i {
				case 79:
					p.with("--value-schema", "n INT, amount DECIMAL(9,2), score FLOAT, s STRUCT<a: INT> NOT NULL, l ARRAY<STRUCT<x: INT>>").run(t, "--max-offsets-per-trigger", "50")
				case 199:
					p = p.with("--value-schema", "l ARRAY<STRUCT<x: BIGINT>>, n BIGINT, amount DECIMAL(20,2), score DOUBLE, s STRUCT<a: BIGINT>", "--set", "value.onUnknownField=addColumn")
					p.run(t, "--max-offsets-per-trigger", "50")
				}
			}
			p.do(t, "verify", "--source").wants(0).has("verify", "verdict", "proved", "rows", len(rows))
			filters := map[string]int64{"n > 2147483647": 60, "n >= 0": 200, "n = 7": 1, "amount > 9999999.99": 60, "amount <= 79": 80, "score = 0.5": 40 + 60, "note is null": 80, "note = 'n150'": 1, "note > 'n19'": 30}
			args := []string{"--catalog-db", filepath.Join(p.dir, "catalog.db"), "--table", tableOfTests, "--columns", "n,amount,score,s,l,note"}
			if kind == "hadoop" {
				args = []string{"--metadata", filepath.Join(p.dir, "sales", "orders"), "--columns", "n,amount,score,s,l,note"}
			}
			for filter := range filters {
				args = append(args, "--filter", filter)
			}
			got := readTable(args...)
			for _, name := range []string{"duckdb", "pyiceberg"} {
				engine := got.Engines[name]
				if engine.Count != int64(len(rows)) || engine.SHA256 != rig.Digest(rows) {
					t.Errorf("%s: got %d rows, digest %s; want %d, digest %s", name, engine.Count, engine.SHA256, len(rows), rig.Digest(rows))
				}
				for _, f := range engine.Filters {
					if want := filters[f.Filter]; f.Filtered != want || f.Full != want {
						t.Errorf("%s: %s: got %d filtered, %d of a full scan, want %d", name, f.Filter, f.Filtered, f.Full, want)
					}
				}
			}
		})
	}
}

// grown is record i as rig/read_table.py renders it, and as it is produced. From 80 on it has more than before, from 140 on
// larger numbers too.
func grown(i int64) (values [][]byte, record string) {
	n, amount, score := i, fmt.Sprintf("%d.00", i), []string{"0.5", "-1.25"}[i%2]
	s, l, note := fmt.Sprintf(`{"a": %d, "b": null}`, i), fmt.Sprintf(`[{"x": %d, "y": null}]`, i), []byte(nil)
	sent := fmt.Sprintf(`"s":{"a":%d},"l":[{"x":%d}]`, i, i)
	if i >= 140 {
		n, amount = n+4_000_000_000, fmt.Sprintf("%d00000000.00", i)
	}
	if i >= 80 {
		note = fmt.Appendf(nil, "n%d", i)
		s, l = fmt.Sprintf(`{"a": %d, "b": "b%d"}`, i, i), fmt.Sprintf(`[{"x": %d, "y": [true, null]}, null]`, i)
		sent = fmt.Sprintf(`"s":{"b":"b%d","a":%d},"note":"n%d","l":[{"x":%d,"y":[true,null]},null]`, i, i, i, i)
	}
	for _, v := range []string{fmt.Sprint(n), amount, score, s, l} {
		values = append(values, []byte(v))
	}
	return append(values, note), fmt.Sprintf(`{"n":%d,"amount":%s,"score":%s,%s}`, n, strings.TrimSuffix(amount, ".00"), score, sent)
}
