package runner_test

import (
	"context"
	"errors"
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

// run runs once without faults, after change has had its say.
func (w *world) run(change func(*runner.Query)) (*progress.Summary, *notices, error) {
	q, said := w.query(open(), none)
	if change != nil {
		change(q)
	}
	s, err := q.Run(context.Background())
	return s, said, err
}

// drain runs until caught up and fails the test unless the table is exactly what Kafka holds.
func (w *world) drain(t *testing.T, change func(*runner.Query)) *progress.Summary {
	t.Helper()
	s, _, err := w.run(change)
	if err == nil {
		err = w.judge()
	}
	if err != nil || !s.CaughtUp {
		t.Fatalf("got caught up %v, %v", s.CaughtUp, err)
	}
	return s
}

// dieAt runs until the effect has been applied; nothing of the run happens after it.
func (w *world) dieAt(t *testing.T, effect string) {
	t.Helper()
	q, _ := w.query(dyingAt(effect), none)
	if _, err := q.Run(context.Background()); !errors.Is(err, errKilled) {
		t.Fatalf("the run was to die at %q and ended with %v", effect, err)
	}
}

// newest reads the checkpoint as it is.
func (w *world) newest(t *testing.T) *batch.LogState {
	t.Helper()
	s, err := checkpoint.NewLog(w.store).Last(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) queryID(t *testing.T) string {
	t.Helper()
	id, err := checkpoint.NewLog(w.store).Query(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// refuses fails the test unless the run ends with a fault of that class whose message or hint contains all parts.
func (w *world) refuses(t *testing.T, class batch.Class, change func(*runner.Query), parts ...string) {
	t.Helper()
	_, _, err := w.run(change)
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" {
		t.Fatalf("got %v (hint %q), want %v with a hint", err, batch.HintOf(err), class)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error()+"\n"+batch.HintOf(err), part) {
			t.Errorf("got %q (%q), want it to name %q", err, batch.HintOf(err), part)
		}
	}
}

func TestARunDrainsInRateLimitedBatches(t *testing.T) {
	w := newWorld()
	s := w.drain(t, nil)
	if s.Batches != 3 || s.FirstBatch != 0 || s.LastBatch != 2 || s.Records != 10 || s.Rows != 10 || s.Lag != 0 || s.Files != 3 {
		t.Errorf("got %+v", s)
	}
	if s = w.drain(t, nil); s.Batches != 0 || s.FirstBatch != batch.None || s.LastBatch != batch.None {
		t.Errorf("with nothing new got %+v", s)
	}
	w.arrive()
	if s = w.drain(t, nil); s.FirstBatch != 3 || s.Rows != 6 {
		t.Errorf("after more arrived got %+v", s)
	}
}

func TestWhatArrivesDuringARunWaitsForTheNext(t *testing.T) {
	w := newWorld()
	s, _, err := w.run(func(q *runner.Query) {
		q.Source = whileReading{q.Source, w.arrive}
	})
	if err != nil || !s.CaughtUp || s.Records != 10 || s.Lag == 0 {
		t.Fatalf("got %+v, %v; want the 10 records that were there, and a lag", s, err)
	}
	w.drain(t, nil)
}

// https://github.com/apache/spark/pull/52327, https://github.com/apache/spark/pull/38911: a stored plan is replayed as
// written, whatever the topic looks like by then.
func TestAReplayIgnoresWhatAppearedSince(t *testing.T) {
	w := newWorld()
	w.dieAt(t, "create offsets/0")
	planned := w.newest(t).Plan
	w.arrive() // more records, and a third partition
	s, _, err := w.run(func(q *runner.Query) { q.MaxBatches = 1 })
	if err != nil || s.FirstBatch != 0 || s.Records >= planned.Offsets()+1 {
		t.Fatalf("got %+v, %v", s, err)
	}
	if got := w.newest(t).Plan; got.Hash != planned.Hash || len(got.End) != 2 {
		t.Errorf("got plan %v, want the one that was written: %v", got.End, planned.End)
	}
	w.drain(t, nil)
}

// https://github.com/delta-io/kafka-delta-ingest/issues/92, https://issues.apache.org/jira/browse/FLINK-28303
func TestTheFirstStartIsPinnedBeforeAnythingIsPlanned(t *testing.T) {
	w := newWorld()
	fromLatest := func(q *runner.Query) { q.Source.(*source).latest = true }
	if s, _, err := w.run(fromLatest); err != nil || s.Records != 0 || !s.CaughtUp {
		t.Fatalf("got %+v, %v; want nothing, from the end", s, err)
	}
	if start := w.newest(t).Start; len(start) != 2 || start[offsets.TopicPartition{Topic: "t"}] != 8 {
		t.Fatalf("pinned %v, want numbers", start)
	}
	w.kafka.produce(0, 2)
	if s, _, err := w.run(fromLatest); err != nil || s.Records != 2 {
		t.Errorf("got %+v, %v; want the 2 records since the first run", s, err)
	}
}

func TestANewPartitionIsReadFromItsStart(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.produce(7, 3)
	s := w.drain(t, func(q *runner.Query) { q.Source.(*source).latest = true })
	if s.Records != 3 {
		t.Errorf("got %d records, want 3", s.Records)
	}
}

func TestLimitsStopARunBetweenBatches(t *testing.T) {
	w := newWorld()
	s, _, err := w.run(func(q *runner.Query) { q.MaxBatches = 2 })
	if err != nil || s.Batches != 2 || s.CaughtUp || s.Stopped != "max-batches" || s.Lag == 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	clock := time.UnixMilli(0)
	s, _, err = w.run(func(q *runner.Query) {
		q.MaxDuration = time.Minute
		q.Now = func() time.Time { clock = clock.Add(time.Hour); return clock }
	})
	if err != nil || s.Batches != 0 || s.CaughtUp || s.Stopped != "max-duration" {
		t.Errorf("got %+v, %v", s, err)
	}
	w.drain(t, nil)
}

// https://github.com/PostHog/posthog/issues/55757
func TestAnInterruptedBatchIsDroppedAndReplayed(t *testing.T) {
	w := newWorld()
	ctx, cancel := context.WithCancelCause(context.Background())
	q, _ := w.query(open(), none)
	q.Source = whileReading{q.Source, func() { cancel(fmt.Errorf("SIGTERM: %w", runner.ErrInterrupted)) }}
	s, err := q.Run(ctx)
	if !errors.Is(err, runner.ErrInterrupted) || s.Stopped != "signal" || s.Batches != 0 {
		t.Fatalf("got %+v, %v", s, err)
	}
	if log := w.newest(t); log.Plan == nil || log.Commit != batch.None {
		t.Errorf("got %+v, want an open plan", log)
	}
	w.drain(t, nil)
}

// whileReading has something happen whenever a task begins to read.
type whileReading struct {
	runner.Source
	happens func()
}

func (s whileReading) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	s.happens()
	return s.Source.Read(ctx, task)
}

func TestACommitInHandIsFinishedWhenInterrupted(t *testing.T) {
	w := newWorld()
	ctx, cancel := context.WithCancelCause(context.Background())
	q, _ := w.query(open(), none)
	q.Sink = &interrupted{Sink: q.Sink, cancel: func() { cancel(runner.ErrInterrupted) }}
	s, err := q.Run(ctx)
	if !errors.Is(err, runner.ErrInterrupted) || s.Batches != 1 || w.newest(t).Commit != 0 {
		t.Fatalf("got %+v, %v, marker %d", s, err, w.newest(t).Commit)
	}
	w.drain(t, nil)
}

// interrupted is told to stop when it commits, and notices if the commit is given a context that has ended.
type interrupted struct {
	runner.Sink
	cancel func()
}

func (i *interrupted) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	i.cancel()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return i.Sink.Commit(ctx, c)
}

