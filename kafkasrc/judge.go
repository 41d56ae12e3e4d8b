package kafkasrc

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// judge decides what one partition's answer means.
func (f *fetcher) judge(ctx context.Context, try *attempt, t *topic, p *kmsg.FetchResponseTopicPartition) (answer, error) {
	err := kerr.ErrorForCode(p.ErrorCode)
	_, fromFollower := f.follower[try.tp]
	switch {
	case err == nil:
		got, err := f.accept(try, p)
		if empty := (*emptyAnswer)(nil); errors.As(err, &empty) {
			return f.hole(ctx, try, t, empty)
		}
		return got, err
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		// Once it may pass: in a session that was just renewed, or of a broker that has just begun and has not read the ACLs yet
		// (https://github.com/twmb/franz-go/issues/205).
		if try.denied++; try.denied > 1 {
			return answer{}, notAllowed("Read", try.tp.Topic)
		}
	case forbidden(err):
		return answer{}, notPermitted(fmt.Sprintf("read %s at %d", try.piece.Range(), try.offset), err)
	case fromFollower: // it may lag behind or have moved: what it says is not what the leader would say
		f.refuseFollower(try.tp)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return answer{}, f.outOfRange(ctx, try, t)
	default:
		try.stale = t.asked
		if !kerr.IsRetriable(err) && !outdated(err) && !errors.Is(err, kerr.UnknownServerError) {
			return answer{}, &batch.Fault{Message: fmt.Sprintf("read %s at %d", try.piece.Range(), try.offset), Err: err}
		}
	}
	return answer{}, err
}

// outdated reports whether err says that the metadata is old.
func outdated(err error) bool {
	return absent(err) || errors.Is(err, kerr.InconsistentTopicID) || errors.Is(err, kerr.FencedLeaderEpoch) ||
		errors.Is(err, kerr.UnknownLeaderEpoch) || errors.Is(err, kerr.NotLeaderForPartition)
}

// accept takes the batches of an answer without an error, if there are any and none is missing before them. A follower
// that has less to give may lag behind (https://github.com/apache/kafka/pull/12877): then the leader is asked.
func (f *fetcher) accept(try *attempt, p *kmsg.FetchResponseTopicPartition) (answer, error) {
	_, fromFollower := f.follower[try.tp]
	if !fromFollower && !f.refused[try.tp] && p.PreferredReadReplica >= 0 && len(p.RecordBatches) == 0 {
		f.follower[try.tp] = p.PreferredReadReplica
		return answer{}, errRedirected
	}
	f.count(p.RecordBatches, try.offset)
	first, next, complete := span(p.RecordBatches)
	switch {
	case p.LogStartOffset > try.offset && (!complete || first > try.offset) && !fromFollower:
		return answer{}, expired(try, p.LogStartOffset)
	case complete && next > try.offset:
		return answer{log: p.RecordBatches, aborted: p.AbortedTransactions, next: next}, nil
	case !complete && len(p.RecordBatches) > 0:
		return f.incomplete(try, p.RecordBatches)
	case fromFollower:
		f.refuseFollower(try.tp)
		return answer{}, errRedirected
	}
	return answer{}, &emptyAnswer{high: p.HighWatermark, stable: p.LastStableOffset}
}

// incomplete is for an answer without one whole batch, which brokers do not send since KIP-74. A broken header has that
// effect; it is passed on for its error.
func (f *fetcher) incomplete(try *attempt, log []byte) (answer, error) {
	if _, _, err := cut(log); err != nil {
		return answer{log: log, next: try.offset}, nil
	}
	return answer{}, fmt.Errorf("%s bytes of %s at %d hold no complete record batch", counted(len(log)), try.tp, try.offset)
}

func expired(try *attempt, logStart int64) error {
	gap := offsets.Range{TopicPartition: try.tp, From: try.offset, Until: min(logStart, try.piece.Until)}
	return lost(gap, Retention,
		fmt.Sprintf("read %s at %d: the log now starts at %d", try.piece.Range(), try.offset, logStart),
		"Run more often, or raise the topic's retention; Kafka does not have these records any more.")
}

// outOfRange asks the leader what it has. The answer may be that the position is there after all, for instance when
// leadership was just moving.
func (f *fetcher) outOfRange(ctx context.Context, try *attempt, t *topic) error {
	try.stale = t.asked
	if _, err := f.locate(ctx, try); err != nil { // a topic that was created again is that, before anything else
		return err
	}
	bounds, err := f.source.bounds(ctx, []offsets.TopicPartition{try.tp}, 0)
	if err != nil {
		return err
	}
	b := bounds[try.tp]
	if b.Start > try.offset {
		return expired(try, b.Start)
	}
	if b.HighWatermark >= try.offset {
		return kerr.OffsetOutOfRange
	}
	if try.beyond++; try.beyond <= f.source.limits.Repeats {
		return kerr.OffsetOutOfRange
	}
	gap := offsets.Range{TopicPartition: try.tp, From: try.offset, Until: try.piece.Until}
	return lost(gap, Diverged,
		fmt.Sprintf("read %s at %d: the log now ends at %d", try.piece.Range(), try.offset, b.HighWatermark),
		"The log was cut, as after an unclean leader election; records that were planned are no longer in it.")
}
