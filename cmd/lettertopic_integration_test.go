//go:build integration

package cmd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/kafkasink"
	"sluice/rig"
)

// onRealTopic is a pipeline on the real broker whose malformed records go to a topic, and that topic's name.
func onRealTopic(t *testing.T) (*kafka, *pipeline, string, string) {
	t.Helper()
	k, topic := real(t, 2)
	dead := topic + "-dead"
	t.Cleanup(func() { rig.Kafka(t).DeleteTopic(t, dead) })
	p := reading(t, k, topic).with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onMalformed=deadLetter").toTopic(dead)
	return k, p, topic, dead
}

// mixed appends records of which every third is malformed, and says which.
func (k *kafka) mixed(t *testing.T, topic string, n int) (bad []string) {
	t.Helper()
	var records []*kgo.Record
	for i := range n {
		r := &kgo.Record{Topic: topic, Partition: int32(i % 2), Key: fmt.Append(nil, "key", i%5), Value: fmt.Appendf(nil, `{"a":%d}`, i)}
		if i%3 == 0 {
			r.Value = fmt.Appendf(nil, `{"a":"%d"`, i)
		}
		records = append(records, r)
	}
	k.produce(t, records...)
	for i, r := range records {
		if i%3 == 0 {
			bad = append(bad, fmt.Sprintf("%s-%d@%d", r.Topic, r.Partition, r.Offset))
		}
	}
	return bad
}