func TestATableSwappedDuringARunGetsNothing(t *testing.T) {
	w := newWorld()
	w.refuses(t, batch.Inconsistent, func(q *runner.Query) {
		q.Source = whileReading{q.Source, func() {
			w.lake.mu.Lock()
			defer w.lake.mu.Unlock()
			w.lake.uuid = "uuid-2"
		}}
	})
	if len(w.lake.snapshots) > 0 {
		t.Error("the other table got a snapshot")
	}
}

func TestACheckpointBelongsToOneQuery(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.arrive()
	for name, change := range map[string]func(*runner.Query){
		"name": func(q *runner.Query) { q.Name = "payments" },
		"sink": func(q *runner.Query) {
			elsewhere := newLake()
			elsewhere.uuid = "uuid-2"
			q.SinkName, q.Sink.(*sink).lake = "another lake", elsewhere
		},
		"Kafka cluster": func(q *runner.Query) { w.kafka.cluster = "cluster-2" },
	} {
		w.refuses(t, batch.Inconsistent, change, name)
		w.kafka.cluster = "cluster-1"
	}
	forbidden := &batch.Fault{Class: batch.Inconsistent, Message: "format was raw", Hint: "new query"}
	w.refuses(t, batch.Inconsistent, func(q *runner.Query) {
		q.CheckKeys = func(was, is map[string]string, read []offsets.TopicPartition) error {
			if len(read) != 2 {
				t.Errorf("asked about %v, want the partitions that were planned", read)
			}
			return forbidden
		}
	}, "format was raw")
	w.drain(t, nil)
	if _, _, err := w.run(func(q *runner.Query) { q.SinkName = "the same table in a catalog that moved" }); err != nil {
		t.Errorf("got %v, want the table to be recognised", err)
	}
}

