package parquetfile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	pzstd "github.com/parquet-go/parquet-go/compress/zstd"

	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// typedOrder is an order in typed columns as parquet-go's generic writer takes it.
type typedOrder struct {
	ID       string       `parquet:"order_id,id(1)"`
	Customer int64        `parquet:"customer_id,id(2)"`
	Status   *string      `parquet:"status,optional,id(3)"`
	Amount   int64        `parquet:"amount,decimal(2:18),id(4)"`
	Time     *int64       `parquet:"event_time,optional,timestamp(microsecond),id(5)"`
	Address  *typedPlace  `parquet:"address,optional,id(6)"`
	Items    []typedPiece `parquet:"items,list,id(9)"`
}

type typedPlace struct {
	City *string `parquet:"city,optional,id(7)"`
	Zip  *string `parquet:"zip,optional,id(8)"`
}

type typedPiece struct {
	SKU      string `parquet:"sku,id(11)"`
	Quantity int32  `parquet:"qty,id(12)"`
}

func typedFields() []Field {
	text, long := columns.Type{Kind: columns.String}, columns.Type{Kind: columns.Int64}
	piece := columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "sku", Type: text, Required: true}, {Name: "qty", Type: columns.Type{Kind: columns.Int32}, Required: true}}}
	schema := columns.Schema{{Name: "order_id", Type: text, Required: true}, {Name: "customer_id", Type: long, Required: true}, {Name: "status", Type: text},
		{Name: "amount", Type: columns.Type{Kind: columns.Decimal, Precision: 18, Scale: 2}, Required: true}, {Name: "event_time", Type: columns.Type{Kind: columns.Timestamp}},
		{Name: "address", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "city", Type: text}, {Name: "zip", Type: text}}}},
		{Name: "items", Required: true, Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: piece, Required: true}}}}}
	next := 0
	return fieldsOf(schema, &next)
}

// typedOrders are the same orders as columns and as rows. One in five has no status, and one in twenty no address.
func typedOrders() (batches []*columns.Batch, rows []typedOrder) {
	rng := rand.New(rand.NewPCG(3, 1))
	cities, states := []string{"Amsterdam", "Berlin", "Chennai", "Dublin"}, []string{"placed", "paid", "shipped"}
	fields := typedFields()
	for i := range 20 * benchRows {
		at := 1772600000000000 + int64(i)*3000
		row := typedOrder{ID: fmt.Sprintf("03-%09d", i), Customer: rng.Int64N(1e6), Amount: rng.Int64N(1e5), Time: &at}
		if rng.IntN(5) > 0 {
			row.Status = &states[rng.IntN(3)]
		}
		if rng.IntN(20) > 0 {
			zip := fmt.Sprintf("%05d", rng.IntN(1e5))
			row.Address = &typedPlace{&cities[rng.IntN(4)], &zip}
		}
		for range 1 + rng.IntN(3) {
			row.Items = append(row.Items, typedPiece{fmt.Sprintf("lamp-%d", rng.IntN(9000)), int32(rng.IntN(9))})
		}
		rows = append(rows, row)
	}
	for from := 0; from < len(rows); from += benchRows {
		batches = append(batches, columnsOf(fields, rows[from:from+benchRows]))
	}
	return batches, rows
}

func columnsOf(fields []Field, rows []typedOrder) *columns.Batch {
	var schema columns.Schema
	for _, f := range fields {
		schema = append(schema, columns.Field{Name: f.Name, Type: f.Type, Required: f.Required})
	}
	b := &columns.Batch{Rows: len(rows), Columns: columns.Make(schema)}
	c := b.Columns
	for i := range rows {
		r := &rows[i]
		c[0].AppendBytes([]byte(r.ID))
		c[1].AppendInt64(r.Customer)
		appendText(&c[2], r.Status)
		c[3].AppendInt64(r.Amount)
		c[4].AppendInt64(*r.Time)
		if r.Address == nil {
			c[5].AppendNothing(&schema[5].Type)
		} else {
			appendText(&c[5].Children[0], r.Address.City)
			appendText(&c[5].Children[1], r.Address.Zip)
			c[5].AppendStruct()
		}
		for _, item := range r.Items {
			element := &c[6].Children[0]
			element.Children[0].AppendBytes([]byte(item.SKU))
			element.Children[1].AppendInt32(item.Quantity)
			element.AppendStruct()
		}
		c[6].AppendSpan()
	}
	return b
}

