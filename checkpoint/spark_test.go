package checkpoint_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
)

func last(t *testing.T, s objectstore.Store) *batch.LogState {
	t.Helper()
	state, err := checkpoint.NewLog(s).Last(t.Context())
	noError(t, err)
	return state
}

func TestSparksUncommittedPlanIsTakenOver(t *testing.T) {
	s := folder(t, "spark/v1")
	state := last(t, s)
	if state.Commit != 1 || state.Plan.Batch != 2 {
		t.Fatalf("got plan %d and commit %d, want 2 and 1", state.Plan.Batch, state.Commit)
	}
	plan := state.Plan
	if !plan.Foreign || plan.Isolation != batch.ReadUncommitted || plan.TimestampMs != 1700000120000 || plan.Hash != sha256Hex(get(t, s, "offsets/2")) {
		t.Errorf("got %+v", plan)
	}
	// Partition 3 appeared in this batch: Spark began it at its first offset.
	if want := mustParse(t, `{"orders":{"0":180,"1":200,"2":205,"3":0}}`); !plan.Start.Equal(want) {
		t.Errorf("start: got %s, want %s", plan.Start, want)
	}
	if want := mustParse(t, `{"orders":{"0":180,"1":300,"2":305,"3":40}}`); !plan.End.Equal(want) {
		t.Errorf("end: got %s, want %s", plan.End, want)
	}
	noError(t, plan.Validate())
}

func TestSparksFirstPlanStartsWhereTheQueryWasPinned(t *testing.T) {
	plan, err := checkpoint.NewLog(folder(t, "spark/v1")).ReadPlan(t.Context(), 0)
	noError(t, err)
	if want := mustParse(t, `{"orders":{"0":0,"1":0,"2":5}}`); !plan.Start.Equal(want) {
		t.Errorf("got %s, want %s", plan.Start, want)
	}
}

func TestOldSparkFilesAreRead(t *testing.T) {
	state := last(t, folder(t, "spark/2.1.0"))
	if want := mustParse(t, `{"clicks":{"0":0,"1":1,"2":2}}`); !state.Start.Equal(want) || !state.Plan.Start.Equal(want) {
		t.Errorf("start: got %s and %s, want %s", state.Start, state.Plan.Start, want)
	}
	if want := mustParse(t, `{"clicks":{"0":8,"1":7,"2":9}}`); !state.Plan.End.Equal(want) || state.Commit != 0 {
		t.Errorf("end: got %s at commit %d, want %s at 0", state.Plan.End, state.Commit, want)
	}
}

func TestWhatIsSparksIsCarriedForward(t *testing.T) {
	s := folder(t, "spark/v1")
	l, ctx := checkpoint.NewLog(s), t.Context()
	state, err := l.Last(ctx)
	noError(t, err)
	noError(t, l.WriteCommit(ctx, 2)) // we have replayed Spark's plan
	if got, want := get(t, s, "commits/2"), "v1\n"+`{"nextBatchWatermarkMs":1700000000000}`; got != want {
		t.Errorf("commits/2: got %q, want %q", got, want)
	}
	plan := &batch.Plan{Batch: 3, Start: state.Plan.End, End: state.Plan.End.Clone(), Isolation: batch.ReadCommitted, TimestampMs: 1700000180000, Nonce: "n"}
	noError(t, l.WritePlan(ctx, plan))
	lines := strings.Split(get(t, s, "offsets/3"), "\n")
	if len(lines) != 3 || lines[0] != "v1" || lines[2] != state.Plan.End.String() {
		t.Fatalf("got %q, want a v1 entry with the end offsets and no newline at its end", lines)
	}
	for _, want := range []string{`{"batchWatermarkMs":1700000000000,"batchTimestampMs":1700000180000,"conf":{`, `"spark.sql.shuffle.partitions":"200"`,
		`"spark.sql.streaming.multipleWatermarkPolicy":"min"`, `"sluice.nonce":"n"`} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("metadata %s lacks %s", lines[1], want)
		}
	}
}

