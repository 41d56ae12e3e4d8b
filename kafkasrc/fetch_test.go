package kafkasrc

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sluice/batch"
	"sluice/offsets"
)

// wantLoss checks the fault of records that are gone.
func wantLoss(tb testing.TB, err error, cause Cause, topic string, from, until int64) {
	tb.Helper()
	wantFault(tb, err, batch.DataLoss)
	want := Loss{Range: offsets.Range{TopicPartition: tp(topic, 0), From: from, Until: until}, Cause: cause}
	var got *Loss
	if !errors.As(err, &got) || *got != want {
		tb.Errorf("got %v (%v), want %v", got, err, &want)
	}
}

// tenOrders has ten records in one partition.
func tenOrders(t *testing.T, options ...kfake.Opt) broker {
	t.Helper()
	b := newBroker(t, append([]kfake.Opt{kfake.SeedTopics(1, "orders")}, options...)...)
	b.produce(t, "orders", 0, 10)
	return b
}

// slowly makes every answer hold one batch, and calls do before the answer at the offset is given.
func (b broker) slowly(t *testing.T, at int64, do func()) Options {
	t.Helper()
	options := b.options(topics("orders"))
	options.FetchBytes = 1
	isFirst := first(1)
	b.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if req.(*kmsg.FetchRequest).Topics[0].Partitions[0].FetchOffset == at && isFirst() {
			done := make(chan struct{})
			go func() { defer close(done); do() }()
			b.SleepControl(func() { <-done })
		}
		return nil, nil, false
	})
	return options
}

func TestRecordsRemovedBeforeTheyWereReadAreLossWithTheExactGap(t *testing.T) { // https://github.com/apache/hudi/issues/5400
	for name, c := range map[string]struct{ from, until, logStart, lostUntil int64 }{
		"some": {2, 9, 5, 5}, "all planned": {2, 6, 8, 6}, "everything": {2, 10, 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := tenOrders(t)
			s := mustOpen(t, b.options(topics("orders")))
			r := read(t, s, b.piece(t, "orders", 0, c.from, c.until))
			b.deleteRecords(t, "orders", 0, c.logStart)
			rows, err := drain(r)
			wantLoss(t, err, Retention, "orders", c.from, c.lostUntil)
			if len(rows) > 0 {
				t.Errorf("got rows at %v", offsetsOf(rows))
			}
			if _, again := r.Next(t.Context()); again == nil {
				t.Error("the next call succeeded")
			}
		})
	}
}

func TestRecordsRemovedWhileReadingAreLoss(t *testing.T) { // https://github.com/apache/pinot/issues/19359
	b := tenOrders(t)
	options := b.slowly(t, 4, func() { b.deleteRecords(t, "orders", 0, 7) })
	rows, err := drain(read(t, mustOpen(t, options), b.piece(t, "orders", 0, 0, 10)))
	wantLoss(t, err, Retention, "orders", 4, 7)
	wantOffsets(t, rows, 0, 1, 2, 3)
}

func TestALogStartBeyondThePositionIsLossAlsoWhereTheBrokerGoesOn(t *testing.T) { // https://github.com/lakehq/sail/pull/2267
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.RecordBatches = made{base: 5, rows: []row{{offset: 5}}}.bytes(t)
			p.LogStartOffset, p.HighWatermark, p.LastStableOffset = 5, 10, 10
		})
	})
	_, err := drain(read(t, s, b.piece(t, "orders", 0, 2, 10)))
	wantLoss(t, err, Retention, "orders", 2, 5)
}

func TestAPositionOutOfRangeForAMomentIsAskedAgain(t *testing.T) { // https://github.com/apache/spark/pull/23324
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.OffsetOutOfRange, Count: 3})
	wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 7, 10))), 7, 8, 9)
}

func TestALogThatEndsBeforeThePositionHasDiverged(t *testing.T) { // https://github.com/twmb/franz-go/issues/1428
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	r := read(t, s, batch.Piece{Topic: "orders", From: 12, Until: 20, LeaderEpoch: -1})
	rows, err := drain(r)
	wantLoss(t, err, Diverged, "orders", 12, 20)
	if len(rows) > 0 {
		t.Errorf("got rows at %v, none was planned", offsetsOf(rows))
	}
}

