// Command protoversus measures decode/protobuf beside general libraries on the same records, as package contest says. Beside
// decoding into messages stands the same with every field appended to the same columns, by code written for the message
// or, for messages known at run time alone, by reflection.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"buf.build/go/hyperpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/bench/contest"
	"sluice/columns"
	"sluice/decode/protobuf"
)

//go:embed order.proto
var text string

// orders are records as a shop sends them, about 120 bytes each.
func orders(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Berlin", "Zürich", "New York", "São Paulo", "Köln", "Paris"}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := make([][]byte, n)
	for i := range rows {
		at = at.Add(time.Duration(rng.IntN(5000)) * time.Microsecond)
		o := &Order{
			OrderId: fmt.Sprintf("%08x-%04x", rng.Uint32(), rng.Uint32()&0xffff), CustomerId: fmt.Sprintf("C%07d", rng.IntN(1e7)), AmountCents: rng.Int64N(500000),
			EventTime: timestamppb.New(at), Status: Status(1 + rng.IntN(3)), Address: &Address{City: cities[rng.IntN(6)], Zip: fmt.Sprintf("%05d", rng.IntN(100000))},
			Tags: map[string]string{"channel": "web"},
		}
		for range 1 + rng.IntN(3) {
			o.Items = append(o.Items, &Item{Sku: fmt.Sprintf("SKU-%05d", rng.IntN(100000)), Qty: 1 + rng.Int32N(9), PriceCents: rng.Int64N(100000)})
		}
		if rng.IntN(4) == 0 {
			o.Discount = proto.Float64(0.5)
		}
		var err error
		if rows[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(o); err != nil {
			log.Fatal(err)
		}
	}
	return rows
}

// contender is a reader with the columns that it appends to.
type contender struct {
	name    string
	read    reader
	columns []columns.Array
}

// reader appends one record to columns, or only decodes it.
type reader func(dst []columns.Array, row []byte) error

func (c *contender) decode(rows [][]byte) error {
	for i := range c.columns {
		c.columns[i].Reset()
	}
	return contest.Each(func(row []byte) error { return c.read(c.columns, row) })(rows)
}

func generated(unmarshal func([]byte, *Order) error, into bool) reader {
	return func(dst []columns.Array, row []byte) error {
		var o Order
		if err := unmarshal(row, &o); err != nil || !into {
			return err
		}
		appendOrder(dst, &o)
		return nil
	}
}

func dynamic(into bool) reader {
	descriptor := (&Order{}).ProtoReflect().Descriptor()
	return func(dst []columns.Array, row []byte) error {
		m := dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(row, m); err != nil || !into {
			return err
		}
		appendMessage(dst, m)
		return nil
	}
}

func hyper(into bool) reader {
	t := hyperpb.CompileMessageDescriptor((&Order{}).ProtoReflect().Descriptor())
	shared := new(hyperpb.Shared)
	return func(dst []columns.Array, row []byte) error {
		defer shared.Free()
		m := shared.NewMessage(t)
		if err := m.Unmarshal(row, hyperpb.WithAllowAlias(true)); err != nil || !into {
			return err
		}
		appendMessage(dst, m)
		return nil
	}
}

func ours() (*protobuf.Parser, columns.Schema) {
	f, err := protobuf.Parse(map[string]string{"order.proto": text}, "order.proto")
	if err != nil {
		log.Fatal(err)
	}
	m, err := f.Message("shop.Order")
	if err != nil {
		log.Fatal(err)
	}
	schema, err := m.Columns()
	if err != nil {
		log.Fatal(err)
	}
	p, err := protobuf.Compile(m, schema, protobuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return p, schema
}

func contenders() []*contender {
	parser, schema := ours()
	library := func(row []byte, o *Order) error { return proto.Unmarshal(row, o) }
	vt := func(row []byte, o *Order) error { return o.UnmarshalVT(row) }
	all := []*contender{
		{name: "sluice decode/protobuf -> columns", read: parser.Append},
		{name: "generated (protoc-gen-go)", read: generated(library, false)},
		{name: "generated -> columns", read: generated(library, true)},
		{name: "vtprotobuf", read: generated(vt, false)},
		{name: "vtprotobuf -> columns", read: generated(vt, true)},
		{name: "dynamicpb", read: dynamic(false)},
		{name: "dynamicpb -> columns", read: dynamic(true)},
		{name: "hyperpb", read: hyper(false)},
		{name: "hyperpb -> columns", read: hyper(true)},
	}
	for _, c := range all {
		c.columns = columns.Make(schema)
	}
	return all
}

func main() {
	rounds := flag.Int("rounds", 11, "rounds of each decoder")
	flag.Parse()
	rows, all := orders(4096), contenders()
	agree(all, rows[:64])
	var turns []*contest.Contender
	for _, c := range all {
		turns = append(turns, &contest.Contender{Name: c.name, Decode: c.decode})
	}
	if err := contest.Run(os.Stdout, rows, *rounds, turns); err != nil {
		log.Fatal(err)
	}
}
