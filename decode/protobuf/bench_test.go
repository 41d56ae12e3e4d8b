package protobuf_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"sluice/columns"
	"sluice/decode/protobuf"
)

const ordersText = `syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
enum Status { STATUS_UNKNOWN = 0; STATUS_PAID = 1; STATUS_SENT = 2; STATUS_RETURNED = 3; }
message Address { string city = 1; string zip = 2; }
message Item { string sku = 1; int32 qty = 2; int64 price_cents = 3; }
message Order {
  string order_id = 1;
  string customer_id = 2;
  int64 amount_cents = 3;
  google.protobuf.Timestamp event_time = 4;
  Status status = 5;
  Address address = 6;
  repeated Item items = 7;
  optional double discount = 8;
  map<string, string> tags = 9;
}`

// orders are records as a shop sends them, about 140 bytes each.
func orders(tb testing.TB, n int) [][]byte {
	_, m := descriptorOf(tb, ordersText, "shop.Order")
	rng := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Berlin", "Zürich", "New York", "São Paulo", "Köln", "Paris"}
	rows := make([][]byte, n)
	for i := range rows {
		text := fmt.Sprintf(`{"order_id":"%08x-%04x","customer_id":"C%07d","amount_cents":%d,"event_time":"2026-11-01T00:%02d:%02d.%06dZ","status":%d,"address":{"city":"%s","zip":"%05d"},"tags":{"channel":"web"},"items":[`,
			rng.Uint32(), rng.Uint32()&0xffff, rng.IntN(1e7), rng.IntN(500000), rng.IntN(60), rng.IntN(60), rng.IntN(1e6), 1+rng.IntN(3), cities[rng.IntN(6)], rng.IntN(100000))
		for k := range 1 + rng.IntN(3) {
			if k > 0 {
				text += ","
			}
			text += fmt.Sprintf(`{"sku":"SKU-%05d","qty":%d,"price_cents":%d}`, rng.IntN(100000), 1+rng.IntN(9), rng.IntN(100000))
		}
		text += "]"
		if rng.IntN(4) == 0 {
			text += `,"discount":0.5`
		}
		message := dynamicpb.NewMessage(m)
		if err := protojson.Unmarshal([]byte(text+"}"), message); err != nil {
			tb.Fatal(err)
		}
		var err error
		if rows[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(message); err != nil {
			tb.Fatal(err)
		}
	}
	return rows
}

// BenchmarkColumns reads orders with all of their columns, and with a few.
func BenchmarkColumns(b *testing.B) {
	m, _ := descriptorOf(b, ordersText, "shop.Order")
	all, err := m.Columns()
	if err != nil {
		b.Fatal(err)
	}
	rows := orders(b, 4096)
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	for name, schema := range map[string]columns.Schema{"all": all, "few": {all[1], all[2], all[4]}} {
		b.Run(name, func(b *testing.B) {
			p, err := protobuf.Compile(m, schema, protobuf.Options{})
			if err != nil {
				b.Fatal(err)
			}
			dst := columns.Make(schema)
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
