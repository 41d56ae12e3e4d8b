package cmd_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// soon is within what every wrong place must be told.
const soon = 10 * time.Second

// leftNothing fails the test if a run left a table, or anything in its checkpoint.
func (p *pipeline) leftNothing(t testing.TB, what string) {
	t.Helper()
	p.leftNoBatch(t, what)
	if found := filesIn(t, p.checkpoint(), "[^.]*"); len(found) > 0 {
		t.Errorf("%s: left %v in the checkpoint", what, found)
	}
}

// leftNoBatch fails the test if a run left a table, or anything in the checkpoint but a lease that was released: the next
// run is a first run like any other.
func (p *pipeline) leftNoBatch(t testing.TB, what string) {
	t.Helper()
	for _, pattern := range []string{"*.parquet", "*.metadata.json", "*.avro"} {
		if found := filesIn(t, p.dir, pattern); len(found) > 0 {
			t.Errorf("%s: left %v", what, found)
		}
	}
	for _, path := range filesIn(t, p.checkpoint(), "[^.]*") {
		text, err := os.ReadFile(path)
		if filepath.Base(path) != "lease.json" || err != nil || !strings.Contains(string(text), `"released": true`) {
			t.Errorf("%s: left %s: %s, %v", what, path, text, err)
		}
	}
}

// filesIn is files of a folder that need not be there.
func filesIn(t testing.TB, dir, pattern string) []string {
	t.Helper()
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	return files(t, dir, pattern)
}

// refusing is an address at which nobody listens.
func refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silent accepts connections and never answers.
func silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	return l.Addr().String()
}

