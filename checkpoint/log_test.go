package checkpoint_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
	"sluice/offsets"
	"sluice/runner"
)

var (
	_ runner.Log   = (*checkpoint.Log)(nil)
	_ runner.Lease = (*checkpoint.Lease)(nil)
)

func TestAnEmptyCheckpointIsEmpty(t *testing.T) {
	l, ctx := checkpoint.NewLog(objectstore.NewMemory("m")), t.Context()
	if id, err := l.Query(ctx); err != nil || id != "" {
		t.Errorf("query: got %q, %v, want none", id, err)
	}
	if identity, err := l.Identity(ctx); err != nil || identity != nil {
		t.Errorf("identity: got %v, %v, want nil", identity, err)
	}
	state, err := l.Last(ctx)
	if want := (&batch.LogState{Commit: batch.None}); err != nil || !reflect.DeepEqual(state, want) {
		t.Errorf("last: got %+v, %v, want %+v", state, err, want)
	}
	if plan, err := l.ReadPlan(ctx, 0); err != nil || plan != nil {
		t.Errorf("plan: got %v, %v, want nil", plan, err)
	}
	if report, err := l.Progress(ctx, 0); err != nil || report != nil {
		t.Errorf("progress: got %q, %v, want nil", report, err)
	}
}

func TestTwoCreatorsAgreeOnOneQuery(t *testing.T) {
	s := objectstore.NewMemory("m")
	first, err := checkpoint.NewLog(s).CreateQuery(t.Context(), "11111111-1111-4111-8111-111111111111")
	noError(t, err)
	second, err := checkpoint.NewLog(s).CreateQuery(t.Context(), "22222222-2222-4222-8222-222222222222")
	noError(t, err)
	if first != "11111111-1111-4111-8111-111111111111" || second != first {
		t.Errorf("got %s and %s, want the first one's id twice", first, second)
	}
	if got, want := get(t, s, "metadata"), `{"id":"11111111-1111-4111-8111-111111111111"}`; got != want {
		t.Errorf("metadata: got %q, want %q", got, want)
	}
}

// A lost metadata object must never be replaced by a new id: the table would no longer know its batches
// (https://issues.apache.org/jira/browse/SPARK-55058).
func TestEntriesWithoutMetadataAreRefused(t *testing.T) {
	for _, left := range []string{"offsets/", "commits/"} {
		s := objectstore.NewMemory("m")
		fill(t, s, 3)
		noError(t, s.Delete(t.Context(), "metadata"))
		for _, key := range list(t, s, "") {
			if !strings.HasPrefix(key, left) {
				noError(t, s.Delete(t.Context(), key))
			}
		}
		_, err := checkpoint.NewLog(s).Query(t.Context())
		wantFault(t, err, batch.Inconsistent, left+"2", "metadata")
	}
}

func TestDamagedMetadataIsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", "null", `{"id":null}`, `{"id":""}`, `{"id":"a b"}`, `{"id":"a.0"}`, `{"id":"a","id":"b"}`, `{"id":"a"`, `{"id":"a"} x`, "\xff"} {
		s := objectstore.NewMemory("m")
		put(t, s, map[string]string{"metadata": text})
		id, err := checkpoint.NewLog(s).Query(t.Context())
		if id != "" && err == nil {
			t.Errorf("%q: got id %q", text, id)
		}
		wantFault(t, err, batch.Inconsistent, "metadata")
	}
}

func TestTheStartIsPinnedOnce(t *testing.T) {
	s := objectstore.NewMemory("m")
	start := mustParse(t, `{"orders":{"0":23,"1":0}}`)
	got, err := checkpoint.NewLog(s).PinStart(t.Context(), start)
	if err != nil || !got.Equal(start) {
		t.Errorf("got %s, %v, want %s", got, err, start)
	}
	if text, want := get(t, s, "sources/0/0"), "\x00v1\n"+`{"orders":{"0":23,"1":0}}`; text != want {
		t.Errorf("sources/0/0: got %q, want %q", text, want)
	}
	got, err = checkpoint.NewLog(s).PinStart(t.Context(), mustParse(t, `{"orders":{"0":99}}`))
	if err != nil || !got.Equal(start) {
		t.Errorf("a later pin: got %s, %v, want the first one's %s", got, err, start)
	}
	if state := last(t, s); !state.Start.Equal(start) {
		t.Errorf("last: got %s, want %s", state.Start, start)
	}
}