// deadIn are the records that the dead letters in a topic are of, with how often each is there.
func (k *kafka) deadIn(t *testing.T, dead string) map[string]int {
	t.Helper()
	ends, err := k.admin.ListEndOffsets(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ends.Each(func(o kadm.ListedOffset) { n += int(o.Offset) })
	found := map[string]int{}
	for _, r := range k.inTopic(t, dead, n) {
		found[fmt.Sprintf("%s-%s@%s", headerOf(r, kafkasink.HeaderTopic), headerOf(r, kafkasink.HeaderPartition), headerOf(r, kafkasink.HeaderOffset))]++
	}
	return found
}

// The program is killed after so many of its batches, and in the middle of one: no dead letter is lost, and rows are there
// once.
func TestDeadLettersInARealTopicSurviveKills(t *testing.T) {
	k, p, topic, dead := onRealTopic(t)
	bad := k.mixed(t, topic, 600)
	random := drawn(t, seed(t))
	for range 6 {
		killedAfter(t, p.with("--max-offsets-per-trigger", "40", "--set", "run.lease=1s"), random.IntN(4))
	}
	p.run(t).has("summary", "caughtUp", true)
	p.proves(t, "proved", 400).has("verify", "deadLetters", len(bad), "deadLettersFound", len(bad))
	found := k.deadIn(t, dead)
	for _, record := range bad {
		if found[record] == 0 {
			t.Errorf("the dead letter of %s is lost", record)
		}
		delete(found, record)
	}
	if len(found) > 0 {
		t.Errorf("there are dead letters of other records: %v", found)
	}
	p.with("--value-schema", "a STRING", "--set", "value.onMalformed=deadLetter").letter(t, "ls").wants(0).has("deadletters", "deadLetters", len(bad))
}

// killedAfter starts a run and kills it once it has told of so many batches.
func killedAfter(t *testing.T, p *pipeline, batches int) {
	t.Helper()
	run := program(t, slices.Concat([]string{"sluice", "run", "--output", "json"}, p.flags)...)
	run.Env = p.environ
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for n := 0; n < batches && lines.Scan(); n++ {
	}
	_ = run.Process.Kill() // it may have ended
	_ = run.Wait()         // as it was killed
}

// javaReader prints the first record of a topic as Kafka's own consumer gives it, the last header of each name.
const javaReader = `
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Read {
	public static void main(String[] args) {
		Properties p = new Properties();
		p.put("bootstrap.servers", args[0]);
		try (KafkaConsumer<String, String> c = new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer())) {
			List<TopicPartition> all = new ArrayList<>();
			for (PartitionInfo i : c.partitionsFor(args[1])) all.add(new TopicPartition(args[1], i.partition()));
			c.assign(all);
			c.seekToBeginning(all);
			for (long end = System.currentTimeMillis() + 60000; System.currentTimeMillis() < end; ) {
				for (ConsumerRecord<String, String> r : c.poll(java.time.Duration.ofSeconds(1))) {
					StringBuilder line = new StringBuilder(r.key() + " " + r.value());
					for (int i = 2; i < args.length; i++) line.append(" ").append(new String(r.headers().lastHeader(args[i]).value()));
					System.out.println(line);
					return;
				}
			}
		}
	}
}
`

// Kafka's own client sees what the documentation says, also of a record that carries our headers already.
func TestKafkasOwnConsumerReadsDeadLetters(t *testing.T) {
	k, p, topic, dead := onRealTopic(t)
	now := time.Now().UnixMilli() // retention takes what is older than a week
	k.produce(t, &kgo.Record{Topic: topic, Key: []byte("key"), Value: []byte(`{"a":"x"}`), Timestamp: millis(now),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: kafkasink.HeaderTopic, Value: []byte("another")}, {Key: kafkasink.HeaderOffset, Value: []byte("99")}}})
	p.run(t).has("summary", "deadLetters", 1, "deadLetterTopic", dead)
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(root, ".rig", "kafka-jars-*", "*.jar"))
	if err != nil || len(jars) == 0 {
		t.Fatalf("no jars of Kafka: %v", err)
	}
	source := filepath.Join(t.TempDir(), "Read.java")
	if err := os.WriteFile(source, []byte(javaReader), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	reader := exec.CommandContext(t.Context(), "java", "-cp", strings.Join(jars, ":"), source, k.addr, dead, "trace", kafkasink.Marker, kafkasink.HeaderTopic, kafkasink.HeaderPartition, kafkasink.HeaderOffset,
		kafkasink.HeaderTimestamp, kafkasink.HeaderReason, kafkasink.HeaderBatch, kafkasink.HeaderQueryName)
	reader.Stdout, reader.Stderr = &out, &said
	if err := reader.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if got, want := out.String(), "key {\"a\":\"x\"} abc 1 "+topic+" 0 0 "+strconv.FormatInt(now, 10)+" type 0 sales.orders\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A record that the topic cannot take ends the run with the command that helps, which helps.
func TestADeadLetterTooLargeForARealTopicIsTold(t *testing.T) {
	k, p, topic, dead := onRealTopic(t)
	rig.Kafka(t).CreateNamedTopic(t, dead, 1, map[string]string{"max.message.bytes": "20000"})
	noise := make([]byte, 0, 60_000) // which no codec makes small
	for random := drawn(t, seed(t)); len(noise) < 50_000; {
		noise = strconv.AppendUint(noise, random.Uint64(), 36)
	}
	k.produce(t, &kgo.Record{Topic: topic, Value: []byte(`{"a":1}`)}, &kgo.Record{Topic: topic, Value: noise}, &kgo.Record{Topic: topic, Value: []byte("{")})
	p.do(t, "run").fails(14, topic+"-0@1", "too large for the topic of dead letters "+dead, "--entity-name "+dead+" --add-config max.message.bytes=1048576")
	p.do(t, "run").fails(14, topic+"-0@1")
	if _, err := k.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: kadm.StringPtr("1048576")}}, dead); err != nil {
		t.Fatal(err)
	}
	p.run(t).has("summary", "rows", 1, "deadLetters", 2)
	p.proves(t, "proved", 1).has("verify", "deadLettersFound", 2)
}

func TestARealTopicOfDeadLettersThatWasDeletedIsMadeAgain(t *testing.T) {
	k, p, topic, dead := onRealTopic(t)
	k.mixed(t, topic, 6)
	p.run(t).has("summary", "deadLetters", 2)
	rig.Kafka(t).DeleteTopic(t, dead)
	k.mixed(t, topic, 6)
	p.run(t).says("topic of dead letters "+dead, "is gone").has("summary", "deadLetters", 2)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "unproven", "deadLettersFound", 2, "deadLetters", 4)
	configs, err := k.admin.DescribeTopicConfigs(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "retention.ms" && c.MaybeValue() != "-1" {
			t.Errorf("retention.ms is %s", c.MaybeValue())
		}
	}
}
