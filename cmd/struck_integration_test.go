//go:build integration && linux

package cmd_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

var fullFlag = flag.Bool("full", false, "strike every request of a run, instead of some that are drawn (make crash)")

// blow is a kind of fault and what a run may come to that meets it.
type blow struct {
	name string
	// fault makes it, for a process that kill ends.
	fault func(kill func()) faultproxy.Fault
	// codes are the exit codes that are right.
	codes []int
	// kills says that the process ends by it, and leaves its lease behind.
	kills bool
}

// always is a blow without a kill.
func always(fault faultproxy.Fault, codes ...int) blow {
	return blow{name: fault.Name, fault: func(func()) faultproxy.Fault { return fault }, codes: codes}
}

// killing is a blow that ends the process.
func killing(applied bool) blow {
	return blow{name: faultproxy.Kill(applied, nil).Name, fault: func(kill func()) faultproxy.Fault { return faultproxy.Kill(applied, kill) }, codes: []int{-1}, kills: true}
}

// The store fails once, at any one request of a run's, of the checkpoint's and the table's alike. What a store asks to be
// repeated, and what breaks on the way, is repeated by the run itself: it ends well.
var storeBlows = []blow{
	always(faultproxy.Reset(false), 0),
	always(faultproxy.Reset(true), 0),
	always(faultproxy.Status(http.StatusInternalServerError, false), 0),
	always(faultproxy.Status(http.StatusInternalServerError, true), 0),
	always(faultproxy.Status(http.StatusBadGateway, true), 0),
	always(faultproxy.Status(http.StatusServiceUnavailable, false), 0),
	always(faultproxy.Status(http.StatusServiceUnavailable, true), 0),
	always(faultproxy.Status(http.StatusGatewayTimeout, false), 0),
	always(faultproxy.Status(http.StatusGatewayTimeout, true), 0),
	always(faultproxy.Busy(), 0),
	always(faultproxy.Conflict(), 0),
	always(faultproxy.RefusedThoughApplied(), 0),
	always(faultproxy.IdleConnection(), 0),
	always(faultproxy.CutAnswer(), 0),
	always(faultproxy.CutRequest(), 0),
	always(faultproxy.Skewed(time.Hour), 0, 10),
	always(faultproxy.Expired(), 10, 0),
	killing(false),
	killing(true),
}

// sampled is how many requests of a run are struck by each blow without -full.
const sampled = 1

// At each request of a run to a real S3 server something goes wrong once: the run ends as it should, records arrive, the
// next run makes good what is to be made good, and each record is there once, for verify and for foreign engines. With
// -full at every request, otherwise at some that are drawn.
func TestARunStruckAtAnyRequestToS3LosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	bucket := rig.S3(t)
	rig.Python(t)
	whole := (&sweep{bucket: bucket, folder: "whole", catalog: filepath.Join(t.TempDir(), "catalog.db")}).whole(t)
	t.Logf("a whole run has %d requests", len(whole))
	var sweeps []*sweep
	dir := t.TempDir()
	t.Run("blows", func(t *testing.T) {
		for i, b := range storeBlows {
			s := &sweep{blow: b, bucket: bucket, folder: fmt.Sprint(i), catalog: filepath.Join(dir, fmt.Sprint(i)+".db"), codes: map[int]int{}}
			sweeps = append(sweeps, s)
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				s.sweep(t, whole, drawn(t, seed))
			})
		}
	})
	countStruck(t, sweeps)
}

// sweep is one blow, dealt to one run after the other. Each case is a query of its own, in a table of its own of one catalog.
type sweep struct {
	blow    blow
	bucket  rig.Bucket
	folder  string
	catalog string
	cases   []string
	codes   map[int]int
}

// sweep strikes every request of a run that the blow fits, or some that are drawn of those that a whole run has.
func (s *sweep) sweep(t *testing.T, whole []faultproxy.Request, random *rand.Rand) {
	fitting := 0
	for _, r := range whole {
		if fault := s.blow.fault(nil); fault.Fits == nil || fault.Fits(r) {
			fitting++
		}
	}
	if *fullFlag {
		for n := 1; s.strike(t, n); n++ {
		}
		if len(s.cases) < fitting*3/4 { // workers may share requests in other ways
			t.Errorf("got %d cases, want about %d", len(s.cases), fitting)
		}
	} else {
		for range sampled {
			s.strike(t, 1+random.IntN(fitting))
		}
	}
	t.Logf("%d cases, exit codes %v", len(s.cases), s.codes)
}

