package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/lakesink/laketest"
	"sluice/progress"
	"sluice/runner"
)

// Two ways to read the same records into the same table: a job that was changed between two runs.
var (
	keeping  = batch.Value{Format: "json", Schema: "p INT, o BIGINT", OnMalformed: "null", OnTombstone: "keep", OnUnknownField: "ignore"}
	dropping = batch.Value{Format: "json", Schema: "o BIGINT", OnMalformed: "null", OnTombstone: "drop", OnUnknownField: "ignore"}
)

// newTypedWorld has JSON records, among them tombstones and some that are no rows.
func newTypedWorld(t *testing.T) *lakeWorld {
	w := newLakeWorld(t)
	w.value = func(partition int32, offset int64) []byte {
		switch offset % 4 {
		case 1:
			return nil
		case 2:
			return []byte("{")
		}
		return fmt.Appendf(nil, `{"p":%d,"o":%d}`, partition, offset)
	}
	return w
}

func valued(v batch.Value) func(*runner.Query) {
	return func(q *runner.Query) { q.Value = v }
}

// whole makes one batch of all there is.
func whole(v batch.Value) func(*runner.Query) {
	return func(q *runner.Query) { q.Value, q.MaxOffsetsPerTrigger = v, 0 }
}

// The sweep with values that become columns, while the job is changed between crash and recovery: tombstones are rows in
// batches planned before the change and dropped in those after it, and the counts of ledger and table agree.
func TestATypedRunOnAnIcebergTableStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	struck := 0
	for i := 0; ; i++ {
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		w := newTypedWorld(t)
		w.mutate = valued(keeping)
		q, _ := w.query(s)
		_, err := q.Run(context.Background())
		if !s.Broke() {
			if err != nil {
				t.Error(err)
			}
			break
		}
		struck++
		w.kafka.produce(0, 2)
		w.kafka.produce(2, 3)
		w.mutate = valued(dropping)
		q, _ = w.query(&laketest.Script{})
		if summary, err := q.Run(context.Background()); err != nil || !summary.CaughtUp {
			t.Errorf("%q: got %+v, %v", s.Effects()[i], summary, err)
		} else if err := w.judge(context.Background()); err != nil {
			t.Errorf("%q: %v", s.Effects()[i], err)
		}
	}
	if struck < 20 {
		t.Errorf("only %d effects were struck", struck)
	}
}

// reports notes what is committed.
type reports struct {
	runner.Reporter
	batches []progress.Extra
}

func (r *reports) Committed(b *progress.Batch) { r.batches = append(r.batches, b.Sluice) }

func TestRecordsThatAreNoRowsAreCountedInReportLedgerAndSummary(t *testing.T) {
	w := newTypedWorld(t)
	seen := &reports{}
	s := w.drain(t, func(q *runner.Query) {
		q.Value, q.MaxOffsetsPerTrigger = dropping, 0
		seen.Reporter = q.Reporter
		q.Reporter = seen
	})
	if s.Rows != 6 || s.Dropped != 2 || s.Nulled != 2 {
		t.Errorf("got %+v, want 6 rows, 2 of them nulled, and 2 dropped", s)
	}
	if len(seen.batches) != 1 || seen.batches[0].Dropped != 2 || seen.batches[0].Nulled != 2 || seen.batches[0].Rows != 6 {
		t.Errorf("got %+v", seen.batches)
	}
	table := w.table(t)
	id, err := checkpoint.NewLog(w.store).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := batch.ParseLedger(table.Properties(), id)
	if err != nil {
		t.Fatal(err)
	}
	var nulled, dropped int64
	for _, a := range ledger.Accounts {
		nulled, dropped = nulled+a.Nulled, dropped+a.Dropped
	}
	if nulled != 2 || dropped != 2 {
		t.Errorf("the ledger counts %d and %d, want 2 and 2", nulled, dropped)
	}
	if p := iceberg.Properties(table.CurrentSnapshot().Summary.Properties); p["sluice.nulled"] != "2" || p["sluice.dropped"] != "2" {
		t.Errorf("the summary is %v", p)
	}
}

// A plan that can never be finished as planned is finished as the job is now: its record stays as it is.
func TestAPlanThatFailsForeverIsFinishedAsTheJobIsNow(t *testing.T) {
	strict := keeping
	strict.OnMalformed = "fail"
	for _, cure := range []batch.Value{keeping, dropping} {
		w := newTypedWorld(t)
		w.refuses(t, batch.BadRecords, whole(strict), "malformed")
		w.refuses(t, batch.BadRecords, whole(strict), "malformed")
		if w.table(t).CurrentSnapshot() != nil {
			t.Fatal("a batch with a malformed record is in the table")
		}
		_, said, err := w.run(w.clean(), valued(cure))
		if err == nil {
			err = w.judge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(said.said, func(text string) bool {
			return strings.HasPrefix(text, "the batch cannot be finished with the settings that it was planned with; it is finished with those that the job has now")
		}) {
			t.Errorf("nothing was said of it: %q", said.said)
		}
		plan, err := checkpoint.NewLog(w.store).ReadPlan(t.Context(), 0)
		if err != nil || !plan.Value.Equal(strict) {
			t.Errorf("plan 0 is %+v, %v, want it as it was written", plan.Value, err)
		}
	}
}

// Settings that a newer version has put into a plan are not passed over: the rows would be others than were planned.
func TestAPlanWithUnknownSettingsIsRefused(t *testing.T) {
	w := newTypedWorld(t)
	future := keeping
	future.OnTombstone = "quarantine"
	for _, change := range []func(*runner.Query){func(q *runner.Query) { q.Value, q.Log = keeping, planning{q.Log, &future} }, valued(keeping)} {
		if _, _, err := w.run(w.clean(), change); err == nil || !strings.Contains(err.Error(), "quarantine") {
			t.Errorf("got %v, want a refusal", err)
		}
	}
	if w.table(t).CurrentSnapshot() != nil {
		t.Error("the batch is in the table")
	}
}

// planning is a log whose plans say another thing of values than the run does.
type planning struct {
	runner.Log
	value *batch.Value
}

func (l planning) WritePlan(ctx context.Context, plan *batch.Plan) error {
	plan.Value = l.value
	return l.Log.WritePlan(ctx, plan)
}
