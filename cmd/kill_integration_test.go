//go:build integration && linux

package cmd_test

import (
	"bufio"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// kills is how often the program is killed, over all lanes; round is how often in one before it is judged.
const (
	kills = 100
	round = 25
)

var seedFlag = flag.Uint64("seed", 0, "`seed` of what tests draw, as a failed test has printed it; 0 for another one each time")

// drawn is what a test draws from. The same seed gives a test of the same name the same.
func drawn(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name())) // a hash takes everything
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// seed is the seed that was given, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := *seedFlag
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("to draw the same again: -seed %d", s)
	return s
}

// built is the program as it is shipped, built once.
var built = sync.OnceValues(func() (string, error) {
	root, err := rig.Root()
	if err != nil {
		return "", err
	}
	if scratch, err = os.MkdirTemp("", "sluice"); err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "sluice")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// program is the shipped program with arguments; the first of args is its name.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args[1:]...)
}

// real is the shared broker with a topic of the test's own.
func real(t testing.TB, partitions int) (*kafka, string) {
	t.Helper()
	broker := rig.Kafka(t)
	topic := broker.CreateTopic(t, partitions, nil)
	return connected(t, broker.Addr), topic
}

// reading is a pipeline of a topic.
func reading(t testing.TB, k *kafka, topic string) *pipeline {
	t.Helper()
	return newPipeline(t, k).with("--subscribe", topic)
}

// The program is killed again and again while records arrive, each time when something that was drawn has happened: so
// many changes of files, or so many requests to the store, before one of them or after it and without its answer. In
// the end every record is there once.
func TestARunKilledAtAnyMomentLosesAndDoublesNothing(t *testing.T) { killAll(t, kills) }

// killAll kills so often, over all lanes.
func killAll(t *testing.T, kills int) {
	seed := seed(t)
	broker, bucket := rig.Kafka(t), rig.S3(t)
	lanes := []lane{
		{name: "folders", prepare: func(t *testing.T, p *pipeline) *pipeline { return p }},
		{name: "hadoop", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.with("--catalog-type", "hadoop") }},
		{name: "a bucket", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.inBucket(bucket, "a") }, store: storeS3},
		{name: "a bucket of many snapshots", prepare: func(t *testing.T, p *pipeline) *pipeline {
			return p.inBucket(bucket, "b").with("--retain", "2")
		}, store: storeS3},
		{name: "Parquet files in a folder", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.toFiles() }},
		{name: "Parquet files in a bucket", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.toFilesIn(bucket, "c") }, store: storeS3},
	}
	t.Run("lanes", func(t *testing.T) {
		for _, l := range lanes {
			topic := broker.CreateTopic(t, 3, nil)
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				l.random = drawn(t, seed)
				l.kafka, l.topic = connected(t, broker.Addr), topic
				l.run(t, kills/len(lanes))
			})
		}
	})
}

// storeS3 is the variable with the address of an S3 server.
const storeS3 = "AWS_ENDPOINT_URL_S3"

// lane is one query that is killed on its own.
type lane struct {
	name    string
	prepare func(*testing.T, *pipeline) *pipeline
	// store is the variable with the address of a store whose requests count; without one changes of files do.
	store string

	kafka  *kafka
	topic  string
	random *rand.Rand
	bursts int
	// program is what is run, the shipped program if nil.
	program func(testing.TB, ...string) *exec.Cmd
}

func (l *lane) run(t *testing.T, kills int) {
	base := reading(t, l.kafka, l.topic).brief().with("--max-offsets-per-trigger", "40", "--min-partitions", "2", "--retain", "3")
	base = base.with("--set", "sink.iceberg.expireEvery=3", "--set", "sink.iceberg.keepSnapshots=2")
	p := l.prepare(t, base)
	for ; kills > 0; kills -= round {
		l.round(t, p, min(kills, round))
	}
}

// round kills so often, then lets the query catch up and judges.
func (l *lane) round(t *testing.T, p *pipeline, kills int) {
	t.Helper()
	whole := l.attempt(t, p.patient(), 0, false)
	whole.outcome.wants(0)
	t.Logf("a whole run has %d events", whole.events)
	for done, tries := 0, 0; done < kills; tries++ {
		if tries > 4*kills {
			t.Fatalf("only %d of %d runs were killed", done, tries)
		}
		at, after := 1+l.random.IntN(whole.events*3/2), l.random.IntN(2) == 0
		a := l.attempt(t, p, at, after)
		t.Logf("run %d: event %d, applied %v: killed %v", tries, at, after, a.killed)
		if a.killed {
			done++
		} else if o := a.outcome; o.code != 1 || !strings.Contains(o.stderr, "the lease could not be renewed") { // it is short, and the machine busy
			o.wants(0)
		}
	}
	l.burst(t)
	for blocked := any(0); blocked != nil; { // the broker may be slow to end an aborted transaction
		blocked = p.patient().run(t).has("summary", "caughtUp", true).last("summary")["blocked"]
	}
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "duplicates", 0, "missing", 0, "unexpected", 0,
		"rows", len(l.kafka.of(func(*kgo.Record) bool { return true })))
	if p.flag("--catalog-type") != "hadoop" && p.flag("--parquet-path") == "" {
		wantRows(t, p.table(t), l.kafka.of(func(*kgo.Record) bool { return true }), false)
	}
}