func TestATopicCreatedAgainIsNeverReadOn(t *testing.T) { // https://github.com/quickwit-oss/quickwit/issues/1602
	old := kversion.Stable()
	old.SetMaxKeyVersion(int16(kmsg.Fetch), 12) // asks by name: the broker cannot tell
	for name, options := range map[string][]kfake.Opt{"by id": nil, "by name": {kfake.MaxVersions(old)}} {
		t.Run(name+" before reading", func(t *testing.T) {
			b := tenOrders(t, options...)
			s := mustOpen(t, b.options(topics("orders")))
			piece := b.piece(t, "orders", 0, 3, 10)
			mustView(t, s, nil)
			b.recreate(t, "orders", 15)
			_, err := drain(read(t, s, piece))
			wantLoss(t, err, Recreated, "orders", 3, 10)
		})
		t.Run(name+" while reading", func(t *testing.T) {
			b := tenOrders(t, options...)
			slow := b.slowly(t, 4, func() { b.recreate(t, "orders", 15) })
			piece := b.piece(t, "orders", 0, 0, 10)
			_, err := drain(read(t, mustOpen(t, slow), piece))
			wantFault(t, err, batch.DataLoss, "created again", piece.TopicID)
			var loss *Loss
			if !errors.As(err, &loss) || loss.Cause != Recreated {
				t.Errorf("got %v", err)
			}
		})
		t.Run(name+" with a plan that knows no id", func(t *testing.T) {
			b := tenOrders(t, options...)
			slow := b.slowly(t, 4, func() { b.recreate(t, "orders", 15) })
			piece := b.piece(t, "orders", 0, 0, 10)
			piece.TopicID = ""
			_, err := drain(read(t, mustOpen(t, slow), piece))
			wantFault(t, err, batch.DataLoss, "created again")
		})
	}
}

func TestATopicThatIsGoneIsLossInTime(t *testing.T) { // https://github.com/twmb/franz-go/issues/1426
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	s := mustOpen(t, options)
	piece := b.piece(t, "orders", 0, 3, 10)
	if _, err := b.admin.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	_, err := drain(read(t, s, piece))
	wantLoss(t, err, Missing, "orders", 3, 10)
}

// With a hundred partitions the patience for each would be hours.
func TestATopicThatIsGoneIsWaitedForOnce(t *testing.T) {
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	s := mustOpen(t, options)
	first, second := b.piece(t, "orders", 0, 3, 10), b.piece(t, "orders", 0, 0, 5)
	second.Partition = 1
	if _, err := b.admin.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(s, 0)
	_, err := f.fetch(t.Context(), first, 3)
	wantFault(t, err, batch.DataLoss, "orders-0")
	s.limits.NoProgress = 24 * time.Hour
	_, err = f.fetch(t.Context(), second, 0)
	wantFault(t, err, batch.DataLoss, "orders-1")
}

func TestAPartitionThatIsGoneIsLossInTime(t *testing.T) { // https://github.com/apache/spark/pull/38911
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	piece := b.piece(t, "orders", 0, 0, 10)
	piece.Partition = 1
	_, err := drain(read(t, mustOpen(t, options), piece))
	wantFault(t, err, batch.DataLoss, "orders-1")
}

func TestABrokerThatForeverDoesNotKnowAListedPartitionIsNoLoss(t *testing.T) {
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	s := mustOpen(t, options)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.UnknownTopicOrPartition, Count: -1})
	_, err := drain(read(t, s, b.piece(t, "orders", 0, 5, 10)))
	wantFault(t, err, batch.Failed, "no progress reading orders-0", "position is 5", "UNKNOWN_TOPIC_OR_PARTITION")
}

