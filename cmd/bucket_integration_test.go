//go:build integration && linux

package cmd_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"sluice/rig"
)

// Warehouse and checkpoint in a bucket; only the catalog's database is a file.
func TestATableAndItsCheckpointInABucket(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 2)
	p := reading(t, k, topic).inBucket(bucket, "whole")
	k.fill(t, topic, 30, 0, 1)
	p.do(t, "validate").wants(0).has("validate", "ok", true)
	p.do(t, "plan", "--max-offsets-per-trigger", "25").wants(0).has("plan", "action", "start", "records", 25, "batches", 3)
	p.run(t, "--max-offsets-per-trigger", "25", "--max-batches", "2").has("summary", "batches", 2, "lag", 10)
	p.do(t, "status").wants(0).has("status", "lastCommit", 1, "tableBatch", 1, "lag", 10)
	p.run(t).has("summary", "records", 10, "firstBatch", 2)
	k.grow(t, topic, 3)
	k.fill(t, topic, 5, 2)
	p.run(t).has("summary", "records", 5)
	p.exact(t, 65)
	wantRows(t, p.table(t), k.from(topic, 0, 0, 0), false)

	keys := list(t, bucket)
	for _, want := range []string{"whole/state/metadata", "whole/state/sources/0/0", "whole/state/offsets/3", "whole/state/commits/3", "whole/state/lock/lease.json",
		"whole/state/identity.json", "whole/state/progress/3.json"} {
		if !strings.Contains(keys, "\n"+want+"\n") {
			t.Errorf("there is no %s in the bucket", want)
		}
	}
	if found := filesIn(t, p.dir, "*"); len(found) > 3 || strings.Contains(fmt.Sprint(found), "parquet") {
		t.Errorf("got %v on the disk, want the catalog alone", found)
	}
	file := p.dataFile(t).FilePath()
	if err := bucket.Open(t).Delete(t.Context(), strings.TrimPrefix(file, bucket.Folder+"/")); err != nil {
		t.Fatal(err)
	}
	p.wantProblem(t, "file-gone")
}

func list(t *testing.T, b rig.Bucket) string {
	t.Helper()
	keys := "\n"
	for objects := b.Open(t).List(nil); ; {
		o, err := objects.Next(t.Context())
		if err != nil {
			return keys
		}
		keys += o.Key + "\n"
	}
}

func TestABucketThatIsMissingOrClosedIsSaidSo(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 1)
	k.fill(t, topic, 3, 0)
	missing := rig.Bucket{Folder: "s3://no-such-bucket-here/x"}
	for name, tc := range map[string]struct {
		place   func(p *pipeline) *pipeline
		environ []string
		part    string
	}{
		"no bucket for the checkpoint": {func(p *pipeline) *pipeline { return p.with("--checkpoint", missing.Folder) }, nil, "the bucket does not exist"},
		"no bucket for the table":      {func(p *pipeline) *pipeline { return p.inBucket(missing, "a").with("--checkpoint", p.checkpoint()) }, nil, "create the bucket"},
		"wrong secret":                 {func(p *pipeline) *pipeline { return p.inBucket(bucket, "b") }, []string{"AWS_SECRET_ACCESS_KEY=hunter1"}, "credentials"},
		"wrong secret for the table": {func(p *pipeline) *pipeline { return p.inBucket(bucket, "c").with("--checkpoint", p.checkpoint()) }, []string{"AWS_SECRET_ACCESS_KEY=hunter2"},
			"check the credentials"},
		"wrong key":               {func(p *pipeline) *pipeline { return p.inBucket(bucket, "d") }, []string{"AWS_ACCESS_KEY_ID=nobody"}, "credentials"},
		"wrong key for the table": {func(p *pipeline) *pipeline { return p.inBucket(bucket, "e").with("--checkpoint", p.checkpoint()) }, []string{"AWS_ACCESS_KEY_ID=nobody"}, "check the credentials"},
	} {
		p := tc.place(reading(t, k, topic))
		r := prepared(t, program(t, p.args("run")...))
		r.cmd.Env = append(os.Environ(), tc.environ...)
		r.start()
		place{10, []string{tc.part}, nil}.judge(t, name, r.wait())
		p.leftNoBatch(t, name)
		v := prepared(t, program(t, tc.place(reading(t, k, topic)).args("validate")...)) // which misses what a run would miss
		v.cmd.Env = append(os.Environ(), tc.environ...)
		v.start()
		if o := v.wait(); o.code != 10 || !strings.Contains(o.stdout, tc.part) {
			t.Errorf("%s: validate ended with %d and\n%s", name, o.code, o.stdout)
		}
	}
	if keys := list(t, bucket); keys != "\n" {
		t.Errorf("left %s", keys)
	}
}

// A client that speaks another protocol than the listener.
func TestTheWrongProtocolIsSaidSo(t *testing.T) {
	k, topic := real(t, 1)
	p := reading(t, k, topic)
	p.do(t, "run", "--set", "source.kafka.security.protocol=SSL").fails(10, "security.protocol")
	p.leftNothing(t, "it")
}