func appendText(a *columns.Array, text *string) {
	if text == nil {
		a.AppendNullBytes()
	} else {
		a.AppendBytes([]byte(*text))
	}
}

// rawOrders are the rows of rawBatches for parquet-go.
func rawOrders(batches []*columns.Batch) (rows []kafkaRow) {
	for _, b := range batches {
		c := b.Columns
		for r := range b.Rows {
			rows = append(rows, kafkaRow{Key: c[0].Bytes(r), Value: c[1].Bytes(r), Topic: "orders", Partition: 3, Offset: c[4].Int64s[r], Timestamp: c[5].Int64s[r]})
		}
	}
	return rows
}

// ratioRounds is how often the rows go into a file.
const ratioRounds = 5

// ours writes a file with this package.
func ours(b *testing.B, w *Writer, batches []*columns.Batch) {
	if err := w.Begin(io.Discard); err != nil {
		b.Fatal(err)
	}
	for range ratioRounds {
		for _, rows := range batches {
			for from := 0; from < rows.Rows; {
				var err error
				if from, err = w.Append(rows, from); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// theirs writes the same one with parquet-go's generic writer, which was given its rows before.
func theirs[T any](b *testing.B, w *parquet.GenericWriter[T], rows []T) {
	w.Reset(io.Discard)
	for range ratioRounds {
		for from := 0; from < len(rows); from += 250 {
			if _, err := w.Write(rows[from : from+250]); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// compare reports the CPU that a row takes here, and beside parquet-go; both write in turn.
func compare[T any](b *testing.B, fields []Field, batches []*columns.Batch, rows []T) {
	for _, c := range []struct {
		codec Codec
		same  parquet.WriterOption
	}{{Zstd, parquet.Compression(&pzstd.Codec{Level: pzstd.SpeedFastest})}, {Snappy, parquet.Compression(&parquet.Snappy)}, {Uncompressed, parquet.Compression(&parquet.Uncompressed)}} {
		b.Run(string(c.codec), func(b *testing.B) {
			mine, err := NewWriter(fields, Options{Codec: c.codec, MemoryBytes: 32 << 20})
			if err != nil {
				b.Fatal(err)
			}
			other := parquet.NewGenericWriter[T](io.Discard, c.same, parquet.PageBufferSize(256<<10), parquet.MaxRowsPerRowGroup(500_000),
				parquet.DataPageStatistics(false), parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain))
			var spent, beside time.Duration
			for b.Loop() {
				begin := rowtest.CPU()
				ours(b, mine, batches)
				middle := rowtest.CPU()
				theirs(b, other, rows)
				spent, beside = spent+middle-begin, beside+rowtest.CPU()-middle
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N*ratioRounds*len(rows)), "ns/row")
			b.ReportMetric(float64(spent)/float64(beside), "of-parquet-go")
		})
	}
}

// BenchmarkRatiosOfEncoding writes the columns of a raw table, and of typed orders, beside the fastest way that parquet-go has
// whose files are readable everywhere.
func BenchmarkRatiosOfEncoding(b *testing.B) {
	b.Run("raw", func(b *testing.B) {
		batches, _ := rawBatches()
		compare(b, rawFields(), batches, rawOrders(batches))
	})
	b.Run("typed", func(b *testing.B) {
		batches, rows := typedOrders()
		compare(b, typedFields(), batches, rows)
	})
}
