package verify_test

import (
	"runtime"
	"testing"

	"sluice/verify"
)

// BenchmarkTable judges a table of a million rows in eight files: rows/s is what matters, and that memory does not
// depend on rows.
func BenchmarkTable(b *testing.B) {
	const files, rows = 8, 125_000
	w := newWorld(b)
	for i := range int64(files) {
		w.apply(ordersQuery, reading("orders", 0, i*rows/2, (i+1)*rows/2), reading("orders", 1, i*rows/2, (i+1)*rows/2))
	}
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		if r := w.verify(w.withCheckpoint(ordersQuery)); r.Verdict != verify.Proved || r.Rows != files*rows {
			b.Fatalf("got %d rows, %s: %v", r.Rows, r.Verdict, r.Problems)
		}
	}
	b.ReportMetric(float64(files*rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
