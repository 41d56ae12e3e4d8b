package kafkasink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
)

var (
	binary = columns.Type{Kind: columns.Binary}
	word   = columns.Type{Kind: columns.String}
	schema = columns.Schema{
		{Name: "kafka_key", Type: binary}, {Name: "kafka_value", Type: binary},
		{Name: "kafka_headers", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Required: true, Type: columns.Type{Kind: columns.Struct,
			Fields: []columns.Field{{Name: "key", Type: word, Required: true}, {Name: "value", Type: binary}}}}}}},
		{Name: "kafka_topic", Type: word}, {Name: "kafka_partition", Type: columns.Type{Kind: columns.Int32}}, {Name: "kafka_offset", Type: columns.Type{Kind: columns.Int64}},
		{Name: "kafka_timestamp", Type: columns.Type{Kind: columns.TimestampTZ}}, {Name: "error_class", Type: word}, {Name: "error", Type: word},
		{Name: "batch_id", Type: columns.Type{Kind: columns.Int64}}, {Name: "query_id", Type: word}, {Name: "query_name", Type: word},
	}
)

// lettersOf are dead letters as the runner hands them out: what is of the batch stands once for all rows.
func lettersOf(all ...*Letter) *columns.Batch {
	b := &columns.Batch{Rows: len(all), Columns: columns.Make(schema)}
	c := b.Columns
	for _, l := range all {
		appendBytes(&c[0], l.Key)
		appendBytes(&c[1], l.Value)
		appendPairs(&c[2], l.Headers)
		c[3].AppendBytes([]byte(l.Topic))
		c[4].AppendInt32(l.Partition)
		c[5].AppendInt64(l.Offset)
		if l.TimestampMs < 0 {
			c[6].Int64s = append(c[6].Int64s, 0)
			c[6].AppendNull()
		} else {
			c[6].AppendInt64(l.TimestampMs * 1000)
		}
		c[7].AppendBytes([]byte(l.Reason))
		c[8].AppendBytes([]byte(l.Error))
	}
	once := func(value string) columns.Array {
		return columns.Array{Kind: columns.String, Len: len(all), Repeat: true, Data: []byte(value), Offsets: []int32{0, int32(len(value))}}
	}
	c[9] = columns.Array{Kind: columns.Int64, Len: len(all), Repeat: true, Int64s: []int64{all[0].Batch}}
	c[10], c[11] = once(all[0].Query), once(all[0].QueryName)
	return b
}

func appendBytes(to *columns.Array, value []byte) {
	if value == nil {
		to.AppendNullBytes()
	} else {
		to.AppendBytes(value)
	}
}

func appendPairs(to *columns.Array, headers []Header) {
	if headers == nil {
		to.AppendNullSpan()
		return
	}
	pair := &to.Children[0]
	for _, h := range headers {
		pair.Children[0].AppendBytes([]byte(h.Key))
		appendBytes(&pair.Children[1], h.Value)
		pair.AppendStruct()
	}
	to.AppendSpan()
}

// sample is a dead letter of the offset.
func sample(offset int64) *Letter {
	return &Letter{TopicPartition: offsets.TopicPartition{Topic: "orders", Partition: 3}, Offset: offset, TimestampMs: 1_700_000_000_123, Reason: "type",
		Error: "column amount: not a number", Batch: 17, Query: "6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11", QueryName: "orders", Key: fmt.Append(nil, "k", offset), Value: fmt.Append(nil, `{"o":`, offset, "}")}
}

// broker is an in-process cluster.
func broker(tb testing.TB, options ...kfake.Opt) (*kfake.Cluster, *kadm.Client) {
	tb.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return cluster, kadm.NewClient(client)
}

func newTopic(tb testing.TB, c *kfake.Cluster, connect ...kgo.Opt) *Topic {
	tb.Helper()
	connect = append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.MetadataMinAge(10 * time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond })}, connect...)
	topic := New(Options{Topic: "dead", Servers: "broker:9092", Connect: connect, Pause: time.Millisecond, Delivery: time.Minute})
	tb.Cleanup(topic.Close)
	return topic
}

