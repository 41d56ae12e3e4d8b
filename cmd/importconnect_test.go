package cmd_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// connector is what Kafka Connect's Iceberg sink has left: a topic of which its group has read 7 and 4 of 10 records, a
// control topic, and a table with the rows.
type connector struct {
	*pipeline
	t testing.TB
}

var ofConnect = []string{"--from", "kafka-connect", "--group", "connect-orders-sink"}

// event appends an event to the control topic, as the connector has encoded it.
func (c *connector) event(kind string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "kafka-connect", kind))
	if err != nil {
		c.t.Fatal(err)
	}
	c.kafka.produce(c.t, &kgo.Record{Topic: "control-iceberg", Key: []byte("producer"), Value: text})
}

// commits is a commit of rows to the table, with how far the control topic was consumed.
func (c *connector) commits(control string, records []*kgo.Record) {
	c.t.Helper()
	t, err := newCatalog(c.t, c.dir).LoadTable(c.t.Context(), catalog.ToIdentifier(tableOfTests))
	if err != nil {
		c.t.Fatal(err)
	}
	tx := t.NewTransaction()
	summary := iceberg.Properties{"kafka.connect.offsets.control-iceberg.connect-orders-sink": control, "kafka.connect.commit-id": "6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11"}
	if err := tx.Append(c.t.Context(), arrowRows(c.t, t.Schema(), records), summary); err != nil {
		c.t.Fatal(err)
	}
	if _, err := tx.Commit(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// leftByConnect has one whole commit of the connector's behind it.
func leftByConnect(t testing.TB) *connector {
	t.Helper()
	k, p := loaded(t)
	c := &connector{p.with("--set", "source.kafka.retry.backoff.ms=1", "--set", "source.kafka.retry.backoff.max.ms=1"), t}
	k.createWith(t, "control-iceberg", 1)
	k.committed(t, "connect-orders-sink", "orders", map[int32]int64{0: 7, 1: 4})
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	id := catalog.ToIdentifier(tableOfTests)
	lake := newCatalog(t, p.dir)
	if err := lake.CreateNamespace(context.Background(), id[:1], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := lake.CreateTable(context.Background(), id, sparkSchema()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"start-commit", "data-written", "data-complete"} {
		c.event(kind)
	}
	c.commits(`{"0":3}`, k.of(func(r *kgo.Record) bool { return r.Topic == "orders" && !rest(r) }))
	c.event("commit-to-table")
	c.event("commit-complete")
	return c
}

func TestAQueryBeginsWhereKafkaConnectHasStopped(t *testing.T) {
	t.Parallel()
	c := leftByConnect(t)
	c.do(t, "import", ofConnect...).wants(0).has("import", "state", "new", "written", false, "from", "kafka-connect", "place", "group connect-orders-sink, control topic control-iceberg")
	c.do(t, "import", append(ofConnect, "--yes")...).wants(0).has("import", "written", true)
	c.run(t).has("summary", "rows", 9)
	wantRows(t, c.table(t), c.kafka.of(func(r *kgo.Record) bool { return r.Topic == "orders" }), false)
	c.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "duplicates", 0, "missing", 0, "unexpected", 0, "unattributed", 11)
	c.do(t, "import", append(ofConnect, "--yes")...).wants(0).has("import", "state", "done", "planned", 0)

	// Another checkpoint does not know of the import, and says which one does.
	other := c.with("--checkpoint", filepath.Join(c.dir, "other"), "--name", "other").do(t, "verify").wants(13).has("verify", "ok", false, "unexpected", 11)
	if todo := fmt.Sprint(other.last("verify")["problems"]); !strings.Contains(todo, "begun by sluice import, only its own checkpoint knows") {
		t.Errorf("the way to the checkpoint with the import is not told: %s", todo)
	}
}

// The group is past the records of files that were announced: only those that are in the table count.
func TestAnImportFromKafkaConnectSeesToItThatNoFileIsLeftOut(t *testing.T) {
	t.Parallel()
	c := leftByConnect(t)
	refused := func(parts ...string) {
		t.Helper()
		c.do(t, "import", append(ofConnect, "--yes")...).fails(13, parts...)
	}
	c.event("start-commit")
	c.do(t, "import", ofConnect...).wants(0) // nobody has answered
	c.event("data-written")
	refused("the connector has written files that are not committed (control-iceberg-0 at offset 6)", "let it commit", "stop it between two commits")

	// The coordinator notes how far all tables are, and this one may have had nothing to commit.
	c.kafka.committed(t, "connect-orders-sink-coord", "control-iceberg", map[int32]int64{0: 7})
	c.do(t, "import", ofConnect...).wants(0)
	c.event("data-complete")
	c.do(t, "import", ofConnect...).wants(0)

	tx := c.kafka.begin(t, "control-iceberg", "worker")
	tx.add(8)
	refused("a transaction is open in control-iceberg-0 at offset 8", "transaction.timeout.ms")
	tx.end(false)
	c.do(t, "import", ofConnect...).wants(0) // what was given up is not read

	c.kafka.produce(t, &kgo.Record{Topic: "control-iceberg", Value: []byte("no event")})
	refused("control-iceberg-0 at offset 10 is no event of the connector's that this program knows", "--from group")
	c.kafka.committed(t, "connect-orders-sink-coord", "control-iceberg", map[int32]int64{0: 11})
	c.do(t, "import", ofConnect...).wants(0)
	c.kafka.committed(t, "connect-orders-sink-coord", "control-iceberg", map[int32]int64{0: 30})
	refused("the table is at offset 30 of control-iceberg-0, which ends at 11", "name the control topic")
	c.kafka.committed(t, "connect-orders-sink-coord", "control-iceberg", map[int32]int64{0: 3})
	c.kafka.expire(t, "control-iceberg", 0, 9)
	refused("control-iceberg-0 begins at offset 9, and what was announced from offset 3 on is gone", "let it commit")
}

func TestWhatCannotBeImportedFromKafkaConnectIsRefused(t *testing.T) {
	t.Parallel()
	c := leftByConnect(t)
	refused := func(code int, args []string, parts ...string) {
		t.Helper()
		c.do(t, "import", append(slices.Clone(args), "--yes")...).fails(code, parts...)
	}
	refused(13, append(ofConnect, "--control-topic", "control-icebergs"), "no snapshot of", "there is kafka.connect.offsets.control-iceberg.connect-orders-sink")
	c.kafka.committed(t, "connect-other", "orders", map[int32]int64{0: 1})
	refused(13, []string{"--from", "kafka-connect", "--group", "connect-other"}, "no snapshot of", "kafka.connect.offsets.control-iceberg.connect-other",
		"there is kafka.connect.offsets.control-iceberg.connect-orders-sink", "iceberg.connect.group-id")
	if _, err := os.Stat(c.checkpoint()); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	other := c.with("--table", "sales.none", "--checkpoint", filepath.Join(c.dir, "other"))
	other.do(t, "import", ofConnect...).fails(10, "there is no table sales.none")
	folder := c.without("--warehouse", "--table").with("--parquet-path", filepath.Join(t.TempDir(), "folder"), "--name", "folder", "--checkpoint", filepath.Join(c.dir, "other"))
	folder.do(t, "import", ofConnect...).fails(64, "needs the Iceberg table that the connector wrote to")

	member, err := kgo.NewClient(kgo.SeedBrokers(c.kafka.addr), kgo.ConsumerGroup("connect-orders-sink-coord"), kgo.ConsumeTopics("control-iceberg"), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	member.PollFetches(t.Context())
	refused(13, ofConnect, "the connector's coordinator is at work (group connect-orders-sink-coord is in state Stable)", "stop the connector")
	member.LeaveGroup()
	c.kafka.deleteTopic(t, "control-iceberg")
	refused(10, ofConnect, "topic control-iceberg does not exist")
}

// A control topic without partitions in the table's word, and one whose events are spread: each partition counts by itself.
func TestTheOffsetsOfTheControlTopicCountByPartition(t *testing.T) {
	t.Parallel()
	c := leftByConnect(t)
	c.kafka.grow(t, "control-iceberg", 2)
	text, err := os.ReadFile(filepath.Join("..", "testdata", "kafka-connect", "data-written"))
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(text)
	at := strings.Index(string(other), "connect-orders-sink")
	copy(other[at:], "connect-others-sink")
	c.kafka.produce(t, &kgo.Record{Topic: "control-iceberg", Partition: 1, Value: other}) // of another connector on the same topic
	c.do(t, "import", ofConnect...).wants(0)
	c.kafka.produce(t, &kgo.Record{Topic: "control-iceberg", Partition: 1, Value: text})
	c.do(t, "import", ofConnect...).fails(13, "files that are not committed (control-iceberg-1 at offset 1)")
	c.commits(`{"0":5,"1":2}`, c.kafka.of(func(r *kgo.Record) bool { return r.Topic == "orders" && r.Offset == 7 && r.Partition == 0 }))
	c.kafka.committed(t, "connect-orders-sink", "orders", map[int32]int64{0: 8})
	o := c.do(t, "import", ofConnect...).wants(0)
	if one := o.last("import")["partitions"].([]any)[0]; !maps.Equal(one.(map[string]any), map[string]any{"topic": "orders", "partition": 0., "offset": 8., "logStart": 0., "logEnd": 10., "next": 8., "waiting": 2.}) {
		t.Errorf("got %v", one)
	}
}

// The table that the connector makes by itself has the fields of the values alone.
func TestATableWithoutThePlacesOfRecordsIsRefusedBeforeTheImport(t *testing.T) {
	t.Parallel()
	c := leftByConnect(t)
	decoded := c.with("--value-format", "json", "--value-schema", "id BIGINT")
	decoded.do(t, "import", append(ofConnect, "--yes")...).fails(13, "kafka_topic")
	if _, err := os.Stat(c.checkpoint()); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}
