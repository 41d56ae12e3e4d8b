//go:build integration

package kafkasrc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/offsets"
	"sluice/rig"
)

func realOptions(b rig.Broker, subscription Subscription) Options {
	return Options{Client: map[string]string{"bootstrap.servers": b.Addr}, Subscription: subscription}
}

// epoch is when the records say they were made: the broker's retention goes by that.
var epoch = time.UnixMilli(time.Now().UnixMilli())

// numbered makes records of one partition with the values from, from+1, … of about size bytes.
func numbered(topic string, from, until, size int) (records []*kgo.Record) {
	for n := from; n < until; n++ {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key-%d", n%7), Value: fmt.Appendf(nil, "%0*d", size, n),
			Timestamp: epoch.Add(time.Duration(n) * time.Millisecond)})
	}
	return records
}

// produceEach writes every record as a batch of its own.
func produceEach(tb testing.TB, b rig.Broker, records []*kgo.Record) {
	tb.Helper()
	client := b.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, r := range records {
		if err := client.ProduceSync(tb.Context(), r).FirstErr(); err != nil {
			tb.Fatal(err)
		}
	}
}

func wantRecords(tb testing.TB, got []row, want []*kgo.Record) {
	tb.Helper()
	var rows []row
	for _, r := range want {
		rows = append(rows, row{offset: r.Offset, timestamp: r.Timestamp.UnixMilli(), key: r.Key, value: r.Value})
	}
	wantRows(tb, got, rows)
}

func TestRealBatchesOfEveryCodecAreRead(t *testing.T) {
	b := rig.Kafka(t)
	producers := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range producers {
		// With a codec of its own the broker compresses anew, with the codecs of the Java client.
		for _, by := range []string{"producer", "broker"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				config, used := map[string]string{"compression.type": "producer"}, codec
				if by == "broker" {
					config["compression.type"], used = map[string]string{"none": "uncompressed"}[name], kgo.ZstdCompression()
					if name != "none" {
						config["compression.type"], used = name, kgo.NoCompression()
					}
				}
				topic := b.CreateTopic(t, 1, config)
				client := b.Client(t, kgo.ProducerBatchCompression(used), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond))
				records := numbered(topic, 0, 3000, 300)
				if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				s := mustOpen(t, realOptions(b, topics(topic)))
				wantRecords(t, mustDrain(t, read(t, s, pieceNow(t, s, topic))), records)
			})
		}
	}
}

func TestRealLogAppendTimeAndHeaders(t *testing.T) {
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	sent := &kgo.Record{Topic: topic, Value: []byte{}, Headers: []kgo.RecordHeader{{Key: "a", Value: []byte{1}}, {Key: "b"}, {Key: "a", Value: []byte{}}}}
	before := time.Now().Add(-time.Minute).UnixMilli()
	b.Produce(t, sent)
	options := realOptions(b, topics(topic))
	options.IncludeHeaders = true
	s := mustOpen(t, options)
	rows := mustDrain(t, read(t, s, pieceNow(t, s, topic)))
	want := row{value: []byte{}, timestampType: logAppendTime, timestamp: rows[0].timestamp, headers: []header{{"a", []byte{1}}, {"b", nil}, {"a", []byte{}}}}
	if len(rows) != 1 || !sameRow(rows[0], want) || rows[0].timestamp < before {
		t.Errorf("got %+v, want %+v", rows, want)
	}
}

