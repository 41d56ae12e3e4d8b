package kafkasrc

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// Compaction has left nothing between the position and an open transaction, at which the broker stops for readers of committed
// records: its answer is empty. The batch of the open transaction, which lies behind the range, shows that the range is over. An
// empty answer without that shows nothing, and records behind the position are waited for, not given up.
func TestAnEmptyAnswerEndsARangeOnlyIfTheNextBatchLiesBehindIt(t *testing.T) {
	for name, c := range map[string]struct {
		// next is where the batch begins that follows, as a reader of uncommitted records sees it.
		next int64
		ends bool
	}{
		"it lies behind":              {10, true},
		"it lies further behind":      {12, true},
		"it is the last of the range": {9, false},
		"there is none":               {-1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := tenOrders(t)
			options := b.options(topics("orders"))
			if !c.ends {
				options.Limits.NoProgress = 20 * time.Millisecond
			}
			s := mustOpen(t, options)
			b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
				return fetchAnswer(req, func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
					p.HighWatermark, p.LastStableOffset = 20, 10
					if committed := req.(*kmsg.FetchRequest).IsolationLevel == 1; !committed && c.next >= 0 {
						p.RecordBatches = made{base: c.next, attrs: transactional, producer: 7, rows: []row{{offset: c.next}}}.bytes(t)
					}
				})
			})
			r := read(t, s, b.piece(t, "orders", 0, 5, 10))
			rows, err := drain(r)
			wantOffsets(t, rows)
			if c.ends && (err != nil || r.Positions()[0] != 10) {
				t.Errorf("got %v, read to %d, want 10", err, r.Positions()[0])
			}
			if !c.ends {
				wantFault(t, err, batch.Failed, "position is 5", "target 10")
			}
		})
	}
}

// A set of messages of an old format has the offset of its last one, which may lie behind a range that the set begins in: what of it is
// in the range is read.
func TestAnOldSetThatReachesBeyondARangeIsNoSignThatItIsOver(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	var inner [][]byte
	for i := range int64(7) {
		inner = append(inner, message(1, 0, row{offset: i, value: []byte("old")}))
	}
	set := wrap(t, 1, "gzip", 0, row{offset: 12}, inner...) // 6 to 12
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		return fetchAnswer(req, func(asked *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark, p.LastStableOffset = 20, 13
			if req.(*kmsg.FetchRequest).IsolationLevel == 0 {
				p.RecordBatches = set
			}
		})
	})
	rows, err := drain(read(t, s, b.piece(t, "orders", 0, 5, 10)))
	if err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, rows, 6, 7, 8, 9)
}