// proxy stands in front of the S3 server of the environment.
func proxy(t *testing.T, handle func(pass http.Handler, w http.ResponseWriter, r *http.Request)) []string {
	t.Helper()
	target, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_S3"))
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(pass, w, r) }))
	t.Cleanup(s.Close)
	return append(os.Environ(), "AWS_ENDPOINT_URL_S3="+s.URL, "AWS_S3_ENDPOINT="+s.URL)
}

// faulty is a writer that an answer is lost in.
type faulty struct{ http.ResponseWriter }

func (faulty) WriteHeader(int) { panic(http.ErrAbortHandler) }

// The answer to each request in turn is lost, or the store is busy: a conditional write that was repeated is told that the
// object exists (https://github.com/aws/aws-sdk-java-v2/issues/6580), and a commit may have happened
// (https://github.com/redpanda-data/connect/issues/4591). The run goes on; at the latest the next one does.
func TestEachAnswerOfTheStoreMayBeLostOnce(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 2)
	p := reading(t, k, topic).inBucket(bucket, "lossy").with("--max-offsets-per-trigger", "10")
	rows, failed := 0, 0
	for at := int64(1); ; at++ {
		var seen atomic.Int64
		environ := proxy(t, func(pass http.Handler, w http.ResponseWriter, r *http.Request) {
			switch {
			case seen.Add(1) != at:
				pass.ServeHTTP(w, r)
			case at%3 == 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				pass.ServeHTTP(faulty{w}, r)
			}
		})
		k.fill(t, topic, 5, 0, 1)
		rows += 10
		r := prepared(t, program(t, p.args("run")...))
		r.cmd.Env = environ
		r.start()
		if o := r.wait(); o.code != 0 {
			failed++
			t.Logf("request %d: exit code %d, %s", at, o.code, o.stderr)
			if o.code != 1 && o.code != 15 {
				t.Errorf("request %d: exit code %d cannot be tried again", at, o.code)
			}
		}
		if seen.Load() < at {
			break
		}
	}
	t.Logf("%d of %d runs failed", failed, rows/10)
	p.run(t).has("summary", "caughtUp", true)
	p.exact(t, rows)
	if failed > 0 {
		t.Errorf("%d of %d runs failed over one lost answer", failed, rows/10)
	}
}

// ignoring forgets conditions while it is on: it takes them away and signs anew, as some stores and proxies in effect do
// (https://github.com/minio/minio/issues/21603).
func ignoring(t *testing.T, on func(r *http.Request) bool) []string {
	keys := aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	return proxy(t, func(pass http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match")+r.Header.Get("If-Match") != "" && on(r) {
			r.Header.Del("If-None-Match")
			r.Header.Del("If-Match")
			r.Header.Del("Authorization")
			r.URL.Scheme, r.URL.Host = "http", r.Host
			if err := v4.NewSigner().SignHTTP(r.Context(), keys, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", os.Getenv("AWS_REGION"), time.Now()); err != nil {
				t.Error(err)
			}
		}
		pass.ServeHTTP(w, r)
	})
}

func TestAStoreThatIgnoresConditionsIsRefused(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 1)
	k.fill(t, topic, 3, 0)
	p := reading(t, k, topic).inBucket(bucket, "unsafe")
	for _, verb := range []string{"validate", "run"} {
		r := prepared(t, program(t, p.args(verb)...))
		r.cmd.Env = ignoring(t, func(*http.Request) bool { return true })
		r.start()
		if o := r.wait(); o.code != 10 || !strings.Contains(o.stdout, "does not enforce conditional writes") {
			t.Errorf("%s: got %d\n%s%s", verb, o.code, o.stdout, o.stderr)
		}
	}
	if keys := list(t, bucket); strings.Contains(keys, "probe") || strings.Contains(keys, "offsets") || strings.Contains(keys, "parquet") {
		t.Errorf("left %s", keys)
	}
}

// A store that passes the probe and forgets conditions afterwards: then the table's own commit is all there is. Runs may
// fail, but no row is there twice, and none is lost.
func TestWithoutConditionsTheCatalogAloneKeepsRunsApart(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 2)
	p := reading(t, k, topic).inBucket(bucket, "forgetful").brief().with("--max-offsets-per-trigger", "20", "--wait", "0s")
	k.fill(t, topic, 10, 0, 1)
	p.run(t) // which probes
	environ := ignoring(t, func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "probe") })
	for range 3 {
		k.fill(t, topic, 50, 0, 1)
		done := make(chan *outcome)
		for range 4 {
			r := prepared(t, program(t, p.args("run")...))
			r.cmd.Env = environ
			r.start()
			go func() { done <- r.wait() }()
		}
		for range 4 {
			if o := <-done; o.code == 2 || o.code == 12 || o.code == 64 {
				t.Errorf("got %d\n%s", o.code, o.stderr)
			}
		}
	}
	if o := p.patient().do(t, "run", "--wait", "20s"); o.code != 0 {
		t.Logf("the run on the honest store again: %d\n%s", o.code, o.stderr)
	}
	p.do(t, "verify", "--source").has("verify", "duplicates", 0, "missing", 0, "unexpected", 0)
}
