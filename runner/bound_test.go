package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
)

// until ends every run at these offsets, by partition.
func until(bound offsets.Offsets) func(*runner.Query) {
	return func(q *runner.Query) {
		q.Bound = func(context.Context, batch.Isolation, *offsets.View, offsets.Offsets) (offsets.Offsets, error) {
			return bound, nil
		}
	}
}

func places(pairs ...int64) offsets.Offsets {
	o := offsets.Offsets{}
	for i := 0; i < len(pairs); i += 2 {
		o[offsets.TopicPartition{Topic: "t", Partition: int32(pairs[i])}] = pairs[i+1]
	}
	return o
}

func TestABoundedRunNeverReadsBeyondItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		bound   offsets.Offsets
		records int64
		reached bool
		ahead   int
	}{
		"inside of what is there":         {places(0, 3, 1, 1), 4, true, 0},
		"nothing at all":                  {places(0, 0, 1, 0), 0, true, 0},
		"one partition alone":             {places(0, 3), 6, true, 0},
		"beyond what is there":            {places(0, 1000, 1, 1), 8, false, 1},
		"where a log has no record":       {places(0, 8, 1, 4), 10, true, 0},
		"later than all that ever was":    {places(0, 1<<62, 1, 1<<62), 10, false, 2},
		"exactly where reading has begun": {places(0, 0, 1, 4), 3, true, 0},
	} {
		w := newWorld()
		w.kafka.produce(0, 0)
		s, _, err := w.run(until(c.bound))
		if err != nil || s.Records != c.records || !s.CaughtUp || s.Bound == nil || s.Bound.Reached != c.reached || s.Bound.Ahead != c.ahead {
			t.Errorf("%s: got %d records, %+v, %v", name, s.Records, s.Bound, err)
		}
		if s.Lag == 0 && c.records < 10 {
			t.Errorf("%s: the lag is that to the live end, and was 0", name)
		}
		again, _, err := w.run(until(c.bound)) // nothing is left
		if err != nil || again.Batches != 0 || again.Bound.Reached != c.reached {
			t.Errorf("%s, again: got %+v, %v", name, again, err)
		}
		w.drain(t, nil) // the bound is taken away, and every record is there once
	}
}

// https://github.com/apache/spark/pull/50866
func TestAQueryIsNotBegunBehindItsEnd(t *testing.T) {
	w := newWorld()
	w.kafka.start[0] = 5
	w.refuses(t, batch.NotSetUp, until(places(0, 3, 1, 2)), "t-0 is at 5, the end at 3", "endingOffsets")
	if id := w.queryID(t); id != "" {
		t.Errorf("query %s was begun", id)
	}
}

func TestAPartitionThatAppearsBehindItsEndIsRefused(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.produce(2, 9)
	w.kafka.start[2] = 7
	w.refuses(t, batch.NotSetUp, until(places(0, 100, 1, 100, 2, 3)), "t-2 is at 7, the end at 3")
}

func TestAnEndThatWasPassedAlreadyIsToldAndReadsNothing(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.produce(0, 3)
	s, said, err := w.run(until(places(0, 2, 1, 2)))
	if err != nil || s.Batches != 0 || !s.Bound.Reached || !strings.Contains(fmt.Sprint(said.said), "warning: the query has read beyond the end") {
		t.Errorf("got %+v, %v, said %v", s, err, said.said)
	}
	w.drain(t, nil)
}

// What retention removes beyond the end is no loss of a run that would not read it, and what it removes before it is one up to
// the end and no further.
func TestLossesBeyondTheEndAreNone(t *testing.T) {
	w := newWorld()
	if _, _, err := w.run(until(places(0, 3, 1, 2))); err != nil {
		t.Fatal(err)
	}
	w.kafka.start[0] = 6 // the run above has read to 3
	s, _, err := w.run(until(places(0, 3, 1, 2)))
	if err != nil || s.Batches != 0 || s.Lost != 0 {
		t.Errorf("at the end: got %+v, %v", s, err)
	}
	skip := func(bound offsets.Offsets) func(*runner.Query) {
		return func(q *runner.Query) { until(bound)(q); q.Accepts = batch.Causes{batch.Retention} }
	}
	w.refuses(t, batch.DataLoss, until(places(0, 5, 1, 2)), "[3,5)")
	if s, _, err = w.run(skip(places(0, 5, 1, 2))); err != nil || s.Lost != 2 {
		t.Errorf("before the end: got %+v, %v", s, err)
	}
	if s, _, err = w.run(skip(nil)); err != nil || s.Lost != 1 {
		t.Errorf("without an end: got %+v, %v", s, err)
	}
}

