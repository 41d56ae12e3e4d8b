package runner_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// growing is a job with one column, whose table grows with its records.
var growing = batch.Value{Format: "json", Schema: "p INT", OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "addColumn"}

// drifting has records that bring fields: some in the first batch, others later, an integer beside a fraction of the same
// batch, a struct that gains fields in another partition, nulls before anything else.
func drifting(partition int32, offset int64) []byte {
	fields := []string{fmt.Sprintf(`"p":%d`, partition)}
	add := func(format string, a ...any) { fields = append(fields, fmt.Sprintf(format, a...)) }
	switch partition {
	case 0:
		add(`"x":%d`, offset)
	case 1:
		add(`"x":%d.5`, offset)
	default:
		add(`"x":null`)
	}
	switch {
	case partition == 2:
		add(`"s":{"c":{"deep":[[%d]]}}`, offset)
	case offset == 0:
		add(`"l":[],"s":{}`)
	case offset == 1:
		add(`"s":{"a%d":true}`, partition)
	default:
		add(`"l":[{"n":%d},null]`, offset)
	}
	if offset >= 4 {
		add(`"late":"text %d"`, offset)
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}

func newGrowingWorld(t *testing.T) *lakeWorld {
	w := newLakeWorld(t)
	w.value, w.mutate = drifting, valued(growing)
	return w
}

func (w *lakeWorld) columnNames(t *testing.T) (names []string) {
	for _, f := range w.table(t).Schema().Fields() {
		if !strings.HasPrefix(f.Name, "kafka_") {
			names = append(names, f.Name+" "+f.Type.String())
		}
	}
	return names
}

func TestFieldsThatRecordsBringBecomeColumns(t *testing.T) {
	w := newGrowingWorld(t)
	w.value = func(_ int32, offset int64) []byte {
		switch offset {
		case 0:
			return []byte(`{"p":0}`)
		case 1: // https://github.com/apache/iceberg/issues/9641: the record that brings a field keeps it
			return []byte(`{"p":1,"b":3}`)
		}
		return []byte(`{"p":2,"c":{"d":["x"]}}`)
	}
	seen := &reports{}
	s := w.drain(t, func(q *runner.Query) {
		valued(growing)(q)
		seen.Reporter, q.Reporter = q.Reporter, seen
	})
	if s.Rows != 8 || s.Batches != 3 {
		t.Errorf("got %+v", s)
	}
	if err := w.judgeContent(); err != nil {
		t.Error(err)
	}
	if got := w.columnNames(t); len(got) != 3 || got[1] != "b long" || !strings.HasPrefix(got[2], "c struct<") {
		t.Errorf("got columns %q", got)
	}
	if len(seen.batches) != 3 || !slices.Equal(seen.batches[0].Altered, []string{"add b long"}) || !slices.Equal(seen.batches[1].Altered, []string{"add c struct<d: list<string>>"}) || seen.batches[2].Altered != nil {
		t.Errorf("the reports say %+v", seen.batches)
	}
	if head := w.table(t).CurrentSnapshot(); head.SchemaID == nil || *head.SchemaID != w.table(t).Schema().ID {
		t.Errorf("the newest snapshot is of schema %v", head.SchemaID)
	}
}

// A run is struck at every effect, also at the update of the schema, and records arrive before the next one. Whatever was
// lost, every record is there once with all that it has. Without -full the modes take turns, and the update of the schema
// meets all of them.
func TestARunThatAltersTheTableStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	for k, how := range laketest.Modes() {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			if met, err := strike(t, laketest.BreakWhen(func(name string) bool { return name == "commit db.orders schema" }, how)); !met || err != nil {
				t.Errorf("at the update of the schema: met %v, %v", met, err)
			}
			for i := 0; ; i++ {
				if !*full && i%len(laketest.Modes()) != k {
					continue
				}
				s := laketest.BreakAt(i, how)
				met, err := strike(t, s)
				if err != nil {
					t.Errorf("%v: %v", s.Broken(), err)
				}
				if !met {
					break
				}
			}
		})
	}
}

func strike(t *testing.T, s *laketest.Script) (met bool, err error) {
	w := newGrowingWorld(t)
	met, err = w.struck(context.Background(), s, true)
	if err == nil && met {
		err = w.judgeContent()
	}
	return met, err
}