func TestReadingGoesOnThroughWhatPasses(t *testing.T) {
	for _, err := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID,
		kerr.OffsetNotAvailable, kerr.KafkaStorageError, kerr.CorruptMessage, kerr.ReplicaNotAvailable, kerr.UnknownServerError, kerr.LeaderNotAvailable,
	} {
		t.Run(err.Message, func(t *testing.T) {
			b := tenOrders(t)
			options := b.options(topics("orders"))
			options.FetchBytes = 1
			s := mustOpen(t, options)
			fault := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: err, Count: 4})
			wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 5, 10))), 5, 6, 7, 8, 9)
			if fault.Hits() != 4 {
				t.Errorf("the fault was hit %d times", fault.Hits())
			}
		})
	}
}

func TestAConnectionThatBreaksIsOpenedAgain(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	breaks := first(3)
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if breaks() {
			return nil, errors.New("broken"), true
		}
		return nil, nil, false
	})
	wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 8, 10))), 8, 9)
}

func TestReadingFollowsTheLeader(t *testing.T) {
	b := tenOrders(t, kfake.NumBrokers(3))
	leader := b.LeaderFor("orders", 0)
	options := b.slowly(t, 4, func() {
		if err := b.MoveTopicPartition("orders", 0, (leader+1)%3); err != nil {
			t.Error(err)
		}
	})
	wantOffsets(t, mustDrain(t, read(t, mustOpen(t, options), b.piece(t, "orders", 0, 0, 10))), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
}

func TestManyReadersShareOneLookAtANewLeader(t *testing.T) {
	b := tenOrders(t, kfake.NumBrokers(2))
	s := mustOpen(t, b.options(topics("orders")))
	mustView(t, s, nil)
	if err := b.MoveTopicPartition("orders", 0, 1-b.LeaderFor("orders", 0)); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 8, 10))), 8, 9)
	}
	var asked atomic.Int32
	b.watch(kmsg.Metadata, func(kmsg.Request) { asked.Add(1) })
	wantOffsets(t, mustDrain(t, read(t, s, batch.Piece{Topic: "orders", From: 8, Until: 10})), 8, 9)
	if asked.Load() != 0 {
		t.Errorf("metadata was asked for %d times, although nothing was out of date", asked.Load())
	}
}

func TestAThrottledAnswerIsWaitedOut(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	throttles := first(3)
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		if !throttles() {
			return nil
		}
		return req.ResponseKind() // no topic at all
	})
	wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 8, 10))), 8, 9)
}

func TestEmptyAnswersBelowTheEndAreWaitedOutOrNamed(t *testing.T) {
	b := tenOrders(t)
	empty := func(high, stable int64, count int32) {
		more := first(count)
		b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
			if !more() {
				return nil
			}
			return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				p.HighWatermark, p.LastStableOffset = high, stable
			})
		})
	}
	options := b.options(topics("orders"))
	empty(6, 6, 3)
	wantOffsets(t, mustDrain(t, read(t, mustOpen(t, options), b.piece(t, "orders", 0, 8, 10))), 8, 9)

	options.Limits.NoProgress = 20 * time.Millisecond
	s := mustOpen(t, options)
	empty(6, 6, 1<<30)
	_, err := drain(read(t, s, b.piece(t, "orders", 0, 6, 10)))
	wantFault(t, err, batch.Failed, "orders-0", "position is 6", "target 10", "high watermark 6")
}

func TestARangeThatAnOpenTransactionHoldsBackSaysSo(t *testing.T) { // https://github.com/twmb/franz-go/issues/581
	b := tenOrders(t)
	b.begin(t, "open").produce("orders", "x")
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	rows, err := drain(read(t, mustOpen(t, options), b.piece(t, "orders", 0, 8, 11)))
	wantOffsets(t, rows, 8, 9)
	wantFault(t, err, batch.Failed, "position is 10", "target 11", "last stable offset 10")
	if hint := batch.HintOf(err); hint != "A transaction that is still open holds the records back; run again when its producer has ended it or it has timed out." {
		t.Errorf("hint is %q", hint)
	}
}

