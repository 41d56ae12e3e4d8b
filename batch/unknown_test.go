package batch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
)

var (
	long, text, double = columns.Type{Kind: columns.Int64}, columns.Type{Kind: columns.String}, columns.Type{Kind: columns.Float64}
	whole              = columns.Type{Kind: columns.Decimal, Precision: 38}
)

func structOf(fields ...columns.Field) columns.Type {
	return columns.Type{Kind: columns.Struct, Fields: fields}
}

func listOf(element columns.Type) columns.Type {
	return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: element}}}
}

func at(n int64) batch.Place { return batch.Place{Topic: "t", Partition: 1, Offset: n} }

func TestSightingsOfAFieldHaveATypeWithRoomForAll(t *testing.T) {
	decimal := func(p, s int) columns.Type { return columns.Type{Kind: columns.Decimal, Precision: p, Scale: s} }
	kind := func(k columns.Kind) columns.Type { return columns.Type{Kind: k} }
	for _, tc := range []struct{ a, b, want columns.Type }{
		{long, long, long}, {long, double, double}, {double, long, double}, {long, whole, whole}, {whole, double, double}, {text, text, text},
		{kind(columns.Int32), long, long}, {kind(columns.Int32), kind(columns.Float32), double}, {kind(columns.Float32), kind(columns.Float32), kind(columns.Float32)},
		{decimal(9, 2), decimal(18, 2), decimal(18, 2)}, {decimal(18, 2), decimal(9, 2), decimal(18, 2)},
		{structOf(columns.Field{Name: "a", Type: long}), structOf(columns.Field{Name: "b", Type: text}, columns.Field{Name: "a", Type: double}),
			structOf(columns.Field{Name: "a", Type: double}, columns.Field{Name: "b", Type: text})},
		{listOf(long), listOf(double), listOf(double)},
		{text, long, columns.Type{}}, {kind(columns.Bool), long, columns.Type{}}, {listOf(long), long, columns.Type{}}, {structOf(), text, columns.Type{}},
		{decimal(9, 2), decimal(9, 3), columns.Type{}}, {decimal(9, 2), long, columns.Type{}}, {listOf(long), listOf(text), columns.Type{}},
		{columns.Type{Kind: columns.Fixed, Width: 2}, columns.Type{Kind: columns.Fixed, Width: 3}, columns.Type{}},
	} {
		var u batch.Unknowns
		err := u.Add(nil, "f", tc.a, nil, at(3))
		if err == nil {
			err = u.Add(nil, "f", tc.b, nil, at(7))
		}
		switch {
		case tc.want.Kind == 0:
			var fault *batch.Fault
			if !errors.As(err, &fault) || fault.Class != batch.BadRecords || !strings.Contains(fault.Message, "t-1 at offset 3") || !strings.Contains(fault.Message, "t-1 at offset 7") || fault.Hint == "" {
				t.Errorf("%v with %v: got %v, want a fault that names both records", tc.a, tc.b, err)
			}
		case err != nil || !reflect.DeepEqual(batch.Fields(u.Fields), []columns.Field{{Name: "f", Type: tc.want}}):
			t.Errorf("%v with %v: got %+v, %v, want %v", tc.a, tc.b, batch.Fields(u.Fields), err, tc.want)
		}
	}
}

