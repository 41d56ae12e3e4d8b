package kafkasrc

import (
	"cmp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// Small pieces are asked for together: a job of thousands of partitions with a few records each would else be as many requests, each
// with its way there and back. mostTogether bounds their number in one request, which costs the broker something also where it
// has no room left for them in its answer.
const mostTogether = 250

// following is a piece that is to be read after the one that is asked for.
type following struct {
	// index is that of the piece among the reader's.
	index int
	batch.Piece
}

// estimate is about how many bytes so many offsets have: twice as many as those that were read so far, a kilobyte each
// before there were any.
func (f *fetcher) estimate(span int64) int64 {
	perOffset := int64(1 << 10)
	if f.spanned > 0 {
		perOffset = 2 * f.read / f.spanned
	}
	return 4<<10 + span*max(1, perOffset)
}

// share is what a piece may take of an answer.
func (f *fetcher) share(span int64) int32 {
	return int32(min(int64(f.source.options.FetchBytes), f.estimate(span)))
}

// together are the pieces to ask for in the same request, all of one broker and each of a partition of its own, as far as what they
// have, and what is left of the one that is asked for, is likely to fit into one answer. Those that there is anything to find
// out about first are left to requests of their own: another topic under the name, another leader than was planned with.
// So is everything where a replica in the rack may be asked.
func (f *fetcher) together(try *attempt, at leader, t *topic) (chosen []following) {
	room := int64(f.source.options.FetchBytes) - f.estimate(try.piece.Until-try.offset)
	if room <= 0 || f.source.settings.rack != "" || t.id == (topicID{}) {
		return nil
	}
	taken := map[offsets.TopicPartition]bool{try.tp: true}
	for _, next := range f.following {
		tp := next.Range().TopicPartition
		of, leads := f.source.cluster.remembered(tp)
		switch {
		case taken[tp], of == nil, of.id == (topicID{}), leads.broker != at.broker:
			continue
		case next.LeaderEpoch >= 0 && leads.epoch > next.LeaderEpoch, f.sameTopic(next.Piece, of, next.From) != nil:
			continue
		}
		if room -= f.estimate(next.Until - next.From); room < 0 {
			break
		}
		taken[tp] = true
		chosen = append(chosen, next)
	}
	return chosen
}

// add asks for the pieces in a request for another one.
func (f *fetcher) add(req *kmsg.FetchRequest, chosen []following) {
	for _, next := range chosen {
		tp := next.Range().TopicPartition
		t, at := f.source.cluster.remembered(tp)
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = tp.Partition, at.epoch, next.From
		p.PartitionMaxBytes = f.share(next.Until - next.From)
		if last := &req.Topics[len(req.Topics)-1]; last.TopicID == t.id {
			last.Partitions = append(last.Partitions, p)
			continue
		}
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = tp.Topic, t.id
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
	}
}

// came are the answers for pieces that were asked for together with another one. What is not plainly there is left out, and asked for
// by itself when its turn comes: that is where it is judged.
func (f *fetcher) came(resp *kmsg.FetchResponse, chosen []following) map[int]answer {
	if len(chosen) == 0 {
		return nil
	}
	answers := make(map[int]answer, len(chosen))
	for _, next := range chosen {
		t, _ := f.source.cluster.remembered(next.Range().TopicPartition)
		if t == nil {
			continue
		}
		p := partitionOf(resp, next.Range().TopicPartition, t.id)
		if p == nil || kerr.ErrorForCode(p.ErrorCode) != nil || p.LogStartOffset > next.From || p.PreferredReadReplica >= 0 {
			continue
		}
		if _, until, complete := span(p.RecordBatches); complete && until > next.From {
			answers[next.index] = answer{log: p.RecordBatches, aborted: p.AbortedTransactions, next: until}
			f.count(p.RecordBatches, next.From)
		}
	}
	return answers
}

// partitionOf finds a partition's part of an answer, which names topics by their ids since version 13; nil if there is none.
func partitionOf(resp *kmsg.FetchResponse, tp offsets.TopicPartition, id topicID) *kmsg.FetchResponseTopicPartition {
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		if cmp.Or(topic.Topic, tp.Topic) != tp.Topic || resp.Version >= 13 && topic.TopicID != id {
			continue
		}
		for j := range topic.Partitions {
			if p := &topic.Partitions[j]; p.Partition == tp.Partition {
				return p
			}
		}
	}
	return nil
}

// count adds up what was read from an offset on.
func (f *fetcher) count(log []byte, from int64) {
	f.read += int64(len(log))
	if _, next, complete := span(log); complete && next > from {
		f.spanned += next - from
	}
}
