package checkpoint_test

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func TestAnUnsafeStoreStopsTheFirstWriteOfAQuery(t *testing.T) {
	m := objectstore.NewMemory("m")
	unsafe := storetest.IgnoresConditions{Store: m}
	_, err := checkpoint.NewLog(unsafe).CreateQuery(t.Context(), "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10")
	wantFault(t, err, batch.NotSetUp)
	_, err = checkpoint.NewLog(unsafe).PinStart(t.Context(), simple(0, 0, 0).Start)
	wantFault(t, err, batch.NotSetUp)
	wantFault(t, checkpoint.NewLog(unsafe).WritePlan(t.Context(), simple(0, 0, 1)), batch.NotSetUp)
	wantFault(t, checkpoint.NewLog(unsafe).SetIdentity(t.Context(), &batch.Identity{}), batch.NotSetUp)
	if keys := list(t, m, ""); len(keys) != 0 {
		t.Errorf("written all the same: %v", keys)
	}
}

func probes(script *storetest.Script) int {
	n := 0
	for _, effect := range script.Effects() {
		if strings.HasPrefix(effect, "create lock/probe-") {
			n++
		}
	}
	return n
}

func TestACheckpointIsProbedOnce(t *testing.T) {
	m, ctx := objectstore.NewMemory("here"), t.Context()
	script := storetest.NewScript(-1, storetest.NotApplied)
	s := &storetest.Faults{Store: m, Script: script}
	l := fill(t, s, 1)
	noError(t, l.SetIdentity(ctx, &batch.Identity{Name: "orders"}))
	first := probes(script)
	if first == 0 {
		t.Fatal("the first run did not probe")
	}
	for n := int64(1); n < 3; n++ {
		l := checkpoint.NewLog(s)
		if n == 1 { // whether or not a run reads it first
			_, err := l.Identity(ctx)
			noError(t, err)
		}
		noError(t, l.WritePlan(ctx, simple(n, n*10, n*10+10)))
		noError(t, l.WriteCommit(ctx, n))
	}
	if got := probes(script); got != first {
		t.Errorf("later runs probed: %d creations, want %d", got, first)
	}
}

// A checkpoint that was copied to another store, or that Spark made, is probed before our first plan, and then no more.
func TestACheckpointInANewPlaceIsProbed(t *testing.T) {
	ctx := t.Context()
	for _, name := range []string{"v1", "spark/v1"} {
		script := storetest.NewScript(-1, storetest.NotApplied)
		s := &storetest.Faults{Store: folder(t, name), Script: script}
		for n := int64(3); n < 5; n++ {
			l := checkpoint.NewLog(s)
			identity, err := l.Identity(ctx)
			noError(t, err)
			if identity == nil {
				noError(t, l.SetIdentity(ctx, &batch.Identity{Name: "orders"}))
			}
			noError(t, l.WriteCommit(ctx, n-1))
			noError(t, l.WritePlan(ctx, simple(n, 0, 1)))
		}
		if got := probes(script); got != 2 { // one probe creates twice
			t.Errorf("%s: got %d creations by probes, want 2", name, got)
		}
	}
}
