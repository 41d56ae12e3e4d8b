package main

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"

	"sluice/columns"
	"sluice/decode/avro"
)

const sampleText = `{"type": "record", "name": "Sample", "fields": [
	{"name": "b", "type": "boolean"}, {"name": "i", "type": "int"}, {"name": "l", "type": ["null", "long"]},
	{"name": "f", "type": "float"}, {"name": "d", "type": "double"}, {"name": "y", "type": "bytes"}, {"name": "s", "type": "string"},
	{"name": "x", "type": {"type": "fixed", "name": "F", "size": 3}},
	{"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}},
	{"name": "n", "type": {"type": "array", "items": ["null", "long"]}},
	{"name": "m", "type": {"type": "map", "values": "string"}},
	{"name": "r", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": [
		{"name": "sku", "type": "string"}, {"name": "qty", "type": ["null", "int"]}]}}},
	{"name": "c", "type": {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}},
	{"name": "k", "type": {"type": "fixed", "name": "K", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 9}},
	{"name": "t", "type": {"type": "int", "logicalType": "date"}},
	{"name": "a", "type": {"type": "long", "logicalType": "time-micros"}},
	{"name": "g", "type": {"type": "long", "logicalType": "timestamp-millis"}},
	{"name": "h", "type": {"type": "long", "logicalType": "local-timestamp-micros"}}]}`

type sample struct {
	B bool              `avro:"b"`
	I int32             `avro:"i"`
	L *int64            `avro:"l"`
	F float32           `avro:"f"`
	D float64           `avro:"d"`
	Y []byte            `avro:"y"`
	S string            `avro:"s"`
	X [3]byte           `avro:"x"`
	E string            `avro:"e"`
	N []*int64          `avro:"n"`
	M map[string]string `avro:"m"`
	R []line            `avro:"r"`
	C big.Rat           `avro:"c"`
	K *big.Rat          `avro:"k"`
	T time.Time         `avro:"t"`
	A time.Duration     `avro:"a"`
	G time.Time         `avro:"g"`
	H time.Time         `avro:"h"`
}

type line struct {
	Sku string `avro:"sku"`
	Qty *int32 `avro:"qty"`
}

func maybe[T any](rng *rand.Rand, v T) *T {
	if rng.IntN(3) == 0 {
		return nil
	}
	return &v
}

func randomText(rng *rand.Rand) string {
	return []string{"", "a", "größe", "exactly sixteen.", "seventeen letters", "€€€", "a\x00b"}[rng.IntN(7)]
}

func randomSample(rng *rand.Rand) *sample {
	s := &sample{
		B: rng.IntN(2) == 0, I: int32(rng.Uint32()) >> rng.IntN(32), L: maybe(rng, int64(rng.Uint64())>>rng.IntN(64)), F: float32(rng.NormFloat64()), D: math.Ldexp(rng.NormFloat64(), rng.IntN(200)),
		Y: []byte(randomText(rng)), S: randomText(rng), X: [3]byte{byte(rng.Uint32()), 0, 255}, E: string(rune('A' + rng.IntN(3))), M: map[string]string{}, N: []*int64{}, R: []line{},
		T: time.Unix(86400*int64(rng.IntN(60_000)-30_000), 0).UTC(), A: time.Duration(rng.Int64N(86_400_000_000)) * time.Microsecond,
		G: time.UnixMilli(rng.Int64N(4e12) - 1e12).UTC(), H: time.UnixMicro(rng.Int64N(4e15) - 1e15).UTC(),
	}
	for range rng.IntN(6) {
		s.N = append(s.N, maybe(rng, rng.Int64()))
		s.R = append(s.R, line{randomText(rng), maybe(rng, int32(rng.Uint32()))})
		s.M[fmt.Sprint(rng.IntN(100))] = randomText(rng)
	}
	s.C.SetFrac64(int64(rng.Uint64())>>(5+rng.IntN(50)), 100)
	wide := new(big.Int).Mul(big.NewInt(int64(rng.Uint64())), big.NewInt(rng.Int64()))
	s.K = new(big.Rat).SetFrac(wide.Quo(wide, big.NewInt(1+rng.Int64N(1e9))), big.NewInt(1e9))
	return s
}

