//go:build interop && linux

package cmd_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	restcatalog "github.com/apache/iceberg-go/catalog/rest"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/rig"
)

// realConnect is a real Kafka Connect with Apache Iceberg's sink, and a job of sluice's for the same topic and table.
type realConnect struct {
	*pipeline
	broker    rig.Broker
	worker    *rig.Connect
	connector rig.Connector
	control   string
	gate      *catalogGate
	lake      *restcatalog.Catalog
	table     []string
	read      func(args ...string) rig.Reading
	readArgs  []string
	sent      int
}

// catalogGate stands before a REST catalog. With shut set, the next commit to a table is told to struck and never answered; with
// late set too it reaches the catalog before that.
type catalogGate struct {
	*httptest.Server
	shut, late atomic.Bool
	struck     chan struct{}
}

func gateTo(t *testing.T, address string) *catalogGate {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	g := &catalogGate{struck: make(chan struct{}, 1)}
	proxy := httputil.NewSingleHostReverseProxy(to)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/tables/") || !g.shut.CompareAndSwap(true, false) {
			proxy.ServeHTTP(w, r)
			return
		}
		if g.late.Load() {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		g.struck <- struct{}{}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(g.Close)
	return g
}

func onConnect(t *testing.T) *realConnect {
	t.Helper()
	lake, broker := rig.REST(t), rig.Kafka(t)
	x := &realConnect{broker: broker, worker: rig.NewConnect(t), gate: gateTo(t, lake.URI), read: rig.Python(t), table: []string{lake.Namespace, "orders"},
		readArgs: []string{"--rest", lake.URI, "--table", lake.Table("orders")}}
	k, topic := connected(t, broker.Addr), broker.CreateTopic(t, 2, nil)
	x.control = broker.CreateTopic(t, 2, nil)
	x.connector = lake.IcebergSink("sink-"+topic, topic, x.control, lake.Table("orders"))
	x.connector.Config["iceberg.catalog.uri"] = x.gate.URL
	x.pipeline = newPipeline(t, k).without("--warehouse").with("--subscribe", topic, "--catalog-type", "rest", "--catalog-uri", lake.URI, "--table", lake.Table("orders"),
		"--checkpoint", lake.Bucket.Folder+"/state", "--name", "after", "--value-format", "json", "--value-schema", "id BIGINT, word STRING")
	var err error
	if x.lake, err = restcatalog.NewCatalog(t.Context(), "rest", lake.URI); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.lake.Close() })
	if err := x.lake.CreateNamespace(t.Context(), x.table[:1], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := x.lake.CreateTable(t.Context(), x.table, tableForBoth()); err != nil {
		t.Fatal(err)
	}
	return x
}

// tableForBoth has the columns of a job of JSON, which the connector fills too but for the key.
func tableForBoth() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "kafka_key", Type: iceberg.PrimitiveTypes.Binary},
		iceberg.NestedField{ID: 2, Name: "kafka_topic", Type: iceberg.PrimitiveTypes.String, Required: true},
		iceberg.NestedField{ID: 3, Name: "kafka_partition", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 4, Name: "kafka_offset", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 5, Name: "kafka_timestamp", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 6, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 7, Name: "word", Type: iceberg.PrimitiveTypes.String})
}

// produce appends n records, to the two partitions in turn.
func (x *realConnect) produce(t *testing.T, n int) {
	t.Helper()
	var records []*kgo.Record
	for range n {
		records = append(records, &kgo.Record{Topic: x.connector.Config["topics"], Partition: int32(x.sent % 2), Value: fmt.Appendf(nil, `{"id":%d,"word":"w%d"}`, x.sent, x.sent%7)})
		x.sent++
	}
	x.kafka.produce(t, records...)
}

