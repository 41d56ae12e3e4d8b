//go:build interop && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keptTable is a table whose maintenance Spark must not notice. What is not made by a statement of Spark's is made by sluice.
type keptTable struct {
	name, made          string
	partitionBy, sortBy string
	// manifests is whether only its manifests are rewritten: a compaction would leave few of those that were.
	manifests bool
}

var keptTables = []keptTable{
	{name: "ours", partitionBy: "bucket(2, id)", sortBy: "amount DESC, id"},
	{name: "second", made: "PARTITIONED BY (bucket(2, id)) TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"},
	{name: "third", made: "PARTITIONED BY (truncate(16, id)) TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"},
	{name: "listed", made: "PARTITIONED BY (bucket(2, id), day) TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'commit.manifest-merge.enabled'='false')", manifests: true},
}

// byHand is an INSERT of one row that no record of Kafka stands for.
func byHand(table string, id int) string {
	return fmt.Sprintf("INSERT INTO lake.foreign.%s (id, n, word, amount, kafka_topic, kafka_partition, kafka_offset) VALUES (%d, 7, 'by hand', 1.25, 'by hand', 0, %[2]d)", table, id)
}

// pipe is sluice into one of the tables, four records a batch.
func (s *foreignStage) pipe(table keptTable) *pipeline {
	all := foreignColumns()
	var ddl []string
	for _, name := range sparkPlain {
		ddl = append(ddl, "`"+name+"` "+all[name].ddl)
	}
	p := (&pipeline{kafka: s.kafka, dir: s.dir, flags: []string{"--bootstrap-servers", s.kafka.addr, "--subscribe", "orders", "--warehouse", s.dir, "--table", "foreign." + table.name,
		"--value-format", "json", "--value-schema", strings.Join(ddl, ", "), "--max-offsets-per-trigger", "4", "--catalog-name", "lake"}})
	for key, list := range map[string]string{"partitionBy": table.partitionBy, "sortBy": table.sortBy} {
		if list != "" {
			p = p.with("--set", "sink.iceberg."+key+"=["+list+"]")
		}
	}
	return p
}

// steps has Spark carry out statements, and returns what it read of the tables for each "read" among them.
func (s *foreignStage) steps(t *testing.T, statements ...string) (all []map[string]sparkRead) {
	t.Helper()
	for line := range strings.Lines(s.onTables(t, "steps", statements...)) {
		text, ok := strings.CutPrefix(line, "read: ")
		if !ok {
			continue
		}
		var tables map[string]sparkRead
		if err := json.Unmarshal([]byte(text), &tables); err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
		all = append(all, tables)
	}
	return all
}

// lines are the rows, by their id.
func (r *sparkRead) lines(t *testing.T) map[string]string {
	t.Helper()
	lines := map[string]string{}
	columns := slices.Sorted(maps.Keys(r.Rows))
	for i, id := range r.Rows["id"] {
		var line strings.Builder
		for _, column := range columns {
			fmt.Fprintf(&line, "%s=%s ", column, shown(r.Rows[column][i]))
		}
		if lines[*id] != "" {
			t.Errorf("id %s is there twice", *id)
		}
		lines[*id] = line.String()
	}
	return lines
}

// same fails the test unless Spark finds in a table the rows that it found before, and as many of them with each filter.
func (r *sparkRead) same(t *testing.T, before *sparkRead) {
	t.Helper()
	had, has := before.lines(t), r.lines(t)
	for id, line := range had {
		if has[id] != line {
			t.Errorf("id %s: got %s\nhad %s", id, has[id], line)
		}
	}
	if len(has) != len(had) || r.Asked < 30 || !maps.Equal(r.Answers, before.Answers) {
		t.Errorf("got %d rows and of %d filters the counts %v,\nhad %d rows, and %v", len(has), r.Asked, r.Answers, len(had), before.Answers)
	}
	for _, wrong := range slices.Concat(before.Wrong, r.Wrong) {
		t.Error(wrong)
	}
}

// maintain rewrites, compacts and expires, and fails the test where that came to nothing, or where more records are missing then
// than Spark has deleted.
func (p *pipeline) maintain(t *testing.T, table keptTable, deleted int) {
	t.Helper()
	actions := []string{"--expire", "--older-than", "1ms", "--retain-last", "1", "--rewrite-manifests"}
	if !table.manifests {
		actions = append(actions, "--compact")
	}
	did := p.do(t, "maintain", actions...).wants(0).maintained("rows")
	least := map[string]float64{"expire.snapshots": 4, "compact.groups": 1, "compact.in.files": 5}
	if table.manifests {
		least = map[string]float64{"expire.snapshots": 4, "manifests.rewritten.files": 8}
	}
	for name, want := range least {
		if got, _ := at(did, name).(float64); got < want {
			t.Errorf("%s: %s is %v, want at least %v: %v", table.name, name, got, want, did)
		}
	}
	// Who deleted the rows that a compaction has left out was in the history that is gone.
	judged := p.do(t, "verify", "--source").has("verify", "duplicates", 0, "unexpected", 0).last("verify")
	if got := judged["missing"].(float64) + judged["deletedByOthers"].(float64); got != float64(deleted) {
		t.Errorf("%s: %v records have no row, want %d", table.name, got, deleted)
	}
}

