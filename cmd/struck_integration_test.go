//go:build integration && linux

package cmd_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

var fullFlag = flag.Bool("full", false, "deal each blow to every request of a run, instead of some that are drawn (make crash)")

var strideFlag = flag.Int("stride", 1, "with -full, strike one of every `so many` requests, from one that is drawn: a whole sweep takes hours")

// blow is a kind of fault and what a run may come to that meets it.
type blow struct {
	name string
	// fault makes it, for a process that kill ends.
	fault func(kill func()) faultproxy.Fault
	// codes are the exit codes that are right.
	codes []int
	// early are codes that are right besides at a request that is not about a table that is there: nothing was written.
	early []int
	// mute are those at a HEAD, whose answer has no body that says why.
	mute []int
	// kills says that the process ends by it, and leaves its lease behind.
	kills bool
}

// always is a blow without a kill.
func always(fault faultproxy.Fault, codes ...int) blow {
	return blow{name: fault.Name, fault: func(func()) faultproxy.Fault { return fault }, codes: codes}
}

// mute is a blow that a HEAD is told of by its status alone: the run may be repeated, and learns then what is wrong.
func mute(fault faultproxy.Fault, codes ...int) blow {
	b := always(fault, codes...)
	b.mute = []int{1}
	return b
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
	mute(faultproxy.Expired(), 10, 0),
	always(faultproxy.WrongDate(10*time.Minute), 0),
	killing(false),
	killing(true),
}

// catalogBlows are those of a REST catalog.
var catalogBlows = []blow{
	early(faultproxy.Reset(false)),
	early(faultproxy.Reset(true)),
	always(faultproxy.Status(http.StatusInternalServerError, false), 0, 1), // it is not asked again, nor is it told what went wrong
	always(faultproxy.Status(http.StatusInternalServerError, true), 0, 1),
	early(faultproxy.Status(http.StatusBadGateway, true)),
	early(faultproxy.Status(http.StatusServiceUnavailable, false)),
	early(faultproxy.Status(http.StatusGatewayTimeout, true)),
	always(faultproxy.Busy(), 0),
	always(faultproxy.CommitConflict(false), 0),
	always(faultproxy.CommitConflict(true), 0),
	early(faultproxy.CutAnswer()),
	early(faultproxy.CutRequest()),
	always(faultproxy.Expired(), 0, 10),
	always(faultproxy.Status(419, false), 0, 10),
	killing(false),
	killing(true),
}

// early is a blow that a run survives, unless it falls before the table is there.
func early(fault faultproxy.Fault) blow {
	b := always(fault, 0)
	b.early = []int{1}
	return b
}

// databaseBlows are those of a catalog in PostgreSQL: a connection that breaks once, at any moment, is made good in the run.
var databaseBlows = []blow{
	always(faultproxy.Reset(false), 0),
	always(faultproxy.Reset(true), 0),
	always(faultproxy.Shutdown(false), 0),
	always(faultproxy.Shutdown(true), 0),
	killing(false),
	killing(true),
}

// sampled is how many blows are dealt without -full, each at one request; which is drawn.
const sampled = 3

// At each request of a run to a real S3 server something goes wrong once: the run ends as it should, records arrive, the
// next run makes good what is to be made good, and each record is there once, for verify and for foreign engines. With
// -full each blow at every request, otherwise some blows at a request that is drawn.
func TestARunStruckAtAnyRequestToS3LosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	bucket := rig.S3(t)
	rig.Python(t)
	sweepAll(t, seed, storeBlows, onS3(bucket, t.TempDir()))
}

// onS3 is the ground of runs whose catalog is a file in a folder, and all else in a bucket behind a proxy.
func onS3(bucket rig.Bucket, dir string) ground {
	catalog := func(s *sweep) string { return filepath.Join(dir, s.id+".db") }
	return ground{open: func(t *testing.T) (door, string) { return before(t, bucket.Endpoint, faultproxy.S3) }, catalog: catalog, namespace: "sales",
		place: func(s *sweep, p *pipeline, folder string) *pipeline {
			return p.inBucket(bucket, folder).with("--catalog-uri", catalog(s), "--warehouse", bucket.Folder+"/lake"+s.id)
		},
		through: func(address string, p *pipeline) (*pipeline, []string) {
			return p, []string{"AWS_ENDPOINT_URL_S3=" + address, "AWS_S3_ENDPOINT=" + address}
		}}
}

// The same at each request to a real REST catalog. A commit that is not answered as one would wish is looked for in the
// table: it ends well, however the answer was spoiled.
func TestARunStruckAtAnyRequestToARESTCatalogLosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	c := rig.REST(t)
	rig.Python(t)
	sweepAll(t, seed, catalogBlows, onREST(c))
}

