package checkpoint_test

import (
	"errors"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

// The runner acts on every WritePlan that succeeds, so it must fail where the object did not stay
// (https://github.com/apache/spark/pull/38291).
func TestAPlanThatTheStoreLosesFailsTheRun(t *testing.T) {
	s := objectstore.NewMemory("m")
	fill(t, s, 1)
	l := checkpoint.NewLog(storetest.Drops{Store: s, Key: func(key string) bool { return key == "offsets/1" }})
	err := l.WritePlan(t.Context(), simple(1, 10, 20))
	wantFault(t, err, batch.Failed, "offsets/1", "does not have it")
}

// An earlier request that lands after it was given up cannot take the place of what was written since
// (https://github.com/cloudflare/cloudflare-docs/issues/32793).
func TestALateArrivalIsHarmless(t *testing.T) {
	s, ctx := objectstore.NewMemory("m"), t.Context()
	l := fill(t, s, 1)
	noError(t, l.WritePlan(ctx, simple(1, 10, 20)))
	late := get(t, s, "offsets/1")
	noError(t, s.Delete(ctx, "offsets/1"))
	noError(t, checkpoint.NewLog(s).WritePlan(ctx, simple(1, 10, 15)))
	if _, err := s.PutIfAbsent(ctx, "offsets/1", []byte(late)); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
	if got := last(t, s).Plan.Ranges()[0].Until; got != 15 {
		t.Errorf("the plan ends at %d, want 15", got)
	}
}
