//go:build integration && soak && linux

package cmd_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/lakesink"
	"sluice/rig"
	"sluice/rig/faultproxy"
)

var soakBatches = flag.Int("batches", 1000, "`how many` batches each lane of TestSoakFaults commits")

// Every lane commits a thousand small batches to a partitioned table, or a folder of files, and to another for dead letters,
// while what it talks to fails at random, the program is killed at random, and two of it run at once now and then. In the end
// every record is there once, for verify and for foreign engines.
func TestSoakFaults(t *testing.T) {
	seed := seed(t)
	broker, rest, db := rig.Kafka(t), rig.REST(t), rig.Postgres(t)
	bucket := rest.Bucket
	rig.Python(t)
	t.Run("lanes", func(t *testing.T) {
		for name, stage := range map[string]func(*testing.T, *storm, *pipeline){
			"S3 and SQLite": func(t *testing.T, s *storm, p *pipeline) {
				s.behindS3(t, bucket)
				s.p = p.inBucket(bucket, "sqlite").partitioned().into("ops.dead")
			},
			"S3 and REST": func(t *testing.T, s *storm, p *pipeline) {
				s.behindS3(t, bucket)
				s.p = s.behindREST(t, rest.URI, p).with("--checkpoint", bucket.Folder+"/rest/state", "--table", rest.Table("orders")).partitioned().into(rest.Table("dead"))
			},
			"a folder and PostgreSQL": func(t *testing.T, s *storm, p *pipeline) {
				s.p = s.behindPostgres(t, db, p).partitioned().into("ops.dead")
			},
			"files on S3": func(t *testing.T, s *storm, p *pipeline) {
				s.behindS3(t, bucket)
				s.p = p.toFilesIn(bucket, "files").with("--set", "deadLetter.path="+bucket.Folder+"/files/dead")
			},
		} {
			topic := broker.CreateTopic(t, 3, nil)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := &storm{kafka: connected(t, broker.Addr), topic: topic, random: drawn(t, seed), codes: map[int]int{}, dealt: map[string]int{}}
				p := reading(t, s.kafka, topic).with("--value-format", "json", "--value-schema", "order_id BIGINT, customer STRING, at TIMESTAMP", "--set", "value.onMalformed=deadLetter",
					"--max-offsets-per-trigger", "12", "--retain", "3", "--set", "run.lease=5s")
				stage(t, s, p)
				s.rage(t, *soakBatches)
				s.calm(t)
			})
		}
	})
}

// partitioned is the pipeline with partitions, and a table that expires its snapshots.
func (p *pipeline) partitioned() *pipeline {
	return p.with("--set", `sink.iceberg.partitionBy=["days(at)"]`, "--set", "sink.iceberg.expireEvery=20", "--set", "sink.iceberg.keepSnapshots=5")
}

// gate is a door and what may happen at it, to which part of the requests.
type gate struct {
	door
	rate float64
	menu []faultproxy.Fault
}

// storm is one query that is run over and over while things fail.
type storm struct {
	kafka   *kafka
	topic   string
	random  *rand.Rand
	p       *pipeline
	gates   []gate
	environ []string

	produced     int
	runs, double int
	codes        map[int]int
	dealt        map[string]int
}

// rate is the part of requests that something happens to; rareRate is that of the many round trips to a database.
const rate, rareRate = 0.015, 0.003

// behindS3 puts a gate in front of the S3 server.
func (s *storm) behindS3(t *testing.T, b rig.Bucket) {
	t.Helper()
	proxy, address := before(t, b.Endpoint, faultproxy.S3)
	menu := []faultproxy.Fault{faultproxy.Delay(200 * time.Millisecond), faultproxy.Reset(false), faultproxy.Reset(true), faultproxy.Busy(), faultproxy.Conflict(), faultproxy.RefusedThoughApplied(),
		faultproxy.IdleConnection(), faultproxy.CutAnswer(), faultproxy.CutRequest(), faultproxy.Skewed(time.Hour), faultproxy.Expired()}
	for _, status := range []int{500, 502, 503, 504} {
		menu = append(menu, faultproxy.Status(status, false), faultproxy.Status(status, true))
	}
	s.gates = append(s.gates, gate{proxy, rate, menu})
	s.environ = append(s.environ, "AWS_ENDPOINT_URL_S3="+address, "AWS_S3_ENDPOINT="+address)
}