// realTransaction is a transaction that is still open.
func realTransaction(t *testing.T, b rig.Broker, id string) transaction {
	t.Helper()
	client := b.Client(t, kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	return transaction{t, client}
}

// settle waits until the log has grown to the offset: markers are written after the transaction has ended for its producer.
func settle(t *testing.T, s *Source, topic string, until int64) {
	t.Helper()
	r, err := s.Read(t.Context(), &batch.Task{Isolation: batch.ReadUncommitted, Pieces: []batch.Piece{pieceOfTopic(topic, 0, 0, until)}})
	if err != nil {
		t.Fatal(err)
	}
	mustDrain(t, r)
}

func TestRealTransactions(t *testing.T) { // https://github.com/apache/spark/pull/22042
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	s := mustOpen(t, realOptions(b, topics(topic)))
	p1, p2 := realTransaction(t, b, topic+"-1"), realTransaction(t, b, topic+"-2")
	p1.produce(topic, "d0")
	p2.produce(topic, "x1")
	p2.end(false)
	settle(t, s, topic, 3)
	p1.produce(topic, "d3")
	p1.end(true)
	settle(t, s, topic, 5)
	whole := pieceNow(t, s, topic)
	if whole.Until != 5 {
		t.Fatalf("the last stable offset is %d, want 5", whole.Until)
	}
	for step := int64(1); step <= 5; step++ {
		var rows []row
		for from := int64(0); from < 5; from += step {
			part := whole
			part.From, part.Until = from, min(5, from+step)
			r := read(t, s, part)
			rows = append(rows, mustDrain(t, r)...)
			if at := r.Positions()[0]; at < part.Until {
				t.Errorf("%v was read to %d", part.Range(), at)
			}
		}
		wantOffsets(t, rows, 0, 3)
	}

	open := realTransaction(t, b, topic+"-3")
	b.Transact(t, true, &kgo.Record{Topic: topic, Value: []byte("d5")})
	settle(t, s, topic, 7)
	open.produce(topic, "x7")
	b.Produce(t, numbered(topic, 8, 10, 1)...)
	bounds := mustView(t, s, nil).Partitions[tp(topic, 0)]
	if bounds.End != 7 || bounds.HighWatermark != 10 {
		t.Errorf("with an open transaction: got end %d and high watermark %d, want 7 and 10", bounds.End, bounds.HighWatermark)
	}
	whole.From, whole.Until = 5, 7
	wantOffsets(t, mustDrain(t, read(t, s, whole)), 5)
	uncommitted, err := s.View(t.Context(), batch.ReadUncommitted, nil)
	if err != nil || uncommitted.Partitions[tp(topic, 0)].End != 10 {
		t.Errorf("uncommitted: got %+v, %v", uncommitted, err)
	}
	open.end(true)
	settle(t, s, topic, 11)
	whole.From, whole.Until = 7, pieceNow(t, s, topic).Until
	wantOffsets(t, mustDrain(t, read(t, s, whole)), 7, 8, 9)
}

func TestRealCompactedLogs(t *testing.T) { // https://github.com/hupe1980/krafka/issues/43
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, rig.Compacted())
	for n := range 5 {
		b.Transact(t, n%2 == 0, numbered(topic, 40*n, 40*n+40, 20)...)
	}
	produceEach(t, b, numbered(topic, 200, 230, 20))
	s := mustOpen(t, realOptions(b, topics(topic)))
	planned := pieceNow(t, s, topic) // the plan is older than the compaction
	b.Compact(t, topic)
	for _, level := range []kgo.IsolationLevel{kgo.ReadCommitted(), kgo.ReadUncommitted()} {
		options := realOptions(b, topics(topic))
		if level == kgo.ReadUncommitted() {
			options.Client["isolation.level"] = "read_uncommitted"
		}
		options.FetchBytes = 200
		s := mustOpen(t, options)
		for _, piece := range []batch.Piece{planned, pieceNow(t, s, topic)} {
			r := read(t, s, piece)
			rows := mustDrain(t, r)
			wantRows(t, rows, consumed(t, b, topic, piece.Until, level))
			if int64(len(rows)) >= piece.Until-piece.From || r.Positions()[0] < piece.Until {
				t.Errorf("%v gave %d rows and was read to %d", piece.Range(), len(rows), r.Positions()[0])
			}
		}
	}
}

// consumed reads partition 0 up to a position with the client library.
func consumed(t *testing.T, b rig.Broker, topic string, until int64, level kgo.IsolationLevel) (rows []row) {
	t.Helper()
	client := b.Client(t, kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	b.Produce(t, &kgo.Record{Topic: topic, Key: []byte("end")}) // so that there is a record at or behind until
	for next := int64(0); next < until; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if next = r.Offset + 1; r.Offset < until && !r.Attrs.IsControl() {
				rows = append(rows, rowOf(r))
			}
		})
	}
	return rows
}

// midway reads until the record at the offset has come, does something, and reads on.
func midway(t *testing.T, r *Reader, at int64, do func()) (rows []row, err error) {
	t.Helper()
	for reached := int64(-1); reached < at; {
		records, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, offset := range records.Offsets {
			rows, reached = append(rows, row{offset: offset}), offset
		}
	}
	do()
	for {
		records, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for _, offset := range records.Offsets {
			rows = append(rows, row{offset: offset})
		}
	}
}

func TestRealRecordsDeletedBeforeAndWhileTheyAreRead(t *testing.T) { // https://github.com/apache/hudi/issues/5400
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	produceEach(t, b, numbered(topic, 0, 20, 10))
	admin := kadm.NewClient(b.Client(t))
	remove := func(before int64) {
		var o kadm.Offsets
		o.Add(kadm.Offset{Topic: topic, At: before})
		if answers, err := admin.DeleteRecords(t.Context(), o); err != nil || answers.Error() != nil {
			t.Fatal(err, answers.Error())
		}
	}
	options := realOptions(b, topics(topic))
	options.FetchBytes = 1
	s := mustOpen(t, options)
	planned := pieceNow(t, s, topic)
	remove(5)
	_, err := drain(read(t, s, planned))
	wantLoss(t, err, Retention, topic, 0, 5)

	planned.From = 5
	rows, err := midway(t, read(t, s, planned), 7, func() { remove(15) })
	last := rows[len(rows)-1].offset // what was on its way when they were deleted may have come
	wantLoss(t, err, Retention, topic, last+1, 15)
	if start := mustView(t, s, nil).Partitions[tp(topic, 0)].Start; start != 15 {
		t.Errorf("the log starts at %d, want 15", start)
	}
	remove(20)
	planned.From = 15
	_, err = drain(read(t, s, planned))
	wantLoss(t, err, Retention, topic, 15, 20)
}

