package avro_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/columns"
	"sluice/decode/avro"
)

const orderSchema = `{"type":"record","name":"Order","fields":[
	{"name":"order_id","type":"string"},{"name":"customer_id","type":"string"},{"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":18,"scale":2}},
	{"name":"event_time","type":{"type":"long","logicalType":"timestamp-micros"}},
	{"name":"address","type":["null",{"type":"record","name":"Address","fields":[{"name":"city","type":["null","string"]},{"name":"zip","type":["null","string"]}]}]},
	{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"sku","type":["null","string"]},{"name":"qty","type":["null","int"]}]}}}]}`

// orders are records as a shop sends them, about 80 bytes each.
func orders(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(out []byte, s string) []byte { return append(binary.AppendVarint(out, int64(len(s))), s...) }
	cities := []string{"Berlin", "Zürich", "New York", "São Paulo", "Köln", "Paris"}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := make([][]byte, n)
	for i := range rows {
		at = at.Add(time.Duration(rng.IntN(5000)) * time.Microsecond)
		row := text(nil, fmt.Sprintf("%08x-%04x", rng.Uint32(), rng.Uint32()&0xffff))
		row = text(row, fmt.Sprintf("C%07d", rng.IntN(1e7)))
		cents := rng.IntN(500_000)
		row = append(row, 6, byte(cents>>16), byte(cents>>8), byte(cents))
		row = binary.AppendVarint(row, at.UnixMicro())
		row = text(append(text(append(row, 2, 2), cities[rng.IntN(6)]), 2), fmt.Sprintf("%05d", rng.IntN(100000)))
		items := 1 + rng.IntN(3)
		row = binary.AppendVarint(row, int64(items))
		for range items {
			row = binary.AppendVarint(append(text(append(row, 2), fmt.Sprintf("SKU-%05d", rng.IntN(100000))), 2), int64(1+rng.IntN(9)))
		}
		rows[i] = append(row, 0)
	}
	return rows
}

// BenchmarkColumns reads all of the orders' fields, and half of them.
func BenchmarkColumns(b *testing.B) {
	rows := orders(4096)
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	for name, ddl := range map[string]string{"all": "", "half": "customer_id STRING, amount DECIMAL(18,2), items ARRAY<STRUCT<sku: STRING>>"} {
		b.Run(name, func(b *testing.B) {
			p := mustCompile(b, orderSchema, ddl, avro.Options{})
			dst := columns.Make(p.Schema())
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for i := range dst {
					dst[i].Reset()
				}
				for _, row := range rows {
					if err := p.Append(dst, row); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
		})
	}
}
