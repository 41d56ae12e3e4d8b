package main

import (
	stdjson "encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
)

// ofStruct is what a library's struct has of an order, in one text.
func ofStruct(t *testing.T, o order) string {
	t.Helper()
	amount, ok := new(big.Rat).SetString(string(o.Amount))
	if !ok {
		t.Fatalf("got the amount %s", o.Amount)
	}
	at, err := time.Parse(time.RFC3339Nano, o.EventTime)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(o.OrderID, " ", o.CustomerID, " ", amount.Mul(amount, big.NewRat(100, 1)).RatString(), " ", at.UnixMicro(), " ", *o.Address.City, " ", *o.Address.Zip)
	for _, i := range o.Items {
		text += fmt.Sprint(" ", *i.Sku, " ", *i.Qty)
	}
	return text
}

// ofColumns is the same of a row of the columns.
func ofColumns(dst []columns.Array, i int) string {
	address, items := dst[4].Children, dst[5].Children[0].Children
	text := fmt.Sprintf("%s %s %d %d %s %s", dst[0].Bytes(i), dst[1].Bytes(i), dst[2].Int64s[i], dst[3].Int64s[i], address[0].Bytes(i), address[1].Bytes(i))
	for k, until := dst[5].Span(i); k < until; k++ {
		text += fmt.Sprintf(" %s %d", items[0].Bytes(k), items[1].Int32s[k])
	}
	return text
}

// What is measured is the same work: every library's struct holds what the columns hold.
func TestAllReadTheSameOrders(t *testing.T) {
	schema, err := ddl.Parse(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	p, err := json.Compile(schema, json.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, unmarshal := range unmarshals {
		dst := columns.Make(schema)
		for i, record := range orders(200) {
			if err := p.Append(dst, record); err != nil {
				t.Fatal(err)
			}
			var o order
			if err := unmarshal(record, &o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, want := ofColumns(dst, i), ofStruct(t, o); got != want {
				t.Fatalf("%s, %s: got %s, want %s", name, record, got, want)
			}
		}
	}
}

func TestEveryContenderDecodesWhatIsMeasured(t *testing.T) {
	rows := orders(100)
	for _, c := range contenders() {
		if err := c.Decode(rows); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if err := c.Decode([][]byte{[]byte(`{"order_id":`)}); err == nil {
			t.Errorf("%s takes half a record", c.Name)
		}
	}
	for i, row := range rows {
		if !stdjson.Valid(row) || len(row) < 150 || len(row) > 350 {
			t.Errorf("%s", fmt.Sprintf("order %d is %s", i, row))
		}
	}
}
