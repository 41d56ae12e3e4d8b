package decode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
)

// manyColumns is the DDL of columns c0, c1, …
func manyColumns(n int, kind string) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("c%d %s", i, kind))
	}
	return strings.Join(names, ", ")
}

// became is all that a decoder makes of records.
type became struct {
	rows, letters, examples      []string
	nulled, dropped, bad, slices int
	reasons                      map[string]int64
}

func (b *became) take(t *testing.T, d decode.Decoder, records *columns.Records) {
	t.Helper()
	if b.reasons == nil {
		b.reasons = map[string]int64{}
	}
	rows, err := d.Decode(records)
	for ; err == nil && rows != nil; rows, err = rows.Next() {
		b.slices++
		b.rows = append(b.rows, show(d.Schema(), rows)...)
		if rows.Rejected != nil {
			b.letters = append(b.letters, show(decode.DeadLetterSchema(), rows.Rejected)...)
		}
		for reason, n := range rows.Reasons {
			b.reasons[reason] += n
		}
		for _, e := range rows.Examples {
			b.examples = append(b.examples, fmt.Sprint(e))
		}
		b.nulled, b.dropped, b.bad = b.nulled+rows.Nulled, b.dropped+rows.Dropped, b.bad+rows.Bad
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever a decoder hands out at once, all of it together is what the records become one by one.
func TestRecordsInSlicesBecomeWhatTheyAreOneByOne(t *testing.T) {
	for _, v := range []batch.Value{
		{OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "fail", DeadLetters: "ops.dead"},
		{OnMalformed: "null", OnTombstone: "drop", OnUnknownField: "ignore", IncludeRawValue: true},
		{OnMalformed: "deadLetter", OnTombstone: "deadLetter", OnUnknownField: "addColumn", DeadLetters: "ops.dead", IncludeRawValue: true, Key: batch.Key{Format: "string"}},
	} {
		v.Format, v.Schema = "json", manyColumns(120, "BIGINT")
		for seed := range uint64(3) {
			random := rand.New(rand.NewPCG(seed, 1))
			var values []string
			for i := range 2500 {
				values = append(values, []string{`{}`, `{}`, fmt.Sprintf(`{"c7":%d,"c119":5}`, i), `{"zz":1}`, `{"c3":"x"}`, `{`, none}[random.IntN(7)])
			}
			records := topic(values...)
			whole, single := decoderOf(t, v), decoderOf(t, v)
			var sliced, one became
			sliced.take(t, whole, records)
			for i := range values {
				one.take(t, single, only(records, i))
			}
			if sliced.slices < 2 {
				t.Errorf("%v: got %d slices, want more", v, sliced.slices)
			}
			if !slices.Equal(sliced.rows, one.rows) || !slices.Equal(sliced.letters, one.letters) {
				t.Errorf("%v: got %d rows and %d dead letters, want %d and %d, or others", v, len(sliced.rows), len(sliced.letters), len(one.rows), len(one.letters))
			}
			if got, want := fmt.Sprint(sliced.nulled, sliced.dropped, sliced.bad, sliced.reasons), fmt.Sprint(one.nulled, one.dropped, one.bad, one.reasons); got != want {
				t.Errorf("%v: got counts %s, want %s", v, got, want)
			}
			if !slices.Equal(sliced.examples[:batch.MaxExamples], one.examples[:batch.MaxExamples]) {
				t.Errorf("%v: got examples %v, want %v", v, sliced.examples[:batch.MaxExamples], one.examples[:batch.MaxExamples])
			}
			if got, want := fmt.Sprint(unknownOf(whole)), fmt.Sprint(unknownOf(single)); got != want {
				t.Errorf("%v: got unknown fields %s, want %s", v, got, want)
			}
		}
	}
}

func decoderOf(t testing.TB, v batch.Value) decode.Decoder {
	t.Helper()
	d, err := decode.New(v, true)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func unknownOf(d decode.Decoder) []batch.Unknown {
	if finder, ok := d.(interface{ Unknown() []batch.Unknown }); ok {
		return finder.Unknown()
	}
	return nil
}

// only is one of the records, by itself.
func only(r *columns.Records, row int) *columns.Records {
	one := topic("x")
	one.Offsets[0], one.Timestamps[0] = r.Offsets[row], r.Timestamps[row]
	for _, c := range []struct{ to, from *columns.Array }{{&one.Key, &r.Key}, {&one.Value, &r.Value}} {
		if c.to.Reset(); c.from.Bytes(row) == nil {
			c.to.AppendNullBytes()
		} else {
			c.to.AppendBytes(c.from.Bytes(row))
		}
	}
	to, from := &one.Headers, &r.Headers
	to.Reset()
	pair := &to.Children[0]
	for k, until := from.Span(row); k < until; k++ {
		pair.Children[0].AppendBytes(from.Children[0].Children[0].Bytes(k))
		if value := from.Children[0].Children[1].Bytes(k); value != nil {
			pair.Children[1].AppendBytes(value)
		} else {
			pair.Children[1].AppendNullBytes()
		}
		pair.AppendStruct()
	}
	to.AppendSpan()
	return one
}

// A batch takes about a megabyte whatever the schema and the records are: tiny records of a wide schema, lists that are
// larger in columns than as text, and dead letters with long errors.
func TestABatchIsBoundedWhateverRecordsBecome(t *testing.T) {
	const most = 5 << 18 // and a bit for the last record
	avroWide := avroValue(field1("c0", `"int"`), manyColumns(500, "BIGINT"))
	protoWide := decode.Derive(batch.Value{Format: "protobuf", OnMalformed: "fail", OnTombstone: "keep", OnUnknownField: "ignore",
		Written: batch.Written{Text: `syntax = "proto3"; message M { optional string c0 = 1; }`}, Schema: manyColumns(500, "STRING")})
	letters := batch.Value{Format: "json", Schema: "a INT", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "fail", DeadLetters: "ops.dead"}
	for name, c := range map[string]struct {
		value  batch.Value
		record string
	}{
		"a wide schema":               {jsonValue(manyColumns(500, "BIGINT")), `{}`},
		"one of wide decimals":        {jsonValue(manyColumns(500, "DECIMAL(38,0)")), `{}`},
		"of texts":                    {jsonValue(manyColumns(500, "STRING")), `{"c8":"x"}`},
		"structs":                     {jsonValue("s STRUCT<" + strings.ReplaceAll(manyColumns(300, "DOUBLE"), " DOUBLE", ": DOUBLE") + ">"), `{"s":{}}`},
		"lists of numbers":            {jsonValue("l ARRAY<DECIMAL(38,0)>"), `{"l":[` + strings.Repeat("1,", 500) + `1]}`},
		"lists of empty structs":      {jsonValue("l ARRAY<STRUCT<a: DECIMAL(38,0)>>"), `{"l":[` + strings.Repeat("{},", 500) + `{}]}`},
		"columns that Avro has not":   {avroWide, "\x02"},
		"columns that Protobuf lacks": {protoWide, ""},
		"dead letters of long errors": {letters, `{"` + strings.Repeat("é", 700) + `":1}`},
	} {
		d := decoderOf(t, c.value)
		rows, err := d.Decode(topic(slices.Repeat([]string{c.record}, 4096)...))
		n, batches := 0, 0
		for ; err == nil && rows != nil; rows, err = rows.Next() {
			size := columns.Size(rows.Columns[:len(rows.Columns)-6])
			n += rows.Rows
			if rows.Rejected != nil {
				size += columns.Size(rows.Rejected.Columns)
				n += rows.Rejected.Rows
			}
			if batches++; size > most {
				t.Errorf("%s: batch %d has %d bytes, want at most %d", name, batches, size, most)
			}
		}
		if err != nil || n != 4096 || batches < 3 {
			t.Errorf("%s: got %d records in %d batches, %v", name, n, batches, err)
		}
	}
}

// What one huge record needed is given up with the next records, also where it was malformed in the end.
func TestAHugeRecordDoesNotKeepItsMemory(t *testing.T) {
	huge := `{"l":[` + strings.Repeat("1,", 3_000_000)
	for _, record := range []string{huge + "1]}", huge + "x"} {
		d := decoderOf(t, batch.Value{Format: "json", Schema: "l ARRAY<BIGINT>", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "ignore", DeadLetters: "ops.dead"})
		if _, err := d.Decode(topic(record)); err != nil {
			t.Fatal(err)
		}
		rows, err := d.Decode(topic(`{"l":[1]}`, `{`))
		if err != nil {
			t.Fatal(err)
		}
		if held := columns.Held(rows.Columns[:1]) + columns.Held(rows.Rejected.Columns); held > 1<<20 {
			t.Errorf("%d bytes are held for two records after one of %d bytes", held, len(record))
		}
	}
}

func TestSlicesAllocateNothingOnceTheyHaveGrown(t *testing.T) {
	d := decoderOf(t, jsonValue(manyColumns(300, "BIGINT")))
	records := topic(slices.Repeat([]string{`{"c1":5}`}, 2000)...)
	all := func() {
		rows, err := d.Decode(records)
		for ; err == nil && rows != nil; rows, err = rows.Next() {
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all()
	if n := testing.AllocsPerRun(5, all); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