// onREST is the ground of runs whose catalog is behind a proxy.
func onREST(c rig.RESTCatalog) ground {
	return ground{open: func(t *testing.T) (door, string) { return before(t, c.URI, faultproxy.Iceberg) }, catalog: func(*sweep) string { return c.URI + "#" + c.Namespace }, namespace: c.Namespace,
		place: func(_ *sweep, p *pipeline, folder string) *pipeline {
			return p.without("--warehouse").with("--catalog-type", "rest", "--checkpoint", c.Bucket.Folder+"/"+folder+"/state")
		},
		through: func(address string, p *pipeline) (*pipeline, []string) { return p.with("--catalog-uri", address), nil }}
}

// The same at each round trip to a catalog in a real PostgreSQL server, with the lake in a folder.
func TestARunStruckAtAnyRequestToPostgreSQLLosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	db := rig.Postgres(t)
	rig.Python(t)
	lake := filepath.Join(t.TempDir(), "lake")
	sweepAll(t, seed, databaseBlows, ground{open: func(t *testing.T) (door, string) { return beforeDatabase(t, db) }, namespace: "sales",
		catalog: func(*sweep) string { return strings.Replace(db.URL, "postgresql://", "postgresql+psycopg2://", 1) },
		place: func(_ *sweep, p *pipeline, folder string) *pipeline {
			return p.with("--warehouse", lake, "--checkpoint", filepath.Join(lake, "_checkpoints", folder))
		},
		through: func(address string, p *pipeline) (*pipeline, []string) { return p.inPostgres(address), nil }})
}

// ground is what a run is struck on.
type ground struct {
	// open puts a proxy before the server that fails, and tells its address.
	open func(t *testing.T) (door, string)
	// place makes a pipeline of its own for a case; catalog is the one that foreign engines find the tables of a sweep in, in a
	// namespace. Without one each table is read by iceberg-go.
	place     func(s *sweep, p *pipeline, folder string) *pipeline
	catalog   func(s *sweep) string
	namespace string
	// few is how many blows are dealt without -full, sampled if it is zero.
	few int
	// verb, if set, makes ready for what is struck in place of a run, and returns its verb and flags.
	verb func(t *testing.T, p *pipeline) []string
	// through leads a pipeline through the address of a proxy, by its flags or by its environment.
	through func(address string, p *pipeline) (*pipeline, []string)
}

// door is a proxy that the program goes through.
type door interface {
	Follow(faultproxy.Plan)
	Dealt() []faultproxy.Strike
	Close()
}

// sweepAll deals all blows, then has foreign engines count.
func sweepAll(t *testing.T, seed uint64, blows []blow, g ground) {
	t.Helper()
	whole := (&sweep{ground: g, id: "whole"}).whole(t)
	t.Logf("a whole run has %d requests", len(whole))
	if !*fullFlag {
		blows = slices.Clone(blows)
		drawn(t, seed).Shuffle(len(blows), func(i, j int) { blows[i], blows[j] = blows[j], blows[i] })
		blows = blows[:min(len(blows), cmp.Or(g.few, sampled))]
	}
	var sweeps []*sweep
	t.Run("blows", func(t *testing.T) {
		for i, b := range blows {
			s := &sweep{ground: g, blow: b, id: fmt.Sprint(i), codes: map[int]int{}}
			sweeps = append(sweeps, s)
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				s.sweep(t, whole, drawn(t, seed))
			})
		}
	})
	if g.catalog != nil {
		countStruck(t, sweeps)
	}
}

// sweep is one blow, dealt to one run after the other. Each case is a query of its own, in a table of its own.
type sweep struct {
	ground
	blow  blow
	id    string
	cases []string
	codes map[int]int
}

