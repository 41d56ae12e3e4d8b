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
	"sluice/objectstore/storetest"
	"sluice/offsets"
	"sluice/runner"
)

// https://github.com/delta-io/delta/issues/5458: a damaged object is never read as something else, nor as nothing: the run
// is right all the same, or it is refused and names the object; the table stays right. What the hint says then helps.
func TestDamageToTheCheckpointCostsNoRow(t *testing.T) {
	cut := map[string]func(string) string{
		"0 bytes":  func(string) string { return "" },
		"half":     func(s string) string { return s[:len(s)/2] },
		"one byte": func(s string) string { b := []byte(s); b[len(b)*2/3] ^= 1; return string(b) },
		"{}":       func(string) string { return "{}" },
		"null":     func(string) string { return "null" },
	}
	for _, open := range []bool{false, true} {
		for _, key := range []string{"offsets/2", "commits/1", "metadata", "identity.json", "sources/0/0"} {
			for name, damage := range cut {
				t.Run(fmt.Sprintf("%s of %s, open plan %v", name, key, open), func(t *testing.T) {
					w := newWorld()
					if open {
						w.dieAt(t, "create offsets/2")
					} else {
						w.drain(t, nil)
					}
					id := w.queryID(t)
					whole, _, err := w.store.Get(t.Context(), key)
					if err == nil {
						err = w.store.Put(t.Context(), key, []byte(damage(string(whole))))
					}
					if err != nil {
						t.Fatal(err)
					}
					w.kafka.put(1, 2)
					w.damaged(t, id, key, whole)
				})
			}
		}
	}
}

func (w *world) damaged(t *testing.T, id, key string, whole []byte) {
	t.Helper()
	_, _, err := w.run(nil)
	if err == nil {
		if err := w.judge(); err != nil {
			t.Error(err)
		}
		return
	}
	if batch.ClassOf(err) != batch.Inconsistent || batch.HintOf(err) == "" || !strings.Contains(err.Error(), key) {
		t.Errorf("got %v (hint %q), want it to name %s", err, batch.HintOf(err), key)
	}
	w.once(t, id, "after the refusal")
	if strings.Contains(batch.HintOf(err), "delete it") {
		if err := w.store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	} else if err := w.store.Put(t.Context(), key, whole); err != nil {
		t.Fatal(err)
	}
	w.drain(t, nil)
}

// Spark's format has no checksum for the query's id. One that became another is refused by what the table knows, and no
// choice about lost rows goes past that: they are not lost.
func TestTheIDOfAnotherQueryIsNotTakenForLostRows(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	id := w.queryID(t)
	if err := w.store.Put(t.Context(), "metadata", []byte(`{"id":"6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10"}`)); err != nil {
		t.Fatal(err)
	}
	w.unchanged(t, func() {
		for _, choice := range []batch.Choice{"", batch.Reread, batch.Accept} {
			w.refuses(t, batch.Inconsistent, func(q *runner.Query) { q.LostRows = choice }, "6b1f5d06", id, "metadata")
		}
	})
}

