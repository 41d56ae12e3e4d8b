// Command jsonversus measures decode/json beside general libraries on the same records, as package contest says.
package main

import (
	stdjson "encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"

	"sluice/bench/contest"
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

func into(unmarshal func([]byte, any) error) func([][]byte) error {
	return contest.Each(func(row []byte) error {
		var o order
		return unmarshal(row, &o)
	})
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
		return contest.Each(func(row []byte) error { return p.Append(dst, row) })(rows)
	}
}

// unmarshals are the libraries.
var unmarshals = map[string]func([]byte, any) error{
	"sonic -> struct":                sonic.ConfigDefault.Unmarshal,
	"sonic, UTF-8 checked -> struct": sonic.Config{ValidateString: true, CopyString: true}.Froze().Unmarshal,
	"goccy -> struct":                goccy.Unmarshal,
	"encoding/json -> struct":        stdjson.Unmarshal,
}

func contenders() []*contest.Contender {
	all := []*contest.Contender{{Name: "sluice decode/json -> columns", Decode: ours()}}
	for _, name := range slices.Sorted(maps.Keys(unmarshals)) {
		all = append(all, &contest.Contender{Name: name, Decode: into(unmarshals[name])})
	}
	return all
}

func main() {
	rounds := flag.Int("rounds", 11, "rounds of each decoder")
	flag.Parse()
	fastest := contest.Demand{Times: 2, Others: slices.Collect(maps.Keys(unmarshals))}
	if err := contest.Run(os.Stdout, orders(4096), *rounds, contenders(), fastest); err != nil {
		log.Fatal(err)
	}
}