// writers encode a sample: in one block, in small blocks, in blocks that say how long they are.
func writers() map[string]func(any) ([]byte, error) {
	schema, other := hamba.MustParse(sampleText), twmb.MustParse(sampleText)
	out := map[string]func(any) ([]byte, error){"twmb": func(v any) ([]byte, error) { return other.Encode(v) }}
	for name, config := range map[string]hamba.Config{"hamba": {}, "hamba in blocks": {BlockLength: 2}, "hamba in plain blocks": {BlockLength: 2, DisableBlockSizeHeader: true}} {
		api := config.Freeze()
		out[name] = func(v any) ([]byte, error) { return api.Marshal(schema, v) }
	}
	return out
}

// What the libraries write is what is read.
func TestWhatOtherLibrariesWriteIsRead(t *testing.T) {
	writer, err := avro.Parse(sampleText)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := writer.Columns()
	if err != nil {
		t.Fatal(err)
	}
	p, err := avro.Compile(writer, schema, avro.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	dst := columns.Make(schema)
	all := writers()
	for range 3000 {
		s := randomSample(rng)
		for name, encode := range all {
			encoded, err := encode(s)
			if err != nil {
				t.Fatal(err)
			}
			row := dst[0].Len
			if err := p.Append(dst, encoded); err != nil {
				t.Fatalf("%s: %+v: %v", name, s, err)
			}
			if got, want := rowOf(dst, row), s.row(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %+v, want %+v", name, got, want)
			}
		}
	}
}

// row is the sample as rowOf shows it; maps have no order.
func (s *sample) row() []any {
	list := func(n int, at func(i int) any) any {
		out := []any{}
		for i := range n {
			out = append(out, at(i))
		}
		return out
	}
	k := new(big.Rat).Mul(s.K, big.NewRat(1e9, 1))
	return []any{
		s.B, s.I, value(s.L), s.F, s.D, string(s.Y), s.S, string(s.X[:]), s.E, list(len(s.N), func(i int) any { return value(s.N[i]) }), s.M,
		list(len(s.R), func(i int) any { return [2]any{s.R[i].Sku, value(s.R[i].Qty)} }), new(big.Rat).Mul(&s.C, big.NewRat(100, 1)).Num().Int64(), k.Num().String(),
		int32(s.T.Unix() / 86400), s.A.Microseconds(), s.G.UnixMicro(), s.H.UnixMicro(),
	}
}

func value[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// rowOf takes a row out of the columns.
func rowOf(dst []columns.Array, row int) []any {
	optional := func(a *columns.Array, i int, v any) any {
		if !a.Valid(i) {
			return nil
		}
		return v
	}
	var list, lines []any = []any{}, []any{}
	for i, until := dst[9].Span(row); i < until; i++ {
		a := &dst[9].Children[0]
		list = append(list, optional(a, i, a.Int64s[i]))
	}
	texts := map[string]string{}
	for i, until := dst[10].Span(row); i < until; i++ {
		entry := dst[10].Children[0].Children
		texts[string(entry[0].Bytes(i))] = string(entry[1].Bytes(i))
	}
	for i, until := dst[11].Span(row); i < until; i++ {
		inner := dst[11].Children[0].Children
		lines = append(lines, [2]any{string(inner[0].Bytes(i)), optional(&inner[1], i, inner[1].Int32s[i])})
	}
	wide := bytes.Clone(dst[13].Data[16*row : 16*row+16])
	for i := range 8 { // most significant first
		wide[i], wide[15-i] = wide[15-i], wide[i]
	}
	k := new(big.Int).SetBytes(wide)
	if wide[0] >= 0x80 {
		k.Sub(k, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return []any{
		dst[0].Data[row>>3]>>(row&7)&1 == 1, dst[1].Int32s[row], optional(&dst[2], row, dst[2].Int64s[row]), dst[3].Float32s[row], dst[4].Float64s[row],
		string(dst[5].Bytes(row)), string(dst[6].Bytes(row)), string(dst[7].Data[3*row : 3*row+3]), string(dst[8].Bytes(row)), list, texts, lines,
		dst[12].Int64s[row], k.String(), dst[14].Int32s[row], dst[15].Int64s[row], dst[16].Int64s[row], dst[17].Int64s[row],
	}
}

// The benchmark's contenders read the same orders.
func TestTheContendersReadTheOrders(t *testing.T) {
	schema := hamba.MustParse(schemaText)
	rows := orders(schema, 200)
	for _, c := range contenders(schema) {
		if err := c.Decode(rows); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
