package kafkasrc

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hole is for an answer without records although the last stable offset says that all of the piece can be read. Compaction
// has left nothing between the position and the first open transaction, where a broker stops for a reader of committed
// records, so that it has nothing to show that the range is over. An empty answer alone proves nothing: other servers than
// Kafka give one when their storage is slow. So the broker is asked for the next batch of whatever transaction, and only one that
// begins behind the piece says that there is none before it; the reader takes nothing else from it.
func (f *fetcher) hole(ctx context.Context, try *attempt, t *topic, empty *emptyAnswer) (answer, error) {
	at, err := t.leaderOf(try.tp)
	if f.level == 0 || empty.stable < try.piece.Until || err != nil {
		return answer{}, empty
	}
	uncommitted := *f
	uncommitted.level = 0
	resp, err := f.source.ask(ctx, at.broker, uncommitted.request(try, t, at, nil))
	if err != nil {
		return answer{}, empty
	}
	p := partitionOf(resp.(*kmsg.FetchResponse), try.tp, t.id)
	if p == nil || kerr.ErrorForCode(p.ErrorCode) != nil || p.LogStartOffset > try.offset {
		return answer{}, empty
	}
	if first, next, complete := span(p.RecordBatches); complete && first >= try.piece.Until {
		return answer{log: p.RecordBatches, next: next}, nil
	}
	return answer{}, empty
}
