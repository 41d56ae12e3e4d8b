package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/checkpoint"
	"sluice/objectstore"
)

// Whoever waits is told once what for: who has the lease, where and since when, and for how long at most.
func TestAWaitingRunSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		dead(t, s, nil)
		since := time.Now().UTC().Format(time.RFC3339)
		l := checkpoint.NewLease(s, "next")
		var said []string
		began := time.Now()
		l.Notice = func(message string, attributes ...any) {
			said = append(said, fmt.Sprint(time.Since(began), " ", message, " ", attributes))
		}
		acquire(t, l)
		if len(said) != 1 {
			t.Fatalf("got %q, want one notice", said)
		}
		for _, part := range []string{"1s waiting for another run", "run dead", "host gone", "pid 1", "since " + since, "forAtMost 14s"} {
			if !strings.Contains(said[0], part) {
				t.Errorf("got %q, want it to say %q", said[0], part)
			}
		}
		noError(t, l.Release(t.Context()))
	})
}

// What takes less than a second is not worth a word.
func TestAShortWaitForTheLeaseIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		a := checkpoint.NewLease(s, "run-a")
		for _, change := range []func(l *checkpoint.Lease){
			func(*checkpoint.Lease) { // released just then
				acquire(t, a)
				time.AfterFunc(500*time.Millisecond, func() { _ = a.Release(context.Background()) })
			},
			func(l *checkpoint.Lease) { acquire(t, a); l.Wait = 500 * time.Millisecond }, // given up
		} {
			b := checkpoint.NewLease(s, "run-b")
			b.Notice = func(message string, _ ...any) { t.Errorf("got notice %q", message) }
			change(b)
			if _, _, err := b.Acquire(t.Context()); err == nil {
				noError(t, b.Release(t.Context()))
			}
			noError(t, a.Release(t.Context()))
		}
	})
}
