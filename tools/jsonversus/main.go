// Command jsonversus measures decode/json beside general libraries on the same records: CPU time a row of the whole
// process, garbage collection included, and allocations a row. The decoders take turns, and the least and the middle of
// their rounds are printed, so that a busy machine harms all alike.
package main

import (
	stdjson "encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
)

const schemaText = `order_id STRING NOT NULL, customer_id STRING NOT NULL, amount DECIMAL(18,2) NOT NULL, event_time TIMESTAMP NOT NULL,
	address STRUCT<city: STRING, zip: STRING>, items ARRAY<STRUCT<sku: STRING, qty: INT>>`

// order is what the libraries decode into. Numbers and times stay text, since a float would round them.
type order struct {
	OrderID    string         `json:"order_id"`
	CustomerID string         `json:"customer_id"`
	Amount     stdjson.Number `json:"amount"`
	EventTime  string         `json:"event_time"`
	Address    *address       `json:"address"`
	Items      []item         `json:"items"`
}

type address struct {
	City *string `json:"city"`
	Zip  *string `json:"zip"`
}

type item struct {
	Sku *string `json:"sku"`
	Qty *int32  `json:"qty"`
}

// orders are records as a shop sends them, about 220 bytes each.
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

// contender decodes all rows once.
type contender struct {
	name   string
	decode func(rows [][]byte) error
	costs  []float64
	allocs float64
}

func into(unmarshal func([]byte, any) error) func([][]byte) error {
	return func(rows [][]byte) error {
		for _, row := range rows {
			var o order
			if err := unmarshal(row, &o); err != nil {
				return err
			}
		}
		return nil
	}
}

func ours() func([][]byte) error {
	schema, err := ddl.Parse(schemaText)
	if err != nil {
		log.Fatal(err)
	}
	p, err := json.Compile(schema, json.Options{})
	if err != nil {
		log.Fatal(err)
	}
	dst := columns.Make(schema)
	return func(rows [][]byte) error {
		for i := range dst {
			dst[i].Reset()
		}
		for _, row := range rows {
			if err := p.Append(dst, row); err != nil {
				return err
			}
		}
		return nil
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

func main() {
	rounds := flag.Int("rounds", 11, "rounds of each decoder")
	flag.Parse()
	rows := orders(4096)
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	contenders := []*contender{
		{name: "sluice decode/json -> columns", decode: ours()},
		{name: "sonic -> struct", decode: into(sonic.ConfigDefault.Unmarshal)},
		{name: "sonic, UTF-8 checked -> struct", decode: into(sonic.Config{ValidateString: true, CopyString: true}.Froze().Unmarshal)},
		{name: "goccy -> struct", decode: into(goccy.Unmarshal)},
		{name: "encoding/json -> struct", decode: into(stdjson.Unmarshal)},
	}
	for range *rounds {
		for _, c := range contenders {
			c.round(rows, 8)
		}
	}
	fmt.Printf("%d rows of %d bytes, %d rounds, %s, %s\n", len(rows), size/len(rows), *rounds, runtime.Version(), runtime.GOARCH)
	fmt.Printf("%-32s %10s %10s %8s %8s\n", "", "least", "middle", "MB/s", "allocs")
	for _, c := range contenders {
		slices.Sort(c.costs)
		least := c.costs[0]
		fmt.Printf("%-32s %7.0f ns %7.0f ns %8.0f %8.3f  %s\n", c.name, least, c.costs[len(c.costs)/2], float64(size)/float64(len(rows))/least*1e3, c.allocs,
			strings.Repeat("*", int(least/contenders[0].costs[0]+0.5)))
	}
}