// Tables that sluice and Spark write to in turn, with deletes by position and deletion vectors, are compacted and expired and
// have their manifests rewritten: to a real Spark every row and the answer to every filter is what it was. Spark goes on
// appending, updating and deleting, and sluice goes on, and it all holds a second time.
func TestSparkReadsTheSameAfterMaintenance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &foreignStage{kafka: embedded(t, "orders"), dir: dir, want: map[string]map[string]*string{}}
	rng := rand.New(rand.NewPCG(7, 8))
	drain := func(from, until int64) {
		s.produce(t, rng, from, until)
		for _, table := range keptTables {
			s.pipe(table).run(t)
		}
	}
	first, names := []string{"CREATE NAMESPACE IF NOT EXISTS lake.foreign"}, []string{}
	for _, table := range keptTables {
		names = append(names, "foreign."+table.name)
		if table.made != "" {
			first = append(first, fmt.Sprintf("CREATE TABLE lake.foreign.%s (%s, %s) USING iceberg %s", table.name, sparkPlainDDL, sparkPlaceDDL, table.made))
		}
	}
	first = append(first, "ALTER TABLE lake.foreign.second WRITE ORDERED BY word ASC NULLS LAST", "ALTER TABLE lake.foreign.third WRITE ORDERED BY wide DESC NULLS LAST, id")
	s.steps(t, first...)
	drain(0, 32)
	change := func(from int) (statements []string) {
		for _, table := range keptTables {
			name := "lake.foreign." + table.name
			statements = append(statements, byHand(table.name, 1000+from), byHand(table.name, 1001+from),
				fmt.Sprintf("DELETE FROM %s WHERE id IN (%d, %d, %d)", name, from+1, from+6, 1000+from), fmt.Sprintf("DELETE FROM %s WHERE id = %d", name, from+9))
			if !table.manifests {
				statements = append(statements, fmt.Sprintf("UPDATE %s SET price = 2.5, word = 'by hand' WHERE id = %d", name, from+12))
			}
		}
		return statements
	}
	s.steps(t, append([]string{"ALTER TABLE lake.foreign.ours SET TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"}, change(0)...)...)
	drain(32, 64)
	const filtered = ":id,word,amount,day,since,kafka_offset"
	read, rows := "read "+strings.Join(names, filtered+" ")+filtered, "read "+strings.Join(names, ": ")+":"
	before := s.steps(t, read)[0]
	for _, table := range keptTables {
		s.pipe(table).maintain(t, table, 3)
	}
	after := s.steps(t, slices.Concat([]string{read}, change(32), []string{rows})...)
	drain(64, 96)
	for _, table := range keptTables {
		s.pipe(table).maintain(t, table, 6)
	}
	end := s.steps(t, rows)[0]
	for _, table := range keptTables {
		t.Run(table.name, func(t *testing.T) {
			name := "foreign." + table.name
			had, kept, changed, last := before[name], after[0][name], after[1][name], end[name]
			kept.same(t, &had)
			if got := len(had.lines(t)); got != 64-3+1 {
				t.Errorf("before maintenance there are %d rows, want 62", got)
			}
			was, is := changed.lines(t), last.lines(t)
			if len(was) != 64-6+2 || len(is) != len(was)+32 {
				t.Errorf("there are %d rows, then %d, want 60 and 92", len(was), len(is))
			}
			for id, line := range was {
				if is[id] != line {
					t.Errorf("id %s: got %s\nhad %s", id, is[id], line)
				}
			}
			s.holds(t, &last, 64)
		})
	}
}

// holds fails the test unless the rows with ids from a number up to a thousand are as they were produced.
func (s *foreignStage) holds(t *testing.T, r *sparkRead, from int64) {
	t.Helper()
	for i, id := range r.Rows["id"] {
		var n int64
		if _, err := fmt.Sscan(*id, &n); err != nil || n < from || n >= 1000 {
			continue
		}
		want := s.want[fmt.Sprint(n%2, "/", n/2)]
		for _, column := range sparkPlain {
			if got := r.Rows[column][i]; shown(got) != shown(want[column]) {
				t.Errorf("id %s, %s: got %s, want %s", *id, column, shown(got), shown(want[column]))
			}
		}
	}
}