// The watermark of the next batch is the larger one of the newest plan's and the newest marker's, as when Spark starts.
func TestTheNextPlanTakesTheNewestWatermark(t *testing.T) {
	s := folder(t, "spark/v1")
	put(t, s, map[string]string{"commits/2": "v1\n" + `{"nextBatchWatermarkMs":1700000060000}`})
	plan := simple(3, 0, 1)
	noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), plan))
	if got := get(t, s, "offsets/3"); !strings.HasPrefix(got, "v1\n"+`{"batchWatermarkMs":1700000060000,`) {
		t.Errorf("got %s", got)
	}
}

func TestTheNewestFormatIsWrittenOn(t *testing.T) {
	s := folder(t, "spark/v2")
	l, ctx := checkpoint.NewLog(s), t.Context()
	state, err := l.Last(ctx)
	noError(t, err)
	if got := state.Plan.End[state.Plan.End.Partitions()[0]]; got != math.MaxInt64 {
		t.Errorf("the largest offset: got %d, want %d", got, int64(math.MaxInt64))
	}
	plan := &batch.Plan{Batch: 2, Start: state.Plan.End, End: state.Plan.End, Isolation: batch.ReadCommitted}
	noError(t, l.WritePlan(ctx, plan))
	noError(t, l.WriteCommit(ctx, 2))
	lines := strings.Split(get(t, s, "offsets/2"), "\n")
	if lines[0] != "v2" || lines[2] != "0:"+state.Plan.End.String() || !strings.Contains(lines[1], `"sourceMetadataInfo":{"0":{"sourceId":"0","providerName":"kafka","apiVersion":"v2"}}`) {
		t.Errorf("offsets/2: got %q", lines)
	}
	if got, want := get(t, s, "commits/2"), get(t, s, "commits/1"); got != want {
		t.Errorf("commits/2: got %q, want %q", got, want)
	}
	again := last(t, s)
	if again.Plan.Foreign || again.Plan.Hash != plan.Hash || again.Commit != 2 {
		t.Errorf("read back: got %+v at commit %d", again.Plan, again.Commit)
	}
}

// A partition that Spark let go, and one that it moved back (failOnDataLoss=false), read nothing.
func TestWhatSparkGaveUpIsNotReadAgain(t *testing.T) {
	s := folder(t, "spark/v1")
	metadata := strings.Split(get(t, s, "offsets/2"), "\n")[1]
	put(t, s, map[string]string{"offsets/2": "v1\n" + metadata + "\n" + `{"orders":{"0":180,"1":3}}`})
	plan := last(t, s).Plan
	noError(t, plan.Validate())
	if len(plan.Ranges()) != 0 || !plan.End.Equal(mustParse(t, `{"orders":{"0":180,"1":3}}`)) {
		t.Errorf("got %v up to %s, want no ranges", plan.Ranges(), plan.End)
	}
}

func TestSparkFilesThatNobodyNeedsAreIgnored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ckpt")
	noError(t, os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "spark/v1"))))
	for _, name := range []string{"offsets/.2.crc", "offsets/.9.f5c1.TID7.tmp", "offsets/03", "offsets/+4", "offsets/-1", "offsets/9.compact",
		"offsets/99999999999999999999", "offsets/5/6", "commits/.1.crc", "commits/one", "sources/0/.0.crc", "state/1/_metadata/x"} {
		noError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		noError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
	}
	s, err := objectstore.NewLocal(dir)
	noError(t, err)
	if state := last(t, s); state.Plan.Batch != 2 || state.Commit != 1 {
		t.Errorf("got plan %d and commit %d, want 2 and 1", state.Plan.Batch, state.Commit)
	}
}

