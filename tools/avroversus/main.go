// Command avroversus measures decode/avro beside general libraries on the same records, as package contest says.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/big"
	"math/rand/v2"
	"os"
	"time"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"

	"sluice/bench/contest"
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
		return contest.Each(func(row []byte) error { return p.Append(dst, row) })(rows)
	}
}

func contenders(schema hamba.Schema) []*contest.Contender {
	other, err := twmb.Parse(schemaText)
	if err != nil {
		log.Fatal(err)
	}
	var reused order
	return []*contest.Contender{
		{Name: "sluice decode/avro -> columns", Decode: ours()},
		{Name: "hamba -> struct", Decode: contest.Each(func(row []byte) error {
			var o order
			return hamba.Unmarshal(schema, row, &o)
		})},
		{Name: "hamba -> struct used again", Decode: contest.Each(func(row []byte) error { return hamba.Unmarshal(schema, row, &reused) })},
		{Name: "hamba -> map", Decode: contest.Each(func(row []byte) error {
			var v any
			return hamba.Unmarshal(schema, row, &v)
		})},
		{Name: "twmb -> struct", Decode: contest.Each(func(row []byte) error {
			var o order
			_, err := other.Decode(row, &o)
			return err
		})},
		{Name: "twmb -> map", Decode: contest.Each(func(row []byte) error {
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
	compiled := contest.Demand{Times: 5, Others: []string{"hamba -> struct", "hamba -> struct used again"}}
	generic := contest.Demand{Times: 30, Others: []string{"hamba -> map"}}
	if err := contest.Run(os.Stdout, orders(schema, 4096), *rounds, contenders(schema), compiled, generic); err != nil {
		log.Fatal(err)
	}
}