// struckRecords are how many records there are before the run that is struck, and lateRecords how many come after it.
const struckRecords, lateRecords = 12, 2

// strike runs once with the blow at the n-th request that it fits, then as one would the next time, and judges. It says
// whether there was such a request.
func (s *sweep) strike(t *testing.T, n int) (met bool) {
	t.Run(fmt.Sprint(n), func(t *testing.T) {
		k := embedded(t, "orders")
		name := fmt.Sprintf("case_%d_%d", len(s.cases), n)
		p := s.pipeline(t, k, name)
		k.fill(t, "orders", struckRecords/2, 0, 1)
		strikes, o := s.run(t, p, n)
		if met = len(strikes) > 0; !met && o.code == 0 {
			return
		}
		s.cases = append(s.cases, name)
		s.codes[o.code]++
		if !slices.Contains(s.blow.codes, o.code) {
			t.Errorf("%v: got exit code %d, want one of %v\n%s", strikes, o.code, s.blow.codes, o.stderr)
		}
		k.fill(t, "orders", lateRecords/2, 0, 1)
		p.run(t).has("summary", "caughtUp", true)
		p.exact(t, struckRecords+lateRecords)
	})
	return met
}

// pipeline is a query of its own.
func (s *sweep) pipeline(t *testing.T, k *kafka, name string) *pipeline {
	return newPipeline(t, k).inBucket(s.bucket, s.folder+"/"+name).with("--catalog-uri", s.catalog, "--warehouse", s.bucket.Folder+"/"+s.folder+"/lake",
		"--table", "sales."+name, "--max-offsets-per-trigger", "4", "--min-partitions", "2")
}

// run is a run as a process, with the blow at the n-th request that it fits; 0 is none.
func (s *sweep) run(t *testing.T, p *pipeline, n int) ([]faultproxy.Strike, *outcome) {
	t.Helper()
	proxy := before(t, s.bucket.Endpoint, faultproxy.S3)
	if s.blow.kills {
		p = p.brief()
	}
	r := prepared(t, program(t, p.args("run")...))
	var starting sync.Mutex
	proxy.Follow(faultproxy.Nth(n, s.blow.fault(func() {
		starting.Lock()
		defer starting.Unlock()
		_ = r.cmd.Process.Kill() // it may have ended just now
	})))
	r.cmd.Env = through(proxy)
	starting.Lock()
	r.start()
	starting.Unlock()
	o := r.wait()
	return proxy.Dealt(), o
}

// before is a proxy in front of a server, until the test ends.
func before(t *testing.T, target string, dialect faultproxy.Dialect) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.New(target, dialect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// through is the environment in which checkpoint and table find the S3 server behind a proxy.
func through(p *faultproxy.Proxy) []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_S3="+p.URL, "AWS_S3_ENDPOINT="+p.URL)
}

// whole lists the requests of a run that nothing happens to.
func (s *sweep) whole(t *testing.T) (requests []faultproxy.Request) {
	t.Helper()
	s.blow.fault = func(func()) faultproxy.Fault {
		return faultproxy.Fault{Fits: func(r faultproxy.Request) bool {
			requests = append(requests, r)
			return false
		}}
	}
	k := embedded(t, "orders")
	k.fill(t, "orders", struckRecords/2, 0, 1)
	if _, o := s.run(t, s.pipeline(t, k, "whole"), 1); o.code != 0 {
		t.Fatalf("got exit code %d\n%s", o.code, o.stderr)
	}
	return requests
}

// countStruck has foreign engines count every table.
func countStruck(t *testing.T, sweeps []*sweep) {
	t.Helper()
	var catalogs []string
	sweeps = slices.DeleteFunc(sweeps, func(s *sweep) bool { return len(s.cases) == 0 }) // -run chose others
	for _, s := range sweeps {
		catalogs = append(catalogs, s.catalog)
	}
	for i, counts := range rig.CountTables(t, catalogs...) {
		for _, name := range sweeps[i].cases {
			want := rig.Counted{Rows: struckRecords + lateRecords, Records: struckRecords + lateRecords}
			if got := counts["sales."+name]; got["duckdb"] != want || got["pyiceberg"] != want {
				t.Errorf("%s, %s: foreign engines count %v, want %v", sweeps[i].blow.name, name, got, want)
			}
		}
	}
}