func TestALossStopsARunBeforeAnythingIsWritten(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.arrive()
	before, files := w.newest(t).Plan.Batch, len(w.lake.files)
	w.kafka.start[0] = 10
	w.refuses(t, batch.DataLoss, nil, "t-0", "[8,10)")
	w.kafka.start[0], w.kafka.topicID = 0, "topic-2"
	w.refuses(t, batch.DataLoss, nil, "topic-1", "topic-2")
	if got := w.newest(t).Plan.Batch; got != before || len(w.lake.files) != files {
		t.Errorf("a refused run planned batch %d and wrote %d files", got, len(w.lake.files)-files)
	}
}

func TestAnOpenPlanWhoseRecordsAreGoneIsKept(t *testing.T) {
	w := newWorld()
	w.dieAt(t, "create offsets/0")
	w.kafka.start[0] = 3
	w.refuses(t, batch.DataLoss, nil, "t-0", "[0,3)")
	if log := w.newest(t); log.Plan == nil || log.Commit != batch.None {
		t.Errorf("got %+v, want the plan to be kept", log)
	}
}

func TestARunThatCannotStartLeavesNothingBehind(t *testing.T) {
	w := newWorld()
	missing := &batch.Fault{Class: batch.NotSetUp, Message: "topic t is not there", Hint: "create it"}
	w.refuses(t, batch.NotSetUp, func(q *runner.Query) { q.Source = noTopic{q.Source, missing} }, "topic t")
	if keys, err := w.store.List(context.Background(), "", ""); err != nil || len(keys) > 0 {
		t.Errorf("left %v (%v)", keys, err)
	}
}

type noTopic struct {
	runner.Source
	err error
}

func (n noTopic) Start(context.Context) (offsets.Offsets, error) { return nil, n.err }

func TestEveryRunIsRecorded(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.drain(t, nil)
	w.kafka.topicID = "topic-2"
	w.refuses(t, batch.DataLoss, nil)
	runs, err := checkpoint.NewLog(w.store).Runs(context.Background(), 10)
	if err != nil || len(runs) != 3 {
		t.Fatalf("got %d runs, %v, want 3", len(runs), err)
	}
	all := fmt.Sprintf("%s", runs)
	for _, want := range []string{`"state":"done"`, `"state":"failed"`, `"errorClass":"data loss"`, `"caughtUp":true`} {
		if !strings.Contains(all, want) {
			t.Errorf("no record has %s: %s", want, all)
		}
	}
}

// A run that could not even reach its broker is recorded: monitoring must tell it from a run that never was.
func TestARunThatCouldNotBeginIsRecordedAsFailed(t *testing.T) {
	w := newWorld()
	refuse := func() *progress.Summary {
		q, _ := w.query(open(), none)
		return (&runner.Query{Log: q.Log, Journal: q.Journal, Reporter: q.Reporter, Options: q.Options}).Refuse(context.Background(), errors.New("no broker"))
	}
	if s := refuse(); s.Stopped != "error" || s.Error != "no broker" || s.QueryID != "" {
		t.Errorf("got %+v", s)
	}
	w.drain(t, nil)
	if s := refuse(); s.QueryID == "" {
		t.Errorf("got %+v, want the query's id", s)
	}
	runs, err := checkpoint.NewLog(w.store).Runs(context.Background(), 1)
	if err != nil || len(runs) != 1 || !strings.Contains(string(runs[0]), `"error":"no broker"`) {
		t.Errorf("got %s, %v", runs, err)
	}
}