// behindREST puts a gate in front of a REST catalog, and leads the pipeline through it.
func (s *storm) behindREST(t *testing.T, uri string, p *pipeline) *pipeline {
	t.Helper()
	proxy, address := before(t, uri, faultproxy.Iceberg)
	menu := []faultproxy.Fault{faultproxy.Delay(200 * time.Millisecond), faultproxy.Reset(false), faultproxy.Reset(true), faultproxy.Busy(), faultproxy.CommitConflict(false), faultproxy.CommitConflict(true),
		faultproxy.CutAnswer(), faultproxy.CutRequest(), faultproxy.Expired()}
	for _, status := range []int{500, 502, 503, 504} {
		menu = append(menu, faultproxy.Status(status, false), faultproxy.Status(status, true))
	}
	s.gates = append(s.gates, gate{proxy, rate, menu})
	return p.without("--warehouse").with("--catalog-type", "rest", "--catalog-uri", address)
}

// behindPostgres does so with a PostgreSQL server.
func (s *storm) behindPostgres(t *testing.T, db rig.Database, p *pipeline) *pipeline {
	t.Helper()
	proxy, address := beforeDatabase(t, db)
	s.gates = append(s.gates, gate{proxy, rareRate, []faultproxy.Fault{faultproxy.Delay(200 * time.Millisecond), faultproxy.Reset(false), faultproxy.Reset(true), faultproxy.Shutdown(false), faultproxy.Shutdown(true)}})
	return p.inPostgres(address)
}

// rage runs the query until it has so many batches.
func (s *storm) rage(t *testing.T, batches int) {
	began := time.Now()
	done := 0
	for ; done < batches && !t.Failed(); s.runs++ {
		s.burst(t, 60+s.random.IntN(90))
		s.step(t)
		if s.runs%5 == 4 {
			s.still()
			last, _ := s.p.do(t, "status").wants(0).last("status")["lastCommit"].(float64)
			done = int(last) + 1
			fmt.Fprintf(os.Stderr, "%s: %d runs, %d batches, exit codes %v, %v\n", t.Name(), s.runs, done, s.codes, time.Since(began).Round(time.Second))
		}
	}
	t.Logf("%d batches in %d runs, %d of them two at once, in %v", done, s.runs, s.double, time.Since(began).Round(time.Second))
	t.Logf("exit codes %v", s.codes)
	t.Logf("faults %v", s.dealt)
}

// burst appends records, every tenth of which is no row.
func (s *storm) burst(t *testing.T, n int) {
	t.Helper()
	var records []*kgo.Record
	for range n {
		i := s.produced
		value := fmt.Sprintf(`{"order_id":%d,"customer":"c%d","at":"2026-11-0%dT10:00:00Z"}`, i, i%5, 1+i%2)
		if bad(i) {
			value = fmt.Sprintf("order %d", i)
		}
		records = append(records, &kgo.Record{Topic: s.topic, Partition: int32(i % 3), Value: []byte(value)})
		s.produced++
	}
	s.kafka.produce(t, records...)
}

func bad(i int) bool { return i%10 == 7 }

// step runs once, or twice at once; in one step of four the first run is killed at some request.
func (s *storm) step(t *testing.T) {
	t.Helper()
	processes := []*running{prepared(t, program(t, s.p.args("run")...))}
	if s.random.IntN(8) == 0 {
		processes = append(processes, prepared(t, program(t, s.p.args("run")...)))
		s.double++
	}
	armed := -1
	if s.random.IntN(4) == 0 {
		armed = s.random.IntN(len(s.gates))
	}
	started := make(chan struct{})
	kill := func() { <-started; _ = processes[0].cmd.Process.Kill() } // it may have ended just now
	for i, g := range s.gates {
		plan := faultproxy.Drawn(s.random.Uint64(), g.rate, g.menu...)
		if i == armed {
			plan = faultproxy.First(faultproxy.Nth(1+s.random.IntN(250), faultproxy.Kill(s.random.IntN(2) == 0, kill)), plan)
		}
		g.Follow(plan)
	}
	for _, r := range processes {
		r.cmd.Env = slices.Concat(os.Environ(), s.p.environ, s.environ)
		r.start()
	}
	close(started)
	for _, r := range processes {
		r.waitFor(2 * time.Minute)
	}
	s.judge(t, processes)
}