// start starts the connector, and waits until it has committed everything: its control topic, in which it tells of every
// commit, says when to look.
func (x *realConnect) start(t *testing.T) {
	t.Helper()
	x.worker.Start(t, x.broker, x.connector)
	events := x.broker.Client(t, kgo.ConsumeTopics(x.control), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer events.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for x.rows(t) != fmt.Sprint(x.sent) {
		if err := events.PollRecords(ctx, 1).Err(); err != nil {
			t.Fatalf("the connector has committed %s of %d rows: %v", x.rows(t), x.sent, err)
		}
	}
}

func (x *realConnect) rows(t *testing.T) string {
	t.Helper()
	loaded, err := x.lake.LoadTable(t.Context(), catalog.ToIdentifier(x.table...))
	if err != nil {
		t.Fatal(err)
	}
	if s := loaded.CurrentSnapshot(); s != nil && s.Summary != nil {
		return s.Summary.Properties["total-records"]
	}
	return "no"
}

// evict has the brokers forget the members of the connector's groups, as they do when the session of one that was killed has
// run out.
func (x *realConnect) evict(t *testing.T) {
	t.Helper()
	groups, err := x.kafka.admin.DescribeGroups(t.Context(), x.group(), x.group()+"-coord")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = g.Group
		for _, m := range g.Members {
			one := kmsg.NewLeaveGroupRequestMember()
			one.MemberID = m.MemberID
			req.Members = append(req.Members, one)
		}
		if len(req.Members) == 0 {
			continue
		}
		if answer, err := req.RequestWith(t.Context(), x.kafka.client); err != nil || answer.ErrorCode != 0 {
			t.Fatal(err, answer)
		}
	}
}

func (x *realConnect) group() string { return "connect-" + x.connector.Name }

func (x *realConnect) imports(t *testing.T, more ...string) *outcome {
	t.Helper()
	return x.do(t, "import", append([]string{"--from", "kafka-connect", "--group", x.group(), "--control-topic", x.control}, more...)...)
}

// takesOver imports, drains what is new and sees that every record is in the table once.
func (x *realConnect) takesOver(t *testing.T) {
	t.Helper()
	before := x.sent
	x.imports(t).wants(0).has("import", "state", "new", "written", false)
	x.imports(t, "--yes").wants(0).has("import", "state", "new", "written", true)
	for range 2 {
		x.produce(t, 8)
		x.run(t).has("summary", "rows", 8)
	}
	for name, got := range x.read(x.readArgs...).Engines {
		if got.Count != int64(x.sent) || got.Distinct != int64(x.sent) {
			t.Errorf("%s: got %d rows, %d distinct, want %d", name, got.Count, got.Distinct, x.sent)
		}
	}
	verified := x.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "unproven", "expected", 16, "duplicates", 0, "missing", 0, "unexpected", 0, "unattributed", before)
	for _, one := range at(verified.last("verify"), "cannotProve").([]any) {
		if at(one, "kind") != "written-before" {
			t.Errorf("got %v, want only what the connector wrote before to be without proof", one)
		}
	}
	x.imports(t, "--yes").wants(0).has("import", "state", "done", "written", false)
}

// What a real connector has committed is in the table, and a new query goes on from there.
func TestKafkaConnectAndSluiceTakeTurns(t *testing.T) {
	x := onConnect(t)
	x.produce(t, 20)
	x.start(t)
	x.imports(t, "--yes").fails(13, "is in use")
	x.stops(t)
	x.takesOver(t)
}

// A worker that dies after its commit has reached the catalog, and before it has heard so, has noted nothing but in the table.
func TestKafkaConnectAndSluiceTakeTurnsAfterACommitThatWasNotAnswered(t *testing.T) {
	x := onConnect(t)
	x.produce(t, 20)
	x.start(t)
	x.gate.late.Store(true)
	x.dies(t)
	x.takesOver(t)
}

// A worker that dies before its commit has left files that are announced and not in the table, while its group is past their
// records: that must not be imported, and can be once the connector has committed them.
func TestKafkaConnectAndSluiceTakeTurnsOnlyOnceWhatWasAnnouncedIsCommitted(t *testing.T) {
	x := onConnect(t)
	x.produce(t, 20)
	x.start(t)
	x.dies(t)
	x.imports(t, "--yes").fails(13, "the connector has written files that are not committed ("+x.control, "let it commit")
	x.start(t)
	x.stops(t)
	x.takesOver(t)
}

// stops stops the worker as an operator does. Its coordinator ends beside its tasks: the worker is at times gone before the
// coordinator has left its group.
func (x *realConnect) stops(t *testing.T) {
	t.Helper()
	x.worker.Stop(t)
	x.evict(t)
}

// dies kills the worker while its next commit of rows is on its way to the catalog.
func (x *realConnect) dies(t *testing.T) {
	t.Helper()
	x.gate.shut.Store(true)
	x.produce(t, 10)
	select {
	case <-x.gate.struck:
	case <-time.After(time.Minute):
		t.Fatal("the connector has not committed")
	}
	x.worker.Kill(t)
	x.imports(t, "--yes").fails(13, "is in use")
	x.evict(t)
}
