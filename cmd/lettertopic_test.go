package cmd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/kafkasink"
)

// topical is a pipeline whose malformed records go to a topic.
func topical(t testing.TB, k *kafka, ddl string) *pipeline {
	t.Helper()
	p := typed(t, k, ddl).with("--set", "value.onMalformed=deadLetter")
	return p.toTopic("orders-dead")
}

// toTopic is the pipeline with a topic of dead letters, and no table.
func (p *pipeline) toTopic(topic string) *pipeline {
	other := *p
	other.environ = slices.DeleteFunc(slices.Clone(p.environ), func(v string) bool { return strings.HasPrefix(v, "SLUICE_DEADLETTER_TABLE=") })
	other.environ = append(other.environ, "SLUICE_DEADLETTER_TOPIC="+topic)
	return &other
}

// toTable is the pipeline with a table of dead letters, and no topic.
func (p *pipeline) toTable(table string) *pipeline {
	other := *p
	other.environ = slices.DeleteFunc(slices.Clone(p.environ), func(v string) bool { return strings.HasPrefix(v, "SLUICE_DEADLETTER_TOPIC=") })
	return other.into(table)
}

// inTopic reads n records of a topic, in their order, with a client that knows nothing of dead letters.
func (k *kafka) inTopic(t testing.TB, topic string, n int) (records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.addr, ",")...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for len(records) < n {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

func headerOf(r *kgo.Record, name string) string {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return "(none)"
}

func TestMalformedRecordsGoToTheTopicOfDeadLettersWhole(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "order_id BIGINT NOT NULL, amount DECIMAL(18,2)")
	k.say(t, `{"order_id":1,"amount":1.5}`)
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{0, 0xff}, Value: []byte(`{"order_id":"x"}`), Timestamp: millis(1_700_000_000_123),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "trace", Value: nil}}})
	k.say(t, "", `{"order_id":3}`)
	if tables := fmt.Sprint(p.do(t, "plan").wants(0).last("plan")["tables"]); !strings.Contains(tables, "exists:false") || !strings.Contains(tables, "name:topic orders-dead role:deadLetters") {
		t.Errorf("the plan's tables are %s", tables)
	}
	if checks := fmt.Sprint(p.do(t, "validate").wants(0).last("validate")["checks"]); !strings.Contains(checks, "topic orders-dead is not there yet; the first run creates it") {
		t.Errorf("the checks are %s", checks)
	}
	p.run(t).has("summary", "rows", 2, "deadLetters", 2, "deadLetterTopic", "orders-dead", "reasons.type", 1, "reasons.tombstone", 1).
		has("batch", "sluice.deadLetters", 2, "sluice.deadLetterTopic", "orders-dead", "sluice.files", 1)
	var whole, tombstone *kgo.Record
	for _, r := range k.inTopic(t, "orders-dead", 2) {
		if headerOf(r, kafkasink.HeaderOffset) == "1" {
			whole = r
		} else {
			tombstone = r
		}
	}
	if whole == nil || string(whole.Key) != "\x00\xff" || string(whole.Value) != `{"order_id":"x"}` || len(whole.Headers) != 2+len(kafkasink.Headers) ||
		string(whole.Headers[0].Value) != "abc" || whole.Headers[1].Value != nil {
		t.Fatalf("got %+v", whole)
	}
	for name, want := range map[string]string{kafkasink.Marker: "1", kafkasink.HeaderTopic: "orders", kafkasink.HeaderPartition: "0", kafkasink.HeaderTimestamp: "1700000000123",
		kafkasink.HeaderReason: "type", kafkasink.HeaderBatch: "0", kafkasink.HeaderQueryName: "sales.orders"} {
		if got := headerOf(whole, name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if text := headerOf(whole, kafkasink.HeaderError); !strings.Contains(text, "order_id: ") {
		t.Errorf("the error is %q", text)
	}
	if tombstone == nil || tombstone.Value != nil || headerOf(tombstone, kafkasink.HeaderReason) != "tombstone" {
		t.Errorf("got %+v", tombstone)
	}
	p.proves(t, "proved", 2).has("verify", "deadLetters", 2, "deadLettersFound", 2)
}

// What cannot be told without the topic is said, and what is told with it is so.
func TestVerifySaysWhatATopicOfDeadLettersProves(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "a INT")
	k.say(t, `{"a":1}`, `{`, `{"a":"x"}`)
	p.run(t)
	unread := p.do(t, "verify").wants(0).has("verify", "ok", true)
	if limits := fmt.Sprint(unread.last("verify")["cannotProve"]); !strings.Contains(limits, "the dead letters in topic orders-dead") || !strings.Contains(limits, "verify with --source") {
		t.Errorf("got %s", limits)
	}
	for _, r := range k.inTopic(t, "orders-dead", 2) { // a replay of a batch that was cut short writes them again
		k.produce(t, &kgo.Record{Topic: "orders-dead", Key: r.Key, Value: r.Value, Headers: r.Headers})
	}
	k.produce(t, &kgo.Record{Topic: "orders-dead", Value: []byte("somebody else's")})
	read := p.proves(t, "proved", 1).has("verify", "deadLettersFound", 2)
	if topics := fmt.Sprint(read.last("verify")["letterTopics"]); !strings.Contains(topics, "deadLetters:2 foreign:1") || !strings.Contains(topics, "name:orders-dead records:5") {
		t.Errorf("got %s", topics)
	}

	k.deleteTopic(t, "orders-dead")
	gone := p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "unproven")
	if limits := fmt.Sprint(gone.last("verify")["cannotProve"]); !strings.Contains(limits, "the topic is gone") {
		t.Errorf("got %s", limits)
	}
	k.say(t, `{`)
	p.run(t).says("the topic of dead letters orders-dead is gone", "made again").has("summary", "deadLetters", 1)
	again := p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "unproven", "deadLetters", 3, "deadLettersFound", 1)
	if limits := fmt.Sprint(again.last("verify")["cannotProve"]); !strings.Contains(limits, "the topic of dead letters orders-dead is gone") {
		t.Errorf("got %s", limits)
	}
}

