package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func holder(t *testing.T, s objectstore.Store) *checkpoint.Holder {
	t.Helper()
	h, err := checkpoint.ReadHolder(t.Context(), s)
	noError(t, err)
	return h
}

func acquire(t *testing.T, l *checkpoint.Lease) (context.Context, int64) {
	t.Helper()
	held, epoch, err := l.Acquire(t.Context())
	noError(t, err)
	return held, epoch
}

func TestTheLeaseIsTakenReleasedAndTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		if h := holder(t, s); h != nil {
			t.Errorf("before the first run: got %v, want nobody", h)
		}
		for want := int64(1); want <= 3; want++ {
			l := checkpoint.NewLease(s, "run-"+strconv.FormatInt(want, 10))
			began := time.Now()
			held, epoch := acquire(t, l)
			if epoch != want || time.Since(began) != 0 {
				t.Errorf("got epoch %d after %s, want %d at once", epoch, time.Since(began), want)
			}
			h := holder(t, s)
			if h.Run != "run-"+strconv.FormatInt(want, 10) || h.PID != os.Getpid() || h.Host == "" || h.Released || !h.Acquired.Equal(began) {
				t.Errorf("got %+v", h)
			}
			noError(t, l.Release(t.Context()))
			noError(t, l.Release(t.Context()))
			if !holder(t, s).Released || held.Err() != nil {
				t.Errorf("after release: %+v, context %v", holder(t, s), held.Err())
			}
		}
	})
}

func TestALiveOwnerIsWaitedForAndThenNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		a := checkpoint.NewLease(s, "run-a")
		_, _ = acquire(t, a)
		b := checkpoint.NewLease(s, "run-b")
		began := time.Now()
		_, _, err := b.Acquire(t.Context())
		h := holder(t, s)
		wantFault(t, err, batch.Fenced, "run-a", h.Host, strconv.Itoa(h.PID), h.Acquired.UTC().Format(time.RFC3339))
		if waited := time.Since(began); waited != b.Wait {
			t.Errorf("waited %s, want %s", waited, b.Wait)
		}
		if h.Run != "run-a" || h.Epoch != 1 {
			t.Errorf("the lease went to %+v", h)
		}
		noError(t, a.Release(t.Context()))
	})
}

func TestWithoutWaitALiveOwnerIsNamedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		a := checkpoint.NewLease(s, "run-a")
		acquire(t, a)
		b := checkpoint.NewLease(s, "run-b")
		b.Wait = 0
		began := time.Now()
		_, _, err := b.Acquire(t.Context())
		wantFault(t, err, batch.Fenced, "run-a")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s", waited)
		}
		noError(t, a.Release(t.Context()))
	})
}

func TestAWaitingRunGetsTheLeaseWhenItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		a, b := checkpoint.NewLease(s, "run-a"), checkpoint.NewLease(s, "run-b")
		acquire(t, a)
		began := time.Now()
		time.AfterFunc(7*time.Second, func() { _ = a.Release(context.Background()) })
		_, epoch := acquire(t, b)
		if waited := time.Since(began); epoch != 2 || waited < 7*time.Second || waited > 8*time.Second {
			t.Errorf("got epoch %d after %s, want 2 within a second of the release", epoch, waited)
		}
		noError(t, b.Release(t.Context()))
	})
}

// dead leaves a lease behind as a process does that was killed.
func dead(t *testing.T, s objectstore.Store, change func(*checkpoint.Holder)) {
	t.Helper()
	h := checkpoint.Holder{Format: 1, Run: "dead", Host: "gone", PID: 1, Epoch: 41, Acquired: time.Now(), Heartbeat: time.Now(), TTLMs: 15000}
	if change != nil {
		change(&h)
	}
	text, err := json.Marshal(h)
	noError(t, err)
	noError(t, s.Put(t.Context(), "lock/lease.json", text))
}

func TestADeadOwnerIsOvertakenAfterItsTimeToLive(t *testing.T) {
	for name, change := range map[string]func(*checkpoint.Holder){
		"its clock was right":     nil,
		"its clock was far ahead": func(h *checkpoint.Holder) { h.Heartbeat = h.Heartbeat.Add(240 * time.Hour) },
		"its clock was behind":    func(h *checkpoint.Holder) { h.Heartbeat = h.Heartbeat.Add(-10 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := objectstore.NewMemory("m")
				dead(t, s, change)
				l := checkpoint.NewLease(s, "next")
				began := time.Now()
				_, epoch := acquire(t, l)
				if waited := time.Since(began); epoch != 42 || waited != 15*time.Second {
					t.Errorf("got epoch %d after %s, want 42 after 15s", epoch, waited)
				}
				noError(t, l.Release(t.Context()))
			})
		})
	}
}

func TestAnOwnerDeadForLongIsOvertakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		dead(t, s, nil)
		time.Sleep(time.Hour) // the bubble's clock
		l := checkpoint.NewLease(s, "next")
		l.Wait = 0
		began := time.Now()
		if _, epoch := acquire(t, l); epoch != 42 || time.Since(began) != 0 {
			t.Errorf("got epoch %d after %s, want 42 at once", epoch, time.Since(began))
		}
		noError(t, l.Release(t.Context()))
	})
}

func TestADamagedLeaseRunsOutToo(t *testing.T) {
	for _, text := range []string{"", "{", "null", `{"epoch":"many"}`, `{"ttlMs":99999999999999}`} {
		synctest.Test(t, func(t *testing.T) {
			s := objectstore.NewMemory("m")
			put(t, s, map[string]string{"lock/lease.json": text})
			l := checkpoint.NewLease(s, "next")
			l.Wait = 15 * time.Minute
			if _, epoch := acquire(t, l); epoch < 1 {
				t.Errorf("%q: got epoch %d", text, epoch)
			}
			noError(t, l.Release(t.Context()))
		})
	}
}

func TestTheLeaseIsRenewedForAsLongAsItIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		ctx, cancel := context.WithCancel(t.Context())
		l := checkpoint.NewLease(s, "run")
		held, _, err := l.Acquire(ctx)
		noError(t, err)
		time.Sleep(time.Hour)
		if h := holder(t, s); time.Since(h.Heartbeat) > l.Renew || held.Err() != nil {
			t.Errorf("last renewed %s ago, context %v", time.Since(h.Heartbeat), context.Cause(held))
		}
		cancel() // a signal: what is in hand is still finished under the lease
		time.Sleep(time.Minute)
		if h := holder(t, s); time.Since(h.Heartbeat) > l.Renew || !errors.Is(held.Err(), context.Canceled) {
			t.Errorf("after the signal: last renewed %s ago, context %v", time.Since(h.Heartbeat), held.Err())
		}
		noError(t, l.Release(context.WithoutCancel(ctx)))
		if !holder(t, s).Released {
			t.Error("it was not released")
		}
	})
}

// A machine that slept finds its lease given away: its work must stop, and it must not touch the other's lease.
func TestALeaseTakenOverEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		a := checkpoint.NewLease(s, "run-a")
		held, _ := acquire(t, a)
		dead(t, s, func(h *checkpoint.Holder) { h.Run, h.Epoch = "run-b", 2 })
		time.Sleep(a.Renew)
		synctest.Wait()
		if held.Err() == nil {
			t.Fatal("the work goes on")
		}
		wantFault(t, context.Cause(held), batch.Fenced, "run-b")
		before := get(t, s, "lock/lease.json")
		noError(t, a.Release(t.Context()))
		if got := get(t, s, "lock/lease.json"); got != before {
			t.Errorf("the loser changed the lease: %s", got)
		}
	})
}

func TestALeaseThatCannotBeRenewedInTimeEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &switched{Store: objectstore.NewMemory("m")}
		l := checkpoint.NewLease(s, "run")
		held, _ := acquire(t, l)
		s.off.Store(true)
		time.Sleep(l.TTL - l.Renew)
		synctest.Wait()
		if held.Err() != nil {
			t.Fatalf("given up too early: %v", context.Cause(held))
		}
		time.Sleep(2 * l.Renew)
		synctest.Wait()
		wantFault(t, context.Cause(held), batch.Failed, "15s", "switched off")
		s.off.Store(false)
		noError(t, l.Release(t.Context()))
	})
}

// When a process that was stopped goes on, its renewal has long timed out: what counts is who has the lease by then.
func TestAnOwnerThatSleptIsToldWhoHasTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := objectstore.NewMemory("m")
		s := &stuck{Store: m}
		l := checkpoint.NewLease(s, "run-a")
		held, _ := acquire(t, l)
		s.off.Store(true)
		dead(t, m, func(h *checkpoint.Holder) { h.Run, h.Epoch = "run-b", 2 })
		time.Sleep(l.TTL)
		synctest.Wait()
		wantFault(t, context.Cause(held), batch.Fenced, "run-b")
		noError(t, l.Release(t.Context()))
	})
}

// stuck does not come back from replacing an object while it is off.
type stuck struct {
	objectstore.Store
	off atomic.Bool
}

func (w *stuck) PutIfMatch(ctx context.Context, key string, data []byte, version objectstore.Version) (objectstore.Version, error) {
	if w.off.Load() {
		time.Sleep(time.Minute)
	}
	return w.Store.PutIfMatch(ctx, key, data, version)
}

func TestAShortOutageDoesNotCostTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &switched{Store: objectstore.NewMemory("m")}
		l := checkpoint.NewLease(s, "run")
		held, _ := acquire(t, l)
		time.Sleep(time.Second)
		for range 10 { // every other renewal fails
			s.off.Store(true)
			time.Sleep(7 * time.Second)
			s.off.Store(false)
			time.Sleep(3 * time.Second)
		}
		synctest.Wait()
		if held.Err() != nil {
			t.Errorf("lost: %v", context.Cause(held))
		}
		noError(t, l.Release(t.Context()))
	})
}

// The answers to creating, renewing, taking over and releasing can each get lost: the owner stays the owner
// (https://github.com/aws/aws-sdk-java-v2/issues/6580).
func TestTheLeaseSurvivesLostAnswers(t *testing.T) {
	for _, mode := range []storetest.Mode{storetest.NotApplied, storetest.AnswerLost, storetest.Repeated} {
		for at := range 4 {
			synctest.Test(t, func(t *testing.T) {
				s := objectstore.NewMemory("m")
				if at > 0 {
					dead(t, s, nil)
				}
				l := checkpoint.NewLease(&storetest.Faults{Store: s, Script: storetest.NewScript(at, mode)}, "run")
				held, _ := acquire(t, l)
				time.Sleep(2*l.Renew + time.Second)
				synctest.Wait()
				if held.Err() != nil {
					t.Errorf("%s at %d: lost: %v", mode, at, context.Cause(held))
				}
				noError(t, l.Release(t.Context()))
				if h := holder(t, s); h.Run != "run" || !h.Released {
					t.Errorf("%s at %d: got %+v", mode, at, h)
				}
			})
		}
	}
}

// Ten starts at the same moment: one owner at a time, no epoch twice, and everybody gets an answer.
func TestOfManyAtOnceOneHoldsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		var holders, most atomic.Int32
		var mu sync.Mutex
		epochs := map[int64]int{}
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				l := checkpoint.NewLease(s, strconv.Itoa(i))
				l.Wait = time.Minute
				_, epoch, err := l.Acquire(t.Context())
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				most.Store(max(most.Load(), holders.Add(1)))
				mu.Lock()
				epochs[epoch]++
				mu.Unlock()
				time.Sleep(time.Second)
				holders.Add(-1)
				if err := l.Release(t.Context()); err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		group.Wait()
		if most.Load() != 1 || len(epochs) != 10 {
			t.Errorf("got up to %d holders and %d epochs, want 1 and 10", most.Load(), len(epochs))
		}
	})
}

func TestTheHolderCanBeReadWithoutTakingTheLease(t *testing.T) {
	s := objectstore.NewMemory("m")
	c := &counted{Store: s}
	l := checkpoint.NewLease(s, "run")
	acquire(t, l)
	if h := holder(t, c); h.Run != "run" || c.gets != 1 || c.writes != 0 {
		t.Errorf("got %v with %d reads and %d writes, want one read", h, c.gets, c.writes)
	}
	noError(t, l.Release(t.Context()))
}

func TestAStoreThatRefusesTheLeaseIsUnsafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := checkpoint.NewLease(inverted{objectstore.NewMemory("m")}, "run").Acquire(t.Context())
		wantFault(t, err, batch.NotSetUp, "refuses to create")
	})
}

func TestWaitingForTheLeaseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := objectstore.NewMemory("m")
		dead(t, s, nil)
		signal := errors.New("SIGTERM")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(signal) })
		began := time.Now()
		_, _, err := checkpoint.NewLease(s, "run").Acquire(ctx)
		if !errors.Is(err, signal) || time.Since(began) != 3*time.Second {
			t.Errorf("got %v after %s, want the signal after 3s", err, time.Since(began))
		}
	})
}

// switched is a store that can be unreachable.
type switched struct {
	objectstore.Store
	off atomic.Bool
}

func (s *switched) Get(ctx context.Context, key string) ([]byte, objectstore.Version, error) {
	if s.off.Load() {
		return nil, "", errors.New("switched off")
	}
	return s.Store.Get(ctx, key)
}

func (s *switched) PutIfMatch(ctx context.Context, key string, data []byte, version objectstore.Version) (objectstore.Version, error) {
	if s.off.Load() {
		return "", objectstore.ErrAmbiguous
	}
	return s.Store.PutIfMatch(ctx, key, data, version)
}

// inverted refuses to create what is not there and replaces what is.
type inverted struct{ *objectstore.Memory }

func (s inverted) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if _, _, err := s.Get(ctx, key); errors.Is(err, objectstore.ErrNotFound) {
		return "", objectstore.ErrConflict
	}
	return "", s.Put(ctx, key, data)
}
