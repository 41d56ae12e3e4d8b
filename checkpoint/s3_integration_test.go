//go:build integration

package checkpoint_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
	"sluice/rig"
)

func openBucket(t *testing.T, address string) objectstore.Store {
	t.Helper()
	s, err := objectstore.Open(t.Context(), address)
	noError(t, err)
	return s
}

func TestRealS3IsAStore(t *testing.T) {
	storetest.Conform(t, func(t *testing.T) objectstore.Store { return openBucket(t, rig.S3(t).URL) })
}

func TestRealS3HoldsAWholeCheckpoint(t *testing.T) {
	bucket := rig.S3(t)
	s := openBucket(t, bucket.URL)
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
	l := checkpoint.NewLog(openBucket(t, bucket.Folder)) // what the address lacks comes from the environment
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

func TestOnRealS3OneOfManyPlansABatch(t *testing.T) {
	bucket := rig.S3(t)
	fill(t, openBucket(t, bucket.URL), 1)
	for n := int64(1); n <= 10; n++ {
		var group sync.WaitGroup
		winners := make(chan string, 10)
		for i := range 10 {
			group.Go(func() {
				s, err := objectstore.Open(t.Context(), bucket.URL)
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
		l := checkpoint.NewLog(openBucket(t, bucket.URL))
		plan, err := l.ReadPlan(t.Context(), n)
		noError(t, err)
		if want := <-winners; plan.Hash != want {
			t.Errorf("batch %d: the plan there is %s, the winner's %s", n, plan.Hash, want)
		}
		noError(t, l.WriteCommit(t.Context(), n))
	}
}

func TestTheLeaseOnRealS3(t *testing.T) {
	s := openBucket(t, rig.S3(t).URL)
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

func TestARealBucketThatIsNotThere(t *testing.T) {
	bucket := rig.S3(t)
	s := openBucket(t, "s3://no-such-bucket/ck?region=us-east-1&use_path_style=true&endpoint="+bucket.Endpoint)
	_, err := checkpoint.NewLog(s).Query(t.Context())
	wantFault(t, err, batch.NotSetUp, "bucket does not exist")
	if errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("%v reads as: no checkpoint yet", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
	_, err = checkpoint.NewLog(openBucket(t, bucket.URL)).Query(t.Context())
	wantFault(t, err, batch.NotSetUp, "permission denied")
}