// sweep strikes every request of a run that the blow fits, or one that is drawn of those that a whole run has.
func (s *sweep) sweep(t *testing.T, whole []faultproxy.Request, random *rand.Rand) {
	fitting := 0
	for _, r := range whole {
		if fault := s.blow.fault(nil); fault.Fits == nil || fault.Fits(r) {
			fitting++
		}
	}
	if *fullFlag {
		for n := 1 + random.IntN(min(*strideFlag, fitting)); s.strike(t, n); n += *strideFlag {
		}
		if want := fitting / *strideFlag; len(s.cases) < want*3/4 { // workers may share requests in other ways
			t.Errorf("got %d cases, want about %d", len(s.cases), want)
		}
	} else {
		s.strike(t, 1+random.IntN(fitting))
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
		k.fill(t, "orders", struckRecords/2, 0, 1)
		name := fmt.Sprintf("blow%s_case%d_%d", s.id, len(s.cases), n)
		proxy, address := s.open(t)
		p, o := s.run(t, k, name, proxy, address, n)
		strikes := proxy.Dealt()
		if met = len(strikes) > 0; !met && o.code == 0 {
			return
		}
		s.cases = append(s.cases, name)
		s.codes[o.code]++
		right := s.blow.codes
		if s.blow.kills && o.code == 1 && strings.Contains(o.stderr, "the lease could not be renewed") { // it is short, and the machine busy
			met, right = true, []int{1}
		}
		if len(strikes) > 0 && !strings.Contains(strikes[0].Request, "/tables/") {
			right = slices.Concat(right, s.blow.early)
		}
		if len(strikes) > 0 && strings.HasPrefix(strikes[0].Request, http.MethodHead+" ") {
			right = slices.Concat(right, s.blow.mute)
		}
		if !slices.Contains(right, o.code) {
			t.Errorf("%v: got exit code %d, want one of %v\n%s", strikes, o.code, right, o.stderr)
		}
		proxy.Follow(nil)
		k.fill(t, "orders", lateRecords/2, 0, 1)
		p.run(t).has("summary", "caughtUp", true)
		p.exact(t, struckRecords+lateRecords)
		if s.catalog == nil {
			tbl, err := catalogOf(t, p.catalogURI(), p.flag("--warehouse")).LoadTable(t.Context(), catalog.ToIdentifier(p.flag("--table")))
			if err != nil {
				t.Fatal(err)
			}
			wantRows(t, tbl, k.of(func(*kgo.Record) bool { return true }), false)
		}
	})
	return met
}

// run is a run, or another verb, as a process, with the blow at the n-th request to the proxy that it fits. It returns the pipeline, for the
// next one.
func (s *sweep) run(t *testing.T, k *kafka, name string, proxy door, address string, n int) (*pipeline, *outcome) {
	t.Helper()
	p := s.place(s, newPipeline(t, k), name).with("--table", s.namespace+"."+name, "--max-offsets-per-trigger", "4", "--min-partitions", "2")
	p, environ := s.through(address, p)
	struck := p
	if s.blow.kills {
		struck = p.brief()
	}
	verb := []string{"run"}
	if s.verb != nil {
		verb = s.verb(t, p)
	}
	r := prepared(t, program(t, struck.args(verb[0], verb[1:]...)...))
	started := make(chan struct{})
	proxy.Follow(faultproxy.Nth(n, s.blow.fault(func() {
		<-started
		_ = r.cmd.Process.Kill() // it may have ended just now
	})))
	r.cmd.Env = slices.Concat(os.Environ(), p.environ, environ)
	r.start()
	close(started)
	return p, r.waitFor(2 * time.Minute) // the machine may be busy
}

// before is a proxy in front of an HTTP server, and its address, until the test ends.
func before(t *testing.T, target string, dialect faultproxy.Dialect) (door, string) {
	t.Helper()
	p, err := faultproxy.New(target, dialect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, p.URL
}

// beforeDatabase is the same in front of a PostgreSQL server.
func beforeDatabase(t *testing.T, db rig.Database) (door, string) {
	t.Helper()
	p, err := faultproxy.NewPostgres(db.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, strings.Replace(db.URL, db.Address, p.Addr, 1)
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
	proxy, address := s.open(t)
	if _, o := s.run(t, k, "whole", proxy, address, 1); o.code != 0 {
		t.Fatalf("got exit code %d\n%s", o.code, o.stderr)
	}
	return requests
}

// countStruck has foreign engines count every table.
func countStruck(t *testing.T, sweeps []*sweep) {
	t.Helper()
	var catalogs []string
	for _, s := range sweeps {
		if catalog := s.catalog(s); len(s.cases) > 0 && !slices.Contains(catalogs, catalog) {
			catalogs = append(catalogs, catalog)
		}
	}
	counts := rig.CountTables(t, catalogs...)
	want := rig.Counted{Rows: struckRecords + lateRecords, Records: struckRecords + lateRecords}
	for _, s := range sweeps {
		for _, name := range s.cases {
			got := counts[slices.Index(catalogs, s.catalog(s))][s.namespace+"."+name]
			if got["duckdb"] != want || got["pyiceberg"] != want {
				t.Errorf("%s, %s: foreign engines count %v, want %v", s.blow.name, name, got, want)
			}
		}
	}
}
