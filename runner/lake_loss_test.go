package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/offsets"
	"sluice/runner"
	"sluice/verify"
)

// goingOn is a job that begins at offset 0 and goes on without what is not there any more.
func goingOn(v batch.Value) func(*runner.Query) {
	return func(q *runner.Query) {
		q.Value = v
		q.Accepts = batch.Causes{batch.Retention}
		q.Source = startingAt{q.Source, offsets.Offsets{{Topic: "t", Partition: 0}: 0, {Topic: "t", Partition: 1}: 0}}
	}
}

// expire removes the records of a partition before an offset.
func (k *kafka) expire(partition int32, before int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start[partition] = max(k.start[partition], before)
}

// losesAtMost judges a query that has lost records: all that Kafka has are there once, and what is not there is counted as lost.
func (k *kafka) losesAtMost(report *verify.Report, least int64) error {
	if !report.OK || report.Verdict != verify.Proved {
		return fmt.Errorf("verify: %s: %v; %v", report.Verdict, report.Problems, report.CannotProve)
	}
	produced := int64(0)
	for _, records := range k.records {
		produced += int64(len(records))
	}
	there := report.Rows + report.Dropped + report.DeadLettersFound
	if report.Lost < least || there > produced || produced-there > report.Lost {
		return fmt.Errorf("%d rows, %d dropped and %d dead letters of %d records, and %d offsets are counted as lost, want %d at least", report.Rows, report.Dropped, report.DeadLettersFound, produced, report.Lost, least)
	}
	return nil
}

// struckWithLosses sweeps over the effects of a run that has lost two records before it began. At every other place three
// more are lost before the next run; without -full only those places are tried.
func struckWithLosses(t *testing.T, fail func(t *testing.T, s *laketest.Script, more bool) (met bool, err error)) {
	t.Helper()
	places, first, step := 0, 1, 2
	if *full {
		first, step = 0, 1
	}
	for i := first; ; i += step {
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		met, err := fail(t, s, i%2 == 1)
		if err != nil {
			t.Errorf("place %d: %v", i, err)
		}
		if !met {
			break
		}
		places++
	}
	if places < 10 {
		t.Errorf("the run was struck at %d places", places)
	}
}

func TestLossesBesideDeadLettersOnIcebergTablesStruckAnywhereAreCounted(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	struckWithLosses(t, func(t *testing.T, s *laketest.Script, more bool) (bool, error) {
		w := newTypedWorld(t)
		w.mutate = goingOn(letting)
		w.kafka.expire(0, 2)
		if met, err := w.fail(context.Background(), s); !met {
			return false, err
		}
		if more {
			w.kafka.expire(0, 5)
		}
		w.arrive()
		err := w.catchUp(context.Background())
		if more && batch.ClassOf(err) == batch.Inconsistent && strings.Contains(err.Error(), "since the batch was cut short Kafka has lost t-0[2,4) of it") {
			if hint := batch.HintOf(err); !strings.Contains(hint, "(sluice deadletter show --batch 0 --output json > letters.json)") {
				return true, fmt.Errorf("the hint does not tell how what is left is copied: %s", hint)
			}
			w.mutate = func(q *runner.Query) { goingOn(letting)(q); q.AcceptLostLetters = true } // as the hint says
			err = errors.Join(w.catalog.DropTable(t.Context(), catalog.ToIdentifier("ops.dead")), w.catchUp(context.Background()))
			elsewhere++
		}
		if err != nil {
			return true, err
		}
		report, err := w.verify(context.Background())
		if err != nil {
			return true, err
		}
		return true, w.kafka.losesAtMost(report, 2)
	})
	if elsewhere == 0 {
		t.Error("no run was struck between dead letters and rows")
	}
}

func TestLossesOnAFolderOfFilesStruckAnywhereAreCounted(t *testing.T) {
	t.Parallel()
	struckWithLosses(t, func(t *testing.T, s *laketest.Script, more bool) (bool, error) {
		w := newFilesWorld(t)
		w.mutate = goingOn(w.job)
		w.kafka.expire(0, 2)
		if met, err := w.fail(t, s); !met {
			return false, err
		}
		if more {
			w.kafka.expire(0, 5)
		}
		w.arrive()
		if err := w.catchUp(t); err != nil {
			return true, err
		}
		report, err := w.verify(context.Background())
		if err != nil {
			return true, err
		}
		return true, w.kafka.losesAtMost(report, 2)
	})
}
