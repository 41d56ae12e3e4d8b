//go:build integration && linux

package cmd_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// realGroup is a topic of a real broker with 10 records in each of two partitions, a job for it, and the name of a group that is
// like no other.
func realGroup(t *testing.T) (k *kafka, topic string, p *pipeline, group string, flags []string) {
	t.Helper()
	k, topic, _ = realTopics(t)
	k.fill(t, topic, 10, 0, 1)
	first := k.member(t, topic+"-first", topic) // a broker makes the topic of offsets with its first group
	first.PollRecords(t.Context(), 1)
	first.Close()
	group = topic + "-loader"
	return k, topic, newPipeline(t, k).with("--subscribe", topic), group, []string{"--from", "group", "--group", group}
}

// member is a client that reads a topic in a group.
func (k *kafka) member(t *testing.T, group, topic string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("the-loader"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// What a member of a group has read and committed is not read again, and nothing else is left out: a group of a real broker, which
// knows who is in it, and what transactions have pending.
func TestAQueryBeginsWhereAGroupOfARealBrokerHasStopped(t *testing.T) {
	t.Parallel()
	k, topic, p, group, flags := realGroup(t)
	p.do(t, "import", flags...).fails(10, "there is no consumer group "+group)

	c := k.member(t, group, topic)
	read := map[int32]int64{}
	for len(read) < 2 {
		c.PollRecords(t.Context(), 5).EachRecord(func(r *kgo.Record) {
			read[r.Partition] = r.Offset + 1
			if err := c.CommitRecords(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		})
	}
	p.do(t, "import", append(flags, "--yes")...).fails(13, "group "+group+" is in use (state Stable): the-loader at ")
	if err := c.LeaveGroupContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.fill(t, topic, 3, 0)
	p.do(t, "import", append(flags, "--yes")...).wants(0).has("import", "written", true)
	rest := k.of(func(r *kgo.Record) bool { return r.Offset >= read[r.Partition] })
	p.run(t).has("summary", "rows", len(rest), "caughtUp", true)
	wantRows(t, p.table(t), rest, false)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "duplicates", 0, "missing", 0, "unexpected", 0)
	p.do(t, "import", append(flags, "--yes")...).wants(0).has("import", "state", "done", "planned", 0)
	if now := k.offsetsOf(t, group); now[0] != read[0] || now[1] != read[1] {
		t.Errorf("the group is at %v, and was at %v", now, read)
	}
}

// Offsets that a transaction has pending are not decided yet (KIP-447), and are once it has ended.
func TestAGroupWithATransactionOfARealBrokerIsImportedOnceThatHasEnded(t *testing.T) {
	t.Parallel()
	k, topic, p, group, flags := realGroup(t)
	p = p.with("--set", "source.kafka.retry.backoff.ms=10", "--set", "source.kafka.retry.backoff.max.ms=10")
	k.committed(t, group, topic, map[int32]int64{0: 2, 1: 2})
	tx := k.begin(t, topic, topic+"-pending")
	id, epoch, err := tx.client.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.add(10) // so that the client's transaction has begun
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = topic+"-pending", id, epoch, group
	if resp, err := add.RequestWith(t.Context(), tx.client); err != nil || resp.ErrorCode != 0 {
		t.Fatal(err, resp)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch = topic+"-pending", group, id, epoch
	at := kmsg.NewTxnOffsetCommitRequestTopic()
	at.Topic, at.TopicID = topic, k.topicID(t, topic)
	one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	one.Partition, one.Offset, one.LeaderEpoch = 1, 8, -1
	at.Partitions = append(at.Partitions, one)
	commit.Topics = append(commit.Topics, at)
	if resp, err := commit.RequestWith(t.Context(), tx.client); err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(err, resp)
	}
	p.do(t, "import", append(flags, "--yes")...).fails(13, "has offsets in a transaction that has not ended: of "+topic+"-1")
	tx.end(true)
	k.settled(t, topic+"-pending")
	p.do(t, "import", append(flags, "--yes")...).wants(0)
	p.run(t).has("summary", "rows", 8+2+1)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved")
}

func (k *kafka) topicID(t *testing.T, topic string) [16]byte {
	t.Helper()
	topics, err := k.admin.ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return topics[topic].ID
}

// Groups of KIP-848 are told apart by brokers, and are read all the same.
func TestAGroupOfTheNewProtocolIsImported(t *testing.T) {
	t.Parallel()
	k, topic, p, group, flags := realGroup(t)
	beat := func(member string, epoch int32) (string, int32) {
		t.Helper()
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = group, member, epoch, 10_000
		if epoch == 0 {
			req.SubscribedTopicNames, req.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		resp, err := req.RequestWith(t.Context(), k.client)
		if err != nil || resp.ErrorCode != 0 {
			t.Fatal(err, resp)
		}
		return *resp.MemberID, resp.MemberEpoch
	}
	member, _ := beat(uuid.NewString(), 0)
	p.do(t, "import", append(flags, "--yes")...).fails(13, "group "+group+" is in use")
	beat(member, -1)
	k.committed(t, group, topic, map[int32]int64{0: 6, 1: 10})
	p.do(t, "import", append(flags, "--yes")...).wants(0)
	p.run(t).has("summary", "rows", 4)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved")
}
