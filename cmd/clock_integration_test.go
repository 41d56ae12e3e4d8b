//go:build integration && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// clockOff is a variable by which the program of misdated is on a machine whose clock is off by so many seconds.
const clockOff = "HOST_CLOCK_OFF"

// offClock is what misdated adds to package time.
const offClock = `package time

import "syscall"

var hostClockOff = func() (off int64) {
	text, _ := syscall.Getenv("` + clockOff + `")
	for _, c := range text {
		if c != '-' {
			off = off*10 + int64(c-'0')
		}
	}
	if text != "" && text[0] == '-' {
		return -off
	}
	return off
}()
`

// misdated is the program with a clock that can be put forward and back, for itself and all of its libraries. What measures
// spans, and the times of files, stay right. It takes minutes to build, since nothing of the standard library is as it was.
var misdated = sync.OnceValues(func() (string, error) {
	if _, err := built(); err != nil { // it makes the folder
		return "", err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	time := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(time, "time.go"))
	if err != nil {
		return "", err
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	before, after, ok := strings.Cut(string(source), now)
	if !ok {
		return "", fmt.Errorf("%s: time.Now is written in another way", time)
	}
	changed, added, overlay := filepath.Join(scratch, "time.go"), filepath.Join(scratch, "off.go"), filepath.Join(scratch, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(time, "time.go"): changed, filepath.Join(time, "off.go"): added}})
	if err != nil {
		return "", err
	}
	for path, content := range map[string]string{changed: before + now + "\tsec += hostClockOff\n" + after, added: offClock, overlay: string(replaced)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	path := filepath.Join(scratch, "misdated")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", path, ".")
	if build.Dir, err = rig.Root(); err != nil {
		return "", err
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// misdatedProgram is that program with arguments; the first of args is its name.
func misdatedProgram(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := misdated()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args[1:]...)
}

// off is the pipeline on a machine whose clock is off.
func (p *pipeline) off(by time.Duration) *pipeline {
	other := *p
	other.environ = append(slices.Clone(p.environ), fmt.Sprintf("%s=%d", clockOff, int64(by.Seconds())))
	return &other
}

// On one machine a run ends well and another one is killed; the next is on a machine whose clock says another time, by hours or
// by a year. It finishes what was begun, or says that its clock is behind the table's and changes nothing. Maintenance on that
// machine removes no file that may be somebody's. In the end every record is there once.
func TestARunKilledBeforeAnotherClockLosesAndDoublesNothing(t *testing.T) {
	if !*fullFlag {
		t.Skip("a program with a clock of its own takes minutes to build: make crash")
	}
	seed := seed(t)
	broker, rest, db := rig.Kafka(t), rig.REST(t), rig.Postgres(t)
	bucket := rest.Bucket
	const hour, year = time.Hour, 365 * 24 * time.Hour
	clocks := [][2]time.Duration{{0, -3 * hour}, {3 * hour, 0}, {0, 3 * hour}, {-3 * hour, 0}, {0, year}, {-10 * time.Minute, 10 * time.Minute}}
	t.Run("places", func(t *testing.T) {
		for _, l := range []lane{
			{name: "a folder and SQLite", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p }},
			{name: "a folder and hadoop", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p.with("--catalog-type", "hadoop") }},
			{name: "a folder and PostgreSQL", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p.inPostgres(db.URL) }},
			{name: "S3 and SQLite", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p.inBucket(bucket, "clock") }, store: storeS3},
			{name: "S3 and REST", prepare: func(_ *testing.T, p *pipeline) *pipeline {
				return p.without("--warehouse").with("--catalog-type", "rest", "--catalog-uri", rest.URI, "--checkpoint", bucket.Folder+"/clock-rest/state", "--table", rest.Table("orders"))
			}, store: storeS3},
			{name: "files in a folder", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p.toFiles() }},
			{name: "files on S3", prepare: func(_ *testing.T, p *pipeline) *pipeline { return p.toFilesIn(bucket, "clock-files") }, store: storeS3},
		} {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				for i, pair := range clocks {
					t.Run(fmt.Sprintf("%v then %v", pair[0], pair[1]), func(t *testing.T) {
						c := &lane{store: l.store, kafka: connected(t, broker.Addr), topic: broker.CreateTopic(t, 3, nil), random: drawn(t, seed), program: misdatedProgram}
						p := l.prepare(t, reading(t, c.kafka, c.topic).with("--max-offsets-per-trigger", "40", "--min-partitions", "2"))
						c.between(t, p.apart(i), pair[0], pair[1])
					})
				}
			})
		}
	})
}

