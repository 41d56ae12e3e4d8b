package rig

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is a Kafka that one test has for itself and may break. Its brokers are numbered from 1.
type Cluster struct {
	Broker
	// Count is the number of brokers.
	Count int
	dir   string
}

// NewCluster is a cluster of count brokers that no other test, of this process or another, uses until this one ends. Then
// all its brokers are started again for the next one. With three brokers or more topics have three replicas and stay
// readable and writable while one broker is down.
func NewCluster(tb testing.TB, count int) Cluster {
	tb.Helper()
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(root, ".rig", "kafka-"+strconv.Itoa(count))
	reserve(tb, dir+".use")
	start := func() string {
		return strings.TrimSpace(must(tb, "kafka", "start", "--dir", dir, "--brokers", strconv.Itoa(count)))
	}
	c := Cluster{Broker: Broker{Addr: start()}, Count: count, dir: dir}
	tb.Cleanup(func() { start() })
	return c
}

// reserve holds the lock of a file until the test ends.
func reserve(tb testing.TB, path string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatalf("reserve %s: %v", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatalf("reserve %s: %v", path, err)
	}
	tb.Cleanup(func() { file.Close() })
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		tb.Fatalf("reserve %s: %v", path, err)
	}
}

func (c Cluster) do(tb testing.TB, verb string, id int) {
	tb.Helper()
	must(tb, "kafka", verb, strconv.Itoa(id), "--dir", c.dir)
}

// Kill ends a broker with SIGKILL.
func (c Cluster) Kill(tb testing.TB, id int) { tb.Helper(); c.do(tb, "kill", id) }

// Stop ends a broker after it has handed its partitions over.
func (c Cluster) Stop(tb testing.TB, id int) { tb.Helper(); c.do(tb, "stop", id) }

// Start starts a broker and returns when the cluster has it.
func (c Cluster) Start(tb testing.TB, id int) { tb.Helper(); c.do(tb, "start-broker", id) }

// Restart is Stop and Start.
func (c Cluster) Restart(tb testing.TB, id int) { tb.Helper(); c.do(tb, "restart", id) }

// Pause makes a broker hang: connections stay open and nothing is answered.
func (c Cluster) Pause(tb testing.TB, id int) { tb.Helper(); c.do(tb, "pause", id) }

// Resume ends a Pause.
func (c Cluster) Resume(tb testing.TB, id int) { tb.Helper(); c.do(tb, "resume", id) }

// Leader is the broker that leads a partition now, -1 if none does.
func (c Cluster) Leader(tb testing.TB, topic string, partition int32) int {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topics, err := kadm.NewClient(c.Client(tb)).ListTopics(ctx, topic)
	if err != nil {
		tb.Fatalf("list topic %s: %v", topic, err)
	}
	return int(topics[topic].Partitions[partition].Leader)
}

// Address is the address of one broker.
func (c Cluster) Address(id int) string { return c.Seeds()[id-1] }

// Assigned makes a topic whose partitions lie where replicas says: for each partition its brokers, the preferred leader first.
// It is deleted when the test ends.
func (c Cluster) Assigned(tb testing.TB, configs map[string]string, replicas ...[]int32) string {
	tb.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fresh(tb), -1, -1
	for partition, brokers := range replicas {
		assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		assignment.Partition, assignment.Replicas = int32(partition), brokers
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, assignment)
	}
	for name, value := range configs {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = name, &value
		topic.Configs = append(topic.Configs, config)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis, request.Topics = 60_000, append(request.Topics, topic)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := c.Client(tb)
	answer, err := request.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	if err == nil {
		err = led(ctx, client, topic.Topic, len(replicas))
	}
	if err != nil {
		tb.Fatalf("create topic %s: %v", topic.Topic, err)
	}
	tb.Cleanup(func() { c.DeleteTopic(tb, topic.Topic) })
	return topic.Topic
}

// Move gives a partition other replicas, and returns when the first of them leads it.
func (c Cluster) Move(tb testing.TB, topic string, partition int32, replicas ...int32) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin := kadm.NewClient(c.Client(tb))
	var moved kadm.AlterPartitionAssignmentsReq
	moved.Assign(topic, partition, replicas)
	parts := kadm.TopicsSet{}
	parts.Add(topic, partition)
	answers, err := admin.AlterPartitionAssignments(ctx, moved)
	if err == nil {
		err = answers.Error()
	}
	for err == nil && c.Leader(tb, topic, partition) != int(replicas[0]) {
		// Refused until the new replica is in sync, which there is no request to wait for.
		if _, err = admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, parts); err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		tb.Fatalf("move %s-%d to %v: %v", topic, partition, replicas, err)
	}
}

// Throttle bounds what clients of an id may read of each broker, in bytes a second.
func (c Cluster) Throttle(tb testing.TB, clientID string, bytes float64) {
	tb.Helper()
	entry := kadm.AlterClientQuotaEntry{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &clientID}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: "consumer_byte_rate", Value: bytes}},
	}
	answers, err := kadm.NewClient(c.Client(tb)).AlterClientQuotas(tb.Context(), []kadm.AlterClientQuotaEntry{entry})
	if err == nil && len(answers) > 0 {
		err = answers[0].Err
	}
	if err != nil {
		tb.Fatalf("throttle client %s: %v", clientID, err)
	}
}
