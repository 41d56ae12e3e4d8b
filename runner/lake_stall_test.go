package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// halt holds a run at one of its steps until it is told to go on.
type halt struct {
	at, seen int
	paused   chan string
	resume   chan struct{}
}

func (h *halt) step(name string) {
	h.seen++
	if h.seen-1 == h.at {
		h.paused <- name
		<-h.resume
	}
}

// haltedStore steps before every write.
type haltedStore struct {
	checkpoint.Store
	halt *halt
}

func (s haltedStore) PutIfAbsent(ctx context.Context, key string, data []byte) (checkpoint.Version, error) {
	s.halt.step("create " + generic(key))
	return s.Store.PutIfAbsent(ctx, key, data)
}

func (s haltedStore) PutIfMatch(ctx context.Context, key string, data []byte, was checkpoint.Version) (checkpoint.Version, error) {
	s.halt.step("swap " + generic(key))
	return s.Store.PutIfMatch(ctx, key, data, was)
}

func (s haltedStore) Put(ctx context.Context, key string, data []byte) error {
	s.halt.step("put " + generic(key))
	return s.Store.Put(ctx, key, data)
}

func (s haltedStore) Delete(ctx context.Context, keys ...string) error {
	s.halt.step("delete")
	return s.Store.Delete(ctx, keys...)
}

// A run sleeps before each of its writes to checkpoint and catalog while two others recover what it left, run on and
// purge; then it wakes. Judged by verify on a real Iceberg table.
func TestARunOnAnIcebergTableThatStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	fenced := 0
	for i := 0; ; i++ {
		w := newLakeWorld(t)
		h := &halt{at: i, paused: make(chan string, 1), resume: make(chan struct{})}
		name, outcome, err := w.stall(w.sleeper(h), h)
		if err != nil {
			t.Errorf("a run slept before %q: %v", name, err)
		}
		if name == "" {
			if i < 15 || fenced == 0 {
				t.Errorf("a run had %d writes to sleep at, %d sleepers were fenced", i, fenced)
			}
			return
		}
		switch batch.ClassOf(outcome) {
		case batch.Fenced:
			fenced++
		case batch.Failed:
		default:
			t.Errorf("the run that slept before %q was told: %v", name, outcome)
		}
	}
}

// stall lets two runs go on while the sleeper sleeps, wakes it and judges. name is where it slept, empty if it had no
// such step; outcome is what it was told.
func (w *lakeWorld) stall(sleeper *runner.Query, h *halt) (name string, outcome, violation error) {
	done := make(chan error, 1)
	go func() {
		_, err := sleeper.Run(context.Background())
		done <- err
	}()
	select {
	case err := <-done:
		return "", nil, err
	case name = <-h.paused:
	}
	meanwhile := w.meanwhile()
	close(h.resume)
	outcome = <-done
	if meanwhile != nil {
		return name, outcome, fmt.Errorf("meanwhile: %w", meanwhile)
	}
	return name, outcome, w.settle()
}

func (w *lakeWorld) sleeper(h *halt) *runner.Query {
	asleep := *w
	asleep.store = haltedStore{w.store, h}
	q, _ := asleep.queryOn(&laketest.Script{}, func(table.Identifier) { h.step("commit") })
	return q
}

// meanwhile lets two other runs recover, drain what arrives, and purge.
func (w *lakeWorld) meanwhile() error {
	for range 2 {
		w.kafka.produce(0, 4)
		w.kafka.produce(2, 5)
		q, _ := w.query(&laketest.Script{})
		if _, err := q.Run(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func (w *lakeWorld) settle() error {
	q, _ := w.query(&laketest.Script{})
	if _, err := q.Run(context.Background()); err != nil {
		return fmt.Errorf("the clean run failed: %w", err)
	}
	return w.judge(context.Background())
}
