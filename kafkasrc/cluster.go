package kafkasrc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/offsets"
)

// topicID is KIP-516's id of a topic; zero if the broker does not tell.
type topicID [16]byte

// String renders the id as Kafka's own tools do, in 22 characters; empty for the zero id.
func (id topicID) String() string {
	if id == (topicID{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// topic is what metadata says of a topic.
type topic struct {
	id       topicID
	internal bool
	// err is why the broker tells no more: not there, not allowed.
	err        error
	partitions map[int32]leader
	// asked counts the metadata answers about this topic.
	asked int
}

// leader is where a partition can be asked for.
type leader struct {
	broker, epoch int32
	// err is why there is no leader now.
	err error
}

// cluster remembers metadata. It is shared by all readers of a source, and asked anew only when an answer shows that it
// is out of date.
type cluster struct {
	client *kgo.Client

	mu       sync.Mutex
	id       string
	topics   map[string]*topic
	absences absences
}

// metadata asks for the named topics, or for all if names is nil, without having any created.
func (c *cluster) metadata(ctx context.Context, names []string) (map[string]*topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	if names != nil {
		req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(names))
	}
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr(name)})
	}
	resp, err := hedged(ctx, anyBrokers, askNextAfter, func(ctx context.Context) (*kmsg.MetadataResponse, error) {
		mine := *req // the client gives it a version
		return mine.RequestWith(ctx, c.client)
	})
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	return c.remember(resp), nil
}

func (c *cluster) remember(resp *kmsg.MetadataResponse) map[string]*topic {
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp.ClusterID != nil {
		c.id = *resp.ClusterID
	}
	told, at := make(map[string]*topic, len(resp.Topics)), time.Now()
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		now := &topic{
			id:         t.TopicID,
			internal:   t.IsInternal,
			err:        kerr.ErrorForCode(t.ErrorCode),
			partitions: make(map[int32]leader, len(t.Partitions)),
			asked:      1,
		}
		if before := c.topics[*t.Topic]; before != nil {
			now.asked += before.asked
		}
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			if p.Leader < 0 && err == nil {
				err = kerr.LeaderNotAvailable
			} else if p.Leader >= 0 && errors.Is(err, kerr.ReplicaNotAvailable) {
				err = nil // some other replica is down
			}
			now.partitions[p.Partition] = leader{broker: p.Leader, epoch: p.LeaderEpoch, err: err}
		}
		c.topics[*t.Topic], told[*t.Topic] = now, now
		c.absences.see(*t.Topic, now, at)
	}
	return told
}

func (c *cluster) clusterID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// lookup is what is remembered of the named topics. It asks for those that nothing is remembered of, and for those whose
// last answer the caller has found out of date: stale holds the asked of that answer.
func (c *cluster) lookup(ctx context.Context, names []string, stale map[string]int) (map[string]*topic, error) {
	found, ask := make(map[string]*topic, len(names)), []string{}
	c.mu.Lock()
	for _, name := range names {
		if t := c.topics[name]; t != nil && t.asked > stale[name] {
			found[name] = t
		} else {
			ask = append(ask, name)
		}
	}
	with := c.absences.waiting(slices.Clip(ask))
	c.mu.Unlock()
	if len(ask) == 0 {
		return found, nil
	}
	told, err := c.metadata(ctx, with)
	if err != nil {
		return nil, err
	}
	for _, name := range ask {
		if told[name] == nil {
			return nil, fmt.Errorf("metadata: the broker does not answer for topic %s", name)
		}
		found[name] = told[name]
	}
	return found, nil
}

// remembered is what was last told of a partition's topic and leader, without asking; nil if there is no leader.
func (c *cluster) remembered(tp offsets.TopicPartition) (*topic, leader) {
	c.mu.Lock()
	t := c.topics[tp.Topic]
	c.mu.Unlock()
	if t == nil {
		return nil, leader{}
	}
	at, err := t.leaderOf(tp)
	if err != nil {
		return nil, leader{}
	}
	return t, at
}

// absent reports whether err says that a topic or partition is not there.
func absent(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}

// leaderOf finds where to ask for a partition.
func (t *topic) leaderOf(tp offsets.TopicPartition) (leader, error) {
	if t.err != nil {
		return leader{}, fmt.Errorf("topic %s: %w", tp.Topic, t.err)
	}
	at, ok := t.partitions[tp.Partition]
	if !ok {
		return leader{}, fmt.Errorf("partition %s: %w", tp, kerr.UnknownTopicOrPartition)
	}
	if at.err != nil {
		return leader{}, fmt.Errorf("partition %s has no leader: %w", tp, at.err)
	}
	return at, nil
}

// numbers lists the partitions of a topic in order.
func (t *topic) numbers() []int32 {
	numbers := make([]int32, 0, len(t.partitions))
	for n := range t.partitions {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}
