package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/cmd"
)

// asSluice is a variable that makes this test binary the program, for tests that need a process of its own.
const asSluice = "RUN_AS_SLUICE"

// fileSize is a variable that limits the size of files which that program may write.
const fileSize = "RUN_WITH_FILE_SIZE"

// terminate is the signal of a scheduler that wants a run to end.
var terminate os.Signal = syscall.SIGTERM

func TestMain(m *testing.M) {
	if os.Getenv(asSluice) != "" {
		limitFiles(os.Getenv(fileSize))
		os.Exit(cmd.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
	}
	code := m.Run()
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(code)
}

// scratch is a folder that all tests share, and that is removed after them; empty if none of them made one.
var scratch string

func limitFiles(bytes string) {
	n, err := strconv.ParseUint(bytes, 10, 63)
	if bytes == "" {
		return
	}
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
	}
	if err != nil {
		panic(err)
	}
}

// kafka is a broker, embedded or real, and what tests have put into it.
type kafka struct {
	addr   string
	client *kgo.Client
	admin  *kadm.Client
	// cluster is nil for a real broker.
	cluster *kfake.Cluster
	// dropTopic and makeTopic wait until all brokers know; nil for an embedded one.
	dropTopic func(t testing.TB, topic string)
	makeTopic func(t testing.TB, topic string, partitions int)

	mu       sync.Mutex
	produced []*kgo.Record
}

// embedded is an in-process Kafka with empty topics of two partitions.
func embedded(t testing.TB, topics ...string) *kafka {
	t.Helper()
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(2, topics...)}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	k := connected(t, strings.Join(cluster.ListenAddrs(), ","))
	k.cluster = cluster
	return k
}

// connected is the broker at an address.
func connected(t testing.TB, addr string) *kafka {
	t.Helper()
	k := &kafka{addr: addr}
	k.connect(t)
	return k
}

func (k *kafka) connect(t testing.TB) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(k.addr, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	k.client, k.admin = client, kadm.NewClient(client)
}

// produce appends records and remembers them as stored.
func (k *kafka) produce(t testing.TB, records ...*kgo.Record) {
	t.Helper()
	if err := k.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.produced = append(k.produced, records...)
}

// fill appends n records to each partition.
func (k *kafka) fill(t testing.TB, topic string, n int, partitions ...int32) {
	t.Helper()
	var records []*kgo.Record
	for _, p := range partitions {
		for i := range n {
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "%s/%d/%d", topic, p, i)})
		}
	}
	k.produce(t, records...)
}

// grow gives a topic more partitions.
func (k *kafka) grow(t testing.TB, topic string, partitions int) {
	t.Helper()
	answers, err := k.admin.UpdatePartitions(t.Context(), partitions, topic)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	k.connect(t) // a client looks for new partitions only now and then
}

// of lists the produced records that pass.
func (k *kafka) of(pass func(*kgo.Record) bool) []*kgo.Record {
	k.mu.Lock()
	defer k.mu.Unlock()
	var passed []*kgo.Record
	for _, r := range k.produced {
		if pass(r) {
			passed = append(passed, r)
		}
	}
	return passed
}

// pipeline is a job of flags with a folder for catalog, table and checkpoint.
type pipeline struct {
	kafka   *kafka
	dir     string
	environ []string
	flags   []string
}

const tableOfTests = "sales.orders"

// newPipeline reads the topic "orders" into the table sales.orders.
func newPipeline(t testing.TB, k *kafka) *pipeline {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lake")
	return &pipeline{kafka: k, dir: dir, flags: []string{"--bootstrap-servers", k.addr, "--subscribe", "orders", "--warehouse", dir, "--table", tableOfTests}}
}

// with is the pipeline with other values for flags: a flag, its value, and so on. --set adds to what is set.
func (p *pipeline) with(pairs ...string) *pipeline {
	other := *p
	other.flags = slices.Clone(p.flags)
	for i := 0; i < len(pairs); i += 2 {
		if at := slices.Index(other.flags, pairs[i]); at >= 0 && pairs[i] != "--set" {
			other.flags = slices.Delete(other.flags, at, at+2)
		}
		other.flags = append(other.flags, pairs[i], pairs[i+1])
	}
	return &other
}

// without is the pipeline without some flags.
func (p *pipeline) without(flags ...string) *pipeline {
	other := *p
	other.flags = slices.Clone(p.flags)
	for _, flag := range flags {
		if at := slices.Index(other.flags, flag); at >= 0 {
			other.flags = slices.Delete(other.flags, at, at+2)
		}
	}
	return &other
}

// brief is the pipeline with a lease that does not outlive its owner for long.
func (p *pipeline) brief() *pipeline {
	other := *p
	other.flags = append(slices.Clone(p.flags), "--set", "run.lease=1s")
	return &other
}

func (p *pipeline) checkpoint() string { return filepath.Join(p.dir, "_checkpoints", tableOfTests) }

// args is the command line of a verb with JSON output.
func (p *pipeline) args(verb string, more ...string) []string {
	return slices.Concat([]string{"sluice", verb, "--output", "json"}, p.flags, more)
}

