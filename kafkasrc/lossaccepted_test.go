package kafkasrc

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// all are the causes of all losses.
var all = batch.Causes{Retention, Recreated, Diverged, Missing}

// accepting reads with a task that accepts losses, and says what was lost of each piece.
func accepting(t *testing.T, s *Source, accepts batch.Causes, pieces ...batch.Piece) (rows []row, lost [][]batch.Loss, err error) {
	t.Helper()
	r, err := s.Read(t.Context(), &batch.Task{Pieces: pieces, Isolation: batch.ReadCommitted, Accepts: accepts})
	if err != nil {
		t.Fatal(err)
	}
	rows, err = drain(r)
	for i, p := range r.Positions() {
		if err == nil && p < pieces[i].Until {
			t.Errorf("%s was read to %d only", pieces[i].Range(), p)
		}
	}
	lost = r.Lost()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return rows, lost, err
}

func wantLost(t *testing.T, lost []batch.Loss, want ...batch.Loss) {
	t.Helper()
	for i := range lost {
		lost[i].TopicID = ""
	}
	if !slices.Equal(lost, want) {
		t.Errorf("got %v lost, want %v", lost, want)
	}
}

func orders(from, until int64, cause Cause) batch.Loss {
	return batch.Loss{Topic: "orders", From: from, Until: until, Cause: cause}
}

// https://github.com/ClickHouse/clickhouse-kafka-connect/issues/511: what is left is read, and what is lost is told exactly.
func TestRecordsRemovedBeforeTheyWereReadArePassedOverIfAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		until, logStart int64
		lost            batch.Loss
		rows            []int64
	}{
		"some":        {9, 5, orders(2, 5, Retention), []int64{5, 6, 7, 8}},
		"all planned": {6, 8, orders(2, 6, Retention), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := tenOrders(t)
			s := mustOpen(t, b.options(topics("orders")))
			piece := b.piece(t, "orders", 0, 2, c.until)
			b.deleteRecords(t, "orders", 0, c.logStart)
			rows, lost, err := accepting(t, s, batch.Causes{Retention}, piece)
			if err != nil {
				t.Fatal(err)
			}
			wantOffsets(t, rows, c.rows...)
			wantLost(t, lost[0], c.lost)
			_, _, err = accepting(t, s, batch.Causes{Recreated, Diverged, Missing}, piece)
			wantLoss(t, err, Retention, "orders", 2, c.lost.Until)
		})
	}
}

func TestRecordsRemovedWhileReadingArePassedOverIfAccepted(t *testing.T) { // https://github.com/apache/pinot/issues/19359
	b := tenOrders(t)
	options := b.slowly(t, 4, func() { b.deleteRecords(t, "orders", 0, 7) })
	rows, lost, err := accepting(t, mustOpen(t, options), all, b.piece(t, "orders", 0, 0, 10))
	if err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, rows, 0, 1, 2, 3, 7, 8, 9)
	wantLost(t, lost[0], orders(4, 7, Retention))
}

// Nothing of another topic is ever read in place of what was planned (https://github.com/lakehq/sail/pull/2267).
func TestATopicCreatedAgainIsLeftAloneIfItsLossIsAccepted(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	piece := b.piece(t, "orders", 0, 3, 10)
	b.recreate(t, "orders", 15)
	rows, lost, err := accepting(t, s, all, piece)
	if err != nil || len(rows) > 0 {
		t.Errorf("got rows at %v, %v, want none", offsetsOf(rows), err)
	}
	wantLost(t, lost[0], orders(3, 10, Recreated))
}

// A partition that is gone is waited for once, however many pieces there are of it.
func TestAPartitionThatIsGoneIsPassedOverIfAccepted(t *testing.T) {
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress = 20 * time.Millisecond
	gone := func(from, until int64) batch.Piece {
		return batch.Piece{Topic: "orders", Partition: 1, From: from, Until: until, LeaderEpoch: -1}
	}
	rows, lost, err := accepting(t, mustOpen(t, options), all, gone(0, 4), gone(4, 6), b.piece(t, "orders", 0, 8, 10))
	if err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, rows, 8, 9)
	for i, want := range []batch.Loss{{Topic: "orders", Partition: 1, From: 0, Until: 4, Cause: Missing}, {Topic: "orders", Partition: 1, From: 4, Until: 6, Cause: Missing}} {
		wantLost(t, lost[i], want)
	}
}

