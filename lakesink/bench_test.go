package lakesink

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

// benchRows is how many rows a task of the benchmark has: one worker's share of a batch of the default size.
const benchRows = 500_000

// benchBatches are JSON orders of about 250 bytes, as in bench/, in batches as readers hand them out.
func benchBatches() (batches []*columns.Batch, bytes int64) {
	rng := rand.New(rand.NewPCG(1, 1))
	const each = 4000
	for from := int64(0); from < 40_000; from += each {
		b := rawRows(0, from, from+each)
		keys, values := make([]any, each), make([]any, each)
		for i := range values {
			keys[i] = fmt.Appendf(nil, "customer-%d", rng.IntN(100_000))
			v := fmt.Appendf(nil, `{"order_id":%d,"customer":"%012x","amount":%d.%02d,"currency":"EUR","status":"shipped","created":"2026-03-04T%02d:%02d:%02dZ","items":[{"sku":"%08x","quantity":%d},{"sku":"%08x","quantity":1}],"address":{"city":"Amsterdam","zip":"%04d AB"}}`,
				from+int64(i), rng.Uint64()>>16, rng.IntN(900), rng.IntN(100), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.Uint32(), rng.IntN(9), rng.Uint32(), rng.IntN(9999))
			values[i] = v
			bytes += int64(len(v))
		}
		b.Columns[0], b.Columns[1] = rowtest.Array(rawSchema()[0].Type, keys), rowtest.Array(rawSchema()[1].Type, values)
		batches = append(batches, b)
	}
	return batches, bytes * benchRows / 40_000
}

// BenchmarkTask writes the files of one task on a local disk: plainly, in one partition, in 64 that rows change between at
// random, and sorted by a column in no order. Ratios to plain are what to look at.
func BenchmarkTask(b *testing.B) {
	batches, bytes := benchBatches()
	for _, c := range []struct {
		name   string
		terms  []string
		sortBy []layout.Order
	}{
		{"plain", nil, nil}, {"one partition", []string{"days(timestamp)"}, nil}, {"64 partitions", []string{"bucket(64, key)"}, nil},
		{"sorted", nil, sortBy(b, "key")},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, _ := newTable(b, func(o *Options) { o.PartitionBy, o.SortBy = partitionBy(b, c.terms...), c.sortBy })
			task := taskFor(load(b, s.catalog))
			b.SetBytes(bytes)
			for b.Loop() {
				w, err := s.Write(b.Context(), task, uuid.NewString(), rawSchema())
				if err != nil {
					b.Fatal(err)
				}
				for n := 0; n < benchRows; {
					rows := batches[n/4000%len(batches)]
					if err := w.Write(b.Context(), rows); err != nil {
						b.Fatal(err)
					}
					n += rows.Rows
				}
				files, err := w.Close(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				var size int64
				for _, f := range files {
					size += f.Bytes
				}
				b.ReportMetric(float64(len(files)), "files")
				b.ReportMetric(float64(size)/benchRows, "B/row")
			}
		})
	}
}
