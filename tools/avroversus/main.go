// Command avroversus measures decode/avro beside general libraries on the same records: CPU time a row of the whole
// process, garbage collection included, and allocations a row. The decoders take turns, and the least and the middle of
// their rounds are printed, so that a busy machine harms all alike.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"

	"sluice/columns"
	"sluice/decode/avro"
)

const schemaText = `{"type": "record", "name": "Order", "namespace": "shop", "fields": [
	{"name": "order_id", "type": "string"},
	{"name": "customer_id", "type": "string"},
	{"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}},
	{"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
	{"name": "address", "type": ["null", {"type": "record", "name": "Address", "fields": [
		{"name": "city", "type": ["null", "string"]},
		{"name": "zip", "type": ["null", "string"]}]}]},
	{"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "Item", "fields": [
		{"name": "sku", "type": ["null", "string"]},
		{"name": "qty", "type": ["null", "int"]}]}}}]}`

// order is what the libraries decode into.
type order struct {
	OrderID    string    `avro:"order_id"`
	CustomerID string    `avro:"customer_id"`
	Amount     big.Rat   `avro:"amount"`
	EventTime  time.Time `avro:"event_time"`
	Address    *address  `avro:"address"`
	Items      []item    `avro:"items"`
}

type address struct {
	City *string `avro:"city"`
	Zip  *string `avro:"zip"`
}

type item struct {
	Sku *string `avro:"sku"`
	Qty *int32  `avro:"qty"`
}

// orders are records as a shop sends them: those of jsonversus, about 80 bytes each.
func orders(schema hamba.Schema, n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Berlin", "Zürich", "New York", "São Paulo", "Köln", "Paris"}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := make([][]byte, n)
	for i := range rows {
		at = at.Add(time.Duration(rng.IntN(5000)) * time.Microsecond)
		o := order{
			OrderID:    fmt.Sprintf("%08x-%04x", rng.Uint32(), rng.Uint32()&0xffff),
			CustomerID: fmt.Sprintf("C%07d", rng.IntN(1e7)), EventTime: at,
		}
		o.Amount.SetFrac64(int64(rng.IntN(500_000)), 100)
		city, zip := cities[rng.IntN(6)], fmt.Sprintf("%05d", rng.IntN(100000))
		o.Address = &address{City: &city, Zip: &zip}
		for range 1 + rng.IntN(3) {
			sku, qty := fmt.Sprintf("SKU-%05d", rng.IntN(100000)), int32(1+rng.IntN(9))
			o.Items = append(o.Items, item{&sku, &qty})
		}
		row, err := hamba.Marshal(schema, o)
		if err != nil {
			log.Fatal(err)
		}
		rows[i] = row
	}
	return rows
}

// contender decodes all rows once.
type contender struct {
	name   string
	decode func(rows [][]byte) error
	costs  []float64
	allocs float64
}

func each(decode func(row []byte) error) func([][]byte) error {
	return func(rows [][]byte) error {
		for _, row := range rows {
			if err := decode(row); err != nil {
				return err
			}
		}
		return nil
	}
}

func ours() func([][]byte) error {
	writer, err := avro.Parse(schemaText)
	if err != nil {
		log.Fatal(err)
	}
	schema, err := writer.Columns()
	if err != nil {
		log.Fatal(err)
	}
	p, err := avro.Compile(writer, schema, avro.Options{})
	if err != nil {
		log.Fatal(err)
	}
	dst := columns.Make(schema)
	return func(rows [][]byte) error {
		for i := range dst {
			dst[i].Reset()
		}
		return each(func(row []byte) error { return p.Append(dst, row) })(rows)
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *contender) round(rows [][]byte, repeats int) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	from := cpu()
	for range repeats {
		if err := c.decode(rows); err != nil {
			log.Fatalf("%s: %v", c.name, err)
		}
	}
	c.costs = append(c.costs, float64((cpu()-from).Nanoseconds())/float64(repeats*len(rows)))
	runtime.ReadMemStats(&after)
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(repeats*len(rows))
}

func contenders(schema hamba.Schema) []*contender {
	other, err := twmb.Parse(schemaText)
	if err != nil {
		log.Fatal(err)
	}
	var reused order
	return []*contender{
		{name: "sluice decode/avro -> columns", decode: ours()},
		{name: "hamba -> struct", decode: each(func(row []byte) error {
			var o order
			return hamba.Unmarshal(schema, row, &o)
		})},
		{name: "hamba -> struct used again", decode: each(func(row []byte) error { return hamba.Unmarshal(schema, row, &reused) })},
		{name: "hamba -> map", decode: each(func(row []byte) error {
			var v any
			return hamba.Unmarshal(schema, row, &v)
		})},
		{name: "twmb -> struct", decode: each(func(row []byte) error {
			var o order
			_, err := other.Decode(row, &o)
			return err
		})},
		{name: "twmb -> map", decode: each(func(row []byte) error {
			var v any
			_, err := other.Decode(row, &v)
			return err
		})},
	}
}

func main() {
	rounds := flag.Int("rounds", 11, "rounds of each decoder")
	flag.Parse()
	schema, err := hamba.Parse(schemaText)
	if err != nil {
		log.Fatal(err)
	}
	rows := orders(schema, 4096)
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	all := contenders(schema)
	for range *rounds {
		for _, c := range all {
			c.round(rows, 8)
		}
	}
	middle := func(c *contender) float64 { return c.costs[len(c.costs)/2] }
	for _, c := range all {
		slices.Sort(c.costs)
	}
	fmt.Printf("%d rows of %d bytes, %d rounds, %s, %s\n", len(rows), size/len(rows), *rounds, runtime.Version(), runtime.GOARCH)
	fmt.Printf("%-32s %10s %10s %8s %8s %8s\n", "", "least", "middle", "MB/s", "allocs", "ratio")
	for _, c := range all {
		fmt.Printf("%-32s %7.0f ns %7.0f ns %8.0f %8.3f %7.1fx\n", c.name, c.costs[0], middle(c), float64(size)/float64(len(rows))/middle(c)*1e3, c.allocs, middle(c)/middle(all[0]))
	}
}
