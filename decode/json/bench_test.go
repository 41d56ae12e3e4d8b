package json_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
)

const ordersDDL = `order_id STRING NOT NULL, customer_id STRING NOT NULL, amount DECIMAL(18,2) NOT NULL, event_time TIMESTAMP NOT NULL,
	address STRUCT<city: STRING, zip: STRING>, items ARRAY<STRUCT<sku: STRING, qty: INT>>`

func mustParse(tb testing.TB, text string) columns.Schema {
	tb.Helper()
	schema, err := ddl.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func mustCompile(tb testing.TB, text string, o json.Options) *json.Parser {
	tb.Helper()
	p, err := json.Compile(mustParse(tb, text), o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// orders are records as a shop sends them, about 230 bytes each.
func orders(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Berlin", "Zürich", "New York", "São Paulo", "Köln", "Paris"}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := make([][]byte, n)
	for i := range rows {
		at = at.Add(time.Duration(rng.IntN(5000)) * time.Microsecond)
		row := fmt.Appendf(nil, `{"order_id":"%08x-%04x","customer_id":"C%07d","amount":%d.%02d,"event_time":"%s","address":{"city":"%s","zip":"%05d"},"items":[`,
			rng.Uint32(), rng.Uint32()&0xffff, rng.IntN(1e7), rng.IntN(5000), rng.IntN(100), at.Format("2006-01-02T15:04:05.000000Z07:00"), cities[rng.IntN(6)], rng.IntN(100000))
		for k := range 1 + rng.IntN(3) {
			if k > 0 {
				row = append(row, ',')
			}
			row = fmt.Appendf(row, `{"sku":"SKU-%05d","qty":%d}`, rng.IntN(100000), 1+rng.IntN(9))
		}
		rows[i] = append(row, "]}"...)
	}
	return rows
}

// order is what the libraries decode into.
type order struct {
	OrderID    string         `json:"order_id"`
	CustomerID string         `json:"customer_id"`
	Amount     stdjson.Number `json:"amount"`
	EventTime  string         `json:"event_time"`
	Address    *struct {
		City *string `json:"city"`
		Zip  *string `json:"zip"`
	} `json:"address"`
	Items []struct {
		Sku *string `json:"sku"`
		Qty *int32  `json:"qty"`
	} `json:"items"`
}

func perRow(b *testing.B, rows [][]byte) {
	b.Helper()
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}

// BenchmarkColumns reads orders as they are mostly written; with fields in any order and white space; and with the
// schema knowing half of the fields.
func BenchmarkColumns(b *testing.B) {
	for name, c := range map[string]struct {
		ddl  string
		rows [][]byte
	}{
		"plain": {ordersDDL, orders(4096)}, "loose": {ordersDDL, loose(orders(4096))},
		"half": {"customer_id STRING, amount DECIMAL(18,2), items ARRAY<STRUCT<sku: STRING>>", orders(4096)},
	} {
		b.Run(name, func(b *testing.B) {
			p := mustCompile(b, c.ddl, json.Options{})
			dst := columns.Make(p.Schema())
			b.ReportAllocs()
			for b.Loop() {
				for i := range dst {
					dst[i].Reset()
				}
				for _, row := range c.rows {
					if err := p.Append(dst, row); err != nil {
						b.Fatal(err)
					}
				}
			}
			perRow(b, c.rows)
		})
	}
}

// loose writes the records again, as encoding/json orders and indents a map.
func loose(rows [][]byte) [][]byte {
	out := make([][]byte, len(rows))
	for i, row := range rows {
		var m map[string]stdjson.RawMessage
		if err := stdjson.Unmarshal(row, &m); err != nil {
			panic(err)
		}
		out[i], _ = stdjson.MarshalIndent(m, "", "  ")
	}
	return out
}

func BenchmarkEncodingJSON(b *testing.B) {
	rows := orders(4096)
	b.ReportAllocs()
	for b.Loop() {
		for _, row := range rows {
			var o order
			if err := stdjson.Unmarshal(row, &o); err != nil {
				b.Fatal(err)
			}
		}
	}
	perRow(b, rows)
}