// A run sleeps before each of its writes while others go on, and wakes: it alters nothing any more.
func TestARunThatAltersTheTableAndStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	slept := map[string]bool{}
	for i := 0; ; i++ {
		w := newGrowingWorld(t)
		h := haltAt(i)
		name, outcome, err := w.stall(w.sleeper(h), h)
		if err == nil && name != "" {
			err = w.judgeContent()
		}
		if err != nil {
			t.Errorf("a run slept %s: %v", name, err)
		}
		if name == "" {
			break
		}
		slept[name] = true
		if class := batch.ClassOf(outcome); class != batch.Fenced && class != batch.Failed {
			t.Errorf("the run that slept %s was told: %v", name, outcome)
		}
	}
	if !slept["before commit db.orders schema"] {
		t.Errorf("no run slept before the update of a schema, but at %v", slices.Sorted(maps.Keys(slept)))
	}
}

// A column that a rival adds between our reading and our update is taken if it fits, and refused if it does not:
// https://github.com/databricks/iceberg-kafka-connect/pull/95
func TestAColumnThatARivalAddsMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		kind iceberg.Type
		fits bool
	}{{iceberg.PrimitiveTypes.Int64, true}, {iceberg.PrimitiveTypes.String, false}} {
		w := newGrowingWorld(t)
		w.value = func(_ int32, o int64) []byte { return fmt.Appendf(nil, `{"p":0,"b":%d}`, o) }
		c := w.clean()
		added := false
		c.BeforeCommit = func(table.Identifier) {
			if !added {
				added = true
				w.change(t, func(tx *table.Transaction) error {
					return tx.UpdateSchema(true, false).AddColumn([]string{"b"}, tc.kind, "", false, nil).Commit()
				})
			}
		}
		_, _, err := w.run(c, func(q *runner.Query) { valued(growing)(q); q.Widening.Evolver = q.Sink.(lakeSink).Iceberg })
		switch {
		case tc.fits && err == nil:
			err = w.judge(t.Context())
			if err == nil {
				err = w.judgeContent()
			}
			if err != nil {
				t.Error(err)
			}
		case tc.fits, batch.ClassOf(err) != batch.Inconsistent, w.table(t).CurrentSnapshot() != nil, !strings.Contains(err.Error(), "b is string in the table and long in the rows"):
			t.Errorf("a column %s: got %v", tc.kind, err)
		}
	}
}

// Fields that cannot become columns stop the batch before anything is altered, and both records are named.
func TestFieldsThatCannotBecomeColumnsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		value func(partition int32, offset int64) string
		want  []string
	}{
		"text and numbers": {func(p int32, _ int64) string { return map[int32]string{0: `{"b":1}`, 1: `{"b":"x"}`}[p] },
			[]string{"field b", "long in t-0 at offset 0", "string in t-1 at offset 0", "value.schema"}},
		"inside of others": {func(_ int32, o int64) string {
			return map[bool]string{true: `{"b":{"c":[{"d":true}]}}`, false: `{"b":{"c":[{"d":1.5}]}}`}[o < 3]
		}, []string{"field b.c.element.d", "boolean in t-0 at offset 0", "double in t-0 at offset 3"}},
		"an array of both": {func(int32, int64) string { return `{"b":[1,"x"]}` }, []string{"at offset 0 has a field b", "no type in common"}},
		"names that differ by case": {func(_ int32, o int64) string { return map[bool]string{true: `{"b":1}`, false: `{"B":1}`}[o < 3] },
			[]string{"t-0 at offset 3", "t-0 at offset 0", "by case only"}},
		"the name of a column in another case": {func(int32, int64) string { return `{"P":1}` }, []string{"at offset 0 has a field P", "by case only"}},
		"names of ours":                        {func(int32, int64) string { return `{"Kafka_offset":1}` }, []string{"field Kafka_offset", "kafka_"}},
		"no name":                              {func(int32, int64) string { return `{"":1}` }, []string{`field ""`}},
		"an object that is a map": {func(_ int32, o int64) string {
			var fields []string
			for i := range 60 {
				fields = append(fields, fmt.Sprintf(`"k%d":1`, int(o)*60+i))
			}
			return `{"m":{` + strings.Join(fields, ",") + `}}`
		}, []string{"field m.k", "more than 100 columns", "MAP"}},
		"deep nesting": {func(int32, int64) string { return strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20) }, []string{"deeper than the 12 levels"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLakeWorld(t)
			w.value = func(p int32, o int64) []byte { return []byte(tc.value(p, o)) }
			w.refuses(t, batch.BadRecords, whole(growing), tc.want...)
			if got := w.columnNames(t); w.table(t).CurrentSnapshot() != nil || len(got) != 1 {
				t.Errorf("the table has columns %q and snapshot %v", got, w.table(t).CurrentSnapshot())
			}
			// The batch is open, and is finished by a job that ignores such fields.
			ignoring := growing
			ignoring.OnUnknownField = "ignore"
			w.drain(t, whole(ignoring))
		})
	}
}

