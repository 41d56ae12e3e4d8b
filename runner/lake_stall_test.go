package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// halt holds a run at one of its steps until it is told to go on.
type halt struct {
	at int
	// name, if set, is the step instead of a number.
	name   string
	paused chan string
	resume chan struct{}

	mu   sync.Mutex
	seen int
}

func haltAt(step int) *halt {
	return &halt{at: step, paused: make(chan string, 1), resume: make(chan struct{})}
}

// step comes before and after every write to checkpoint, catalog and files. Without -full a run sleeps only before those
// to checkpoint and catalog, where what others do meanwhile matters most.
func (h *halt) step(name string, after bool) {
	if h.name != "" {
		h.mu.Lock()
		here := h.seen == 0 && when(name, after) == h.name
		if here {
			h.seen++
		}
		h.mu.Unlock()
		if here {
			h.paused <- h.name
			<-h.resume
		}
		return
	}
	if !*full && (after || strings.HasPrefix(name, "create data") || strings.HasPrefix(name, "create manifest") || strings.HasPrefix(name, "remove ")) {
		return
	}
	h.mu.Lock()
	here := h.seen == h.at
	h.seen++
	h.mu.Unlock()
	if here {
		h.paused <- when(name, after)
		<-h.resume
	}
}

func when(name string, after bool) string {
	if after {
		return "after " + name
	}
	return "before " + name
}

// A run sleeps before each of its writes to checkpoint and catalog (with -full: before and after all writes) while two
// others recover what it left, run on and purge; then it wakes. Judged by verify on a real Iceberg table.
func TestARunOnAnIcebergTableThatStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	fenced, slept := 0, map[string]bool{}
	for i := 0; ; i++ {
		w := newLakeWorld(t)
		h := haltAt(i)
		name, outcome, err := w.stall(w.sleeper(h), h)
		if err != nil {
			t.Errorf("a run slept %s: %v", name, err)
		}
		if name == "" {
			if i < 15 || fenced == 0 {
				t.Errorf("a run had %d writes to sleep at, %d sleepers were fenced", i, fenced)
			}
			break
		}
		slept[name] = true
		switch batch.ClassOf(outcome) {
		case batch.Fenced:
			fenced++
		case batch.Failed:
		default:
			t.Errorf("the run that slept %s was told: %v", name, outcome)
		}
	}
	want := []string{"before create offsets/0", "before commit db.orders snapshot", "before create commits/0"}
	if *full {
		want = append(want, "after create offsets/0", "before create data", "after create data", "after create manifest list", "after commit db.orders snapshot", "after create commits/0")
	}
	for _, step := range want {
		if !slept[step] {
			t.Errorf("no run slept %s", step)
		}
	}
	t.Logf("%d places to sleep at, %d sleepers fenced", len(slept), fenced)
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
	return name, outcome, w.recovers(context.Background())
}

func (w *lakeWorld) sleeper(h *halt) *runner.Query {
	q, _ := w.query(&laketest.Script{Step: h.step})
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