// However records are shared out among tasks, all together find the same.
func TestTasksFindTogetherWhatOneWouldFind(t *testing.T) {
	schema := []columns.Field{{Name: "s", Type: structOf(columns.Field{Name: "x", Type: long})}, {Name: "l", Type: listOf(structOf(columns.Field{Name: "y", Type: long}))}}
	ways := [][]columns.Field{nil, schema[:1], {schema[1], schema[1].Type.Fields[0]}}
	types := []columns.Type{long, double, whole, listOf(long), listOf(double), structOf(columns.Field{Name: "a", Type: long}), structOf(columns.Field{Name: "b", Type: text})}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		tasks := 1 + random.IntN(4)
		var one batch.Unknowns
		several := make([]batch.Unknowns, tasks)
		var refusal, ofOne error
		for n := range int64(12) {
			way, name := ways[random.IntN(len(ways))], fmt.Sprintf("f%d", random.IntN(3))
			kind := types[random.IntN(3)]
			switch name {
			case "f1":
				kind = types[3+random.IntN(2)]
			case "f2":
				kind = types[5+random.IntN(2)]
			}
			if ofOne == nil {
				ofOne = one.Add(way, name, kind, nil, at(n))
			}
			if err := several[int(n)*tasks/12].Add(way, name, kind, nil, at(n)); err != nil {
				refusal = err
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
		got, err := batch.MergeUnknown(results, false)
		if refusal != nil || err != nil || ofOne != nil {
			t.Fatalf("seed %d: got %v, %v, %v", seed, refusal, err, ofOne)
		}
		if !reflect.DeepEqual(batch.Fields(got), batch.Fields(one.Fields)) {
			t.Fatalf("seed %d: got %+v, want %+v", seed, batch.Fields(got), batch.Fields(one.Fields))
		}
	}
}

func TestNamesThatATableCannotHaveAreRefused(t *testing.T) {
	siblings := []columns.Field{{Name: "city", Type: text}, {Name: "İ", Type: text}}
	for name, want := range map[string]string{"": "no column can have that name", "a\x00": `"a\x00"`, strings.Repeat("n", 256): "longer than 255 bytes", "City": "by case only", "i": "by case only", "KAFKA_x": "kafka_"} {
		var u batch.Unknowns
		err := u.Add(nil, name, long, siblings, at(5))
		if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t-1 at offset 5") || batch.HintOf(err) == "" {
			t.Errorf("%q: got %v, want it to name %q", name, err, want)
		}
	}
	var u batch.Unknowns
	in := columns.Field{Name: "address", Type: structOf(siblings...)}
	for _, name := range []string{"kafka_x", "zip.code", "größe", "a b", strings.Repeat("n", 255)} {
		if err := u.Add([]columns.Field{in}, name, long, siblings, at(5)); err != nil {
			t.Errorf("%q inside of a struct: %v", name, err)
		}
	}
	if got := batch.NewColumns(u.Fields); len(got) != 5 || got[0].Name != "address.kafka_x" {
		t.Errorf("got %v", got)
	}
}

func TestWhatABatchMayAddIsBounded(t *testing.T) {
	var u batch.Unknowns
	for n := range batch.MostNewColumns {
		for range 2 { // the same field again is no other column
			if err := u.Add(nil, fmt.Sprintf("f%d", n), long, nil, at(int64(n))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := u.Add(nil, "more", long, nil, at(7)); batch.ClassOf(err) != batch.BadRecords || !strings.Contains(batch.HintOf(err), "MAP") {
		t.Errorf("got %v", err)
	}
	deep := long
	for range batch.DeepestColumn {
		deep = listOf(deep)
	}
	if err := new(batch.Unknowns).Add(nil, "deep", deep, nil, at(7)); batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("got %v", err)
	}
	if err := new(batch.Unknowns).Add(nil, "deep", deep.Fields[0].Type, nil, at(7)); err != nil {
		t.Error(err)
	}
}

// A writer's schema tells what is new without a look at values.
func TestWhatAWritersSchemaHasBeyondThatOfTheRows(t *testing.T) {
	schema := []columns.Field{{Name: "a", Type: long}, {Name: "s", Type: structOf(columns.Field{Name: "x", Type: long})}, {Name: "l", Type: listOf(structOf(columns.Field{Name: "y", Type: long}))}}
	fields := []columns.Field{{Name: "s", Type: structOf(columns.Field{Name: "z", Type: text})}, {Name: "b", Type: listOf(long)}, {Name: "l", Type: listOf(structOf(columns.Field{Name: "w", Type: long}))}}
	var u batch.Unknowns
	for n := range int64(2) {
		if err := u.Take(schema, fields, at(n)); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(batch.NewColumns(u.Fields)); got != fmt.Sprint([]columns.Field{{Name: "s.z", Type: text}, {Name: "b", Type: listOf(long)}, {Name: "l.element.w", Type: long}}) {
		t.Errorf("got %s", got)
	}
	if err := u.Take(schema, []columns.Field{{Name: "A", Type: long}}, at(3)); batch.ClassOf(err) != batch.BadRecords {
		t.Errorf("got %v", err)
	}
}

// A type that contains itself has no column, and a message without the record would not say which producer it is about.
func TestAWrittenFieldWithoutATypeIsRefusedWithItsRecord(t *testing.T) {
	inner := []columns.Field{{Name: "b", Type: columns.Type{Kind: columns.Int64}}}
	schema := columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Struct, Fields: inner}}}
	for want, fields := range map[string][]columns.Field{
		"next":   {{Name: "extra", Type: columns.Type{Kind: columns.Int64}}, {Name: "next"}},
		"a.next": {{Name: "a", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "next"}}}}},
	} {
		var u batch.Unknowns
		err := u.Take(schema, fields, batch.Place{Topic: "orders", Partition: 3, Offset: 7})
		if batch.ClassOf(err) != batch.BadRecords || !strings.Contains(err.Error(), "orders-3 at offset 7") || !strings.Contains(err.Error(), " field "+want+",") || !strings.Contains(batch.HintOf(err), "deadLetter") {
			t.Errorf("got %v, want a refusal of %s", err, want)
		}
	}
}