func TestDeadLettersMayMoveBetweenTablesAndTopics(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "a INT")
	k.say(t, `{`, `{"a":1}`)
	p.run(t)
	k.say(t, `{`, `{"a":2}`)
	p.toTable("ops.dead").run(t).has("summary", "deadLetterTable", "ops.dead")
	p.proves(t, "proved", 2).has("verify", "deadLetters", 2, "deadLettersFound", 2)
	if limits := fmt.Sprint(p.do(t, "verify").wants(0).last("verify")["cannotProve"]); !strings.Contains(limits, "topic orders-dead") {
		t.Errorf("got %s", limits)
	}
}

func TestATopicOfDeadLettersThatTheQueryReadsIsRefused(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "a INT")
	p.toTopic("orders").do(t, "run").fails(64, "deadLetter.topic", "is read by this query", "source.subscribe")
	p.without("--subscribe").with("--subscribe-pattern", "orders").do(t, "run").fails(64, "deadLetter.topic", "source.subscribePattern")
	p.with("--set", "deadLetter.table=ops.dead").do(t, "validate").wants(0) // a flag replaces the variable
	both := *p
	both.environ = append(slices.Clone(p.environ), "SLUICE_DEADLETTER_TABLE=ops.dead")
	both.do(t, "run").fails(64, "deadLetter.topic", "contradicts deadLetter.table")
}

func TestDeadLettersInATopicAreListedShownAndReplayedOnce(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "a INT")
	k.say(t, `{"a":1}`, `{"a":"7"}`, `{`, `{"a":"x"}`)
	p.run(t).has("summary", "rows", 1, "deadLetters", 3)
	for _, r := range k.inTopic(t, "orders-dead", 3) { // what a replay of the batch does
		k.produce(t, &kgo.Record{Topic: "orders-dead", Key: r.Key, Value: r.Value, Headers: r.Headers})
	}
	k.produce(t, &kgo.Record{Topic: "orders-dead", Value: []byte("somebody else's")})

	listed := p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 3).says("topic orders-dead has 1 record that is no dead letter")
	if list := fmt.Sprint(listed.last("deadletters")); !strings.Contains(list, "tables:[topic orders-dead]") || !strings.Contains(list, "deadLetters:2 of:type") || !strings.Contains(list, "offset:3") {
		t.Errorf("got %s", list)
	}
	p.letter(t, "show", "--record", "orders-0@2").wants(0).has("deadletter", "offset", 2, "value", "{", "reason", "syntax", "table", "topic orders-dead")

	lenient := p.with("--set", "value.json.numbersInText=true")
	lenient.letter(t, "replay", "--dry-run").wants(0).has("replay", "deadLetters", 3, "rows", 1, "still", 2)
	lenient.letter(t, "replay").wants(0).has("replay", "deadLetters", 3, "before", 0, "rows", 1, "still", 2)
	lenient.letter(t, "replay").wants(0).has("replay", "deadLetters", 3, "before", 1, "rows", 0, "still", 2)
	p.proves(t, "proved", 2).has("verify", "deadLetters", 3, "deadLettersFound", 3, "replayed", 1)
	k.say(t, `{"a":2}`)
	p.run(t)
	p.proves(t, "proved", 3)
}

// What was in a topic before the dead letters went to a table is replayed with the table's.
func TestDeadLettersOfATableAndATopicAreReplayedTogether(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := topical(t, k, "a INT")
	k.say(t, `{"a":"1"}`)
	p.run(t)
	k.say(t, `{"a":"2"}`)
	p = p.toTable("ops.dead")
	p.run(t)
	p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2)
	p.with("--set", "value.json.numbersInText=true").letter(t, "replay").wants(0).has("replay", "deadLetters", 2, "rows", 2, "still", 0)
	p.proves(t, "proved", 2).has("verify", "deadLettersFound", 2, "replayed", 2)
	k.deleteTopic(t, "orders-dead")
	p.letter(t, "ls").wants(0).says("the topic of dead letters orders-dead is gone").has("deadletters", "deadLetters", 1)
	p.with("--set", "value.json.numbersInText=true").letter(t, "replay").wants(0).has("replay", "deadLetters", 1, "before", 1, "rows", 0)
}