func TestRealTopicCreatedAgainWhileItIsRead(t *testing.T) { // https://github.com/quickwit-oss/quickwit/issues/1602
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	produceEach(t, b, numbered(topic, 0, 20, 10))
	options := realOptions(b, topics(topic))
	options.FetchBytes = 1
	s := mustOpen(t, options)
	planned := pieceNow(t, s, topic)
	again := func() {
		b.DeleteTopic(t, topic)
		b.CreateNamedTopic(t, topic, 1, nil)
		produceEach(t, b, numbered(topic, 0, 40, 10))
	}
	rows, err := midway(t, read(t, s, planned), 7, again)
	wantFault(t, err, batch.DataLoss, "created again", planned.TopicID)
	if n := len(rows); n > 12 {
		t.Errorf("%d rows were read, 8 before the topic was deleted", n)
	}
	if id := mustView(t, s, nil).TopicIDs[topic]; id == planned.TopicID || id == "" {
		t.Errorf("the view has topic id %q, before it was %q", id, planned.TopicID)
	}
}

func TestRealStartAtATime(t *testing.T) {
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 2, nil)
	b.Produce(t, numbered(topic, 0, 10, 1)...)
	options := realOptions(b, topics(topic))
	options.Starting = Starting{Timestamp: epoch.Add(4 * time.Millisecond)}
	_, err := mustOpen(t, options).Start(t.Context())
	wantFault(t, err, batch.NotSetUp, topic+"-1")
	options.Starting.EndIfNone = true
	got, err := mustOpen(t, options).Start(t.Context())
	if want := (offsets.Offsets{tp(topic, 0): 4, tp(topic, 1): 0}); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestRealBatchAboveTheFetchSize(t *testing.T) { // https://github.com/confluentinc/kafka-rest/issues/608
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, map[string]string{"max.message.bytes": "20000000"})
	client := b.Client(t, kgo.ProducerBatchMaxBytes(15<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: make([]byte, 12<<20)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, realOptions(b, topics(topic)))
	if rows := mustDrain(t, read(t, s, pieceNow(t, s, topic))); len(rows) != 1 || len(rows[0].value) != 12<<20 {
		t.Errorf("got %d rows", len(rows))
	}
	options := realOptions(b, topics(topic))
	options.MaxBatchBytes = 10 << 20
	s = mustOpen(t, options)
	_, err := drain(read(t, s, pieceNow(t, s, topic)))
	wantFault(t, err, batch.BadRecords, topic+"-0", "offset 0", "10,485,760 bytes")
}

// The largest record that the broker takes, alone and between small ones, is read whole however little a Fetch asks for.
func TestRealRecordsUpToTheBrokersLimitAreReadWithAnyFetchSize(t *testing.T) { // https://github.com/confluentinc/kafka-rest/issues/608
	const limit = 1_048_588 // message.max.bytes as brokers have it by default
	b := rig.Kafka(t)
	topic := b.CreateTopic(t, 1, nil)
	client := b.Client(t, kgo.ProducerBatchMaxBytes(2*limit), kgo.ProducerBatchCompression(kgo.NoCompression()))
	var sent []*kgo.Record
	send := func(size int) error {
		r := &kgo.Record{Topic: topic, Value: bytes.Repeat([]byte{byte(size)}, size), Timestamp: epoch}
		err := client.ProduceSync(t.Context(), r).FirstErr()
		if err == nil {
			sent = append(sent, r)
		}
		return err
	}
	for _, size := range []int{10, limit / 2, 10, 10} {
		if err := send(size); err != nil {
			t.Fatal(err)
		}
	}
	largest := limit
	for ; errors.Is(send(largest), kerr.MessageTooLarge); largest-- {
	}
	if largest >= limit || largest < limit-100 {
		t.Fatalf("the largest record has %d bytes", largest)
	}
	if err := send(10); err != nil {
		t.Fatal(err)
	}
	for _, fetch := range []string{"1", "1000", strconv.Itoa(limit - 1), strconv.Itoa(limit), "10000000"} {
		options := realOptions(b, topics(topic))
		options.Client["fetch.max.bytes"] = fetch
		s := mustOpen(t, options)
		wantRecords(t, mustDrain(t, read(t, s, pieceNow(t, s, topic))), sent)
	}
}