// judge fails the test if a run ended as none may after what happened to it.
func (s *storm) judge(t *testing.T, processes []*running) {
	t.Helper()
	var strikes []faultproxy.Strike
	met := map[string]bool{}
	for _, g := range s.gates {
		for _, strike := range g.Dealt() {
			s.dealt[strike.Fault]++
			met[strike.Fault] = true
			strikes = append(strikes, strike)
		}
	}
	right := []int{0, 1, 15}
	if met["kill applied"] || met["kill not applied"] {
		right = append(right, -1)
	}
	if len(processes) > 1 {
		right = append(right, 11)
	}
	if met["expired credentials"] || met["RequestTimeTooSkewed"] {
		right = append(right, 10)
	}
	for _, r := range processes {
		s.codes[r.code]++
		if !slices.Contains(right, r.code) {
			t.Errorf("run %d: got exit code %d, want one of %v after %v\n%s", s.runs, r.code, right, strikes, r.stderr)
		}
		if r.code == 1 || r.code == 15 {
			t.Logf("run %d: exit code %d after %v\n%s", s.runs, r.code, strikes, lastLines(r.stderr, 2))
		}
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// still lets everything through from now on.
func (s *storm) still() {
	for _, g := range s.gates {
		g.Follow(nil)
	}
}

// calm lets the query catch up with nothing in its way, and judges.
func (s *storm) calm(t *testing.T) {
	t.Helper()
	s.still()
	for blocked := any(0); blocked != nil; {
		blocked = s.p.patient().run(t).has("summary", "caughtUp", true).last("summary")["blocked"]
	}
	var rows, letters []rig.Row
	sum := 0
	for _, r := range s.kafka.of(func(r *kgo.Record) bool { return r.Topic == s.topic }) {
		row := rig.Row{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
		var i int
		if n, _ := fmt.Sscanf(string(r.Value), `{"order_id":%d`, &i); n == 1 {
			row.Values = [][]byte{strconv.AppendInt(nil, int64(i), 10)}
			rows, sum = append(rows, row), sum+i
			continue
		}
		row.Values = [][]byte{r.Value}
		letters = append(letters, row)
	}
	o := s.p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "duplicates", 0, "missing", 0, "unexpected", 0, "rows", len(rows), "deadLettersFound", len(letters))
	t.Logf("verify: %s", o.stdout)
	if s.p.flag("--parquet-path") != "" {
		s.foreignFiles(t, len(rows), sum)
		return
	}
	s.foreignTable(t, s.p.flag("--table"), "order_id", rows)
	s.foreignTable(t, s.letterTable(), "kafka_value", letters)
}

// letterTable is the table of dead letters.
func (s *storm) letterTable() string {
	for _, variable := range s.p.environ {
		if name, ok := strings.CutPrefix(variable, "SLUICE_DEADLETTER_TABLE="); ok {
			return name
		}
	}
	return ""
}

// location is where the newest metadata of a table is.
func (s *storm) location(t *testing.T, name string) string {
	t.Helper()
	options := lakesink.CatalogOptions{Type: s.p.flag("--catalog-type"), URI: s.p.catalogURI(), Warehouse: s.p.flag("--warehouse")}
	if options.Type == "" {
		options.Type = "sql"
	}
	c, err := lakesink.OpenCatalog(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.(catalog.Closer).Close()
	tbl, err := c.LoadTable(t.Context(), catalog.ToIdentifier(name))
	if err != nil {
		t.Fatal(err)
	}
	return tbl.MetadataLocation()
}

// foreignTable compares a table, as DuckDB and PyIceberg read it, with the records.
func (s *storm) foreignTable(t *testing.T, name, column string, want []rig.Row) {
	t.Helper()
	reading := rig.Python(t)("--metadata", s.location(t, name), "--columns", column)
	for engine, got := range reading.Engines {
		if got.Count != int64(len(want)) || got.Distinct != int64(len(want)) || got.SHA256 != rig.Digest(want) {
			t.Errorf("%s, %s: got %d rows of %d records, digest %s, want %d, %s", name, engine, got.Count, got.Distinct, got.SHA256, len(want), rig.Digest(want))
		}
	}
	t.Logf("%d engines read %d rows of %s", len(reading.Engines), len(want), name)
}

// foreignFiles compares a folder, as DuckDB reads it, with the records.
func (s *storm) foreignFiles(t *testing.T, rows, sum int) {
	t.Helper()
	read := s.p.do(t, "status").wants(0).last("status")["read"].(string)
	read = strings.TrimSuffix(read[strings.Index(read, "SELECT"):], ";")
	endpoint := strings.TrimPrefix(os.Getenv("AWS_ENDPOINT_URL_S3"), "http://")
	line := fmt.Sprintf(`SELECT 1 FROM (SELECT count(*) n, count(DISTINCT (kafka_partition, kafka_offset)) d, sum(order_id) s FROM (%s)) WHERE n = %d AND d = %d AND s = %d`, read, rows, rows, sum)
	if n := paste(t, line, "LOAD httpfs", "SET s3_endpoint='"+endpoint+"'", "SET s3_use_ssl=false", "SET s3_url_style='path'"); n != 1 {
		t.Errorf("DuckDB does not read %d rows with a sum of %d", rows, sum)
	}
}