// A plan that is open is finished as it was planned, wherever the job's end is by now, and also where that makes no sense.
func TestAReplayIsNotBounded(t *testing.T) {
	for name, change := range map[string]func(*runner.Query){
		"a lower end": until(places(0, 1, 1, 1)),
		"a wrong end": func(q *runner.Query) {
			q.Bound = func(context.Context, batch.Isolation, *offsets.View, offsets.Offsets) (offsets.Offsets, error) {
				return nil, &batch.Fault{Class: batch.NotSetUp, Message: "no such partition"}
			}
		},
	} {
		w := newWorld()
		w.dieAt(t, "create offsets/0")
		planned := w.newest(t).Plan
		s, _, err := w.run(change)
		if s.Records == 0 || s.Batches != 1 || w.newest(t).Commit != 0 || w.newest(t).Plan.Hash != planned.Hash {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
		if wrong := name == "a wrong end"; wrong != (batch.ClassOf(err) == batch.NotSetUp) {
			t.Errorf("%s: got %v", name, err)
		}
		w.drain(t, nil)
	}
}

// clocked is a run at a time, that waits for so much to be there.
func clocked(now time.Time, least int64) func(*runner.Query) {
	return func(q *runner.Query) {
		q.Now = func() time.Time { return now }
		q.MinOffsetsPerTrigger, q.MaxTriggerDelay = least, time.Hour
	}
}

func TestARunWaitsForEnoughUntilTheNewestBatchIsOld(t *testing.T) {
	began := time.UnixMilli(1_700_000_000_000)
	w := newWorld()
	s, _, err := w.run(clocked(began, 1000)) // a query without a batch never waits
	if err != nil || !s.CaughtUp || s.Batches == 0 {
		t.Fatalf("got %+v, %v", s, err)
	}
	w.kafka.produce(0, 2) // and a marker: 3 offsets
	plans := w.newest(t).Plan.Batch
	for range 2 { // idle runs in between reset nothing
		s, _, err = w.run(clocked(began.Add(59*time.Minute), 4))
		if err != nil || s.Stopped != "waiting" || s.CaughtUp || s.Batches != 0 || s.Lag != 3 {
			t.Fatalf("got %+v, %v", s, err)
		}
		if at := s.Waiting; at == nil || at.Offsets != 3 || at.MinOffsets != 4 || !at.Since.Equal(began) || !at.Until.Equal(began.Add(time.Hour)) {
			t.Errorf("got %+v", s.Waiting)
		}
	}
	if got := w.newest(t).Plan.Batch; got != plans {
		t.Errorf("batch %d was planned, want none after %d", got, plans)
	}
	for name, change := range map[string]func(*runner.Query){
		"enough is there":               clocked(began.Add(59*time.Minute), 3),
		"the newest batch is old":       clocked(began.Add(time.Hour), 4),
		"a clock of before":             clocked(began.Add(-time.Minute), 4),
		"all up to the end is there":    func(q *runner.Query) { clocked(began, 4)(q); until(places(0, 10, 1, 4))(q) },
		"a loss has to become durable":  func(q *runner.Query) { clocked(began, 4)(q); lostOfOne(q) },
		"nobody asks for so much again": nil,
	} {
		other := w.copy(t)
		if strings.Contains(name, "loss") {
			other.kafka.start[0] = 9
		}
		s, _, err := other.run(change)
		if err != nil || !s.CaughtUp || s.Batches == 0 || s.Waiting != nil {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
}

func lostOfOne(q *runner.Query) { q.Accepts = batch.Causes{batch.Retention} }

// A run that begins reads all that is there, in however many batches, also where the last of them is smaller than what it takes
// to begin: Spark's AvailableNow ends with unread records then.
func TestARunThatBeginsLeavesNoTailUnread(t *testing.T) {
	w := newWorld() // 12 offsets, 5 a batch
	s := w.drain(t, clocked(time.UnixMilli(1_700_000_000_000), 4))
	if s.Batches != 3 {
		t.Errorf("got %d batches", s.Batches)
	}
}

func TestABatchThatWasCutShortIsFinishedThoughTooLittleIsThere(t *testing.T) {
	w := newWorld()
	w.dieAt(t, "create offsets/2")
	began := time.UnixMilli(1_700_000_000_000)
	w.kafka.produce(0, 1)
	s, _, err := w.run(clocked(began.Add(2*time.Hour), 1000))
	if err != nil || s.Batches != 1 || s.Stopped != "waiting" || s.Waiting.Offsets != 2 || !s.Waiting.Since.Equal(began.Add(2*time.Hour)) {
		t.Errorf("got %+v, %+v, %v", s, s.Waiting, err)
	}
}

// Without a report, which may be missing, the plan tells how old the newest batch is.
func TestTheAgeOfTheNewestBatchIsKnownWithoutItsReport(t *testing.T) {
	began := time.UnixMilli(1_700_000_000_000)
	for name, spoil := range map[string]func(*world){
		"gone":    func(w *world) { w.lose(t, "progress/2.json") },
		"damaged": func(w *world) { _ = w.store.Put(t.Context(), "progress/2.json", []byte(`{"batchId":`)) },
	} {
		w := newWorld()
		w.drain(t, nil)
		spoil(w)
		w.kafka.produce(0, 1)
		s, _, err := w.run(clocked(began.Add(time.Minute), 100))
		if err != nil || s.Waiting == nil || !s.Waiting.Since.Equal(began) {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
}

// weighing is a source of which every offset takes as many bytes.
type weighing struct {
	runner.Source
	bytes int64
}

func (s weighing) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	r, err := s.Source.Read(ctx, task)
	n := int64(0)
	for _, p := range task.Pieces {
		n += p.Range().Len()
	}
	return weighed{r, n * s.bytes}, err
}

type weighed struct {
	runner.Reader
	bytes int64
}

func (r weighed) RecordBytes() int64 { return r.bytes }

func TestALimitInBytesGoesByWhatTheNewestBatchesTook(t *testing.T) {
	w := newWorld()
	w.kafka, w.retain = newKafka(), 100
	w.kafka.produce(0, 999)
	sizes := func() (sizes []int64) {
		log := checkpoint.NewLog(w.store)
		for n := int64(0); ; n++ {
			text, err := log.Progress(t.Context(), n)
			if err != nil || text == nil {
				return sizes
			}
			var b progress.Batch
			if err := json.Unmarshal(text, &b); err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, b.Sluice.Offsets)
		}
	}
	run := func(limit, bytes, of int64, batches int) {
		t.Helper()
		_, _, err := w.run(func(q *runner.Query) {
			q.MaxOffsetsPerTrigger, q.MaxBytesPerTrigger, q.MaxBatches = limit, bytes, batches
			q.Source = weighing{q.Source, of}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(1000, 256<<10, 1<<10, 2)   // nothing is known, then 1 KiB an offset
	run(100, 256<<10, 1<<10, 1)    // of two limits the smaller one
	run(0, 128<<10, 1<<10, 1)      // and none of offsets; another run goes by the reports of the first
	run(1000, 64<<10, 100<<10, 1)  // records grow: 64 planned by what was seen
	run(1000, 512<<10, 100<<10, 1) // and now seen
	want := "[4 256 100 128 64"
	if got := fmt.Sprint(sizes()); !strings.HasPrefix(got, want) {
		t.Fatalf("got batches of %s offsets, want %s …", got, want)
	}
	// (4+256+100+128)·1 KiB and 64·100 KiB are 6,888 KiB for 552 offsets: 512 KiB are 41.
	if got := sizes()[5]; got != 41 {
		t.Errorf("got %d offsets, want 41", got)
	}
	run(1, 1<<40, 100<<10, 1)
	if got := sizes()[6]; got != 1 {
		t.Errorf("the limit of offsets is exact: got %d, want 1", got)
	}
	w.drain(t, nil)
}
