package lakesink

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// benchRows is how many rows a task of the benchmark has: one worker's share of a batch of the default size.
const benchRows = 500_000

// benchBatches are JSON orders of about 250 bytes, as in bench/, in batches as readers hand them out. No two are alike: rows that
// are would be neighbours once they are sorted, and cost nothing to compress.
func benchBatches() (batches []*columns.Batch, bytes int64) {
	rng := rand.New(rand.NewPCG(1, 1))
	const each = 4000
	for from := int64(0); from < benchRows; from += each {
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
	return batches, bytes
}

// layouts are ways to write the same rows: plainly, in one partition, in 64 that rows change between at random, and sorted by a
// column in no order, in memory that holds them all and in the usual one, where runs of them are merged; and in a thousand partitions,
// in memory that holds so many files and in memory that does not.
func layouts(b *testing.B) []struct {
	name string
	sink *Iceberg
} {
	laid := func(memory int64, terms []string, order ...string) *Iceberg {
		s, _ := newTable(b, func(o *Options) {
			o.MemoryBytes, o.PartitionBy, o.SortBy = memory, partitionBy(b, terms...), sortBy(b, order...)
		})
		return s
	}
	return []struct {
		name string
		sink *Iceberg
	}{{"plain", laid(0, nil)}, {"one-partition", laid(0, []string{"days(timestamp)"})}, {"64-partitions", laid(0, []string{"bucket(64, key)"})},
		{"sorted", laid(1<<30, nil, "key")}, {"sorted-merged", laid(0, nil, "key")},
		{"1000-partitions", laid(128<<20, []string{"bucket(1000, key)"})}, {"1000-partitions-merged", laid(18<<20, []string{"bucket(1000, key)"})}}
}

// writeTask writes the files of one task, and returns how many there are and how large all are.
func writeTask(b *testing.B, s *Iceberg, task *batch.Task, batches []*columns.Batch) (files int, bytes int64) {
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
	written, err := w.Close(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range written {
		bytes += f.Bytes
		if err := os.Remove(localPath(f.Path)); err != nil {
			b.Fatal(err)
		}
	}
	return len(written), bytes
}

// BenchmarkTask writes the files of one task on a local disk.
func BenchmarkTask(b *testing.B) {
	batches, bytes := benchBatches()
	for _, l := range layouts(b) {
		b.Run(l.name, func(b *testing.B) {
			task := taskFor(load(b, l.sink.catalog))
			b.SetBytes(bytes)
			for b.Loop() {
				files, size := writeTask(b, l.sink, task, batches)
				b.ReportMetric(float64(files), "files")
				b.ReportMetric(float64(size)/benchRows, "B/row")
			}
		})
	}
}

// BenchmarkRatiosOfLayouts writes each layout in turn, and reports what it takes of CPU beside the plain one: what the machine
// does besides falls on all of them.
func BenchmarkRatiosOfLayouts(b *testing.B) {
	batches, _ := benchBatches()
	all := layouts(b)
	spent := make([]time.Duration, len(all))
	for b.Loop() {
		for i, l := range all {
			task := taskFor(load(b, l.sink.catalog))
			begin := rowtest.CPU()
			writeTask(b, l.sink, task, batches)
			spent[i] += rowtest.CPU() - begin
		}
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(b.N)/benchRows, "plain-ns/row")
	for i, l := range all[1:] {
		b.ReportMetric(float64(spent[i+1])/float64(spent[0]), l.name+"/plain")
	}
}
