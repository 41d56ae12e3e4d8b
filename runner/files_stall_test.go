package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/objectstore"
	"sluice/runner"
)

// The recovery may be struck as well: every eleventh pair of faults, without -full one in 97 and kills alone.
func TestARecoveryOfAFolderOfFilesStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	modes, stride := laketest.Modes(), 11
	if !*full {
		modes, stride = []laketest.Mode{laketest.KilledAfter}, 37
	}
	for _, first := range modes {
		for _, second := range modes {
			t.Run(fmt.Sprintf("%s, then %s", first, second), func(t *testing.T) {
				t.Parallel()
				pairs := 0
				for i, met := 0, true; met; i++ {
					again := true
					for j := i * 5 % stride; met && again; j += stride {
						t.Run(fmt.Sprintf("%d, %d", i, j), func(t *testing.T) {
							met, again = filesStruckTwice(t, laketest.BreakAt(i, first), laketest.BreakAt(j, second))
						})
						if met && again {
							pairs++
						}
					}
				}
				if pairs < 10 {
					t.Errorf("got %d pairs of faults", pairs)
				}
			})
		}
	}
}

func filesStruckTwice(t *testing.T, first, second *laketest.Script) (met, again bool) {
	w := newFilesWorld(t)
	met, err := w.fail(t, first)
	if !met {
		if err != nil {
			t.Error(err)
		}
		return false, false
	}
	w.arrive()
	again, err = w.fail(t, second)
	if err == nil {
		err = w.recovers(t)
	}
	if err != nil {
		t.Errorf("%s, then %s: %v", first.Broken(), second.Broken(), err)
	}
	return met, again
}

// stall lets two runs go on while one sleeps, wakes it and judges. name is where it slept, empty if it had no such step;
// outcome is what it was told.
func (w *filesWorld) stall(t *testing.T, sleeper *runner.Query, h *halt) (name string, outcome, violation error) {
	t.Helper()
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
	var meanwhile error
	for range 2 {
		w.kafka.produce(0, 4)
		w.kafka.produce(2, 5)
		if _, err := w.query(t, &laketest.Script{}).Run(context.Background()); err != nil && meanwhile == nil {
			meanwhile = err
		}
	}
	close(h.resume)
	outcome = <-done
	if meanwhile != nil {
		return name, outcome, fmt.Errorf("meanwhile: %w", meanwhile)
	}
	return name, outcome, w.recovers(t)
}

// A run sleeps before each of its writes to checkpoint and bookkeeping (with -full: before and after all writes) while two
// others recover what it left, run on and purge; then it wakes.
func TestARunOnAFolderOfFilesThatStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	fenced, slept := 0, map[string]bool{}
	for i := 0; ; i++ {
		w := newFilesWorld(t)
		h := haltAt(i)
		name, outcome, err := w.stall(t, w.query(t, &laketest.Script{Step: h.step}), h)
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
	for _, step := range []string{"before create offsets/0", "before book _sluice/folder.json", "before book _sluice/<id>/0.json", "before create commits/0"} {
		if !slept[step] {
			t.Errorf("no run slept %s", step)
		}
	}
}

// overwriting is a store that a mutant takes for one that needs no condition: it replaces what is there.
type overwriting struct{ objectstore.Store }

func (o overwriting) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if err := o.Put(ctx, key, data); err != nil {
		return "", err
	}
	_, version, err := o.Get(ctx, key)
	return version, err
}

// Each way to break the protocol around the folder must be noticed, with verify as the judge.
func TestTheSweepOfAFolderOfFilesNoticesEveryMutant(t *testing.T) {
	for name, m := range lakeMutants {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			if name == failureIsSuccess { // one failure is met by another attempt: here all of a run fail
				w := newFilesWorld(t)
				broken := *w
				broken.mutate, broken.books = m.change, refusing{w.books}
				_, err := broken.query(t, &laketest.Script{}).Run(t.Context()) // which may stop when it looks at the folder again
				t.Log(err)
				wantNoticed(t, w.recovers(t))
				return
			}
			wantNoticed(t, sweepFiles(t, m.how, func(w *filesWorld) { w.mutate = m.change }))
		})
	}
}

// refusing is a store that takes no manifest.
type refusing struct{ objectstore.Store }

func (r refusing) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if anyID.MatchString(key) && !strings.Contains(key, "probe") {
		return "", errors.New("no")
	}
	return r.Store.PutIfAbsent(ctx, key, data)
}

func sweepFiles(t *testing.T, how laketest.Mode, change func(*filesWorld)) error {
	t.Helper()
	for i := 0; ; i++ {
		w := newFilesWorld(t)
		change(w)
		s := laketest.BreakAt(i, how)
		met, err := w.struck(t, s)
		if !met {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%q %s: %w", s.Effects()[i], how, err)
		}
	}
}

// This one does harm only where another run goes on while one sleeps.
func TestTheStallsOnAFolderOfFilesNoticeAManifestWithoutACondition(t *testing.T) {
	t.Parallel()
	for i := 0; ; i++ {
		w := newFilesWorld(t)
		h := haltAt(i)
		broken := *w
		broken.books = overwriting{w.books}
		name, _, err := w.stall(t, broken.query(t, &laketest.Script{Step: h.step}), h)
		if err != nil {
			t.Logf("a run slept %s: %v", name, err)
			return
		}
		if name == "" {
			t.Fatal("no run was wrong")
		}
	}
}
