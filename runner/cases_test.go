package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/runner"
)

// What went wrong for others, in public, and must not here: planning. The checkpoint's part is in
// checkpoint_cases_test.go, the table's in lake_cases_test.go.

// put adds records to a partition without a marker after them.
func (k *kafka) put(partition int32, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range n {
		k.records[partition] = append(k.records[partition], k.end[partition])
		k.end[partition]++
	}
}

// recreate is the topic deleted and made again with one partition of n records.
func (k *kafka) recreate(n int) {
	k.mu.Lock()
	k.topicID = "topic-2"
	clear(k.records)
	clear(k.end)
	clear(k.start)
	k.mu.Unlock()
	k.put(0, n)
}

// copied is a store with the same objects.
func copied(t *testing.T, from objectstore.Store) objectstore.Store {
	t.Helper()
	to := objectstore.NewMemory("copy")
	keys, err := from.List(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		data, _, err := from.Get(t.Context(), key)
		if err == nil {
			err = to.Put(t.Context(), key, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// unchanged fails the test if do commits, plans or writes a file.
func (w *world) unchanged(t *testing.T, do func()) {
	t.Helper()
	was := func() string {
		keys, err := w.store.List(t.Context(), "offsets/", "")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(len(w.lake.snapshots), len(w.lake.files), keys)
	}
	before := was()
	do()
	if after := was(); after != before {
		t.Errorf("snapshots, files and plans were %s and are %s", before, after)
	}
}

// https://github.com/apache/spark/pull/38911: a target that can never be reached was waited for without end. The plan is
// kept: somebody may want to see what was meant.
func TestAnOpenPlanWhosePartitionsAreGoneIsRefusedEachTimeAndKept(t *testing.T) {
	for name, change := range map[string]struct {
		do    func(*kafka)
		parts []string
	}{
		"created again, smaller":       {func(k *kafka) { k.recreate(5) }, []string{"topic-1", "topic-2"}},
		"created again, and refilled":  {func(k *kafka) { k.recreate(100) }, []string{"topic-1", "topic-2"}},
		"a partition is no more there": {func(k *kafka) { delete(k.end, 1) }, []string{"t-1 is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.dieAt(t, "create offsets/0")
			planned := w.newest(t).Plan
			change.do(w.kafka)
			w.unchanged(t, func() {
				for range 2 {
					w.refuses(t, batch.DataLoss, nil, change.parts...)
				}
			})
			if log := w.newest(t); log.Plan.Hash != planned.Hash || log.Commit != batch.None {
				t.Errorf("got plan %v and marker %d, want the plan as it was, open", log.Plan, log.Commit)
			}
		})
	}
}

// The same while a run is under way: what is in hand is not committed, what was committed stays.
func TestATopicThatIsCreatedAgainDuringARunStopsIt(t *testing.T) {
	w := newWorld()
	decoders := 0
	w.refuses(t, batch.DataLoss, func(q *runner.Query) {
		q.NewDecoder = func(batch.Value, bool) (runner.Decoder, error) {
			if len(w.lake.snapshots) == 1 {
				decoders++
				w.kafka.recreate(50)
			}
			return decoder{}, nil
		}
	})
	if decoders == 0 {
		t.Fatal("the topic was not created again")
	}
	w.unchanged(t, func() { w.refuses(t, batch.DataLoss, nil, "topic-1", "topic-2") })
	if log := w.newest(t); log.Plan.Batch != 1 || log.Commit != 0 || len(w.lake.snapshots) != 1 {
		t.Errorf("got plan %d, marker %d, %d snapshots, want 1, 0, 1", log.Plan.Batch, log.Commit, len(w.lake.snapshots))
	}
}

// https://github.com/apache/spark/pull/52327: what is stored is replayed, and what has come since is the next batch's.
func TestAReplayIsExactAndTheNextBatchHasTheRest(t *testing.T) {
	w := &world{kafka: newKafka(), lake: newLake(), store: objectstore.NewMemory("test"), retain: 100}
	all := func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 }
	w.kafka.put(0, 10)
	w.kafka.put(1, 10)
	q, _ := w.query(dyingAt("create offsets/0"), none)
	all(q)
	if _, err := q.Run(t.Context()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	w.kafka.put(0, 3)
	w.kafka.put(2, 5)
	s, _, err := w.run(all)
	if err != nil || s.Batches != 2 || s.Records != 28 {
		t.Fatalf("got %+v, %v, want 28 records in two batches", s, err)
	}
	rows := func(n int64) (rows int64) {
		for name, file := range w.lake.files {
			if strings.HasPrefix(name, fmt.Sprintf("%s-%d-", w.queryID(t), n)) {
				rows += int64(len(file))
			}
		}
		return rows
	}
	if rows(0) != 20 || rows(1) != 8 {
		t.Errorf("batches 0 and 1 have %d and %d rows, want 20 and 8", rows(0), rows(1))
	}
	plan, err := checkpoint.NewLog(w.store).ReadPlan(t.Context(), 1)
	if err != nil || fmt.Sprint(plan.Ranges()) != "[t-0[10,13) t-2[0,5)]" {
		t.Errorf("batch 1 reads %v, %v", plan.Ranges(), err)
	}
	if err := w.judge(); err != nil {
		t.Error(err)
	}
}

// https://github.com/apache/spark/pull/24218: an end below what was reached is no range of negative length, and no
// reason to go back. One partition is enough to stop all; once its end is back, the run goes on as if nothing had been.
func TestAnEndThatFellStopsEverythingUntilItIsBack(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.put(1, 4)
	end := w.kafka.end[0]
	w.kafka.end[0] = end - 3
	w.unchanged(t, func() {
		w.refuses(t, batch.DataLoss, nil, fmt.Sprintf("t-0 ends at offset %d, before offset %d", end-3, end))
	})
	w.kafka.end[0] = end
	w.kafka.put(0, 5)
	if s := w.drain(t, nil); s.Records != 9 {
		t.Errorf("got %d records, want 9", s.Records)
	}
}

// https://github.com/delta-io/kafka-delta-ingest/issues/67: 0 was taken for "not set".
func TestABeginningAtOffset0IsNotTakenForNone(t *testing.T) {
	w := &world{kafka: newKafka(), lake: newLake(), store: objectstore.NewMemory("test"), retain: 2}
	w.kafka.end[0] = 0
	fromLatest := func(q *runner.Query) { q.Source.(*source).latest = true }
	if s, _, err := w.run(fromLatest); err != nil || !s.CaughtUp {
		t.Fatalf("got %+v, %v", s, err)
	}
	if start, ok := w.newest(t).Start[offsets.TopicPartition{Topic: "t"}]; !ok || start != 0 {
		t.Fatalf("pinned %v", w.newest(t).Start)
	}
	w.kafka.put(0, 6)
	w.drain(t, fromLatest)
}

// latecomers is a source that starts at the end, which has moved on by the time that anything is planned.
type latecomers struct{ *source }

func (s latecomers) Start(ctx context.Context) (offsets.Offsets, error) {
	start, err := s.source.Start(ctx)
	s.kafka.put(0, 3)
	return start, err
}

// https://github.com/delta-io/kafka-delta-ingest/issues/92: a start that only memory knew was another one after a crash.
// Struck anywhere, what was pinned holds; before that nothing was read, so a later start loses nothing.
func TestALatestThatIsPinnedSurvivesACrashAnywhere(t *testing.T) {
	synctest.Test(t, latestStruckAnywhere)
}

func latestStruckAnywhere(t *testing.T) {
	met := map[string]bool{}
	for _, how := range modes {
		for i := 0; ; i++ {
			w := newWorld()
			g := striking(i, how)
			latest := func(q *runner.Query) {
				q.Source.(*source).latest = true
				q.Source = latecomers{q.Source.(*source)}
			}
			q, _ := w.query(g, none)
			latest(q)
			_, _ = q.Run(t.Context())
			if g.struck == "" {
				break
			}
			met[g.struck] = true
			pinned, read := w.newest(t).Start, len(w.lake.snapshots)
			w.kafka.put(1, 4)
			if s, _, err := w.run(latest); err != nil || !s.CaughtUp {
				t.Fatalf("%q %s: got %+v, %v", g.struck, how, s, err)
			}
			if s, _, err := w.run(nil); err != nil || !s.CaughtUp { // for those who came late again
				t.Fatalf("%q %s: got %+v, %v", g.struck, how, s, err)
			}
			start := w.newest(t).Start
			if pinned != nil && !start.Equal(pinned) || pinned == nil && read > 0 {
				t.Fatalf("%q %s: pinned %v, then %v, with %d batches before", g.struck, how, pinned, start, read)
			}
			w.wantFrom(t, start)
		}
	}
	for _, effect := range []string{"create sources/0/0", "create offsets/0", "create commits/0", "broker: start", "catalog: commit"} {
		if !met[effect] {
			t.Errorf("no run was struck at %q", effect)
		}
	}
}

// wantFrom fails the test unless the table has every record from start on, once, and no other.
func (w *world) wantFrom(t *testing.T, start offsets.Offsets) {
	t.Helper()
	for p, records := range w.kafka.records {
		w.kafka.records[p] = slices.DeleteFunc(records, func(o int64) bool { return o < start[offsets.TopicPartition{Topic: "t", Partition: p}] })
	}
	if err := w.judge(); err != nil {
		t.Fatalf("from %v: %v", start, err)
	}
}
