package kafkasrc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/offsets"
)

// query is what to ask of every partition: the offset of a moment in milliseconds, or one of the special moments.
type query struct {
	timestamp int64
	level     int8
	// each has a moment of its own for each partition; nil if there is one for all.
	each offsets.Offsets
}

// moment is what to ask of one partition.
func (q query) moment(tp offsets.TopicPartition) int64 {
	if q.each != nil {
		return q.each[tp]
	}
	return q.timestamp
}

// The special moments of ListOffsets.
const (
	latestOffset   = -1
	earliestOffset = -2
)

// bounds asks for start, end and high watermark of every partition, at once and each broker once for each.
func (s *Source) bounds(ctx context.Context, partitions []offsets.TopicPartition, level int8) (map[offsets.TopicPartition]offsets.Bounds, error) {
	var start, end, high offsets.Offsets
	var startErr, endErr, highErr error
	var asking sync.WaitGroup
	asking.Go(func() {
		start, startErr = s.listOffsets(ctx, partitions, query{timestamp: earliestOffset, level: level})
	})
	asking.Go(func() { end, endErr = s.listOffsets(ctx, partitions, query{timestamp: latestOffset, level: level}) })
	if level != 0 {
		asking.Go(func() { high, highErr = s.listOffsets(ctx, partitions, query{timestamp: latestOffset}) })
	}
	asking.Wait()
	if err := firstError(startErr, endErr, highErr); err != nil {
		return nil, err
	}
	topics, err := s.cluster.lookup(ctx, topicsOf(partitions), nil)
	if err != nil {
		return nil, s.unanswered(err)
	}
	bounds := make(map[offsets.TopicPartition]offsets.Bounds, len(partitions))
	for _, tp := range partitions {
		b := offsets.Bounds{Start: start[tp], End: end[tp], LeaderEpoch: -1}
		// The answers are not of one instant: each may be overtaken by what the others already saw.
		b.End = max(b.End, b.Start)
		b.HighWatermark = max(b.End, high[tp])
		if at, err := topics[tp.Topic].leaderOf(tp); err == nil {
			b.LeaderEpoch = at.epoch
		}
		bounds[tp] = b
	}
	return bounds, nil
}

// firstError is the first error there is.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func topicsOf(partitions []offsets.TopicPartition) []string {
	names := make([]string, 0, len(partitions))
	for _, tp := range partitions {
		names = append(names, tp.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listOffsets asks the leaders of the partitions, one request for each broker. Partitions that a broker does not answer
// for, since it no longer leads them or is not ready, are asked for again with new metadata. The answer has every
// partition; -1 says that there is no such offset.
func (s *Source) listOffsets(ctx context.Context, partitions []offsets.TopicPartition, q query) (offsets.Offsets, error) {
	got := make(offsets.Offsets, len(partitions))
	stale := map[string]int{}
	err := s.retry(ctx, s.limits.Control, func(ctx context.Context) error {
		left := slices.DeleteFunc(slices.Clone(partitions), func(tp offsets.TopicPartition) bool {
			_, ok := got[tp]
			return ok
		})
		topics, err := s.cluster.lookup(ctx, topicsOf(left), stale)
		if err != nil {
			return err
		}
		shares, err := s.shareOut(left, topics, q)
		if failed := s.askLeaders(ctx, shares, got); failed != nil {
			err = failed
		}
		for _, tp := range left {
			if _, ok := got[tp]; !ok {
				stale[tp.Topic] = topics[tp.Topic].asked
			}
		}
		return err
	})
	if err != nil {
		return nil, s.unanswered(fmt.Errorf("list offsets: %w", err))
	}
	return got, nil
}

// shareOut makes one request for each leader. The error tells of a partition that has none; the others are still asked.
func (s *Source) shareOut(partitions []offsets.TopicPartition, topics map[string]*topic, q query) (map[int32]*kmsg.ListOffsetsRequest, error) {
	shares := map[int32]*kmsg.ListOffsetsRequest{}
	var noLeader error
	for _, tp := range partitions {
		at, err := topics[tp.Topic].leaderOf(tp)
		if err != nil {
			noLeader = err
			continue
		}
		req := shares[at.broker]
		if req == nil {
			req = kmsg.NewPtrListOffsetsRequest()
			req.IsolationLevel = q.level
			// What the client waits for on top of request.timeout.ms. Only a time may have to be looked up in remote storage (KIP-1075).
			if req.TimeoutMillis = 0; q.timestamp >= 0 {
				req.TimeoutMillis = int32(s.settings.requestTimeout / time.Millisecond)
			}
			shares[at.broker] = req
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.Timestamp = tp.Partition, at.epoch, q.moment(tp)
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return shares, noLeader
}

// askLeaders sends the requests at once and adds what is answered to got. A fault comes before an error that may pass.
func (s *Source) askLeaders(ctx context.Context, shares map[int32]*kmsg.ListOffsetsRequest, got offsets.Offsets) error {
	var mu sync.Mutex
	var asking sync.WaitGroup
	var errs []error
	for _, broker := range slices.Sorted(maps.Keys(shares)) {
		asking.Go(func() {
			resp, err := s.ask(ctx, broker, shares[broker])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			errs = append(errs, collect(resp.(*kmsg.ListOffsetsResponse), got)...)
		})
	}
	asking.Wait()
	if i := slices.IndexFunc(errs, permanent); i >= 0 {
		return errs[i]
	}
	return firstError(errs...)
}

func collect(resp *kmsg.ListOffsetsResponse, got offsets.Offsets) (errs []error) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			tp := offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			err := kerr.ErrorForCode(p.ErrorCode)
			switch {
			case err == nil:
				got[tp] = p.Offset
			case errors.Is(err, kerr.TopicAuthorizationFailed):
				errs = append(errs, notAllowed("Describe", t.Topic))
			case errors.Is(err, kerr.UnsupportedForMessageFormat):
				errs = append(errs, notSetUp("Start from offsets instead of a time.", "%s has messages without timestamps", tp))
			default:
				errs = append(errs, fmt.Errorf("%s: %w", tp, err))
			}
		}
	}
	return errs
}
