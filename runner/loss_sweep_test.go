package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/batch"
	"sluice/offsets"
	"sluice/runner"
)

// startingAt is a source whose job names its startingOffsets.
type startingAt struct {
	runner.Source
	at offsets.Offsets
}

func (s startingAt) Start(context.Context) (offsets.Offsets, error) { return s.at, nil }

// losingWorld has lost records before the first run, may lose more before the next, and has a job that goes on without.
func losingWorld() *world {
	w := newWorld()
	w.kafka.expire(0, 2)
	w.mutate = func(q *runner.Query) {
		q.Accepts = batch.Causes{batch.Retention, batch.Missing}
		q.Source = startingAt{q.Source, offsets.Offsets{{Topic: "t", Partition: 0}: 0, {Topic: "t", Partition: 1}: 0}}
	}
	return w
}

// lostByLedger is how many offsets the ledger counts as lost, and how many of them it names.
func (w *world) lostByLedger(t *testing.T) (lost, named int64) {
	t.Helper()
	queries, err := batch.LedgerQueries(w.lake.props)
	if err != nil {
		t.Fatal(err)
	}
	for id := range queries {
		l, err := batch.ParseLedger(w.lake.props, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range l.Accounts {
			lost += a.Lost
		}
		named += offsets.Total(l.Lost)
	}
	return lost, named
}

// wantEachOrLost judges a table of which some records were lost: none is there twice, and each is there once or is counted as
// lost. lost is what the ledger counts.
func (w *world) wantEachOrLost(lost int64) error {
	rows, err := w.lake.rows()
	if err != nil {
		return err
	}
	missing := int64(0)
	for partition, all := range w.kafka.records {
		for _, offset := range all {
			switch n := rows[row{partition, offset}]; {
			case n > 1:
				return fmt.Errorf("offset %d of partition %d is in the table %d times", offset, partition, n)
			case n == 0 && offset >= w.kafka.start[partition]:
				return fmt.Errorf("offset %d of partition %d is not in the table, and was there to be read", offset, partition)
			case n == 0:
				missing++
			}
		}
	}
	if missing > lost {
		return fmt.Errorf("%d records are not in the table, and the ledger counts %d offsets as lost", missing, lost)
	}
	return nil
}

// wantForeseen checks that a look ahead names what was removed of a batch that is to be replayed.
func (w *world) wantForeseen(t *testing.T, more bool) {
	t.Helper()
	q, _ := w.query(open(), none)
	o, err := q.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tp := offsets.TopicPartition{Topic: "t", Partition: 0}
	if o.Replay == nil || !more || o.Replay.ReadFrom()[tp] >= 5 {
		return
	}
	want := batch.Loss{Topic: "t", Partition: 0, From: o.Replay.ReadFrom()[tp], Until: 5, Cause: batch.Retention}
	if !slices.ContainsFunc(o.Losses, func(j runner.Judged) bool { j.TopicID = ""; return j.Accepted && j.Loss == want }) {
		t.Errorf("got %+v ahead, want %+v among it", o.Losses, want)
	}
}

// A batch with an accepted loss that is struck anywhere is finished exactly; where more is lost before it is finished, that is
// counted too, once.
func TestARunWithAcceptedLossesStruckAnywhereIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, more := range []bool{false, true} {
			for _, how := range modes {
				for i := 0; ; i++ {
					w := losingWorld()
					g, err := w.crash(i, how, none)
					if err != nil {
						t.Fatalf("%q %s: %v", g.struck, how, err)
					}
					if g.struck == "" {
						break
					}
					if more {
						w.kafka.expire(0, 5)
						w.arrive()
					}
					before, _ := w.lostByLedger(t)
					w.wantForeseen(t, more)
					q, said := w.query(open(), none)
					if s, err := q.Run(t.Context()); err != nil || !s.CaughtUp {
						t.Errorf("%q %s: the clean run: %+v, %v", g.struck, how, s, err)
						continue
					}
					lost, ranges := w.lostByLedger(t)
					if lost > before && !strings.Contains(strings.Join(said.said, "\n"), "warning: records") {
						t.Errorf("%q %s, more lost %v: %d offsets were lost and nobody was told: %q", g.struck, how, more, lost-before, said.said)
					}
					if err := w.wantEachOrLost(lost); err != nil || lost < 2 || !more && lost != 2 || ranges != lost {
						t.Errorf("%q %s, more lost %v: %d lost, %d of them named: %v", g.struck, how, more, lost, ranges, err)
					}
				}
			}
		}
	})
}