// apart is the pipeline with a table or folder, and a checkpoint, of its own.
func (p *pipeline) apart(i int) *pipeline {
	for _, flag := range []string{"--table", "--parquet-path", "--checkpoint"} {
		if value := p.flag(flag); value != "" && (flag == "--table" || strings.HasPrefix(value, "s3://")) {
			p = p.with(flag, fmt.Sprintf("%s_%d", value, i))
		}
	}
	return p
}

// between runs on a machine with one clock, then on one with another.
func (l *lane) between(t *testing.T, p *pipeline, first, second time.Duration) {
	t.Helper()
	// changed is what the table's last change is off by: a REST catalog tells the time of what it makes.
	changed, iceberg := first, p.flag("--parquet-path") == ""
	if p.flag("--catalog-type") == "rest" {
		changed = max(first, 0)
	}
	if first < changed {
		l.burst(t)
		l.misdated(t, p.off(first), "run").fails(1, clockBehind...)
	} else {
		l.killed(t, p.off(first))
	}
	l.burst(t)
	o := l.misdated(t, p.off(second), "run")
	if second < changed && iceberg {
		o.fails(1, clockBehind...)
		if o := l.misdated(t, p.off(second), "maintain", "--compact"); o.code != 0 { // it is, where there is nothing to do
			o.fails(1, clockBehind...)
		}
		o = l.misdated(t, p.off(changed), "run")
	}
	o.wants(0).has("summary", "caughtUp", true)
	rows := len(l.kafka.of(func(*kgo.Record) bool { return true }))
	p.exact(t, rows)
	if iceberg {
		l.misdated(t, p.off(max(changed, second)), "maintain").wants(0)
	}
	o = l.misdated(t, p.off(second), "maintain", "--orphans", "--yes").wants(0)
	if removed := at(o.maintained("rows"), "orphans.removed.files"); removed != 0.0 {
		t.Errorf("got %v files removed, want none: all are of today\n%s", removed, o.stdout)
	}
	p.exact(t, rows)
}

// clockBehind is what a run says that is not allowed to commit.
var clockBehind = []string{"ahead of this host's clock", "set the clock of this host"}

// killed runs once to the end, and once until it is killed.
func (l *lane) killed(t *testing.T, p *pipeline) {
	t.Helper()
	whole := l.attempt(t, p, 0, false)
	whole.outcome.wants(0)
	for range 10 {
		if l.attempt(t, p.brief(), 1+l.random.IntN(whole.events), l.random.IntN(2) == 0).killed {
			return
		}
	}
	t.Fatal("no run was killed")
}

// misdated carries a verb out on the pipeline's machine.
func (l *lane) misdated(t *testing.T, p *pipeline, verb string, more ...string) *outcome {
	t.Helper()
	r := prepared(t, misdatedProgram(t, p.args(verb, more...)...))
	r.cmd.Env = append(os.Environ(), p.environ...)
	r.start()
	return r.waitFor(2 * time.Minute)
}

// A store tells a time that is minutes off with every answer, which clients sign by: nothing comes of it.
func TestAStoreThatTellsTheTimeWrongDoesNoHarm(t *testing.T) {
	bucket := rig.S3(t)
	for _, by := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(by.String(), func(t *testing.T) {
			k := embedded(t, "orders")
			k.fill(t, "orders", struckRecords/2, 0, 1)
			proxy, address := before(t, bucket.Endpoint, faultproxy.S3)
			proxy.Follow(faultproxy.Each(faultproxy.WrongDate(by)))
			p := newPipeline(t, k).inBucket(bucket, "told"+by.String()).with("--max-offsets-per-trigger", "4")
			r := prepared(t, program(t, p.args("run")...))
			r.cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_S3="+address, "AWS_S3_ENDPOINT="+address)
			r.start()
			r.wait().wants(0).has("summary", "caughtUp", true)
			p.exact(t, struckRecords)
		})
	}
}