// https://github.com/apache/iceberg/issues/10892: after an old copy of the checkpoint was put back, batches that the table
// knew were skipped in silence.
func TestAnOldCopyOfTheCheckpointGivesWayToTheTable(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	old := copied(t, w.store)
	for range 4 { // more than the checkpoint retains
		w.arrive()
		w.drain(t, nil)
	}
	newest := w.newest(t).Plan.Batch
	w.store = old
	w.kafka.put(0, 10)
	s, said, err := w.run(func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
	if err != nil || s.Records != 10 || s.FirstBatch != newest+1 || w.judge() != nil {
		t.Errorf("got %+v, %v, %v, want the 10 new records as batch %d", s, err, w.judge(), newest+1)
	}
	if len(said.said) == 0 || !strings.Contains(said.said[0], "ahead of the checkpoint") {
		t.Errorf("nobody was told: %v", said.said)
	}
}

// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/388: a replay that cut its files at other places than
// the attempt before could not overwrite them. Here only the table says what counts.
func TestAReplayMayCutItsFilesElsewhere(t *testing.T) {
	w := &world{kafka: newKafka(), lake: newLake(), store: objectstore.NewMemory("test"), retain: 2}
	w.kafka.put(0, 100)
	in := func(tasks int) func(*runner.Query) {
		return func(q *runner.Query) { q.MinPartitions, q.MaxOffsetsPerTrigger = tasks, 0 }
	}
	for attempt, tasks := range []int{5, 3} { // dies with some of the files written, then with others
		g := dyingAt("file")
		q, _ := w.query(g, none)
		in(tasks)(q)
		if _, err := q.Run(t.Context()); !errors.Is(err, errKilled) || len(w.lake.files) != attempt+1 {
			t.Fatalf("got %v with %d files", err, len(w.lake.files))
		}
	}
	s, _, err := w.run(in(2))
	if err != nil || s.Records != 100 || s.Files != 2 || len(w.lake.files) != 4 {
		t.Fatalf("got %+v, %v, %d files, want 2 of this attempt beside 2 left over", s, err, len(w.lake.files))
	}
	if err := w.judge(); err != nil {
		t.Error(err)
	}
}

// https://github.com/apache/hudi/issues/1375: a batch without rows left its offsets behind, and the next one began anew.
func TestABatchWithoutRowsMovesOnToo(t *testing.T) {
	w := newWorld()
	w.drain(t, nil)
	w.kafka.end[0] += 10 // an aborted transaction
	s, _, err := w.run(func(q *runner.Query) { q.MaxOffsetsPerTrigger = 0 })
	if err != nil || s.Batches != 1 || s.Records != 0 || s.Files != 0 {
		t.Fatalf("got %+v, %v, want a batch without rows", s, err)
	}
	if got := w.newest(t).Plan.End[offsets.TopicPartition{Topic: "t"}]; got != w.kafka.end[0] {
		t.Errorf("the checkpoint is at %d, want %d", got, w.kafka.end[0])
	}
	if s := w.drain(t, nil); s.Batches != 0 {
		t.Errorf("the next run got %+v, want nothing to do", s)
	}
}

// https://github.com/apache/spark/pull/38291: a store that loses what it accepted is noticed by the run that wrote it,
// before the table is touched, or it costs nothing.
func TestAStoreThatLosesAnObjectIsNoticedOrHarmless(t *testing.T) {
	for _, key := range []string{"offsets/0", "offsets/1", "commits/0", "commits/1", "sources/0/0", "identity.json"} {
		w := newWorld()
		honest := w.store
		w.store = storetest.Drops{Store: honest, Key: func(k string) bool { return k == key }}
		_, _, err := w.run(nil)
		plan := strings.HasPrefix(key, "offsets/")
		if plan && (batch.ClassOf(err) != batch.Failed || !strings.Contains(err.Error(), key) || fmt.Sprint(len(w.lake.snapshots)) != key[len("offsets/"):]) {
			t.Errorf("%s: got %v and %d snapshots", key, err, len(w.lake.snapshots))
		}
		if !plan && err != nil {
			t.Errorf("%s: got %v", key, err)
		}
		w.store = honest
		w.arrive()
		w.drain(t, nil)
	}
}

// https://github.com/aws/aws-sdk-java-v2/issues/6580: a client library repeats a conditional write whose answer was lost,
// and is refused because of its own first attempt. No such write of a run is taken for another run's, its lease included.
func TestARunIsNotStoppedByItsOwnWrites(t *testing.T) { synctest.Test(t, ownWrites) }

func ownWrites(t *testing.T) {
	met := map[string]bool{}
	for at := 0; ; at++ {
		w := newWorld()
		script := storetest.NewScript(at, storetest.Repeated)
		store := &storetest.Faults{Store: w.store, Script: script}
		s, _, err := w.run(func(q *runner.Query) {
			log := checkpoint.NewLog(store)
			log.Retain = 2
			q.Log, q.Lease = log, checkpoint.NewLease(store, q.RunID)
		})
		if !script.Fired() {
			break
		}
		effect := script.Effects()[at]
		met[effect] = true
		if err == nil {
			err = w.judge()
		}
		if (err != nil || !s.CaughtUp) && effect != "delete lock/probe-*" { // no conditional write: the probe's removal is tried again by the next run
			t.Fatalf("%v: got %+v, %v", effect, s, err)
		}
	}
	for _, effect := range []string{"create metadata", "create identity.json", "create sources/0/0", "create offsets/2", "create commits/2", "create lock/lease.json", "replace lock/lease.json"} {
		if !met[effect] {
			t.Errorf("no answer was lost at %q; they were at %v", effect, met)
		}
	}
}

// rivalBefore lets another run drain everything right before this one creates an object.
type rivalBefore struct {
	objectstore.Store
	key string
	run func()
}

func (s *rivalBefore) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if run := s.run; run != nil && key == s.key {
		s.run = nil
		run()
	}
	return s.Store.PutIfAbsent(ctx, key, data)
}