func TestWhatCannotBeContinuedIsRefusedWithWhy(t *testing.T) {
	line := func(n int) func(t *testing.T, s objectstore.Store) string {
		return func(t *testing.T, s objectstore.Store) string { return strings.Split(get(t, s, "offsets/2"), "\n")[n] }
	}
	metadata := line(1)
	for _, c := range []struct {
		name    string
		from    string
		objects func(t *testing.T, s objectstore.Store) map[string]string
		remove  string
		want    []string
	}{
		{name: "two sources", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": get(t, s, "offsets/2") + "\n" + `{"pays":{"0":1}}`}
		}, want: []string{"offsets/2", "2 sources"}},
		{name: "two sources, version 2", from: "spark/v2", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/1": get(t, s, "offsets/1") + "\n" + `1:{"pays":{"0":1}}`}
		}, want: []string{"offsets/1", "2 sources"}},
		{name: "state", objects: func(*testing.T, objectstore.Store) map[string]string {
			return map[string]string{"state/0/0/3.delta": "x"}
		}, want: []string{"with state", "state/0/0/3.delta"}},
		{name: "a newer format", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": "v3" + get(t, s, "offsets/2")[2:]}
		}, want: []string{"offsets/2", "version 3"}},
		{name: "no offsets yet", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": "v1\n" + metadata(t, s) + "\n-"}
		}, want: []string{"offsets/2", "no offsets"}},
		{name: "a symbolic offset", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": "v1\n" + metadata(t, s) + "\n" + `{"orders":{"0":-1}}`}
		}, want: []string{"offsets/2", "orders-0", "-1"}},
		{name: "an offset that is no whole number", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": "v1\n" + metadata(t, s) + "\n" + `{"orders":{"0":1e3}}`}
		}, want: []string{"offsets/2", "1e3"}},
		{name: "an offset beyond 64 bits", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": "v1\n" + metadata(t, s) + "\n" + `{"orders":{"0":9223372036854775808}}`}
		}, want: []string{"offsets/2", "9223372036854775808"}},
		{name: "the plan before is missing", remove: "offsets/1", want: []string{"offsets/2", "offsets/1 is missing"}},
		{name: "the marker before is missing", remove: "commits/1", want: []string{"offsets/2", "no commits/1", "newest is commits/0"}},
		{name: "a control batch", from: "spark/v2", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/1": strings.Replace(get(t, s, "offsets/1"), `"conf"`, `"controlBatchInfo":{"operationType":"x"},"conf"`, 1)}
		}, want: []string{"offsets/1", "control batch"}},
		{name: "version 2 without source id", from: "spark/v2", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/1": strings.Replace(get(t, s, "offsets/1"), "\n0:", "\n", 1)}
		}, want: []string{"offsets/1", "source id"}},
		{name: "a setting that is no string", objects: func(t *testing.T, s objectstore.Store) map[string]string {
			return map[string]string{"offsets/2": strings.Replace(get(t, s, "offsets/2"), `"200"`, `200`, 1)}
		}, want: []string{"offsets/2", "spark.sql.shuffle.partitions"}},
		{name: "a source pinned in a newer format", objects: func(*testing.T, objectstore.Store) map[string]string {
			return map[string]string{"sources/0/0": "\x00v2\n{}"}
		}, want: []string{"sources/0/0", "version 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.from == "" {
				c.from = "spark/v1"
			}
			s := folder(t, c.from)
			if c.objects != nil {
				put(t, s, c.objects(t, s))
			}
			if c.remove != "" {
				noError(t, s.Delete(t.Context(), c.remove))
			}
			_, err := checkpoint.NewLog(s).Last(t.Context())
			wantFault(t, err, batch.Inconsistent, c.want...)
		})
	}
}

func TestAMarkerWithStateIsRefused(t *testing.T) {
	s := folder(t, "spark/v2")
	put(t, s, map[string]string{"commits/1": "v2\n" + `{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}`})
	wantFault(t, checkpoint.NewLog(s).WritePlan(t.Context(), simple(2, 0, 1)), batch.Inconsistent, "commits/1", "state")
}

// The first plan of Spark's in a checkpoint cannot be carried out without where the query was pinned.
func TestSparksFirstPlanNeedsThePin(t *testing.T) {
	s := folder(t, "spark/2.1.0")
	noError(t, s.Delete(t.Context(), "sources/0/0"))
	_, err := checkpoint.NewLog(s).Last(t.Context())
	wantFault(t, err, batch.Inconsistent, "offsets/0", "sources/0/0 is missing")
}

