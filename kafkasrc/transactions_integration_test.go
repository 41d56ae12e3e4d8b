//go:build integration

package kafkasrc

import (
	"testing"

	"sluice/batch"
	"sluice/rig"
)

// https://github.com/apache/spark/pull/22042, https://github.com/apache/spark/pull/21917: holes at the beginning, in the
// middle, at the end of a range, and ranges of nothing else, as a real broker makes them. However the log is cut, every
// range is read to its end and every committed record comes once.
func TestRealHolesOfTransactionsAreNoEnd(t *testing.T) {
	b := rig.Kafka(t)
	type part struct {
		records int
		commit  bool
	}
	for name, c := range map[string]struct {
		log  []part
		want []int64
	}{
		"aborted whole":            {[]part{{3, false}}, nil},
		"aborted, then committed":  {[]part{{1, false}, {1, true}}, []int64{2}},
		"committed, then aborted":  {[]part{{1, true}, {1, false}}, []int64{0}},
		"markers at both ends":     {[]part{{1, true}, {1, true}}, []int64{0, 2}},
		"aborted twice in between": {[]part{{1, true}, {2, false}, {1, false}, {2, true}}, []int64{0, 7, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			topic := b.CreateTopic(t, 1, nil)
			s := mustOpen(t, realOptions(b, topics(topic)))
			var end int64
			for _, p := range c.log {
				b.Transact(t, p.commit, numbered(topic, 0, p.records, 5)...)
				end += int64(p.records) + 1
				settle(t, s, topic, end)
			}
			whole := pieceNow(t, s, topic)
			if whole.Until != end {
				t.Fatalf("the log ends at %d, want %d", whole.Until, end)
			}
			for step := int64(1); step <= end; step++ {
				var rows []row
				for from := int64(0); from < end; from += step {
					part := whole
					part.From, part.Until = from, min(end, from+step)
					r := read(t, s, part)
					rows = append(rows, mustDrain(t, r)...)
					if at := r.Positions()[0]; at < part.Until {
						t.Errorf("%v was read to %d", part.Range(), at)
					}
				}
				wantOffsets(t, rows, c.want...)
			}
		})
	}
}

// https://github.com/dpkp/kafka-python/issues/1707: an open transaction holds the end back, for the partition where it is
// alone, and lets go when it is given up.
func TestRealOpenTransactionsHoldTheirPartitionAlone(t *testing.T) {
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 2, nil)
	s := mustOpen(t, realOptions(b, topics(topic)))
	open := realTransaction(t, b, topic+"-open")
	open.produce(topic, "x0")
	records := numbered(topic, 0, 4, 5)
	for _, r := range records[2:] {
		r.Partition = 1
	}
	produceEach(t, b, records)
	view := mustView(t, s, nil)
	if held, free := view.Partitions[tp(topic, 0)], view.Partitions[tp(topic, 1)]; held.End != 0 || held.HighWatermark != 3 || free.End != 2 {
		t.Errorf("got %+v and %+v, want ends 0 of 3 and 2", held, free)
	}
	open.end(false)
	settle(t, s, topic, 4)
	view = mustView(t, s, nil)
	if end := view.Partitions[tp(topic, 0)].End; end != 4 {
		t.Fatalf("after it was given up: got end %d, want 4", end)
	}
	wantOffsets(t, mustDrain(t, read(t, s, batch.Piece{Topic: topic, From: 0, Until: 4, TopicID: view.TopicIDs[topic], LeaderEpoch: -1})), 1, 2)
}