// A symbolic start that reached the checkpoint would be resolved again (https://github.com/apache/flink-connector-kafka/pull/52).
func TestASymbolicStartIsNotPinned(t *testing.T) {
	s := objectstore.NewMemory("m")
	if got, err := checkpoint.NewLog(s).PinStart(t.Context(), offsets.Offsets{{Topic: "orders"}: offsets.Latest}); err == nil {
		t.Errorf("got %s, want an error", got)
	}
	if keys := list(t, s, ""); len(keys) != 0 {
		t.Errorf("got %v, want nothing written", keys)
	}
}

func TestAPlanIsReadBackAsWritten(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 1)
	want := goldenPlan(t, 1)
	want.Rebuilt = "abc"
	noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), want))
	if got := last(t, s).Plan; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAPlanWithoutNonceGetsOne(t *testing.T) {
	plan := simple(0, 0, 1)
	noError(t, checkpoint.NewLog(objectstore.NewMemory("m")).WritePlan(t.Context(), plan))
	if len(plan.Nonce) < 20 || len(plan.Hash) != 64 {
		t.Errorf("got nonce %q and hash %q", plan.Nonce, plan.Hash)
	}
}

func TestAnInvalidPlanIsNotWritten(t *testing.T) {
	s := objectstore.NewMemory("m")
	backwards := simple(0, 5, 3)
	other := simple(0, 0, 1)
	other.Start = mustParse(t, `{"pays":{"0":0}}`)
	unisolated := simple(0, 0, 1)
	unisolated.Isolation = "whatever"
	for _, plan := range []*batch.Plan{backwards, other, unisolated} {
		if err := checkpoint.NewLog(s).WritePlan(t.Context(), plan); err == nil {
			t.Errorf("%+v was written", plan)
		}
	}
	if keys := list(t, s, "offsets/"); len(keys) != 0 {
		t.Errorf("got %v, want none", keys)
	}
}

// Two runs of one job with the same ranges are still two: the one that came second must stop.
func TestTheSecondPlanOfABatchIsFenced(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 2)
	a, b := checkpoint.NewLog(s), checkpoint.NewLog(s)
	_, err := a.Last(t.Context())
	noError(t, err)
	_, err = b.Last(t.Context())
	noError(t, err)
	winner := simple(2, 20, 30)
	winner.LeaseEpoch = 17
	noError(t, a.WritePlan(t.Context(), winner))
	before := get(t, s, "offsets/2")
	wantFault(t, b.WritePlan(t.Context(), simple(2, 20, 30)), batch.Fenced, "batch 2", "lease epoch 17")
	if get(t, s, "offsets/2") != before {
		t.Error("the loser changed the winner's plan")
	}
}

