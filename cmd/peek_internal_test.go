package cmd

import (
	"encoding/json"
	"fmt"
	"testing"

	"sluice/columns"
	"sluice/offsets"
)

func TestRowsAreSharedEvenlyAndWhatOnePartitionLacksGoesToOthers(t *testing.T) {
	for _, c := range []struct {
		rows  int
		sizes []int64
		want  string
	}{
		{10, []int64{100, 100}, "0:5 1:5"},
		{10, []int64{100, 2}, "0:8 1:2"},
		{10, []int64{1, 0, 2}, "0:1 2:2"},
		{3, []int64{9, 9, 9, 9, 9, 9}, "0:1 2:1 4:1"},
		{3, []int64{9, 9}, "0:2 1:1"},
		{10, nil, ""},
	} {
		view := &offsets.View{Partitions: map[offsets.TopicPartition]offsets.Bounds{}}
		for p, size := range c.sizes {
			view.Partitions[offsets.TopicPartition{Topic: "t", Partition: int32(p)}] = offsets.Bounds{Start: 50, End: 50 + size}
		}
		got := ""
		for _, part := range share(c.rows, view) {
			got += fmt.Sprintf(" %d:%d", part.Partition, part.rows)
		}
		if got != "" {
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%d rows over %v: got %s, want %s", c.rows, c.sizes, got, c.want)
		}
	}
}

func TestEveryKindOfColumnShows(t *testing.T) {
	kind := func(k columns.Kind) columns.Type { return columns.Type{Kind: k} }
	texts := func(values ...string) columns.Array {
		a := columns.Array{Kind: columns.String}
		for _, v := range values {
			a.AppendBytes([]byte(v))
		}
		return a
	}
	pair := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "a", Type: kind(columns.Int32)}, {Name: "b", Type: kind(columns.String)}}}
	pairs := columns.Array{Len: 2, Children: []columns.Array{{Len: 2, Int32s: []int32{1, 2}}, texts("x", "y")}}
	keyValue := []columns.Field{{Name: "key", Type: kind(columns.String)}, {Name: "value", Type: kind(columns.Int32)}}
	entries := columns.Array{Len: 2, Children: []columns.Array{texts("x", "y"), {Len: 2, Int32s: []int32{1, 2}}}}
	for _, c := range []struct {
		name string
		t    columns.Type
		a    columns.Array
		row  int
		want string
	}{
		{"bool", kind(columns.Bool), columns.Array{Len: 3, Data: []byte{0b100}}, 2, "true"},
		{"int", kind(columns.Int32), columns.Array{Len: 2, Int32s: []int32{1, -2}}, 1, "-2"},
		{"repeated int", kind(columns.Int32), columns.Array{Len: 9, Repeat: true, Int32s: []int32{7}}, 8, "7"},
		{"long", kind(columns.Int64), columns.Array{Len: 1, Int64s: []int64{1 << 60}}, 0, "1152921504606846976"},
		{"float", kind(columns.Float32), columns.Array{Len: 1, Float32s: []float32{0.1}}, 0, "0.1"},
		{"double", kind(columns.Float64), columns.Array{Len: 1, Float64s: []float64{0.1}}, 0, "0.1"},
		{"decimal", columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}, columns.Array{Len: 1, Int64s: []int64{-5}}, 0, `"-0.05"`},
		{"decimal without digits behind the point", columns.Type{Kind: columns.Decimal, Precision: 9}, columns.Array{Len: 1, Int64s: []int64{120}}, 0, `"120"`},
		{"wide decimal", columns.Type{Kind: columns.Decimal, Precision: 38, Scale: 3}, columns.Array{Len: 2, Data: append(make([]byte, 16),
			0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)}, 1, `"-0.002"`},
		{"date", kind(columns.Date), columns.Array{Len: 1, Int32s: []int32{-1}}, 0, `"1969-12-31"`},
		{"time", kind(columns.Time), columns.Array{Len: 1, Int64s: []int64{3_600_000_001}}, 0, `"01:00:00.000001"`},
		{"timestamptz", kind(columns.TimestampTZ), columns.Array{Len: 1, Int64s: []int64{1_000_000}}, 0, `"1970-01-01T00:00:01Z"`},
		{"string", kind(columns.String), texts("x", "yz"), 1, `"yz"`},
		{"fixed", columns.Type{Kind: columns.Fixed, Width: 2}, columns.Array{Len: 2, Data: []byte{1, 2, 3, 0xff}}, 1, `"03ff"`},
		{"uuid", kind(columns.UUID), columns.Array{Len: 1, Data: []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, 0, `"00010203-0405-0607-0809-0a0b0c0d0e0f"`},
		{"list", columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: pair}}},
			columns.Array{Len: 2, Offsets: []int32{0, 0, 2}, Children: []columns.Array{pairs}}, 1, `[{"a":1,"b":"x"},{"a":2,"b":"y"}]`},
		{"empty list", columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: pair}}},
			columns.Array{Len: 2, Offsets: []int32{0, 0, 2}, Children: []columns.Array{pairs}}, 0, `[]`},
		{"struct", pair, pairs, 1, `{"a":2,"b":"y"}`},
		{"map", columns.Type{Kind: columns.Map, Fields: keyValue}, columns.Array{Len: 1, Offsets: []int32{0, 2}, Children: []columns.Array{entries}}, 0, `{"x":1,"y":2}`},
		{"null", kind(columns.Int32), columns.Array{Len: 2, Nulls: 1, Validity: []byte{0b01}, Int32s: []int32{1, 0}}, 1, "null"},
	} {
		got, err := json.Marshal(cellOf(&c.a, c.t, c.row))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}