func TestAFollowerThatLagsIsLeftForTheLeader(t *testing.T) { // https://github.com/apache/kafka/pull/12877
	b := tenOrders(t, kfake.NumBrokers(2))
	leader := b.LeaderFor("orders", 0)
	b.SetFollowers("orders", 0, []int32{1 - leader})
	options := b.options(topics("orders"))
	options.FetchBytes = 1
	options.Client["client.rack"] = "here"
	s := mustOpen(t, options)
	var fromFollower, redirected, withoutRack atomic.Int32
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		asked := req.(*kmsg.FetchRequest)
		if asked.Rack == "" {
			withoutRack.Add(1)
		}
		switch at := asked.Topics[0].Partitions[0].FetchOffset; {
		case b.CurrentNode() == leader && asked.Rack == "here":
			redirected.Add(1)
			return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				p.HighWatermark, p.LastStableOffset, p.PreferredReadReplica = 10, 10, 1-leader
			})
		case b.CurrentNode() != leader && at >= 6:
			return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				p.HighWatermark, p.LastStableOffset = 6, 6
			})
		case b.CurrentNode() != leader:
			fromFollower.Add(1)
		}
		return nil
	})
	wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 0, 10))), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	if fromFollower.Load() != 6 || redirected.Load() != 1 || withoutRack.Load() != 4 {
		t.Errorf("the follower gave %d answers, the leader redirected %d times and gave %d, want 6, 1, 4", fromFollower.Load(), redirected.Load(), withoutRack.Load())
	}
}

func TestAFollowerThatFailsIsLeftForTheLeader(t *testing.T) {
	b := tenOrders(t, kfake.NumBrokers(2))
	leader := b.LeaderFor("orders", 0)
	options := b.options(topics("orders"))
	options.Client["client.rack"] = "here"
	s := mustOpen(t, options)
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		if b.CurrentNode() == leader && req.(*kmsg.FetchRequest).Rack == "" {
			return nil
		}
		return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			if b.CurrentNode() == leader {
				p.PreferredReadReplica = 1 - leader
			} else {
				p.ErrorCode = kerr.OffsetOutOfRange.Code
			}
		})
	})
	wantOffsets(t, mustDrain(t, read(t, s, b.piece(t, "orders", 0, 7, 10))), 7, 8, 9)
}

func TestABatchThatStaysBrokenFailsWithItsPlace(t *testing.T) { // https://github.com/twmb/franz-go/issues/883
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	bad := made{base: 5, rows: []row{{offset: 5}}}.bytes(t)
	bad = append(bad[:headerLen], 0, 0xff, 0, 0xff)
	bad[atLength+3] = byte(len(bad) - lengthEnd)
	bad[atAttributes+1] = codecZstd
	seal(bad)
	var asked atomic.Int32
	b.replace(kmsg.Fetch, func(req kmsg.Request) kmsg.Response {
		asked.Add(1)
		return fetchAnswer(req, func(_ *kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.RecordBatches, p.HighWatermark, p.LastStableOffset = bad, 10, 10
		})
	})
	_, err := drain(read(t, s, b.piece(t, "orders", 0, 5, 6)))
	wantFault(t, err, batch.BadRecords, "orders-0", "offset 5", "decompress")
	if asked.Load() > 3 {
		t.Errorf("it was fetched %d times", asked.Load())
	}
}

func TestAClusterWithoutTopicIDsIsAskedByName(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	s.cluster.remember(&kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{{Topic: kmsg.StringPtr("orders"),
		Partitions: []kmsg.MetadataResponseTopicPartition{{Leader: b.LeaderFor("orders", 0), LeaderEpoch: -1}}}}})
	var version atomic.Int32
	b.watch(kmsg.Fetch, func(req kmsg.Request) { version.Store(int32(req.GetVersion())) })
	wantOffsets(t, mustDrain(t, read(t, s, pieceOfTopic("orders", 0, 8, 10))), 8, 9)
	if version.Load() != 12 {
		t.Errorf("fetched with version %d, want 12", version.Load())
	}
}