func TestCommittingTwiceIsSuccess(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 3)
	for range 2 {
		l := checkpoint.NewLog(s)
		noError(t, l.WriteCommit(t.Context(), 2))
	}
	if got, want := get(t, s, "commits/2"), "v1\n"+`{"nextBatchWatermarkMs":0}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAMarkerOfAnotherProgramIsFenced(t *testing.T) {
	s := objectstore.NewMemory("m")
	l := fill(t, s, 2)
	noError(t, l.WritePlan(t.Context(), simple(2, 20, 30)))
	put(t, s, map[string]string{"commits/2": "v1\n" + `{"nextBatchWatermarkMs":5}`})
	wantFault(t, l.WriteCommit(t.Context(), 2), batch.Fenced, "batch 2")
}

// Truncated, flipped, replaced: the newest plan must be refused, never read as something else and never as "nothing yet"
// (https://github.com/delta-io/delta/issues/5458).
func TestEveryDamageToAPlanIsRefused(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 1)
	noError(t, checkpoint.NewLog(s).WritePlan(t.Context(), goldenPlan(t, 1)))
	text := get(t, s, "offsets/1")
	damaged := map[string]string{"empty": "", "{}": "{}", "null": "null", "only v1": "v1\n", "another batch": get(t, s, "offsets/0"), "a second newline": text + "\n\n"}
	for i := range len(text) {
		damaged[fmt.Sprintf("cut at %d", i)] = text[:i]
		for bit := range 8 {
			flipped := []byte(text)
			flipped[i] ^= 1 << bit
			damaged[fmt.Sprintf("byte %d bit %d", i, bit)] = string(flipped)
		}
	}
	for name, data := range damaged {
		put(t, s, map[string]string{"offsets/1": data})
		state, err := checkpoint.NewLog(s).Last(t.Context())
		if err == nil {
			t.Errorf("%s: read as %+v", name, state.Plan)
			continue
		}
		wantFault(t, err, batch.Inconsistent, "offsets/1")
	}
}

func TestAPlanOfANewerSluiceIsRefused(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 1)
	put(t, s, map[string]string{"offsets/0": strings.Replace(get(t, s, "offsets/0"), `"sluice.format":"1"`, `"sluice.format":"2"`, 1)})
	_, err := checkpoint.NewLog(s).Last(t.Context())
	wantFault(t, err, batch.Inconsistent, "offsets/0", "newer sluice")
}

// Without the plan before, a plan of ours can still be carried out: it describes itself
// (https://issues.apache.org/jira/browse/SPARK-38033).
func TestAMissingOlderPlanIsNoObstacle(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 5)
	noError(t, s.Delete(t.Context(), "offsets/3", "offsets/1", "commits/2"))
	if state := last(t, s); state.Plan.Batch != 4 || state.Commit != 4 || state.Plan.Ranges()[0].From != 40 {
		t.Errorf("got %+v at commit %d", state.Plan, state.Commit)
	}
}

// Markers that were lost, or that recovery skipped, hide nothing: the table knows which batches it has.
func TestAGapBelowTheNewestPlanIsForTheTableToExplain(t *testing.T) {
	for _, left := range []int64{1, batch.None} {
		s := objectstore.NewMemory("m")
		fill(t, s, 4)
		for n := left + 1; n < 4; n++ {
			noError(t, s.Delete(t.Context(), fmt.Sprintf("commits/%d", n)))
		}
		if state := last(t, s); state.Plan.Batch != 3 || state.Commit != left {
			t.Errorf("got plan %d and commit %d, want 3 and %d", state.Plan.Batch, state.Commit, left)
		}
	}
}

// The plans were lost and the markers were not: the table tells what was planned.
func TestAMarkerAboveTheNewestPlanIsReported(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 4)
	noError(t, s.Delete(t.Context(), "offsets/3"))
	if state := last(t, s); state.Plan.Batch != 2 || state.Commit != 3 {
		t.Errorf("got plan %d and commit %d, want 2 and 3", state.Plan.Batch, state.Commit)
	}
	noError(t, s.Delete(t.Context(), "offsets/0", "offsets/1", "offsets/2"))
	if state := last(t, s); state.Plan != nil || state.Commit != 3 {
		t.Errorf("got plan %v and commit %d, want none and 3", state.Plan, state.Commit)
	}
}

// An entry for the newest batches, rebuilt from the table, is a plan like any other.
func TestEntriesCanBeRebuiltAtAnyNumber(t *testing.T) {
	s := objectstore.NewMemory("m")
	l := fill(t, s, 1)
	for n := int64(41); n <= 42; n++ {
		plan := simple(n, 1000, 1000)
		plan.Rebuilt = strings.Repeat("ab", 32)
		noError(t, l.WritePlan(t.Context(), plan))
		noError(t, l.WriteCommit(t.Context(), n))
	}
	state := last(t, s)
	if state.Plan.Batch != 42 || state.Commit != 42 || state.Plan.Rebuilt == "" {
		t.Errorf("got %+v at commit %d", state.Plan, state.Commit)
	}
	wantFault(t, checkpoint.NewLog(s).WritePlan(t.Context(), simple(41, 1000, 1000)), batch.Fenced, "batch 41")
}

func TestIdentityIsSwapped(t *testing.T) {
	s := objectstore.NewMemory("m")
	a, b, ctx := checkpoint.NewLog(s), checkpoint.NewLog(s), t.Context()
	noError(t, a.SetIdentity(ctx, &batch.Identity{Name: "orders"}))
	got, err := b.Identity(ctx)
	if err != nil || got.Name != "orders" || got.Version != batch.FormatVersion {
		t.Errorf("got %+v, %v", got, err)
	}
	noError(t, a.SetIdentity(ctx, &batch.Identity{Name: "orders", Sink: "x"}))
	wantFault(t, b.SetIdentity(ctx, &batch.Identity{Name: "orders", Sink: "y"}), batch.Fenced, "identity.json")
	noError(t, a.SetIdentity(ctx, &batch.Identity{Name: "orders", Sink: "z"}))
	wantFault(t, checkpoint.NewLog(s).SetIdentity(ctx, &batch.Identity{Name: "pays"}), batch.Fenced)
}

func TestTwoRunsMaySetTheSameIdentity(t *testing.T) {
	s := objectstore.NewMemory("m")
	a, b, ctx := checkpoint.NewLog(s), checkpoint.NewLog(s), t.Context()
	for _, l := range []*checkpoint.Log{a, b} {
		if identity, err := l.Identity(ctx); err != nil || identity != nil {
			t.Fatalf("got %v, %v, want none", identity, err)
		}
	}
	noError(t, a.SetIdentity(ctx, &batch.Identity{Name: "orders"}))
	noError(t, b.SetIdentity(ctx, &batch.Identity{Name: "orders"}))
	noError(t, b.SetIdentity(ctx, &batch.Identity{Name: "orders", Sink: "x"}))
}

func TestDamagedIdentityIsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", "null", `{"version":2}`, `{"version":1,"version":1}`, `{"version":1,"name":7}`} {
		s := objectstore.NewMemory("m")
		put(t, s, map[string]string{"identity.json": text})
		_, err := checkpoint.NewLog(s).Identity(t.Context())
		wantFault(t, err, batch.Inconsistent, "identity.json")
	}
}

func TestPlansAreListedNewestFirst(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 6)
	plans, err := checkpoint.NewLog(s).Plans(t.Context(), 3)
	noError(t, err)
	if len(plans) != 3 || plans[0].Batch != 5 || plans[2].Batch != 3 {
		t.Errorf("got %d plans from %+v", len(plans), plans[0])
	}
	s = folder(t, "spark/v1")
	noError(t, s.Delete(t.Context(), "offsets/0"))
	plans, err = checkpoint.NewLog(s).Plans(t.Context(), 10)
	if err != nil || len(plans) != 1 || plans[0].Batch != 2 {
		t.Errorf("Spark's, the oldest purged: got %d plans, %v, want batch 2 alone", len(plans), err)
	}
}

// A run with nothing to do asks little, and a batch costs four requests.
func TestRequestsAreFew(t *testing.T) {
	s := objectstore.NewMemory("m")
	l, ctx := fill(t, s, 50), t.Context()
	noError(t, l.SetIdentity(ctx, &batch.Identity{Name: "orders"}))

	c := &counted{Store: s}
	l = checkpoint.NewLog(c)
	lease := checkpoint.NewLease(c, "run")
	_, err := l.Query(ctx)
	noError(t, err)
	_, _, err = lease.Acquire(ctx)
	noError(t, err)
	_, err = l.Identity(ctx)
	noError(t, err)
	_, err = l.Last(ctx)
	noError(t, err)
	noError(t, lease.Release(ctx))
	if c.gets != 5 || c.lists != 2 || c.writes != 2 {
		t.Errorf("idle run: got %d GET, %d LIST, %d writes, want 5 (metadata, lease, identity, plan, start), 2, 2 (the lease)", c.gets, c.lists, c.writes)
	}
	*c = counted{Store: s}
	noError(t, l.WritePlan(ctx, simple(50, 500, 510)))
	noError(t, l.WriteCommit(ctx, 50))
	if c.gets != 2 || c.lists != 0 || c.writes != 2 {
		t.Errorf("first batch: got %d GET, %d LIST, %d writes, want 2 (marker, read-back), 0, 2", c.gets, c.lists, c.writes)
	}
	*c = counted{Store: s}
	noError(t, l.WritePlan(ctx, simple(51, 510, 520)))
	noError(t, l.WriteCommit(ctx, 51))
	if c.gets != 1 || c.lists != 0 || c.writes != 2 {
		t.Errorf("next batch: got %d GET, %d LIST, %d writes, want 1, 0, 2", c.gets, c.lists, c.writes)
	}
	*c = counted{Store: s}
	l.Retain = 10
	noError(t, l.Purge(ctx, 51))
	if c.gets != 0 || c.lists != 0 || c.writes != 2 {
		t.Errorf("purge: got %d GET, %d LIST, %d writes, want 0, 0, 2 deletions", c.gets, c.lists, c.writes)
	}
}

// Stale listings, as object stores once gave them, delay and never mislead
// (https://issues.apache.org/jira/browse/SPARK-23966).
func TestStaleListingsAreHarmless(t *testing.T) {
	s := &storetest.StaleLists{Store: objectstore.NewMemory("m")}
	l, ctx := fill(t, s, 3), t.Context()
	noError(t, s.Freeze(ctx))
	noError(t, l.WritePlan(ctx, simple(3, 30, 40)))
	stale := checkpoint.NewLog(s)
	state, err := stale.Last(ctx)
	noError(t, err)
	if state.Plan.Batch != 2 {
		t.Fatalf("got plan %d, want the stale 2", state.Plan.Batch)
	}
	wantFault(t, stale.WritePlan(ctx, simple(3, 30, 35)), batch.Fenced, "batch 3")
	s.Thaw()
	if state := last(t, s); state.Plan.Batch != 3 || state.Commit != 2 {
		t.Errorf("got plan %d and commit %d, want 3 and 2", state.Plan.Batch, state.Commit)
	}
}

// A run that goes on while we look may add a marker and a plan between our two listings: no gap.
func TestAConcurrentRunIsNoGap(t *testing.T) {
	s := objectstore.NewMemory("m")
	l := fill(t, s, 2)
	hooked := &afterList{Store: s, prefix: "commits/", do: func() {
		for n := int64(2); n < 5; n++ {
			noError(t, l.WritePlan(t.Context(), simple(n, n*10, n*10+10)))
			noError(t, l.WriteCommit(t.Context(), n))
		}
	}}
	state, err := checkpoint.NewLog(hooked).Last(t.Context())
	if err != nil || state.Plan.Batch != 4 || state.Commit != 4 {
		t.Errorf("got %+v, %v, want plan 4 at commit 4", state, err)
	}
}

// A plan that was purged between listing and reading means that another run is far ahead.
func TestAPlanThatVanishesWhileReadingIsFenced(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 2)
	hooked := &afterList{Store: s, prefix: "offsets/", do: func() { noError(t, s.Delete(t.Context(), "offsets/1")) }}
	_, err := checkpoint.NewLog(hooked).Last(t.Context())
	wantFault(t, err, batch.Fenced, "offsets/1")
}
