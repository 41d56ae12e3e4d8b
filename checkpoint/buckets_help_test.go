//go:build integration || clouds

package checkpoint_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
)

func openBucket(t *testing.T, address string) objectstore.Store {
	t.Helper()
	s, err := objectstore.Open(t.Context(), address)
	noError(t, err)
	return s
}

// wholeCheckpoint writes one and purges it; other is an address of the same folder.
func wholeCheckpoint(t *testing.T, address, other string) {
	s := openBucket(t, address)
	writeGolden(t, s)
	golden := folder(t, "v1")
	if got, want := list(t, s, ""), list(t, golden, ""); !slices.Equal(got, want) {
		t.Fatalf("got objects %v, want %v", got, want)
	}
	for _, key := range list(t, golden, "") {
		if got, want := get(t, s, key), get(t, golden, key); key != "identity.json" && got != want { // which names the store
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	l := checkpoint.NewLog(openBucket(t, other))
	l.Retain = 2
	state, err := l.Last(t.Context())
	noError(t, err)
	if state.Plan.Batch != 2 || state.Commit != 1 {
		t.Fatalf("got plan %d and commit %d, want 2 and 1", state.Plan.Batch, state.Commit)
	}
	noError(t, l.WriteCommit(t.Context(), 2))
	noError(t, l.WritePlan(t.Context(), simple(3, 0, 1)))
	noError(t, l.WriteCommit(t.Context(), 3))
	noError(t, l.Purge(t.Context(), 3))
	for dir, want := range map[string][]string{"offsets/": {"offsets/2", "offsets/3"}, "commits/": {"commits/2", "commits/3"}, "progress/": nil} {
		if got := list(t, s, dir); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// onePlans lets many plan the same batches at the same time.
func onePlans(t *testing.T, address string) {
	fill(t, openBucket(t, address), 1)
	for n := int64(1); n <= 10; n++ {
		var group sync.WaitGroup
		winners := make(chan string, 10)
		for i := range 10 {
			group.Go(func() {
				s, err := objectstore.Open(t.Context(), address)
				if err != nil {
					t.Error(err)
					return
				}
				plan := simple(n, n*10, n*10+10)
				plan.Nonce = fmt.Sprint(i)
				err = checkpoint.NewLog(s).WritePlan(t.Context(), plan)
				switch {
				case err == nil:
					winners <- plan.Hash
				case batch.ClassOf(err) != batch.Fenced:
					t.Errorf("batch %d: got %v, want success or Fenced", n, err)
				}
			})
		}
		group.Wait()
		if len(winners) != 1 {
			t.Fatalf("batch %d has %d owners, want 1", n, len(winners))
		}
		l := checkpoint.NewLog(openBucket(t, address))
		plan, err := l.ReadPlan(t.Context(), n)
		noError(t, err)
		if want := <-winners; plan.Hash != want {
			t.Errorf("batch %d: the plan there is %s, the winner's %s", n, plan.Hash, want)
		}
		noError(t, l.WriteCommit(t.Context(), n))
	}
}

// leased takes the lease, and sees that another cannot.
func leased(t *testing.T, address string) {
	s := openBucket(t, address)
	for want := int64(1); want <= 3; want++ {
		l := checkpoint.NewLease(s, fmt.Sprint("run-", want))
		held, epoch := acquire(t, l)
		if epoch != want || held.Err() != nil {
			t.Errorf("got epoch %d and context %v, want %d", epoch, held.Err(), want)
		}
		other := checkpoint.NewLease(s, "other")
		other.Wait = 0
		_, _, err := other.Acquire(t.Context())
		wantFault(t, err, batch.Fenced, fmt.Sprint("run-", want))
		noError(t, l.Release(t.Context()))
	}
}
