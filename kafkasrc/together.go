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
	// topic and at are what was known when it was chosen to be asked for: others may learn more of it meanwhile, such as that there
	// is another topic under the name.
	topic *topic
	at    leader
}

// estimate is about how many bytes so many offsets have, and no more than an answer has: twice as many as those that were read so
// far, a kilobyte each before there were any.
func (f *fetcher) estimate(span int64) int64 {
	perOffset, most := int64(1<<10), int64(f.source.options.FetchBytes)
	if f.spanned > 0 {
		perOffset = max(1, 2*f.read/f.spanned)
	}
	if span > most/perOffset {
		return most
	}
	return min(most, 4<<10+span*perOffset)
}

// together are the pieces to ask for in the same request, all of one broker and each of a partition of its own, as far as what they
// have, and what is left of the one that is asked for, is likely to fit into one answer. What is kept already, and what lies between
// them at other brokers, takes of that too: so what is kept is no more than one answer, of however many brokers it is. Those that
// there is anything to find out about first are left to requests of their own: another topic under the name, another leader than was
// planned with. So is everything where a replica in the rack may be asked.
func (f *fetcher) together(try *attempt, at leader, t *topic) (chosen []following) {
	room := int64(f.source.options.FetchBytes) - f.kept - f.estimate(try.piece.Until-try.offset)
	if f.source.settings.rack != "" || t.id == (topicID{}) {
		return nil
	}
	taken := map[offsets.TopicPartition]bool{try.tp: true}
	for _, next := range f.following {
		if room -= f.estimate(next.Until - next.From); room < 0 {
			break
		}
		tp := next.Range().TopicPartition
		next.topic, next.at = f.source.cluster.remembered(tp)
		switch {
		case taken[tp], next.topic == nil, next.at.broker != at.broker, next.topic.id == (topicID{}):
			continue
		case next.LeaderEpoch >= 0 && next.at.epoch > next.LeaderEpoch, f.sameTopic(next.Piece, next.topic, next.From) != nil:
			continue
		}
		taken[tp] = true
		chosen = append(chosen, next)
	}
	return chosen
}

// add asks for the pieces in a request for another one.
func (f *fetcher) add(req *kmsg.FetchRequest, chosen []following) {
	for _, next := range chosen {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = next.Partition, next.at.epoch, next.From
		p.PartitionMaxBytes = int32(f.estimate(next.Until - next.From))
		if last := &req.Topics[len(req.Topics)-1]; last.TopicID == next.topic.id {
			last.Partitions = append(last.Partitions, p)
			continue
		}
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = next.Topic, next.topic.id
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
		p := partitionOf(resp, next.Range().TopicPartition, next.topic.id)
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