// https://github.com/apache/spark/pull/25965: only one of two writes was guarded, so two runs could both believe they had
// done a batch. A rival with the same job and the very same ranges is still a rival: the loser reads nothing.
func TestTheSamePlanByAnotherRunIsNotOurs(t *testing.T) {
	for _, key := range []string{"offsets/0", "offsets/1", "commits/0", "commits/2"} {
		w := newWorld()
		honest := w.store
		g := open()
		q, _ := w.query(g, none)
		w.store = &rivalBefore{honest, key, func() {
			other, _ := (&world{kafka: w.kafka, lake: w.lake, store: honest, retain: 100}).query(open(), none)
			if s, err := other.Run(t.Context()); err != nil || !s.CaughtUp {
				t.Errorf("%s: the rival got %+v, %v", key, s, err)
			}
		}}
		q.Log = w.log(g, none)
		_, err := q.Run(t.Context())
		if key != "commits/2" && batch.ClassOf(err) != batch.Fenced || key == "commits/2" && err != nil {
			t.Errorf("%s: got %v", key, err)
		}
		if key == "offsets/0" && slices.Contains(g.seen, "broker: fetch") {
			t.Errorf("%s: the loser read records: %v", key, g.seen)
		}
		if err := w.judge(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// careless is a store whose conditions were enforced when it was probed and are not any more.
type careless struct{ objectstore.Store }

func (s careless) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	return storetest.IgnoresConditions{Store: s.Store}.PutIfAbsent(ctx, key, data)
}

func (s careless) PutIfMatch(ctx context.Context, key string, data []byte, was objectstore.Version) (objectstore.Version, error) {
	return storetest.IgnoresConditions{Store: s.Store}.PutIfMatch(ctx, key, data, was)
}

// https://github.com/minio/minio/issues/21603: a store that answers yes to everything lets every run win every batch. The
// probe refuses it; where it changes later, the table's own check alone keeps every row once, whoever sleeps where.
func TestWithoutConditionsTheTableAloneKeepsRowsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schedules, stuck := 0, 0
		for _, batches := range []int{1, 2, 0} {
			for _, after := range []bool{false, true} {
				for i := 0; ; i++ {
					slept, settled := carelessly(t, i, after, batches)
					if !slept {
						break
					}
					schedules++
					if !settled {
						stuck++
					}
				}
			}
		}
		if stuck == 0 {
			t.Error("no plan was ever overwritten: the test does not reach what it is about")
		}
		t.Logf("%d schedules, after %d of them somebody has to decide", schedules, stuck)
	})
}

// carelessly lets a run sleep at request i while another goes on by so many batches (0: two that drain), on a store
// without conditions.
func carelessly(t *testing.T, i int, after bool, batches int) (slept, settled bool) {
	t.Helper()
	w := newWorld()
	w.drain(t, nil)
	w.store = careless{w.store}
	w.arrive()
	g := pausing(i, after)
	sleeper, _ := w.query(g, none)
	done := make(chan error, 1)
	go func() {
		_, err := sleeper.Run(t.Context())
		done <- err
	}()
	select {
	case <-g.paused:
	case <-done:
		return false, true
	}
	for range 2 - min(1, batches) {
		w.arrive()
		_, _, _ = w.run(func(q *runner.Query) { q.MaxBatches = batches })
	}
	close(g.resume)
	outcome := <-done
	w.once(t, w.queryID(t), fmt.Sprintf("asleep at %q (after it: %v), ended with %v", g.seen[i], after, outcome))
	s, _, err := w.run(nil)
	w.once(t, w.queryID(t), fmt.Sprintf("the run after a sleep at %q, ended with %v", g.seen[i], err))
	if err != nil && batch.HintOf(err) == "" {
		t.Errorf("got %v without a hint", err)
	}
	if err == nil && s.CaughtUp {
		if err := w.judge(); err != nil {
			t.Errorf("asleep at %q: %v", g.seen[i], err)
		}
	}
	return true, err == nil
}

// once fails the test unless the table has what its ledger says it has: every record of its ranges, once, and no other.
func (w *world) once(t *testing.T, id, when string) {
	t.Helper()
	rows, err := w.lake.rows()
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := batch.ParseLedger(w.lake.props, id)
	if err != nil || ledger == nil {
		t.Fatalf("%s: got ledger %v, %v", when, ledger, err)
	}
	for p, records := range w.kafka.records {
		account := ledger.Accounts[offsets.TopicPartition{Topic: "t", Partition: p}]
		for _, o := range records {
			n := rows[row{p, o}]
			if want := o >= account.First && o < account.Next; n > 1 || want != (n == 1) {
				t.Fatalf("%s: offset %d of partition %d is there %d times; the ledger has [%d,%d)", when, o, p, n, account.First, account.Next)
			}
		}
	}
}
