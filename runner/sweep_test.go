package runner_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/progress"
	"sluice/runner"
)

// world is everything that outlives a run.
type world struct {
	kafka *kafka
	lake  *lake
	store objectstore.Store
	// retain is how many entries a checkpoint keeps.
	retain int
	// letters are the tables of dead letters by name, nil where the job has none.
	letters map[string]*lake
	// topics are the topics of dead letters by name, nil where no job has one.
	topics map[string]*letterTopic
	// value is how the job reads values, raw if it does not say; changed what it is after a fault, nil for the same.
	value   batch.Value
	changed *batch.Value
	// mutate, if set, breaks a run.
	mutate func(*runner.Query)
}

// change is what somebody does to the job between two runs.
func (w *world) change() {
	if w.changed != nil {
		w.value = *w.changed
	}
}

// newWorld holds two partitions with a backlog of three batches.
func newWorld() *world {
	w := &world{kafka: newKafka(), lake: newLake(), store: objectstore.NewMemory("test"), retain: 2}
	w.kafka.produce(0, 7)
	w.kafka.produce(1, 3)
	return w
}

// arrive adds records between two runs, and a partition.
func (w *world) arrive() {
	w.kafka.produce(0, 4)
	w.kafka.produce(2, 2)
}

// notices collects what a run said without failing.
type notices struct {
	mu   sync.Mutex
	said []string
}

func (n *notices) Planned(int64, int64, int64, bool) {}
func (n *notices) Advanced(int64)                    {}
func (n *notices) Committed(*progress.Batch)         {}
func (n *notices) Notice(message string, attributes ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprint(message, attributes))
}
func (n *notices) Warning(message string, attributes ...any) {
	n.Notice("warning: "+message, attributes...)
}

// noLease lets every run in at once: what is proved here must not rest on the lease.
type noLease struct{}

func (noLease) Acquire(ctx context.Context) (context.Context, int64, error) { return ctx, 1, nil }
func (noLease) Release(context.Context) error                               { return nil }

// query is one run in the world, with everything it does passing the gate.
func (w *world) query(g *gate, m mutant) (*runner.Query, *notices) {
	said := &notices{}
	log := w.log(g, m)
	if w.value.Format == "" {
		w.value.Format = "raw"
	}
	q := &runner.Query{
		Source: &source{kafka: w.kafka, gate: g}, Sink: &sink{lake: w.lake, gate: g, mutant: m, log: log}, Log: log, Journal: log, Lease: noLease{}, Reporter: said,
		NewDecoder: func(batch.Value, bool) (runner.Decoder, error) { return decoder{}, nil },
		Options: runner.Options{Name: "orders", RunID: uuid.Must(uuid.NewV7()).String(), SinkName: "lake", Isolation: batch.ReadCommitted, Value: w.value, MaxOffsetsPerTrigger: 5, Workers: 1, Grace: time.Minute,
			TableName: "t", Now: func() time.Time { return time.UnixMilli(1_700_000_000_000) }, ExitCode: func(err error) int { return min(1, len(fmt.Sprint(err))) }},
	}
	if q.Value.Format == "" {
		q.Value.Format = "raw"
	}
	w.addLetters(q, g)
	if w.mutate != nil {
		w.mutate(q)
	}
	return q, said
}

func (w *world) log(g *gate, m mutant) wholeLog {
	log := checkpoint.NewLog(gatedStore{w.store, g})
	log.Retain = w.retain
	if m == planRecomputed {
		return &stretching{wholeLog: log, kafka: w.kafka}
	}
	return log
}

// wholeLog is all of a checkpoint.
type wholeLog interface {
	runner.Log
	runner.Journal
}

// stretching is the mutant that plans again after a crash: it replays an open plan to the ends of now.
type stretching struct {
	wholeLog
	kafka *kafka
}

func (f *stretching) Last(ctx context.Context) (*batch.LogState, error) {
	s, err := f.wholeLog.Last(ctx)
	if err == nil && s.Plan != nil && s.Commit < s.Plan.Batch {
		for tp := range s.Plan.End {
			s.Plan.End[tp] = f.kafka.view().Partitions[tp].End
		}
	}
	return s, err
}