// store is an S3 endpoint that says the same to everything.
func store(t testing.TB, status int, code string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>so it is</Message></Error>`, code)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// elsewhere is an environment with the S3 endpoint at an address.
func elsewhere(addr string) []string {
	return []string{"AWS_ENDPOINT_URL_S3=http://" + addr, "AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=hunter1", "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true"}
}

// advertising is an embedded broker that names another address as its own: the likeliest mistake with listeners.
func advertising(t testing.TB, addr string) *kafka {
	t.Helper()
	var listens net.Listener
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.ListenFn(func(network, address string) (l net.Listener, err error) {
		listens, err = net.Listen(network, address)
		return misnamed{listens, addr}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return &kafka{addr: listens.Addr().String(), cluster: cluster}
}

type misnamed struct {
	net.Listener
	name string
}

func (m misnamed) Addr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", m.name)
	if err != nil {
		panic(err)
	}
	return a
}

// place is something wrong with the world around a run.
type place struct {
	// code is the exit code and parts what the error must name.
	code  int
	parts []string
	// make sets it up, and returns the pipeline that meets it.
	make func(t testing.TB, p *pipeline) *pipeline
}

func checkpointAt(addr string) func(testing.TB, *pipeline) *pipeline {
	return func(_ testing.TB, p *pipeline) *pipeline {
		p = p.with("--checkpoint", "s3://lake/checkpoints/orders")
		p.environ = elsewhere(addr)
		return p
	}
}

func warehouseAt(addr string) func(testing.TB, *pipeline) *pipeline {
	return func(_ testing.TB, p *pipeline) *pipeline {
		p = p.with("--warehouse", "s3://lake/warehouse", "--checkpoint", p.checkpoint(), "--catalog-uri", filepath.Join(p.dir, "catalog.db"))
		p.environ = elsewhere(addr)
		return p
	}
}

func wrongPlaces(t *testing.T) map[string]place {
	broker := func(addr string) func(testing.TB, *pipeline) *pipeline {
		return func(_ testing.TB, p *pipeline) *pipeline { return p.with("--bootstrap-servers", addr) }
	}
	flags := func(pairs ...string) func(testing.TB, *pipeline) *pipeline {
		return func(_ testing.TB, p *pipeline) *pipeline { return p.with(pairs...) }
	}
	nobodyHere, mute := refusing(t), silent(t)
	return map[string]place{
		"a broker that refuses":       {1, []string{nobodyHere, "connection refused", "bootstrap.servers"}, broker(nobodyHere)},
		"a broker that never answers": {1, []string{mute, "bootstrap.servers"}, broker(mute)},
		"a broker without a name":     {1, []string{"nobody.invalid", "bootstrap.servers"}, broker("nobody.invalid:9092")},
		"a broker that advertises another address": {1, []string{nobodyHere, "advertised.listeners"}, func(t testing.TB, p *pipeline) *pipeline {
			return p.with("--bootstrap-servers", advertising(t, nobodyHere).addr)
		}},
		"no such topic":  {10, []string{"refunds"}, flags("--subscribe", "refunds")},
		"one of several": {10, []string{"refunds"}, flags("--subscribe", "orders,refunds")},
		"no topic matches": {10, []string{"^refunds"}, func(_ testing.TB, p *pipeline) *pipeline {
			return p.without("--subscribe").with("--subscribe-pattern", "^refunds")
		}},
		"no such partition": {10, []string{"orders-7"}, func(_ testing.TB, p *pipeline) *pipeline {
			return p.without("--subscribe").with("--assign", `{"orders":[0,7]}`)
		}},
		"no bucket":                             {10, []string{"bucket", "lake"}, checkpointAt(store(t, 404, "NoSuchBucket"))},
		"no permission":                         {10, []string{"lake"}, checkpointAt(store(t, 403, "AccessDenied"))},
		"wrong keys":                            {10, []string{"lake"}, checkpointAt(store(t, 403, "SignatureDoesNotMatch"))},
		"a store that refuses":                  {1, []string{nobodyHere}, checkpointAt(nobodyHere)},
		"a store that never answers":            {1, []string{"lake"}, checkpointAt(mute)},
		"a store that fails":                    {1, []string{"lake"}, checkpointAt(store(t, 500, "InternalError"))},
		"no bucket for tables":                  {10, []string{"bucket"}, warehouseAt(store(t, 404, "NoSuchBucket"))},
		"no permission for tables":              {10, []string{"warehouse"}, warehouseAt(store(t, 403, "AccessDenied"))},
		"a store for tables that refuses":       {1, []string{nobodyHere}, warehouseAt(nobodyHere)},
		"a store for tables that never answers": {1, []string{"sales.orders"}, warehouseAt(mute)},
		"a file as the checkpoint": {10, []string{"file"}, func(t testing.TB, p *pipeline) *pipeline {
			return p.with("--checkpoint", write(t, t.TempDir(), "file", ""))
		}},
		"a file as the warehouse": {10, []string{"a file is in the way"}, func(t testing.TB, p *pipeline) *pipeline {
			return p.with("--warehouse", write(t, t.TempDir(), "file", ""), "--checkpoint", p.checkpoint())
		}},
		"a catalog that is no database": {10, []string{"catalog.txt", "no SQLite database"}, func(t testing.TB, p *pipeline) *pipeline {
			return p.with("--catalog-uri", write(t, t.TempDir(), "catalog.txt", strings.Repeat("no database ", 100)))
		}},
		"a catalog that is a folder": {10, []string{"catalog"}, func(t testing.TB, p *pipeline) *pipeline { return p.with("--catalog-uri", t.TempDir()) }},
		"a catalog that is locked":   {1, []string{"catalog.db", "another process"}, locked},
	}
}

// locked is a catalog that somebody else holds for himself.
func locked(t testing.TB, p *pipeline) *pipeline {
	file := filepath.Join(t.TempDir(), "catalog.db")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, statement := range []string{"CREATE TABLE t (a)", "PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return p.with("--catalog-uri", file)
}

// begun are the places that show only when the table is made: by then the run has taken the lease.
var begun = map[string]bool{"no bucket for tables": true, "no permission for tables": true, "a store for tables that refuses": true,
	"a store for tables that never answers": true}

// Whatever is wrong around a run is told in time, once, with what to do, and leaves nothing half-done. Each run is a
// process of its own; most only wait.
func TestWhatIsWrongAroundARunIsToldInTime(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	var all sync.WaitGroup
	for name, place := range wrongPlaces(t) {
		p := place.make(t, newPipeline(t, k))
		r := prepared(t, child(p.args("run")...))
		r.cmd.Env = append(r.cmd.Env, p.environ...)
		all.Go(func() {
			r.start()
			place.judge(t, name, r.wait())
			if begun[name] {
				p.leftNoBatch(t, name)
			} else {
				p.leftNothing(t, name)
			}
		})
	}
	p := newPipeline(t, k)
	p.run(t)
	all.Go(func() { // whoever looks while Kafka is away is told everything else
		p.with("--bootstrap-servers", refusing(t)).do(t, "status").has("status", "lag", -1, "lastCommit", 0)
	})
	q := newPipeline(t, k)
	q.run(t)
	holdLock(t, filepath.Join(q.checkpoint(), ".lock"))
	all.Go(func() { // as if a run had been stopped while it held the lock
		o := q.do(t, "run").fails(11, "the folder is locked", fmt.Sprintf("pid %d", os.Getpid()), "hangs or was stopped")
		if ms := o.last("summary")["durationMs"].(float64); ms > float64(soon.Milliseconds()) {
			t.Errorf("a checkpoint that is locked: took %v ms", ms)
		}
	})
	all.Wait()
}

// holdLock holds the lock of a file until the test ends.
func holdLock(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
}

func (e place) judge(t *testing.T, name string, o *outcome) {
	t.Helper()
	if o.code != e.code || strings.Count(o.stderr, "sluice: ") != 1 || strings.Contains(o.stderr+o.stdout, "hunter") || strings.Contains(o.stderr, "goroutine ") {
		t.Errorf("%s: got %d, want %d and one error:\n%s", name, o.code, e.code, o.stderr)
	}
	for _, part := range append(slices.Clone(e.parts), "Try: ") {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("%s: got\n%s\nwant it to name %q", name, o.stderr, part)
		}
	}
	// As the run measures it: how soon the system lets all these processes begin is not the question.
	if ms := o.last("summary")["durationMs"].(float64); ms > float64(soon.Milliseconds()) {
		t.Errorf("%s: took %v ms", name, ms)
	}
}

// open is a folder of the test that every user may enter.
func open(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// nobody starts a command line as a user who may write nowhere, if this is root; else as this one.
func nobody(t testing.TB, args ...string) *running {
	t.Helper()
	r := prepared(t, child(args...))
	if os.Geteuid() == 0 {
		r.cmd.Path = "/proc/self/exe" // the folder of the test binary is closed to others
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		r.cmd.Dir = "/"
	}
	r.start()
	return r
}

func TestAFolderWithoutPermissionIsSaidSo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	for name, tc := range map[string]struct{ closed, flag string }{
		"the warehouse":             {"lake", ""},
		"the folder of a warehouse": {"", ""},
		"the checkpoint":            {"state", "--checkpoint"},
		"the folder of a catalog":   {"catalog", "--catalog-uri"},
	} {
		dir := open(t)
		p := newPipeline(t, k)
		p.dir = filepath.Join(dir, "lake")
		p = p.with("--warehouse", p.dir)
		if tc.flag != "" {
			p = p.with(tc.flag, filepath.Join(dir, tc.closed))
		}
		if tc.flag == "--catalog-uri" {
			p = p.with(tc.flag, filepath.Join(dir, tc.closed, "catalog.db"))
		}
		for _, made := range []string{tc.closed, "lake"} {
			if err := os.MkdirAll(filepath.Join(dir, made), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, made), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if tc.closed == "" {
			remove(t, p.dir)
		}
		if err := os.Chmod(filepath.Join(dir, tc.closed), 0o555); err != nil {
			t.Fatal(err)
		}
		o := nobody(t, p.args("run")...).wait()
		if o.code != 10 || !strings.Contains(o.stderr, "permission denied") && !strings.Contains(o.stderr, "unable to open") || !strings.Contains(o.stderr, "Try: ") {
			t.Errorf("%s: got %d\n%s", name, o.code, o.stderr)
		}
		p.leftNoBatch(t, name)
	}
}