// As Spark 4.2.0 wrote them, with both versions of its offset log (rig/spark_checkpoint.py).
var realSpark = []string{"spark/real-4.2.0", "spark/real-4.2.0-log-v2"}

// copied is a folder of testdata as it lies there: the checksums that Spark wrote beside its files have names that only a
// file system can hold.
func copied(t *testing.T, name string) objectstore.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ckpt")
	noError(t, os.CopyFS(dir, os.DirFS(filepath.Join(testdata, name))))
	s, err := objectstore.NewLocal(dir)
	noError(t, err)
	return s
}

func TestACheckpointOfARealSparkIsRead(t *testing.T) {
	for _, name := range realSpark {
		s := copied(t, name)
		state := last(t, s)
		plan := state.Plan
		if state.Commit != 1 || plan.Batch != 2 || !plan.Foreign || plan.Isolation != batch.ReadUncommitted || plan.Hash != sha256Hex(get(t, s, "offsets/2")) || plan.TimestampMs < 1796023000000 {
			t.Errorf("%s: got commit %d and plan %+v, want 1, and 2 of Spark's", name, state.Commit, plan)
		}
		if want := mustParse(t, `{"orders":{"0":0,"1":0,"2":0}}`); !state.Start.Equal(want) {
			t.Errorf("%s: start of the query: got %s, want %s", name, state.Start, want)
		}
		if want := mustParse(t, `{"orders":{"0":106,"1":106,"2":26}}`); !plan.Start.Equal(want) {
			t.Errorf("%s: start: got %s, want %s", name, plan.Start, want)
		}
		if want := mustParse(t, `{"orders":{"0":159,"1":159,"2":39}}`); !plan.End.Equal(want) {
			t.Errorf("%s: end: got %s, want %s", name, plan.End, want)
		}
		noError(t, plan.Validate())
	}
}

// What we write in Spark's place is Spark's byte for byte, but for our keys in conf, and the order of the keys there, which
// is that of a hash table in Spark.
func TestWhatIsWrittenInSparksPlaceIsSparksToTheByte(t *testing.T) {
	for _, name := range realSpark {
		s := copied(t, name)
		l, ctx := checkpoint.NewLog(s), t.Context()
		state, err := l.Last(ctx)
		noError(t, err)
		noError(t, l.WriteCommit(ctx, 2)) // as Spark does where no row moved the watermark
		if got, want := get(t, s, "commits/2"), get(t, s, "commits/1"); got != want {
			t.Errorf("%s: commits/2: got %q, want %q", name, got, want)
		}
		plan := &batch.Plan{Batch: 3, Start: state.Plan.End, End: state.Plan.End, TimestampMs: state.Plan.TimestampMs, Isolation: batch.ReadCommitted, Nonce: "n"}
		noError(t, l.WritePlan(ctx, plan))
		rest, ours := cutConf(t, get(t, s, "offsets/3"))
		wantRest, spark := cutConf(t, get(t, s, "offsets/2"))
		ours = slices.DeleteFunc(ours, func(member string) bool { return strings.HasPrefix(member, `"sluice.`) })
		if rest != wantRest || !slices.Equal(ours, spark) {
			t.Errorf("%s: offsets/3: got %q with conf %q, want %q with conf %q", name, rest, ours, wantRest, spark)
		}
	}
}

var confOf = regexp.MustCompile(`"conf":\{("(?:[^"\\]|\\.)*":"(?:[^"\\]|\\.)*",?)*\}`)

// cutConf is a file offsets/<N> without the members of conf, and these, sorted.
func cutConf(t *testing.T, text string) (rest string, members []string) {
	t.Helper()
	conf := confOf.FindString(text)
	if conf == "" {
		t.Fatalf("there is no conf in %q", text)
	}
	members = regexp.MustCompile(`"(?:[^"\\]|\\.)*":"(?:[^"\\]|\\.)*"`).FindAllString(strings.TrimPrefix(conf, `"conf":`), -1)
	slices.Sort(members)
	return strings.Replace(text, conf, "", 1), members
}