// epochsEnd makes the broker say where the log of an epoch ends; what it returns changes that.
func (b broker) epochsEnd(at int64, code int16) *atomic.Int64 {
	end := &atomic.Int64{}
	end.Store(at)
	b.replace(kmsg.OffsetForLeaderEpoch, func(req kmsg.Request) kmsg.Response {
		asked := req.(*kmsg.OffsetForLeaderEpochRequest)
		resp := asked.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, t := range asked.Topics {
			topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				one := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				one.Partition, one.EndOffset, one.LeaderEpoch, one.ErrorCode = p.Partition, end.Load(), p.LeaderEpoch, code
				topic.Partitions = append(topic.Partitions, one)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp
	})
	return end
}

// A log that an unclean election cut is found also where it has grown past the position again
// (https://github.com/tulios/kafkajs/issues/818).
func TestALogThatWasCutAndHasGrownAgainIsFound(t *testing.T) {
	b := tenOrders(t)
	b.ShufflePartitionLeaders()
	s := mustOpen(t, b.options(topics("orders")))
	epoch := mustView(t, s, nil).Partitions[tp("orders", 0)].LeaderEpoch
	planned := map[offsets.TopicPartition]int32{tp("orders", 0): epoch - 1}
	end := b.epochsEnd(0, 0)
	for _, c := range []struct {
		end  int64
		want offsets.Offsets
	}{{6, offsets.Offsets{tp("orders", 0): 6}}, {10, offsets.Offsets{}}, {12, offsets.Offsets{}}, {-1, offsets.Offsets{}}} {
		end.Store(c.end)
		cuts, told, err := s.Cuts(t.Context(), offsets.Offsets{tp("orders", 0): 10}, planned)
		if err != nil || !told || !cuts.Equal(c.want) {
			t.Errorf("an epoch that ends at %d: got %v, %v, %v, want %v", c.end, cuts, told, err, c.want)
		}
	}
	end.Store(6)
	if cuts, _, err := s.Cuts(t.Context(), offsets.Offsets{tp("orders", 0): 10}, map[offsets.TopicPartition]int32{tp("orders", 0): epoch}); err != nil || len(cuts) > 0 {
		t.Errorf("got %v, %v for the leader's own epoch, want nothing: no log is cut without a new one", cuts, err)
	}
}

// https://github.com/open-telemetry/opentelemetry-collector-contrib/issues/42226: what a broker cannot tell is no loss.
func TestBrokersThatKnowNoEpochsSaySo(t *testing.T) {
	b := tenOrders(t)
	b.ShufflePartitionLeaders()
	b.epochsEnd(-1, kerr.UnsupportedVersion.Code)
	s := mustOpen(t, b.options(topics("orders")))
	epoch := mustView(t, s, nil).Partitions[tp("orders", 0)].LeaderEpoch
	cuts, told, err := s.Cuts(t.Context(), offsets.Offsets{tp("orders", 0): 10}, map[offsets.TopicPartition]int32{tp("orders", 0): epoch - 1})
	if err != nil || told || len(cuts) > 0 {
		t.Errorf("got %v, %v, %v, want that nobody told", cuts, told, err)
	}
}

// What was planned of a log and cut from it is lost, and what has taken its place is not read for it.
func TestWhatWasCutFromALogSinceItWasPlannedIsLost(t *testing.T) {
	b := tenOrders(t)
	b.ShufflePartitionLeaders()
	s := mustOpen(t, b.options(topics("orders")))
	piece := b.piece(t, "orders", 0, 3, 10)
	piece.LeaderEpoch = mustView(t, s, nil).Partitions[tp("orders", 0)].LeaderEpoch - 1
	if piece.LeaderEpoch < 0 {
		t.Fatal("the broker's epochs leave none to be planned with")
	}
	end := b.epochsEnd(6, 0)
	_, _, err := accepting(t, s, nil, piece)
	wantLoss(t, err, Diverged, "orders", 6, 10)
	rows, lost, err := accepting(t, s, all, piece)
	if err != nil {
		t.Fatal(err)
	}
	wantOffsets(t, rows, 3, 4, 5)
	wantLost(t, lost[0], orders(6, 10, Diverged))
	end.Store(2)
	rows, lost, err = accepting(t, s, all, piece)
	if err != nil || len(rows) > 0 {
		t.Errorf("got rows at %v, %v, want none", offsetsOf(rows), err)
	}
	wantLost(t, lost[0], orders(3, 10, Diverged))
}