// What a job has otherwise than its table is altered with the first batch after the change.
func TestAJobThatWasChangedAltersItsTable(t *testing.T) {
	w := newLakeWorld(t)
	before, after := growing, growing
	before.Schema = "p INT NOT NULL, amount DECIMAL(9,2), f FLOAT, s STRUCT<a: INT NOT NULL>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, INT>"
	after.Schema = "fresh STRING COMMENT 'new here', m MAP<STRING, BIGINT>, l ARRAY<STRUCT<a: BIGINT, b: DATE>>, s STRUCT<a: INT, b: STRING NOT NULL>, f DOUBLE, amount DECIMAL(18,2), p BIGINT"
	text := `{"p":%d,"amount":1.25,"f":0.5,"s":{"a":7,"b":"x"},"l":[{"a":1}],"m":{"k":3}}`
	w.value = func(_ int32, o int64) []byte { return fmt.Appendf(nil, text, o) }
	before.OnUnknownField = "ignore"
	w.drain(t, whole(before))
	ids := map[string]int{}
	for _, f := range w.table(t).Schema().Fields() {
		ids[f.Name] = f.ID
	}
	w.kafka.produce(0, 2)
	after.OnMalformed = "null" // no column may be empty if one is NOT NULL; that of s is inside of one that may be
	seen := &reports{}
	w.drain(t, func(q *runner.Query) { whole(after)(q); seen.Reporter, q.Reporter = q.Reporter, seen })
	want := []string{"make p optional", "widen p from int to long", "widen amount from decimal(9,2) to decimal(18,2)", "widen f from float to double", "make s.a optional", "add s.b string",
		"widen l.element.a from int to long", "add l.element.b date", "widen m.value from int to long", "add fresh string"}
	if len(seen.batches) != 1 || !slices.Equal(seen.batches[0].Altered, want) {
		t.Errorf("got %q, want %q", seen.batches[0].Altered, want)
	}
	schema := w.table(t).Schema()
	for name, id := range ids {
		if f, ok := schema.FindFieldByName(name); !ok || f.ID != id {
			t.Errorf("column %s has id %d, had %d", name, f.ID, id)
		}
	}
	if f, _ := schema.FindFieldByName("fresh"); f.Required || f.Doc != "new here" || f.ID <= slices.Max(slices.Collect(maps.Values(ids))) || schema.Fields()[schema.NumFields()-1].Name != "fresh" {
		t.Errorf("the new column is %+v", f)
	}
	if got := w.table(t).CurrentSnapshot().Summary.Properties["sluice.altered"]; got != strings.Join(want, "; ") {
		t.Errorf("the summary says %q", got)
	}
	// A batch later there is nothing to alter, and the table is wider than a job that was changed back.
	w.kafka.produce(1, 1)
	before.OnUnknownField = "addColumn"
	before.Schema = "amount DECIMAL(9,2), f FLOAT, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, INT>"
	w.drain(t, whole(before))
	if got := w.table(t).Schema(); got.ID != schema.ID {
		t.Errorf("the schema is %v, want it as it was", got)
	}
}

// What sluice does not alter is refused as a whole, before a batch is planned.
func TestWhatCannotBeAlteredIsRefused(t *testing.T) {
	w := newLakeWorld(t)
	was := batch.Value{Format: "json", Schema: "a BIGINT, b STRING, c DECIMAL(9,2), d DATE, e INT NOT NULL, s STRUCT<x: INT>", OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore"}
	w.value = func(int32, int64) []byte { return []byte(`{"e":1}`) }
	w.drain(t, whole(was))
	w.kafka.produce(0, 1)
	is := was
	is.OnUnknownField, is.Schema = "addColumn", "a INT, b INT, c DECIMAL(9,3), d TIMESTAMP, A2 INT, s STRUCT<X: INT>"
	w.refuses(t, batch.Inconsistent, whole(is), "b is string in the table and int in the rows", "c is decimal(9,2) in the table and decimal(9,3)", "d is date in the table",
		"s.X", "by case only", "e of the table is required", "addColumn")
	if n := w.newest(t); n.Plan.Batch != 0 {
		t.Errorf("batch %d was planned", n.Plan.Batch)
	}
	if w.table(t).Schema().ID != 0 {
		t.Error("the table was altered")
	}
	was.OnUnknownField = "addColumn"
	w.drain(t, whole(was))
}