// judge compares the table with what Kafka held: every record of every partition, once.
func (w *world) judge() error {
	if w.topics != nil {
		return w.judgeTopics()
	}
	rows, err := w.rows()
	if err != nil {
		return err
	}
	for partition, offsets := range w.kafka.records {
		for _, offset := range offsets {
			if n := rows[row{partition, offset}]; n != 1 {
				return fmt.Errorf("offset %d of partition %d is in the table %d times", offset, partition, n)
			}
			delete(rows, row{partition, offset})
		}
	}
	if len(rows) > 0 {
		return fmt.Errorf("the table has rows that Kafka never held: %v", slices.Collect(maps.Keys(rows)))
	}
	if w.letters != nil {
		return w.audit()
	}
	return nil
}

// settle runs cleanly until caught up and judges.
func (w *world) settle(m mutant) error {
	q, _ := w.query(open(), m)
	s, err := q.Run(context.Background())
	if err != nil {
		return fmt.Errorf("the clean run failed: %w", err)
	}
	if !s.CaughtUp {
		return errors.New("the clean run did not catch up")
	}
	return w.judge()
}

// crash runs once against a gate that strikes effect i and returns the first thing that is wrong afterwards. done
// says that the run had no effect i.
func (w *world) crash(i int, how mode, m mutant) (g *gate, err error) {
	g = striking(i, how)
	q, said := w.query(g, m)
	_, runErr := q.Run(context.Background())
	if g.struck == "" {
		return g, runErr
	}
	if runErr == nil && len(said.said) == 0 && how == notApplied && !g.retried() {
		return g, fmt.Errorf("nobody reported that %q failed", g.struck)
	}
	return g, nil
}

var modes = []mode{notApplied, answerLost, killed}

// The sweeps run in a bubble of virtual time: what waits before it asks again costs nothing.

// sweep strikes every request of a run in every mode, lets records arrive (or not), recovers and judges. It returns
// the first violation, and which effects were struck.
func sweep(fresh func() *world, m mutant, arrivals bool) (struck map[string]bool, violation error) {
	struck = map[string]bool{}
	for _, how := range modes {
		for i := 0; ; i++ {
			w := fresh()
			g, err := w.crash(i, how, m)
			if g.struck == "" {
				if err != nil && violation == nil {
					violation = fmt.Errorf("a run that nothing struck: %w", err)
				}
				break
			}
			struck[g.struck] = true
			if arrivals {
				w.arrive()
			}
			w.change()
			if err == nil {
				err = w.settle(m)
			}
			if err != nil && violation == nil {
				violation = fmt.Errorf("%q %s: %w", g.struck, how, err)
			}
		}
	}
	return struck, violation
}

func TestARunStruckAnywhereLosesAndDoublesNothing(t *testing.T) { synctest.Test(t, struckAnywhere) }

func struckAnywhere(t *testing.T) {
	for _, arrivals := range []bool{false, true} {
		struck, violation := sweep(newWorld, none, arrivals)
		if violation != nil {
			t.Errorf("arrivals %v: %v", arrivals, violation)
		}
		for _, effect := range []string{"create metadata", "create sources/0/0", "create offsets/0", "create offsets/2", "create commits/0", "create commits/2",
			"create identity.json", "put progress/1.json", "put runs/<id>", "delete offsets/0", "delete commits/0", "catalog: commit", "catalog: load", "file",
			"broker: view", "broker: start", "broker: fetch", "list commits/", "list offsets/"} {
			if !struck[effect] {
				t.Errorf("arrivals %v: no run was struck at %q; it had %v", arrivals, effect, slices.Sorted(maps.Keys(struck)))
			}
		}
	}
}

// full sweeps every pair of faults; without it every seventh, which still visits each request in each mode. The sweeps of a
// real table say at their tests what it adds there.
var full = flag.Bool("full", false, "sweep every pair of faults, and more of a real table (make crash)")

// A recovery may be struck as well, anywhere.
func TestARecoveryStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, recoveryStruckAnywhere)
}

func recoveryStruckAnywhere(t *testing.T) { recoverAnywhere(t, newWorld, 7) }

