package rig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Connect is a place for a real Kafka Connect worker of a test's own, with Apache Iceberg's sink. The worker is killed when
// the test ends.
type Connect struct{ dir string }

// Connector is what a worker runs, as its API takes it.
type Connector struct {
	Name   string            `json:"name"`
	Config map[string]string `json:"config"`
}

// NewConnect is a place for a worker, which is not started yet.
func NewConnect(tb testing.TB) *Connect {
	tb.Helper()
	c := &Connect{dir: filepath.Join(tb.TempDir(), "connect")}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the worker's log: %s", c.log())
		}
		c.Kill(tb)
	})
	return c
}

// log is what the worker's log says without its settings and meters.
func (c *Connect) log() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if len(line) > 20 && line[0] != '\t' && !strings.Contains(line, " AbstractConfig ") && !strings.Contains(line, " Metrics ") && !strings.Contains(line, " AppInfoParser ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Start starts a worker with the connector, and returns once its tasks run.
func (c *Connect) Start(tb testing.TB, b Broker, one Connector) {
	tb.Helper()
	text, err := json.Marshal(one)
	if err != nil {
		tb.Fatal(err)
	}
	file := c.dir + ".json"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	must(tb, "connect", "start", file, "--dir", c.dir, "--kafka", b.Addr)
}

// Stop stops the worker as an operator does.
func (c *Connect) Stop(tb testing.TB) { tb.Helper(); must(tb, "connect", "stop", "--dir", c.dir) }

// Kill is SIGKILL. A worker that does not run is no error.
func (c *Connect) Kill(tb testing.TB) { tb.Helper(); must(tb, "connect", "kill", "--dir", c.dir) }

// IcebergSink is a connector that writes the records of a topic, JSON, to a table of the catalog, whose address may be that
// of a proxy. A record's place becomes the columns kafka_topic, kafka_partition, kafka_offset and kafka_timestamp.
func (r RESTCatalog) IcebergSink(name, topic, control, table string) Connector {
	return Connector{Name: name, Config: map[string]string{
		"connector.class":                      "org.apache.iceberg.connect.IcebergSinkConnector",
		"tasks.max":                            "1",
		"topics":                               topic,
		"iceberg.tables":                       table,
		"iceberg.control.topic":                control,
		"iceberg.control.commit.interval-ms":   "1000",
		"iceberg.catalog.type":                 "rest",
		"iceberg.catalog.uri":                  strings.TrimSuffix(r.URI, "/"),
		"iceberg.catalog.io-impl":              "org.apache.iceberg.aws.s3.S3FileIO",
		"iceberg.catalog.s3.endpoint":          r.Bucket.Endpoint,
		"iceberg.catalog.s3.path-style-access": "true",
		"iceberg.catalog.client.region":        os.Getenv("AWS_REGION"),
		"transforms":                           "place",
		"transforms.place.type":                "org.apache.kafka.connect.transforms.InsertField$Value",
		"transforms.place.topic.field":         "kafka_topic",
		"transforms.place.partition.field":     "kafka_partition",
		"transforms.place.offset.field":        "kafka_offset",
		"transforms.place.timestamp.field":     "kafka_timestamp",
	}}
}