// patient is the pipeline with the lease that it would have without brief.
func (p *pipeline) patient() *pipeline {
	other := *p
	other.flags = slices.Clone(p.flags)
	for i, flag := range other.flags {
		other.flags[i] = strings.Replace(flag, "run.lease=1s", "run.lease=15s", 1)
	}
	return &other
}

// burst appends some records to each partition; every third burst is a transaction that is aborted.
func (l *lane) burst(t *testing.T) {
	var records []*kgo.Record
	for i := range 60 {
		records = append(records, &kgo.Record{Topic: l.topic, Partition: int32(i % 3), Value: fmt.Appendf(nil, "%s %d %d", l.name, l.bursts, i)})
	}
	l.bursts++
	if l.bursts%3 == 0 {
		rig.Broker{Addr: l.kafka.addr}.Transact(t, false, records[:6]...)
		return
	}
	l.kafka.produce(t, records...)
}

type attempt struct {
	outcome *outcome
	events  int
	killed  bool
}

// attempt is a run that is killed at an event, if there are so many; 0 is never. Records arrive when it begins and
// whenever it reports a batch.
func (l *lane) attempt(t *testing.T, p *pipeline, at int, after bool) attempt {
	t.Helper()
	run := program
	if l.program != nil {
		run = l.program
	}
	r := prepared(t, run(t, p.args("run")...))
	r.cmd.Env = append(os.Environ(), p.environ...)
	count := &toll{at: int64(at), kill: func() { _ = r.cmd.Process.Kill() }}
	if l.store != "" {
		address := count.before(t, l.store, after)
		r.cmd.Env = append(r.cmd.Env, l.store+"="+address)
		if l.store == storeS3 { // the table has a variable of its own
			r.cmd.Env = append(r.cmd.Env, "AWS_S3_ENDPOINT="+address)
		}
	} else {
		defer count.watch(t, filepath.Dir(p.dir))()
	}
	r.cmd.Stdout = nil
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.burst(t)
	count.starting.Lock()
	r.start()
	count.starting.Unlock()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		r.out.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), `{"type":"batch"`) && l.random.IntN(4) == 0 {
			l.burst(t)
		}
	}
	o := r.wait()
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return attempt{o, int(count.seen.Load()), status.Signaled() && status.Signal() == syscall.SIGKILL}
}

// toll counts events and kills at one of them.
type toll struct {
	seen     atomic.Int64
	at       int64
	kill     func()
	starting sync.Mutex
}

// pay counts an event and says whether it was the last one.
func (c *toll) pay() bool {
	if c.seen.Add(1) != c.at {
		return false
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	c.kill()
	return true
}

// before is the address of a proxy in front of the store. The request at which it kills is passed on, and not answered,
// or not even passed on.
func (c *toll) before(t *testing.T, store string, after bool) string {
	t.Helper()
	address, isURL := os.Getenv(store), strings.Contains(os.Getenv(store), "://")
	if !isURL {
		address = "http://" + address
	}
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if store == storeS3 {
			r.Out.Host = r.In.Host // it is signed
		}
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if after {
			pass.ServeHTTP(&muted{w, c}, r)
			return
		}
		if c.pay() {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	if !isURL {
		return strings.TrimPrefix(s.URL, "http://")
	}
	return s.URL
}

// muted pays before the first byte of an answer goes out.
type muted struct {
	http.ResponseWriter
	toll *toll
}

func (m *muted) WriteHeader(status int) {
	if m.toll.pay() {
		panic(http.ErrAbortHandler)
	}
	m.ResponseWriter.WriteHeader(status)
}

var _ io.Writer = (*muted)(nil)

// inBucket keeps warehouse and checkpoint in a folder of the bucket; the catalog stays a local file.
func (p *pipeline) inBucket(b rig.Bucket, folder string) *pipeline {
	return p.with("--warehouse", b.Folder+"/"+folder+"/lake", "--checkpoint", b.Folder+"/"+folder+"/state", "--catalog-uri", filepath.Join(p.dir, "catalog.db"))
}