// written writes dead letters as one attempt does.
func written(tb testing.TB, topic *Topic, batches ...*columns.Batch) ([]batch.DataFile, error) {
	tb.Helper()
	w, err := topic.Write(tb.Context(), &batch.Task{}, "attempt", schema)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	for _, b := range batches {
		if err := w.Write(tb.Context(), b); err != nil {
			return nil, err
		}
	}
	return w.Close(tb.Context())
}

// consumed reads n records with a client that knows nothing of ours.
func consumed(tb testing.TB, c *kfake.Cluster, n int) (records []*kgo.Record) {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("dead"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			tb.Fatalf("%d of %d records: %v", len(records), n, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// recordsOf are records in columns, as a reader hands them out.
func recordsOf(all ...*kgo.Record) *columns.Records {
	headers := schema[2].Type.Array()
	r := &columns.Records{Topic: "dead", Rows: len(all), Key: columns.Array{Kind: columns.Binary}, Value: columns.Array{Kind: columns.Binary}, Headers: headers}
	for _, one := range all {
		appendBytes(&r.Key, one.Key)
		appendBytes(&r.Value, one.Value)
		pairs := []Header{}
		for _, h := range one.Headers {
			pairs = append(pairs, Header(h))
		}
		appendPairs(&r.Headers, pairs)
	}
	return r
}

func TestADeadLetterComesBackAsItWas(t *testing.T) {
	c, _ := broker(t)
	topic := newTopic(t, c)
	if err := topic.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	bare, odd, again := sample(1), sample(2), sample(3)
	bare.Key, bare.Value, bare.TimestampMs = nil, nil, -1
	odd.Key, odd.Value, odd.Headers = []byte{}, []byte{0, 255}, []Header{{"trace", []byte{1, 2}}, {"trace", nil}, {"", []byte{}}}
	for i, name := range Headers { // a dead letter of another query's dead letter
		again.Headers = append(again.Headers, Header{name, []byte(map[bool]string{true: Layout, false: "7"}[i == 0])})
	}
	files, err := written(t, topic, lettersOf(bare, odd), lettersOf(again))
	if err != nil || len(files) != 1 || files[0].Records != 3 || files[0].Path != "topic dead" {
		t.Fatalf("got %+v, %v", files, err)
	}
	got := map[int64]*Letter{}
	began := time.Now().Add(-time.Hour)
	for _, r := range consumed(t, c, 3) {
		l, ok := ParseLetter(recordsOf(r), 0)
		if !ok {
			t.Fatalf("%v is no dead letter", r.Headers)
		}
		got[l.Offset] = l
		if r.Timestamp.Before(began) {
			t.Errorf("record %d has the time %s: retention would take it for old", l.Offset, r.Timestamp)
		}
	}
	for _, want := range []*Letter{bare, odd, again} {
		if l := got[want.Offset]; l == nil || !same(l, want) {
			t.Errorf("got %+v, want %+v", l, want)
		}
	}
}

// same compares all that a dead letter is; null and empty differ.
func same(a, b *Letter) bool {
	bytesSame := func(x, y []byte) bool { return bytes.Equal(x, y) && (x == nil) == (y == nil) }
	if len(a.Headers) != len(b.Headers) || !bytesSame(a.Key, b.Key) || !bytesSame(a.Value, b.Value) {
		return false
	}
	for i := range a.Headers {
		if a.Headers[i].Key != b.Headers[i].Key || !bytesSame(a.Headers[i].Value, b.Headers[i].Value) {
			return false
		}
	}
	return a.TopicPartition == b.TopicPartition && a.Offset == b.Offset && a.TimestampMs == b.TimestampMs && a.Reason == b.Reason && a.Error == b.Error &&
		a.Batch == b.Batch && a.Query == b.Query && a.QueryName == b.QueryName
}

func TestWhatIsNoDeadLetterOfOursIsTold(t *testing.T) {
	whole := func() *kgo.Record {
		at, err := layoutOf(schema)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := at.record("dead", lettersOf(sample(5)), 0)
		return r
	}
	value := func(name, to string) func(*kgo.Record) {
		return func(r *kgo.Record) {
			for i := range r.Headers {
				if r.Headers[i].Key == name {
					r.Headers[i].Value = []byte(to)
				}
			}
		}
	}
	later := whole()
	later.Headers = append(later.Headers, kgo.RecordHeader{Key: "mirrored-by", Value: []byte("x")})
	for name, r := range map[string]*kgo.Record{"ours": whole(), "with a header that somebody put behind": later} {
		if l, ok := ParseLetter(recordsOf(r), 0); !ok || l.Offset != 5 || len(l.Headers) != 0 {
			t.Errorf("%s: got %+v, %v", name, l, ok)
		}
	}
	for name, spoil := range map[string]func(*kgo.Record){
		"no headers":              func(r *kgo.Record) { r.Headers = nil },
		"one is missing":          func(r *kgo.Record) { r.Headers = append(r.Headers[:4], r.Headers[5:]...) },
		"two have changed places": func(r *kgo.Record) { r.Headers[1], r.Headers[2] = r.Headers[2], r.Headers[1] },
		"a later layout":          value(Marker, "2"),
		"no topic":                value(HeaderTopic, ""),
		"no query":                value(HeaderQuery, ""),
		"a partition of no size":  value(HeaderPartition, "99999999999"),
		"a negative offset":       value(HeaderOffset, "-1"),
		"no number":               value(HeaderBatch, "x"),
		"no time":                 value(HeaderTimestamp, ""),
	} {
		r := whole()
		spoil(r)
		if l, ok := ParseLetter(recordsOf(r), 0); ok {
			t.Errorf("%s: got %+v", name, l)
		}
	}
	none := recordsOf(whole())
	none.Headers = schema[2].Type.Array() // read without headers
	if _, ok := ParseLetter(none, 0); ok {
		t.Error("records without headers have a dead letter")
	}
}

func TestATopicThatIsNotThereIsMadeToKeepWhatItGets(t *testing.T) {
	c, admin := broker(t)
	topic := newTopic(t, c)
	if table, err := topic.Table(t.Context(), "q"); err != nil || table.Exists || table.Applied.Batch != batch.None {
		t.Fatalf("got %+v, %v", table, err)
	}
	if there, err := topic.Probe(t.Context()); there || err != nil {
		t.Errorf("a probe says %v, %v", there, err)
	}
	if table, err := topic.Table(t.Context(), "q"); err != nil || table.Exists {
		t.Fatalf("a probe has made it: %+v, %v", table, err)
	}
	for range 2 { // it is safe to repeat
		if err := topic.Create(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := topic.Probe(t.Context()); !there || err != nil {
		t.Errorf("a probe says %v, %v", there, err)
	}
	table, err := topic.Table(t.Context(), "q")
	if err != nil || !table.Exists || len(table.UUID) != 22 || table.Applied.Batch != batch.None || table.Applied.InHistory != batch.None || table.Applied.Ledger != nil {
		t.Errorf("got %+v, %v", table, err)
	}
	configs, err := admin.DescribeTopicConfigs(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for _, c := range configs[0].Configs {
		has[c.Key] = c.MaybeValue()
	}
	if has["cleanup.policy"] != "delete" || has["retention.ms"] != "-1" {
		t.Errorf("got %v", has)
	}
	if applied, err := topic.Commit(t.Context(), &batch.Commit{}); err != nil || applied.Batch != batch.None {
		t.Errorf("a commit says %+v, %v", applied, err)
	}
}

// wantFault checks class and words of an error.
func wantFault(t *testing.T, err error, class batch.Class, words ...string) {
	t.Helper()
	if batch.ClassOf(err) != class || err == nil {
		t.Fatalf("got %v (%v), want %v", err, batch.ClassOf(err), class)
	}
	for _, word := range words {
		if said := err.Error() + " " + batch.HintOf(err); !strings.Contains(said, word) {
			t.Errorf("%q lacks %q", said, word)
		}
	}
}

func TestATopicThatCannotBeMadeIsToldWithTheCommand(t *testing.T) {
	for name, code := range map[string]*kerr.Error{"no right": kerr.TopicAuthorizationFailed, "no right on the cluster": kerr.ClusterAuthorizationFailed, "policy": kerr.PolicyViolation} {
		t.Run(name, func(t *testing.T) {
			c, _ := broker(t)
			c.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
				made := kmsg.NewCreateTopicsResponseTopic()
				made.Topic, made.ErrorCode, made.ErrorMessage = "dead", code.Code, kmsg.StringPtr("ask the platform team")
				resp.Topics = append(resp.Topics, made)
				return resp, nil, true
			})
			topic := newTopic(t, c)
			if _, err := topic.Probe(t.Context()); batch.ClassOf(err) != batch.NotSetUp {
				t.Errorf("a probe says %v", err)
			}
			err := topic.Create(t.Context(), schema)
			wantFault(t, err, batch.NotSetUp, "topic dead", code.Message, "ask the platform team", "kafka-topics.sh --bootstrap-server broker:9092 --create --topic dead --config cleanup.policy=delete --config retention.ms=-1")
		})
	}
}

func TestACompactedTopicIsRefused(t *testing.T) {
	c, admin := broker(t)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": kmsg.StringPtr("compact,delete")}, "dead"); err != nil {
		t.Fatal(err)
	}
	wantFault(t, newTopic(t, c).Create(t.Context(), schema), batch.NotSetUp, "compacted", "cleanup.policy=delete", "--entity-name dead")
}

// principal connects as a user with the given rights on the topic.
func principal(t *testing.T, rights ...kmsg.ACLOperation) (*kfake.Cluster, kgo.Opt) {
	t.Helper()
	var acls []kfake.ACL
	for _, op := range rights {
		acls = append(acls, kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "dead", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true})
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "root"), kfake.User("PLAIN", "sluice", "s", acls...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(plain.Auth{User: "root", Pass: "root"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "dead"); err != nil {
		t.Fatal(err)
	}
	return cluster, kgo.SASL(plain.Auth{User: "sluice", Pass: "s"}.AsMechanism())
}

func TestWhoMayNotWriteIsToldBeforeAnythingIsPlanned(t *testing.T) {
	cluster, connect := principal(t, kmsg.ACLOperationDescribe)
	topic := newTopic(t, cluster, connect)
	wantFault(t, topic.Create(t.Context(), schema), batch.NotSetUp, "ACL Write on topic dead")
	// A right that is taken away later shows when the records are written.
	_, err := written(t, topic, lettersOf(sample(8)))
	wantFault(t, err, batch.NotSetUp, "orders-3@8", "topic of dead letters dead", "ACLs Write and Describe on topic dead")
}

func TestWhoMayWriteAndNotSeeTheSettingsWrites(t *testing.T) {
	cluster, connect := principal(t, kmsg.ACLOperationDescribe, kmsg.ACLOperationWrite)
	topic := newTopic(t, cluster, connect)
	if err := topic.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	if files, err := written(t, topic, lettersOf(sample(8))); err != nil || files[0].Records != 1 {
		t.Errorf("got %+v, %v", files, err)
	}
}

func TestARecordTooLargeForTheTopicIsNamedAndTheOthersFitAnyBatch(t *testing.T) {
	c, admin := broker(t)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"max.message.bytes": kmsg.StringPtr("20000")}, "dead"); err != nil {
		t.Fatal(err)
	}
	random := func(n int) []byte { // which no codec makes smaller
		b, state := make([]byte, n), uint64(36)
		for i := range b {
			state = state*6364136223846793005 + 1442695040888963407
			b[i] = byte(state >> 56)
		}
		return b
	}
	for name, blind := range map[string]bool{"the limit is known": false, "the settings cannot be seen": true} {
		t.Run(name, func(t *testing.T) {
			topic := newTopic(t, c)
			if blind {
				topic.known.Store(&settings{})
			}
			var many []*Letter
			for i := range int64(40) {
				l := sample(i)
				l.Value = random(5000)
				many = append(many, l)
			}
			files, err := written(t, topic, lettersOf(many...))
			if err != nil || files[0].Records != 40 {
				t.Fatalf("got %+v, %v", files, err)
			}
			huge := sample(99)
			huge.Value = random(30000)
			_, err = written(t, topic, lettersOf(sample(1), huge, sample(2)))
			wantFault(t, err, batch.BadRecords, "orders-3@99", "too large for the topic of dead letters dead", "--add-config max.message.bytes=1048576", "deadLetter.table")
			if !errors.Is(err, kerr.MessageTooLarge) {
				t.Errorf("%v hides the broker's answer", err)
			}
		})
	}
}

func TestARecordLargerThanWhatMayWaitIsWrittenAlone(t *testing.T) {
	c, admin := broker(t)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"max.message.bytes": kmsg.StringPtr("8000000")}, "dead"); err != nil {
		t.Fatal(err)
	}
	topic := newTopic(t, c) // a mebibyte of records may wait
	huge := sample(99)
	huge.Value = bytes.Repeat([]byte("0123456789"), 300_000)
	files, err := written(t, topic, lettersOf(sample(1), huge))
	if err != nil || files[0].Records != 2 {
		t.Errorf("got %+v, %v", files, err)
	}
}

