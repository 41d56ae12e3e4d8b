package runner_test

import (
	"context"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// oneByOne makes a batch of every offset.
func oneByOne(q *runner.Query) { q.MaxOffsetsPerTrigger, q.MinPartitions, q.Workers = 1, 1, 1 }

// longRun drains so many records of one partition, each in a batch of its own.
func (w *filesWorld) longRun(t *testing.T, records int) {
	t.Helper()
	w.kafka.produce(0, records)
	w.mutate = oneByOne
	if _, err := w.query(t, &laketest.Script{}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// listed counts the manifests that stand alone, and the ranges.
func (w *filesWorld) listed(t *testing.T) (alone, ranges int) {
	t.Helper()
	keys, err := w.books.List(t.Context(), "_sluice", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		switch {
		case strings.HasPrefix(key, "_sluice_ranges/"):
			ranges++
		case anyID.MatchString(key) && !strings.Contains(key, "probe"):
			alone++
		}
	}
	return alone, ranges
}

func TestManifestsOfManyBatchesBecomeRangesAndStayBounded(t *testing.T) {
	t.Parallel()
	w := newFilesWorld(t)
	w.longRun(t, 310)
	alone, ranges := w.listed(t)
	if alone > 220 || alone < 100 || ranges < 2 {
		t.Errorf("after 310 batches and more there are %d manifests and %d ranges", alone, ranges)
	}
	if err := w.recovers(t); err != nil {
		t.Error(err)
	}
}

// Every effect of making ranges is struck, with -full in every way; the judge reads the folder afterwards, and the next run
// makes up for it.
func TestMakingARangeStruckAnywhereHarmsNothing(t *testing.T) {
	t.Parallel()
	for _, how := range laketest.Modes() {
		for _, at := range []string{"book _sluice_ranges/", "delete _sluice/"} {
			if !*full && (how != laketest.AnswerLost && how != laketest.KilledAfter) {
				continue
			}
			w := newFilesWorld(t)
			w.mutate = oneByOne
			w.kafka.produce(0, 195)
			s := laketest.BreakWhen(func(name string) bool { return strings.HasPrefix(name, at) && !strings.Contains(name, "probe") }, how)
			if met, err := w.fail(t, s); !met {
				t.Fatalf("%s %s: not met: %v", at, how, err)
			}
			if err := w.recovers(t); err != nil {
				t.Errorf("%s %s: %v", at, how, err)
			}
			w.longRun(t, 20)
			if err := w.judge(t.Context()); err != nil {
				t.Errorf("%s %s, later: %v", at, how, err)
			}
			if alone, ranges := w.listed(t); ranges != 1 || alone > 130 {
				t.Errorf("%s %s: there are %d manifests and %d ranges", at, how, alone, ranges)
			}
		}
	}
}

// A run sleeps before it creates its manifest, or its plan, while others finish its batch, go on for hundreds and make ranges
// of what it knew: the name of its manifest is free again, and means nothing.
func TestARunThatSleepsUntilItsManifestsNameIsFreeAgainDoesNoHarm(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before book _sluice/<id>/5.json", "after book _sluice/<id>/5.json", "before create offsets/5", "before create commits/5"} {
		if !*full && strings.Contains(at, "create") {
			continue
		}
		w := newFilesWorld(t)
		w.mutate = oneByOne
		h := &halt{name: at, paused: make(chan string, 1), resume: make(chan struct{})}
		sleeper := w.query(t, &laketest.Script{Step: h.step})
		done := make(chan error, 1)
		go func() {
			_, err := sleeper.Run(context.Background())
			done <- err
		}()
		<-h.paused
		w.longRun(t, 210)
		if _, ranges := w.listed(t); ranges == 0 {
			t.Errorf("%s: there are no ranges", at)
		}
		close(h.resume)
		if err := <-done; batch.ClassOf(err) != batch.Fenced {
			t.Errorf("a run that slept %s was told %v", at, err)
		}
		if err := w.recovers(t); err != nil {
			t.Errorf("a run slept %s: %v", at, err)
		}
		w.longRun(t, 20)
		if err := w.judge(t.Context()); err != nil {
			t.Errorf("a run slept %s, later: %v", at, err)
		}
	}
}
