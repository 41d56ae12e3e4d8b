package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"sluice/batch"
	"sluice/columns"
)

// ordersLog holds JSON of about 230 bytes a record, some thousand records to a batch.
func ordersLog(tb testing.TB, codec string, rows, perBatch int) (log *fakeLog, valueBytes int64) {
	rng := rand.New(rand.NewPCG(1, 2))
	log = &fakeLog{most: 1 << 20}
	for base := 0; base < rows; base += perBatch {
		m := made{base: int64(base), codec: codec}
		for at := base; at < base+perBatch; at++ {
			value := fmt.Appendf(nil, `{"order_id":"o-%08d","customer_id":"c-%06d","amount":"%d.%02d","event_time":"2026-03-%02dT%02d:%02d:%02dZ","address":{"city":"City%03d","zip":"%05d"},"items":[{"sku":"sku-%04d","qty":%d},{"sku":"sku-%04d","qty":%d}]}`,
				at, rng.IntN(100_000), rng.IntN(1000), rng.IntN(100), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60),
				rng.IntN(500), rng.IntN(99_999), rng.IntN(5000), 1+rng.IntN(9), rng.IntN(5000), 1+rng.IntN(9))
			valueBytes += int64(len(value))
			m.rows = append(m.rows, row{offset: int64(at), timestamp: 1_760_000_000_000 + int64(at), key: fmt.Appendf(nil, "k-%010d", at), value: value})
		}
		log.batches = append(log.batches, m.bytes(tb))
	}
	return log, valueBytes
}

func BenchmarkReadDecompressedIntoColumns(b *testing.B) {
	for _, codec := range []string{"none", "snappy", "lz4", "zstd", "gzip"} {
		for _, perBatch := range []int{64, 1000} {
			b.Run(fmt.Sprintf("%s/%d", codec, perBatch), func(b *testing.B) {
				const rows = 64_000
				log, valueBytes := ordersLog(b, codec, rows, perBatch)
				next := int64(rows)
				// The answers are cut before the clock runs: this measures decoding.
				answers := map[int64]answer{}
				for at := int64(0); at < next; {
					a, err := log.fetch(context.Background(), batch.Piece{}, at)
					if err != nil {
						b.Fatal(err)
					}
					answers[at], at = a, a.next
				}
				r := newTestReader(log, 1, pieceOf(0, next))
				r.decoder.headers = false
				r.fetch = func(_ context.Context, _ batch.Piece, offset int64) (answer, error) { return answers[offset], nil }
				b.SetBytes(valueBytes)
				b.ReportAllocs()
				for b.Loop() {
					r.positions[0] = 0
					r.failed = nil
					if n := count(b, r); n != rows {
						b.Fatalf("got %d rows, want %d", n, rows)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
	}
}

func count(tb testing.TB, r *Reader) (rows int) {
	var records *columns.Records
	var err error
	for {
		if records, err = r.Next(context.Background()); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			tb.Fatal(err)
		}
		rows += records.Rows
	}
}