func TestAnAnswerThatIsLostLosesNothing(t *testing.T) {
	c, _ := broker(t)
	topic := newTopic(t, c)
	if err := topic.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	answers := 0
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if answers++; answers <= 2 {
			return nil, net.ErrClosed, true // the connection ends
		}
		return nil, nil, false
	})
	var many []*Letter
	for i := range int64(500) {
		many = append(many, sample(i))
	}
	files, err := written(t, topic, lettersOf(many...))
	if err != nil || files[0].Records != 500 {
		t.Fatalf("got %+v, %v", files, err)
	}
	there := map[int64]bool{}
	for _, r := range consumed(t, c, 500) {
		l, _ := ParseLetter(recordsOf(r), 0)
		there[l.Offset] = true
	}
	if len(there) != 500 || answers < 3 {
		t.Errorf("%d of 500 are there, after %d requests", len(there), answers)
	}
}

func TestAWriterThatIsToldToEndDoesNotWait(t *testing.T) {
	c, _ := broker(t)
	topic := newTopic(t, c)
	if err := topic.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("told to stop")
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		cancel(stopped)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, to := range req.(*kmsg.ProduceRequest).Topics {
			told := kmsg.NewProduceResponseTopic()
			told.Topic, told.TopicID = to.Topic, to.TopicID
			for _, p := range to.Partitions {
				one := kmsg.NewProduceResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.NotEnoughReplicas.Code
				told.Partitions = append(told.Partitions, one)
			}
			resp.Topics = append(resp.Topics, told)
		}
		return resp, nil, true
	})
	w, err := topic.Write(ctx, &batch.Task{}, "attempt", schema)
	if err == nil {
		err = w.Write(ctx, lettersOf(sample(1)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); !errors.Is(err, stopped) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, stopped)
	}
}

func TestOtherColumnsThanThoseOfADeadLetterAreRefused(t *testing.T) {
	for name, other := range map[string]columns.Schema{"one more": append(schema[:12:12], columns.Field{Name: "x", Type: word}), "one less": schema[1:],
		"another type": append(schema[:11:11], columns.Field{Name: "query_name", Type: binary})} {
		if _, err := layoutOf(other); err == nil {
			t.Errorf("%s: passed", name)
		}
	}
}
