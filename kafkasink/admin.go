package kafkasink

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// found is a topic that is there.
type found struct {
	id         string
	partitions int
	led        int
	// mayWrite is false only if the brokers say that records are not taken from us.
	mayWrite bool
}

func (f *found) where() string {
	if f.partitions == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", f.partitions)
}

// asks is how often a topic is asked for that is not there: metadata may lack one for a moment.
const asks = 3

// find looks the topic up, nil if there is none.
func (t *Topic) find(ctx context.Context) (*found, error) {
	for n := 1; ; n++ {
		f, err := t.lookUp(ctx)
		if err != nil || f != nil || n == asks {
			return f, err
		}
		if err := pause(ctx, t.options.Pause); err != nil {
			return nil, err
		}
	}
}

// lookUp asks once.
func (t *Topic) lookUp(ctx context.Context) (*found, error) {
	doing := "look up the topic of dead letters " + t.options.Topic
	client, err := t.connected()
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &t.options.Topic}}
	req.IncludeTopicAuthorizedOperations = true
	answer, err := client.Request(ctx, req)
	if err != nil {
		return nil, t.explain(doing, err)
	}
	for _, told := range answer.(*kmsg.MetadataResponse).Topics {
		switch err := kerr.ErrorForCode(told.ErrorCode); {
		case told.Topic == nil || *told.Topic != t.options.Topic:
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return nil, nil
		case err != nil && !kerr.IsRetriable(err):
			return nil, t.explain(doing, err)
		default:
			return foundOf(&told), nil
		}
	}
	return nil, t.explain(doing, errors.New("the broker does not answer for it"))
}

func foundOf(told *kmsg.MetadataResponseTopic) *found {
	f := &found{partitions: len(told.Partitions), mayWrite: permits(told.AuthorizedOperations, kmsg.ACLOperationWrite)}
	for _, p := range told.Partitions {
		if p.ErrorCode == 0 && p.Leader >= 0 {
			f.led++
		}
	}
	if told.TopicID != ([16]byte{}) {
		f.id = base64.RawURLEncoding.EncodeToString(told.TopicID[:])
	}
	return f
}

// permits reads KIP-430's bit field; brokers that do not tell send the least number.
func permits(operations int32, op kmsg.ACLOperation) bool {
	return operations == -1<<31 || operations == 0 || operations&(1<<op) != 0
}

// forKeeps are the settings of a topic that is made for dead letters: they stay until somebody removes them.
var forKeeps = [][2]string{{"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"}}

// make creates the topic, with as many partitions and replicas as the cluster gives one that does not ask (KIP-464). A dry
// call only asks whether it could.
func (t *Topic) make(ctx context.Context, dry bool) error {
	client, err := t.connected()
	if err != nil {
		return err
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.options.Topic, -1, -1
	for _, s := range forKeeps {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = s[0], &s[1]
		topic.Configs = append(topic.Configs, c)
	}
	req.Topics, req.TimeoutMillis, req.ValidateOnly = append(req.Topics, topic), 30_000, dry
	answer, err := client.Request(ctx, req)
	if err != nil {
		return t.explain("create the topic of dead letters "+t.options.Topic, err)
	}
	for _, made := range answer.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(made.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return t.notMade(err, made.ErrorMessage)
		}
	}
	return nil
}

// notMade is the fault of a topic that is not there and cannot be made by us, with the command that makes it.
func (t *Topic) notMade(err error, told *string) error {
	why := err.Error()
	if told != nil && *told != "" {
		why += " (" + *told + ")"
	}
	if kerr.IsRetriable(err) {
		return t.explain("create the topic of dead letters "+t.options.Topic, err)
	}
	var configs []string
	for _, s := range forKeeps[:2] {
		configs = append(configs, "--config "+s[0]+"="+s[1])
	}
	return t.refused(fmt.Sprintf("topic %s for dead letters does not exist, and the cluster does not let sluice create it: %s", t.options.Topic, why),
		fmt.Sprintf("create it (kafka-topics.sh --bootstrap-server %s --create --topic %s %s), and grant the ACLs Write and Describe on it; a topic that the principal may not Describe looks missing, too",
			t.options.Servers, t.options.Topic, strings.Join(configs, " ")))
}

// longestAwait is how often a topic that was just made is asked for.
const longestAwait = 100

// await waits until every partition of a topic that was just made has a leader: brokers learn of it one after the other.
func (t *Topic) await(ctx context.Context) (*found, error) {
	for range longestAwait {
		f, err := t.lookUp(ctx)
		if err != nil || f != nil && f.partitions > 0 && f.led == f.partitions {
			return f, err
		}
		if err := pause(ctx, t.options.Pause); err != nil {
			return nil, err
		}
	}
	return nil, t.explain("create the topic of dead letters "+t.options.Topic, kerr.LeaderNotAvailable)
}

// settings are what is known of the topic's configuration.
type settings struct {
	// maxBytes is max.message.bytes, 0 if unknown.
	maxBytes int
	// compacts says that records replace others of their key.
	compacts bool
}

// configured reads the topic's configuration, once. A principal that may not see it is no fault: then nothing is known.
func (t *Topic) configured(ctx context.Context) (*settings, error) {
	if s := t.known.Load(); s != nil {
		return s, nil
	}
	client, err := t.connected()
	if err != nil {
		return nil, err
	}
	s, err := t.readSettings(ctx, client)
	if err != nil {
		return nil, err
	}
	t.known.Store(s)
	return s, nil
}

func (t *Topic) readSettings(ctx context.Context, client *kgo.Client) (*settings, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, t.options.Topic, []string{"cleanup.policy", "max.message.bytes"}
	req.Resources = append(req.Resources, resource)
	answer, err := client.Request(ctx, req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return &settings{}, nil // what is asked here only helps; a broker that is gone shows when it is needed
	}
	s := &settings{}
	for _, r := range answer.(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range r.Configs {
			switch {
			case c.Value == nil:
			case c.Name == "cleanup.policy":
				s.compacts = strings.Contains(*c.Value, "compact")
			case c.Name == "max.message.bytes":
				s.maxBytes, _ = strconv.Atoi(*c.Value) // a limit that is no number is none that we know of
			}
		}
	}
	return s, nil
}

// pause waits, or returns the cause of the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
