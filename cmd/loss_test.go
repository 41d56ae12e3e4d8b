package cmd_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var startingOffsetsInHint = regexp.MustCompile(`startingOffsets (\{\S*\})`)

// asHinted is the pipeline as the hint of a refusal says: a new name, with that a new checkpoint, and the offsets given.
func (p *pipeline) asHinted(t testing.TB, o *outcome) (other *pipeline, more []string) {
	t.Helper()
	hint := o.last("error")["hint"].(string)
	other = p.with("--name", "other")
	if m := startingOffsetsInHint.FindStringSubmatch(hint); m != nil {
		other = other.with("--starting-offsets", m[1])
	}
	if strings.Contains(hint, "--new-query") {
		more = []string{"--new-query"}
	}
	return other, more
}

func (k *kafka) deleteTopic(t testing.TB, topic string) {
	t.Helper()
	if answers, err := k.admin.DeleteTopics(t.Context(), topic); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	k.connect(t)
}

func (k *kafka) createTopic(t testing.TB, topic string) {
	t.Helper()
	if err := k.cluster.CreateTopic(topic, 2, nil); err != nil {
		t.Fatal(err)
	}
	k.connect(t)
}

// losing is a kind of loss, and what the new query that the hint tells of has to read after it.
var losing = map[string]struct {
	lose    func(*testing.T, *kafka)
	change  func(*testing.T, *pipeline) *pipeline // what else the hint tells to do
	records int
	hint    []string
	not     []string
}{
	"deleted before it was read": {lose: func(t *testing.T, k *kafka) {
		var to kadm.Offsets
		to.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 8})
		if answers, err := k.admin.DeleteRecords(t.Context(), to); err != nil || answers.Error() != nil {
			t.Fatal(err, answers.Error())
		}
	}, records: 13, hint: []string{`{"orders":{"0":8,"1":5},"refunds":{"0":5,"1":5}}`, "raise the topic's retention"}, not: []string{"--new-query", "subscribe"}},
	"created again": {lose: func(t *testing.T, k *kafka) {
		k.deleteTopic(t, "orders")
		k.createTopic(t, "orders")
		k.fill(t, "orders", 4, 0)
	}, records: 9, hint: []string{`{"orders":{"0":0,"1":0},"refunds":{"0":5,"1":5}}`, "the start of a topic that was created again"}, not: []string{"--new-query", "retention", "subscribe"}},
	"gone, of several": {lose: func(t *testing.T, k *kafka) { k.deleteTopic(t, "orders") },
		change:  func(_ *testing.T, p *pipeline) *pipeline { return p.with("--subscribe", "refunds") },
		records: 5, hint: []string{`{"refunds":{"0":5,"1":5}}`, "leave what is gone out of subscribe", "the right cluster"}, not: []string{"--new-query", "retention"}},
	"gone, and made again later": {lose: func(t *testing.T, k *kafka) { k.deleteTopic(t, "orders"); k.deleteTopic(t, "refunds") },
		change: func(t *testing.T, p *pipeline) *pipeline {
			for _, topic := range []string{"orders", "refunds"} {
				p.kafka.createTopic(t, topic)
				p.kafka.fill(t, topic, 3, 1)
			}
			return p
		},
		records: 6, hint: []string{"there is nothing left to read", "reads it from its start"}, not: []string{"--new-query", "startingOffsets", "retention"}},
}

// What a hint says is done as it is written: the new query begins, reads what is there once, and nothing again.
func TestTheHintOfEachLossWorksAsWritten(t *testing.T) {
	t.Parallel()
	for name, tc := range losing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders", "refunds")
			p := newPipeline(t, k).with("--subscribe", "orders,refunds")
			k.fill(t, "orders", 5, 0, 1)
			k.fill(t, "refunds", 5, 0, 1)
			p.run(t)
			before := len(scan(t, p.table(t)))
			k.fill(t, "orders", 5, 0, 1)
			k.fill(t, "refunds", 5, 0)
			if name == "deleted before it was read" {
				k.produce(t, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte("last")})
			}
			tc.lose(t, k)
			o := p.do(t, "run").fails(12, tc.hint...)
			for _, part := range tc.not {
				if hint := o.last("error")["hint"].(string); strings.Contains(hint, part) {
					t.Errorf("got %q, want it to say nothing of %q", hint, part)
				}
			}
			status := p.do(t, "status").wants(0).has("status", "lag", -1, "refusal.exitCode", 12)
			if !slices.ContainsFunc(status.last("status")["partitions"].([]any), func(row any) bool { return at(row, "topic") == "orders" && at(row, "lag") == -1. }) {
				t.Errorf("got %v, want a partition whose lag is unknown", status.last("status"))
			}
			other, more := p.asHinted(t, o)
			if tc.change != nil {
				other = tc.change(t, other)
			}
			other.run(t, more...)
			if got := len(scan(t, p.table(t))) - before; got != tc.records {
				t.Errorf("the new query read %d records, want %d", got, tc.records)
			}
			other.run(t).has("summary", "batches", 0)
		})
	}
}

// Whether a topic is the one that another query has read, its id tells, not its name.
func TestATopicThatWasCreatedAgainWasNotReadBefore(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	p.with("--name", "other").do(t, "run").fails(13, "has read the same records", `startingOffsets {"orders":{"0":5,"1":5}}`)
	p.with("--name", "other", "--starting-offsets", `{"orders":{"0":5,"1":5}}`).run(t).has("summary", "records", 0)
	k.deleteTopic(t, "orders")
	k.createTopic(t, "orders")
	k.fill(t, "orders", 2, 0)
	p.with("--name", "third").run(t).has("summary", "records", 2)
}
