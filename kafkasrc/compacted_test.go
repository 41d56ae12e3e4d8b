package kafkasrc

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"sluice/batch"
	"sluice/offsets"
)

// https://github.com/apache/hudi/issues/1653: a start of 0 for each of twelve partitions was out of range where the log
// cleaner had removed the head. The earliest offset is each log's own; an explicit 0 is a loss that names them all.
func TestEveryPartitionBeginsAtItsOwnLogStart(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(12, "orders"))
	zero, want := offsets.Offsets{}, offsets.Offsets{}
	var behind []string
	for p, start := range []int64{0, 3, 0, 7, 1, 0, 0, 2, 0, 0, 9, 0} {
		b.produce(t, "orders", int32(p), 9)
		if start > 0 {
			b.deleteRecords(t, "orders", int32(p), start)
			behind = append(behind, fmt.Sprintf("orders-%d: 0 is below the log start %d", p, start))
		}
		zero[tp("orders", int32(p))], want[tp("orders", int32(p))] = 0, start
	}
	options := b.options(topics("orders"))
	s := mustOpen(t, options)
	if got, err := s.Start(t.Context()); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	total := 0
	var pieces []batch.Piece
	for p := range int32(12) {
		if bounds := mustView(t, s, nil).Partitions[tp("orders", p)]; bounds.End > bounds.Start {
			pieces = append(pieces, b.piece(t, "orders", p, bounds.Start, bounds.End))
			total += int(bounds.End - bounds.Start)
		}
	}
	if rows := mustDrain(t, read(t, s, pieces...)); len(rows) != total || total != 12*9-22 {
		t.Errorf("got %d records, want %d", len(rows), total)
	}
	options.Starting = Starting{Offsets: zero}
	_, err := mustOpen(t, options).Start(t.Context())
	wantFault(t, err, batch.DataLoss, behind...)
}
