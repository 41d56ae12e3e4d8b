package parquetfile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	pzstd "github.com/parquet-go/parquet-go/compress/zstd"

	"sluice/columns"
)

// rawFields are the columns of a raw Kafka table.
func rawFields() []Field {
	binary, text := columns.Type{Kind: columns.Binary}, columns.Type{Kind: columns.String}
	i32, i64, ts := columns.Type{Kind: columns.Int32}, columns.Type{Kind: columns.Int64}, columns.Type{Kind: columns.TimestampTZ}
	return []Field{
		{Name: "key", ID: 1, Type: binary, Source: 0}, {Name: "value", ID: 2, Type: binary, Source: 1},
		{Name: "topic", ID: 3, Required: true, Type: text, Source: 2}, {Name: "partition", ID: 4, Required: true, Type: i32, Source: 3},
		{Name: "offset", ID: 5, Required: true, Type: i64, Source: 4}, {Name: "timestamp", ID: 6, Required: true, Type: ts, Source: 5},
		{Name: "timestampType", ID: 7, Required: true, Type: i32, Source: 6},
	}
}

const benchRows = 1000

// rawBatch is what a reader leaves of a record batch: orders as JSON of about 234 bytes.
func rawBatch(rng *rand.Rand, first int64) *columns.Batch {
	b := &columns.Batch{Rows: benchRows, Columns: make([]columns.Array, 7)}
	for i, k := range []columns.Kind{columns.Binary, columns.Binary, columns.String, columns.Int32, columns.Int64, columns.TimestampTZ, columns.Int32} {
		b.Columns[i].Kind = k
	}
	words := []string{"north", "south", "green", "blue", "small", "large", "paper", "glass"}
	for i := range int64(benchRows) {
		id := first + i
		b.Columns[0].AppendBytes(fmt.Appendf(nil, "c-%010d", rng.IntN(1e6)))
		b.Columns[1].AppendBytes(fmt.Appendf(nil, `{"order_id":%d,"customer_id":%d,"amount":"%d.%02d","event_time":"2026-03-04T05:%02d:%02d.%03dZ","address":{"city":"%s %s","zip":"%05d"},"items":[{"sku":"%s-%d","qty":%d},{"sku":"%s-%d","qty":%d}]}`,
			id, rng.IntN(1e6), rng.IntN(1000), rng.IntN(100), rng.IntN(60), rng.IntN(60), rng.IntN(1000), words[rng.IntN(8)], words[rng.IntN(8)], rng.IntN(1e5),
			words[rng.IntN(8)], rng.IntN(1000), rng.IntN(9), words[rng.IntN(8)], rng.IntN(1000), rng.IntN(9)))
		b.Columns[4].Int64s = append(b.Columns[4].Int64s, id)
		b.Columns[5].Int64s = append(b.Columns[5].Int64s, (1772600000000+id*3)*1000)
	}
	b.Columns[4].Len, b.Columns[5].Len = benchRows, benchRows
	b.Columns[2].AppendBytes([]byte("orders"))
	b.Columns[3].Int32s, b.Columns[6].Int32s = []int32{3}, []int32{0}
	for _, c := range []int{2, 3, 6} {
		b.Columns[c].Len, b.Columns[c].Repeat = benchRows, true
	}
	return b
}

func rawBatches() ([]*columns.Batch, int64) {
	rng := rand.New(rand.NewPCG(1, 1))
	var batches []*columns.Batch
	var bytes int64
	for i := range int64(20) {
		b := rawBatch(rng, i*benchRows)
		bytes += int64(len(b.Columns[0].Data) + len(b.Columns[1].Data))
		batches = append(batches, b)
	}
	return batches, bytes / int64(len(batches)) / benchRows
}

func benchmarkWriter(b *testing.B, codec Codec) {
	batches, size := rawBatches()
	w, err := NewWriter(rawFields(), Options{Codec: codec, MemoryBytes: 32 << 20})
	if err != nil {
		b.Fatal(err)
	}
	var written int64
	if err := w.Begin(io.Discard); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += benchRows {
		rows := batches[n/benchRows%len(batches)]
		for from := 0; from < rows.Rows; {
			if from, err = w.Append(rows, from); err != nil {
				b.Fatal(err)
			}
		}
	}
	s, err := w.Close()
	if err != nil {
		b.Fatal(err)
	}
	written += s.Bytes
	b.ReportMetric(float64(written)/float64(b.N), "B/row")
}

// The figures are for one row: ns/op, B/op and allocs/op are by row.
func BenchmarkWriterZstd(b *testing.B)         { benchmarkWriter(b, Zstd) }
func BenchmarkWriterSnappy(b *testing.B)       { benchmarkWriter(b, Snappy) }
func BenchmarkWriterUncompressed(b *testing.B) { benchmarkWriter(b, Uncompressed) }

// kafkaRow is the raw schema as parquet-go's own generic writer takes it.
type kafkaRow struct {
	Key           []byte `parquet:"key,optional,id(1)"`
	Value         []byte `parquet:"value,optional,id(2)"`
	Topic         string `parquet:"topic,dict,id(3)"`
	Partition     int32  `parquet:"partition,id(4)"`
	Offset        int64  `parquet:"offset,id(5)"`
	Timestamp     int64  `parquet:"timestamp,timestamp(microsecond),id(6)"`
	TimestampType int32  `parquet:"timestampType,id(7)"`
}

// The comparison: parquet-go's generic writer with the fastest settings that keep the files readable everywhere.
func benchmarkGeneric(b *testing.B, codec parquet.WriterOption) {
	batches, size := rawBatches()
	w := parquet.NewGenericWriter[kafkaRow](io.Discard, codec, parquet.PageBufferSize(256<<10), parquet.MaxRowsPerRowGroup(500_000),
		parquet.DataPageStatistics(false), parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain))
	buffer := make([]kafkaRow, 256)
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += benchRows {
		rows := batches[n/benchRows%len(batches)]
		c := rows.Columns
		for from := 0; from < rows.Rows; from += len(buffer) {
			k := min(len(buffer), rows.Rows-from)
			for i := range k {
				r := from + i
				buffer[i] = kafkaRow{Key: c[0].Bytes(r), Value: c[1].Bytes(r), Topic: "orders", Partition: 3, Offset: c[4].Int64s[r], Timestamp: c[5].Int64s[r]}
			}
			if _, err := w.Write(buffer[:k]); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(w.File().Size())/float64(b.N), "B/row")
}

func BenchmarkGenericWriterZstd(b *testing.B) {
	benchmarkGeneric(b, parquet.Compression(&pzstd.Codec{Level: pzstd.SpeedFastest}))
}
func BenchmarkGenericWriterSnappy(b *testing.B) {
	benchmarkGeneric(b, parquet.Compression(&parquet.Snappy))
}
func BenchmarkGenericWriterUncompressed(b *testing.B) {
	benchmarkGeneric(b, parquet.Compression(&parquet.Uncompressed))
}