// do carries a verb out in this process.
func (p *pipeline) do(t testing.TB, verb string, more ...string) *outcome {
	t.Helper()
	return call(t, p.environ, p.args(verb, more...)...)
}

// run drains, and fails the test unless the run ends well.
func (p *pipeline) run(t testing.TB, more ...string) *outcome {
	t.Helper()
	return p.do(t, "run", more...).wants(0)
}

// outcome is what a command line came to.
type outcome struct {
	t              testing.TB
	line           string
	code           int
	stdout, stderr string
}

// call carries a command line out in this process.
func call(t testing.TB, environ []string, args ...string) *outcome {
	t.Helper()
	var stdout, stderr lockedBuffer
	code := cmd.Main(args, environ, &stdout, &stderr)
	return &outcome{t: t, line: strings.Join(args, " "), code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// lockedBuffer may be written to by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// child is a command line as a process of its own.
func child(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args[1:]...)
	c.Env = append(os.Environ(), asSluice+"=1")
	return c
}

// running is a process of its own.
type running struct {
	*outcome
	cmd         *exec.Cmd
	out, errors bytes.Buffer
}

// prepared is a process that is yet to be started.
func prepared(t testing.TB, c *exec.Cmd) *running {
	r := &running{cmd: c, outcome: &outcome{t: t, line: strings.Join(c.Args, " ")}}
	c.Stdout, c.Stderr = &r.out, &r.errors
	return r
}

// started starts a process.
func started(t testing.TB, c *exec.Cmd) *running {
	t.Helper()
	r := prepared(t, c)
	r.start()
	return r
}

// start starts the process. Whatever happens, it does not outlive the test.
func (r *running) start() {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill() // it may have ended just now
			_ = r.cmd.Wait()
		}
	})
}

// hung is how long a process may take before it is shot, with the stacks of its goroutines in stderr.
const hung = 30 * time.Second

// wait lets the process end. A process that was killed has the code -1.
func (r *running) wait() *outcome {
	r.t.Helper()
	return r.waitFor(hung)
}

// waitFor is wait for a process that may take so long.
func (r *running) waitFor(patience time.Duration) *outcome {
	r.t.Helper()
	var exit *exec.ExitError
	shot := time.AfterFunc(patience, func() { _ = r.cmd.Process.Signal(syscall.SIGQUIT) }) // it may have ended just now
	defer shot.Stop()
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	r.code, r.stdout, r.stderr = r.cmd.ProcessState.ExitCode(), r.out.String(), r.errors.String()
	return r.outcome
}

// wants fails the test unless the exit code is this.
func (o *outcome) wants(code int) *outcome {
	o.t.Helper()
	if o.code != code {
		o.t.Fatalf("%s\ngot exit code %d, want %d\n%s%s", o.line, o.code, code, o.stdout, o.stderr)
	}
	return o
}

// objects are the results of one type, in order. Every line of stdout must be an object with a type.
func (o *outcome) objects(kind string) []map[string]any {
	o.t.Helper()
	var found []map[string]any
	for d := json.NewDecoder(strings.NewReader(o.stdout)); ; {
		var object map[string]any
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			o.t.Fatalf("%s\nstdout is not JSON: %v\n%s", o.line, err, o.stdout)
		}
		if object["type"] == nil {
			o.t.Fatalf("%s\nan object has no type: %v", o.line, object)
		}
		if object["type"] == kind {
			found = append(found, object)
		}
	}
}

// last is the object that the results of a type end with.
func (o *outcome) last(kind string) map[string]any {
	o.t.Helper()
	found := o.objects(kind)
	if len(found) == 0 {
		o.t.Fatalf("%s\nthere is no %s in the results\n%s%s", o.line, kind, o.stdout, o.stderr)
	}
	return found[len(found)-1]
}

// has fails the test unless the last object of a type has these values: a name, its value, and so on. A dot in a name
// leads into an object.
func (o *outcome) has(kind string, pairs ...any) *outcome {
	o.t.Helper()
	object := o.last(kind)
	for i := 0; i < len(pairs); i += 2 {
		got, want := at(object, pairs[i].(string)), pairs[i+1]
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got != want {
			o.t.Errorf("%s\n%s: got %v, want %v in %v", o.line, pairs[i], got, want, object)
		}
	}
	return o
}

func at(object any, path string) any {
	for _, name := range strings.Split(path, ".") {
		fields, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = fields[name]
	}
	return object
}

// fails fails the test unless the command ended with this code and one error that names all parts.
func (o *outcome) fails(code int, parts ...string) *outcome {
	o.t.Helper()
	o.wants(code)
	failure := o.last("error")
	text := fmt.Sprint(failure["error"], "\n", failure["hint"], "\n", failure["problems"])
	for _, part := range parts {
		if !strings.Contains(text, part) {
			o.t.Errorf("%s\ngot %q, want it to name %q", o.line, text, part)
		}
	}
	return o
}
