package kafkasrc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/offsets"
)

// Cuts finds logs that were cut below what was read of them, whatever has grown there since (KIP-320): reached is where
// reading stands, epochs the leader epochs that the logs had when that was there. A partition whose leader's epoch is still
// the same is not asked about, for a log is cut with a new one alone. The answer has where each such log was cut. told is
// false where brokers are too old to say. Repeatable; it changes nothing.
func (s *Source) Cuts(ctx context.Context, reached offsets.Offsets, epochs map[offsets.TopicPartition]int32) (cuts offsets.Offsets, told bool, err error) {
	ends, told, err := s.epochEnds(ctx, reached.Partitions(), epochs)
	if err != nil {
		return nil, false, err
	}
	cuts = offsets.Offsets{}
	for tp, end := range ends {
		if end < reached[tp] {
			cuts[tp] = end
		}
	}
	return cuts, told, nil
}

// epochEnds asks the leaders where the logs of the given epochs end. The answer leaves out partitions whose epoch is not
// known, or is still the leader's, and those of which the leader knows nothing: retention has removed that much of its log.
func (s *Source) epochEnds(ctx context.Context, partitions []offsets.TopicPartition, epochs map[offsets.TopicPartition]int32) (ends offsets.Offsets, told bool, err error) {
	ends, told = offsets.Offsets{}, true
	asked, stale := map[offsets.TopicPartition]bool{}, map[string]int{}
	err = s.retry(ctx, s.limits.Control, func(ctx context.Context) error {
		left := slices.DeleteFunc(slices.Clone(partitions), func(tp offsets.TopicPartition) bool { return asked[tp] })
		topics, err := s.cluster.lookup(ctx, topicsOf(left), stale)
		if err != nil {
			return err
		}
		shares := map[int32]*kmsg.OffsetForLeaderEpochRequest{}
		for _, tp := range left {
			at, failed := topics[tp.Topic].leaderOf(tp)
			epoch, known := epochs[tp]
			switch {
			case failed != nil && !absent(failed):
				stale[tp.Topic], err = topics[tp.Topic].asked, failed
			case failed != nil || !known || epoch < 0 || at.epoch <= epoch:
				asked[tp] = true
			default:
				shares[at.broker] = askEpoch(shares[at.broker], tp, at.epoch, epoch)
			}
		}
		for _, broker := range slices.Sorted(maps.Keys(shares)) {
			resp, failed := s.ask(ctx, broker, shares[broker])
			switch {
			case tooOld(failed):
				told = false
				return nil
			case failed != nil:
				err = failed
				continue
			}
			failed = collectEpochs(resp.(*kmsg.OffsetForLeaderEpochResponse), ends, asked)
			if errors.Is(failed, errTooOld) {
				told = false
				return nil
			}
			err = cmp.Or(failed, err)
		}
		for _, tp := range left {
			if !asked[tp] {
				stale[tp.Topic] = topics[tp.Topic].asked
			}
		}
		return err
	})
	if err != nil {
		return nil, false, s.unanswered(fmt.Errorf("ask where leader epochs end: %w", err))
	}
	return ends, told, nil
}

func askEpoch(req *kmsg.OffsetForLeaderEpochRequest, tp offsets.TopicPartition, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
	if req == nil {
		req = kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
	}
	if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = tp.Topic
		req.Topics = append(req.Topics, t)
	}
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = tp.Partition, current, epoch
	last := &req.Topics[len(req.Topics)-1]
	last.Partitions = append(last.Partitions, p)
	return req
}

// collectEpochs adds what is answered. The error tells of a partition that has to be asked about again.
func collectEpochs(resp *kmsg.OffsetForLeaderEpochResponse, ends offsets.Offsets, asked map[offsets.TopicPartition]bool) (again error) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			tp := offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			switch err := kerr.ErrorForCode(p.ErrorCode); {
			case errors.Is(err, kerr.TopicAuthorizationFailed):
				return notAllowed("Describe", t.Topic)
			case tooOld(err):
				return errTooOld
			case err != nil:
				again = fmt.Errorf("%s: %w", tp, err)
			default:
				if asked[tp] = true; p.EndOffset >= 0 {
					ends[tp] = p.EndOffset
				}
			}
		}
	}
	return again
}

var errTooOld = errors.New("the broker is too old to tell where leader epochs end")

// tooOld says that a broker cannot be asked about epochs. Before Kafka 2.3 only brokers could. The library does not export
// its error, a test pins its text.
func tooOld(err error) bool {
	return err != nil && (errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.ClusterAuthorizationFailed) || strings.Contains(err.Error(), "broker is too old"))
}

// uncut is where a log ends that was not cut.
const uncut = math.MaxInt64

// cutOf is where the log of a piece was cut since it was planned, uncut if it was not, or if nobody can tell. It is asked once
// for each epoch that the partition's leader has.
func (f *fetcher) cutOf(ctx context.Context, try *attempt, epoch int32) (int64, error) {
	planned := try.piece.LeaderEpoch
	if planned < 0 || epoch <= planned {
		return uncut, nil
	}
	if known, ok := f.cuts[try.tp]; ok && known.epoch == epoch {
		return known.at, nil
	}
	ends, _, err := f.source.epochEnds(ctx, []offsets.TopicPartition{try.tp}, map[offsets.TopicPartition]int32{try.tp: planned})
	if err != nil {
		return 0, err
	}
	at, told := ends[try.tp]
	if !told {
		at = uncut
	}
	f.cuts[try.tp] = cutAt{epoch, at}
	return at, nil
}

// wasCut is the loss of what was planned of a log before it was cut.
func wasCut(try *attempt, at int64) error {
	gone := offsets.Range{TopicPartition: try.tp, From: max(try.offset, at), Until: try.piece.Until}
	return lost(gone, Diverged,
		fmt.Sprintf("read %s at %d: the log of leader epoch %d was cut at offset %d, and other records have taken the place of those that were planned", try.piece.Range(), try.offset, try.piece.LeaderEpoch, at),
		"An unclean leader election does that.")
}
