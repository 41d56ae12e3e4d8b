package batch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
)

// sightings are drawn fields of records, in order, with all that may stand against each other.
func sightings(random *rand.Rand, n int) (ways [][]columns.Field, names []string, types []columns.Type, schema []columns.Field) {
	schema = []columns.Field{{Name: "s", Type: structOf(columns.Field{Name: "x", Type: long})}, {Name: "l", Type: listOf(structOf(columns.Field{Name: "y", Type: long}))}}
	all := [][]columns.Field{nil, schema[:1], {schema[1], schema[1].Type.Fields[0]}}
	kinds := []columns.Type{long, double, whole, text, listOf(long), listOf(double), listOf(text), {Kind: columns.Bool}, {Kind: columns.Decimal, Precision: 9, Scale: 2}, {Kind: columns.Decimal, Precision: 5},
		structOf(columns.Field{Name: "a", Type: long}), structOf(columns.Field{Name: "A", Type: text}), structOf(columns.Field{Name: "a", Type: text}), structOf(columns.Field{Name: "b", Type: listOf(text)}), listOf(structOf(columns.Field{Name: "z", Type: long}))}
	for range n {
		ways, names, types = append(ways, all[random.IntN(len(all))]), append(names, []string{"f", "F", "g", "f.a", "s.f", "ſ", "h"}[random.IntN(7)]), append(types, kinds[random.IntN(len(kinds))])
	}
	return ways, names, types, schema
}

// Whatever stands against each other, the choice is the same however the records are cut into tasks.
func TestWhatIsChosenDoesNotDependOnHowRecordsAreCutIntoTasks(t *testing.T) {
	refused, conflicts := 0, 0
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		const records = 14
		ways, names, types, schema := sightings(random, records)
		var first string
		for range 6 {
			tasks := 1 + random.IntN(records)
			several := make([]batch.Unknowns, tasks)
			for i := range several {
				several[i].Apart = true
			}
			task := 0
			for n := range records {
				if task < tasks-1 && random.IntN(3) == 0 {
					task++
				}
				if err := several[task].Add(ways[n], names[n], types[n], nil, at(int64(n))); err != nil {
					t.Fatal(err)
				}
			}
			var results []batch.TaskResult
			for i := range several {
				stored, err := json.Marshal(batch.TaskResult{UnknownFields: several[i].Fields})
				if err != nil {
					t.Fatal(err)
				}
				var r batch.TaskResult
				if err := json.Unmarshal(stored, &r); err != nil {
					t.Fatal(err)
				}
				results = append(results, r)
			}
			all, err := batch.MergeUnknown(results, true)
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := batch.Settle(all, schema)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%+v", batch.Fields(chosen)); first == "" {
				first = got
			} else if got != first {
				t.Fatalf("seed %d: got %s, want %s", seed, got, first)
			}
			if len(batch.NewColumns(chosen)) < len(batch.NewColumns(all)) {
				conflicts++
			}
			if _, err := batch.MergeUnknown(results, false); err != nil {
				refused++
			}
		}
	}
	if refused < 100 || conflicts < 100 {
		t.Errorf("only %d batches would have been refused, and %d had something to choose", refused, conflicts)
	}
}

func TestWhatWasSeenFirstIsChosen(t *testing.T) {
	type sighting struct {
		name string
		kind columns.Type
	}
	decimal := func(p, s int) columns.Type { return columns.Type{Kind: columns.Decimal, Precision: p, Scale: s} }
	field := func(name string, kind columns.Type) columns.Field { return columns.Field{Name: name, Type: kind} }
	schema := []columns.Field{field("o", structOf(field("x", long)))}
	for _, c := range []struct {
		seen []sighting
		want []columns.Field
	}{
		{[]sighting{{"f", long}, {"f", text}, {"f", double}}, []columns.Field{field("f", double)}},
		{[]sighting{{"f", text}, {"f", long}, {"f", structOf(field("a", long))}}, []columns.Field{field("f", text)}},
		{[]sighting{{"f", listOf(long)}, {"f", listOf(text)}, {"f", text}}, []columns.Field{field("f", listOf(long))}},
		{[]sighting{{"f", structOf(field("a", long))}, {"f", structOf(field("a", text), field("b", text))}}, []columns.Field{field("f", structOf(field("a", long), field("b", text)))}},
		{[]sighting{{"f", decimal(9, 2)}, {"f", long}, {"f", decimal(12, 2)}}, []columns.Field{field("f", decimal(12, 2))}},
		{[]sighting{{"f", decimal(9, 0)}, {"f", long}}, []columns.Field{field("f", decimal(38, 0))}},
		{[]sighting{{"f", decimal(9, 0)}, {"f", double}}, []columns.Field{field("f", double)}},
		{[]sighting{{"Name", long}, {"name", text}, {"NAME", long}}, []columns.Field{field("Name", long)}},
		{[]sighting{{"o.x", long}, {"y", long}}, []columns.Field{field("y", long)}}, // the path of a column that is there
		{[]sighting{{"p.a", long}, {"p", structOf(field("a", text))}}, []columns.Field{field("p.a", long)}},
		{[]sighting{{"p", structOf(field("a", text), field("b", long))}, {"p.a", long}}, []columns.Field{field("p", structOf(field("a", text), field("b", long)))}},
	} {
		u := batch.Unknowns{Apart: true}
		for n, s := range c.seen {
			if err := u.Add(nil, s.name, s.kind, schema, at(int64(n))); err != nil {
				t.Fatal(err)
			}
		}
		chosen, err := batch.Settle(u.Fields, schema)
		if got := batch.Fields(chosen); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got %+v, %v, want %+v", c.seen, got, err, c.want)
		}
	}
}

// What is kept apart is bounded, and what is chosen as strictly as otherwise.
func TestWhatIsKeptApartIsBounded(t *testing.T) {
	u := batch.Unknowns{Apart: true}
	var err error
	n := int64(0)
	for ; err == nil; n++ {
		if err = u.Add(nil, fmt.Sprintf("f%d", n), long, nil, at(n)); err == nil && n == batch.MostNewColumns {
			if _, err := batch.Settle(u.Fields, nil); batch.ClassOf(err) != batch.BadRecords || !strings.Contains(batch.HintOf(err), "MAP") || !strings.Contains(err.Error(), "t-1 at offset 100") {
				t.Errorf("got %v", err)
			}
		}
		if err == nil && n == batch.MostNewColumns-1 {
			if _, err := batch.Settle(u.Fields, nil); err != nil {
				t.Error(err)
			}
		}
	}
	if n != 10*batch.MostNewColumns+1 || batch.ClassOf(err) != batch.BadRecords {
		t.Errorf("got %d fields, then %v", n, err)
	}
}