// recoverAnywhere tries every stride-th pair of faults, all with -full. Each first fault is dealt once: what it leaves is copied
// for every second one.
func recoverAnywhere(t *testing.T, fresh func() *world, stride int) {
	schedules := 0
	for _, first := range modes {
		for i, reached := 0, true; reached; i++ {
			left := fresh()
			g, err := left.crash(i, first, none)
			reached = g.struck != ""
			left.arrive()
			left.change()
			whole, wholeErr := left.copy(t).crash(-1, notApplied, none)
			if err := errors.Join(err, wholeErr); err != nil {
				t.Fatalf("%q %s, then nothing: %v", g.struck, first, err)
			}
			for _, second := range modes {
				for j := range len(whole.seen) {
					if !*full && (i+j)%stride != 0 {
						continue
					}
					w := left.copy(t)
					g2, err2 := w.crash(j, second, none)
					if g2.struck == "" && err2 == nil {
						break // what is asked beside something else may be asked once less
					}
					schedules++
					if err := errors.Join(err2, w.settle(none)); err != nil {
						t.Fatalf("%q %s, then %q %s: %v", g.struck, first, g2.struck, second, err)
					}
				}
			}
		}
	}
	t.Logf("%d schedules", schedules)
}

// A run that stalls anywhere while another recovers, runs on and purges what it planned must not do harm when it wakes.
// The obvious guards miss this (an old slot is won again after a purge; SlateDB issue
// https://github.com/slatedb/slatedb/issues/352).
func TestAStalledRunThatWakesDoesNoHarm(t *testing.T) { synctest.Test(t, stalledAnywhere) }

func stalledAnywhere(t *testing.T) {
	schedules, fenced, violation := stalled(newWorld, none)
	if violation != nil {
		t.Error(violation)
	}
	if fenced == 0 {
		t.Error("no stalled run was ever fenced: the test does not reach what it is about")
	}
	t.Logf("%d schedules, %d of them fenced", schedules, fenced)
}

// stalled holds a run before and after every request while two others recover, drain and purge, lets it go on, and
// judges. m breaks the sleeper alone.
func stalled(fresh func() *world, m mutant) (schedules, fenced int, violation error) {
	for _, after := range []bool{false, true} {
		for i := 0; ; i++ {
			outcome, slept, err := stall(fresh(), i, after, m)
			if !slept {
				break
			}
			schedules++
			switch batch.ClassOf(outcome) {
			case batch.Fenced:
				fenced++
			case batch.Failed:
			default: // nothing is wrong that a person has to look at
				violation = cmp.Or(violation, fmt.Errorf("a run that slept at request %d (after it: %v) was told: %w", i, after, outcome))
			}
			if err != nil && violation == nil {
				violation = err
			}
		}
	}
	return schedules, fenced, violation
}

func stall(w *world, i int, after bool, m mutant) (outcome error, slept bool, violation error) {
	g := pausing(i, after)
	sleeper, _ := w.query(g, m)
	done := make(chan error, 1)
	go func() {
		_, err := sleeper.Run(context.Background())
		done <- err
	}()
	select {
	case <-g.paused:
	case err := <-done:
		return err, false, nil
	}
	w.change()
	for range 2 { // three batches each, with two entries retained: everything the sleeper knew is purged
		w.arrive()
		q, _ := w.query(open(), none)
		if _, err := q.Run(context.Background()); err != nil {
			close(g.resume)
			return <-done, true, fmt.Errorf("while another run sleeps at %q: %w", g.seen[i], err)
		}
	}
	close(g.resume)
	outcome = <-done
	if err := w.settle(none); err != nil {
		violation = fmt.Errorf("after a run slept at %q (after it: %v) and ended with %v: %w", g.seen[i], after, outcome, err)
	}
	return outcome, true, violation
}

// Each way to break the protocol must be noticed by one of the sweeps; one that is not would show that the sweeps
// prove less than they say.
func TestTheSweepNoticesEveryMutant(t *testing.T) {
	t.Parallel()
	for _, m := range []mutant{noIdempotency, markerFirst, planRecomputed, filesDeleted, failureIsSuccess} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, violation := sweep(newWorld, m, true)
				if violation == nil {
					t.Error("no run was wrong")
				}
				t.Log(violation)
			})
		})
	}
	for _, m := range []mutant{refNotPinned, noGuard} {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, violation := stalled(newWorld, m)
				if violation == nil {
					t.Error("no stalled run did harm")
				}
				t.Log(violation)
			})
		})
	}
}
