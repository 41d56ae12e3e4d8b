package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
	"sluice/offsets"
)

// toyTable stands for the sink: it remembers its newest batch and every range that was added, and checks a commit's
// batch unless it is naive.
type toyTable struct {
	batch  int64
	plan   string
	ranges []offsets.Range
	naive  bool
}

var errOvertaken = errors.New("the table has gone on")

func (tt *toyTable) commit(plan *batch.Plan) error {
	switch {
	case tt.naive:
	case tt.batch == plan.Batch && plan.Is(tt.plan):
		return nil
	case tt.batch != plan.Batch-1:
		return errOvertaken
	}
	tt.batch, tt.plan = plan.Batch, plan.Hash
	tt.ranges = append(tt.ranges, plan.Ranges()...)
	return nil
}

// check says what is wrong with the table: an offset twice, or one missing.
func (tt *toyTable) check(end int64) error {
	at := int64(0)
	for _, r := range tt.ranges {
		if r.From != at {
			return fmt.Errorf("%s was added at %d", r, at)
		}
		at = r.Until
	}
	if at != end {
		return fmt.Errorf("the table ends at %d of %d", at, end)
	}
	return nil
}

// toyRun is the order of steps of a real run, without anything that a real run is for: table, commits, offsets are read
// in this order; a plan is written, the table looked at, committed to, and the batch marked; two entries are kept.
type toyRun struct {
	store  objectstore.Store
	table  *toyTable
	script *storetest.Script
	end    int64
	// limit bounds the batches, 0 for none.
	limit int
}

func (r *toyRun) do(ctx context.Context) error {
	log := checkpoint.NewLog(r.store)
	log.Retain = 2
	id, err := log.Query(ctx)
	if err == nil && id == "" {
		_, err = log.CreateQuery(ctx, "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10")
	}
	if err != nil {
		return err
	}
	identity, err := log.Identity(ctx)
	if err == nil && identity == nil {
		err = log.SetIdentity(ctx, &batch.Identity{Name: "toy"})
	}
	if err != nil {
		return err
	}
	applied := r.table.batch
	state, err := log.Last(ctx)
	if err != nil {
		return err
	}
	next, reached, err := r.recover(ctx, log, state, applied)
	for n := 0; err == nil && reached < r.end && (r.limit == 0 || n < r.limit); n++ {
		plan := simple(next, reached, min(reached+4, r.end))
		if err = log.WritePlan(ctx, plan); err != nil {
			break
		}
		if r.table.batch != next-1 {
			return errOvertaken
		}
		err = r.finish(ctx, log, plan)
		next, reached = next+1, min(reached+4, r.end)
	}
	return err
}

// recover makes checkpoint and table agree and returns the next batch and its start.
func (r *toyRun) recover(ctx context.Context, log *checkpoint.Log, state *batch.LogState, applied int64) (next, reached int64, err error) {
	if state.Plan == nil {
		start := state.Start
		if start == nil {
			start, err = log.PinStart(ctx, simple(0, 0, 0).Start)
		}
		if err == nil && applied != batch.None {
			err = errOvertaken
		}
		return 0, start[offsets.TopicPartition{Topic: "orders"}], err
	}
	plan := state.Plan
	if applied > plan.Batch || applied < state.Commit || applied < plan.Batch-1 {
		return 0, 0, fmt.Errorf("plan %d, marker %d, table %d: %w", plan.Batch, state.Commit, applied, errOvertaken)
	}
	if state.Commit < plan.Batch {
		err = r.finish(ctx, log, plan)
	}
	return plan.Batch + 1, plan.End[offsets.TopicPartition{Topic: "orders"}], err
}

func (r *toyRun) finish(ctx context.Context, log *checkpoint.Log, plan *batch.Plan) error {
	var answer error
	err := r.script.Effect(fmt.Sprintf("commit %d", plan.Batch), func() error {
		answer = r.table.commit(plan)
		return answer
	})
	if errors.Is(err, storetest.ErrInjected) { // no commit error is believed: the table is asked
		if err = r.script.Read("table", func() error { return nil }); err == nil {
			err = r.table.commit(plan)
		}
	}
	if err != nil {
		return err
	}
	if err := log.WriteCommit(ctx, plan.Batch); err != nil {
		return err
	}
	return log.Purge(ctx, plan.Batch)
}

// settled runs until nothing is left, and judges.
func settled(ctx context.Context, m *objectstore.Memory, table *toyTable, end int64) error {
	if err := (&toyRun{store: m, table: table, script: storetest.NewScript(-1, 0), end: end}).do(ctx); err != nil {
		return fmt.Errorf("the last run: %w", err)
	}
	if err := table.check(end); err != nil {
		return err
	}
	state, err := checkpoint.NewLog(m).Last(ctx)
	if err == nil && (state.Plan.Batch != table.batch || state.Commit != table.batch) {
		err = fmt.Errorf("plan %d, marker %d, table %d", state.Plan.Batch, state.Commit, table.batch)
	}
	return err
}

// One run is struck at each of its effects, in each way; records arrive; a second one is struck at each of its effects;
// a third one must bring everything in order.
func TestStormOfCrashes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of runs")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		schedules := 0
		hit := map[string]bool{}
		twice(func(first, second *storetest.Script) {
			m, table := objectstore.NewMemory("m"), &toyTable{batch: batch.None}
			_ = (&toyRun{store: &storetest.Faults{Store: m, Script: first}, table: table, script: first, end: 14}).do(ctx)
			_ = (&toyRun{store: &storetest.Faults{Store: m, Script: second}, table: table, script: second, end: 20}).do(ctx)
			if err := settled(ctx, m, table, 23); err != nil {
				t.Fatalf("%s at %d (%v), then %s at %d (%v): %v", first.Mode, first.At, at(first), second.Mode, second.At, at(second), err)
			}
			schedules++
			hit[at(first)] = true
		})
		for _, effect := range []string{"create metadata", "create identity.json", "create sources/0/0", "create offsets/0", "create offsets/3", "commit 3", "create commits/3",
			"delete commits/1", "delete offsets/1", "delete progress/1.json", "create lock/probe-*", "replace lock/probe-*", "delete lock/probe-*"} {
			if !hit[effect] {
				t.Errorf("no run was struck at %q", effect)
			}
		}
		t.Logf("%d schedules", schedules)
	})
}

func at(s *storetest.Script) string {
	effects := s.Effects()
	if !s.Fired() {
		return "nowhere"
	}
	return effects[s.At]
}

// twice calls try with every pair of scripts until runs survive them.
func twice(try func(first, second *storetest.Script)) {
	modes := []storetest.Mode{storetest.AnswerLost, storetest.Killed}
	for _, m1 := range append(modes, storetest.NotApplied, storetest.Repeated) {
		for i := 0; ; i++ {
			survived := false
			for _, m2 := range modes {
				for j := 0; ; j++ {
					first, second := storetest.NewScript(i, m1), storetest.NewScript(j, m2)
					try(first, second)
					if survived = !first.Fired(); survived || !second.Fired() {
						break
					}
				}
			}
			if survived {
				break
			}
		}
	}
}

// stalled runs other before its effect at, once.
type stalled struct {
	objectstore.Store
	at, n int
	other func()
}

func (s *stalled) pass() {
	if s.n == s.at {
		s.other()
	}
	s.n++
}

func (s *stalled) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	s.pass()
	return s.Store.PutIfAbsent(ctx, key, data)
}

func (s *stalled) PutIfMatch(ctx context.Context, key string, data []byte, version objectstore.Version) (objectstore.Version, error) {
	s.pass()
	return s.Store.PutIfMatch(ctx, key, data, version)
}

func (s *stalled) Delete(ctx context.Context, keys ...string) error {
	s.pass()
	return s.Store.Delete(ctx, keys...)
}

// zombies lets a run sleep before each of its effects while another recovers, runs on and purges, and wakes it up. It
// returns how many schedules went wrong, and how many there were.
func zombies(ctx context.Context, naive bool) (wrong, all int, first error) {
	for _, limit := range []int{1, 2, 3, 0} {
		for at := 0; ; at++ {
			m, table := objectstore.NewMemory("m"), &toyTable{batch: batch.None, naive: naive}
			never := storetest.NewScript(-1, 0)
			s := &stalled{Store: m, at: at, other: func() {
				_ = (&toyRun{store: m, table: table, script: never, end: 30, limit: limit}).do(ctx)
			}}
			_ = (&toyRun{store: s, table: table, script: never, end: 30}).do(ctx)
			all++
			if err := settled(ctx, m, table, 30); err != nil {
				wrong++
				first = errors.Join(first, err)
			}
			if s.n <= at {
				break
			}
		}
	}
	return wrong, all, first
}

// A run that slept while others went on and purged may win a number again that was used before. The table tells: with
// one that checks, nothing ever goes wrong; with one that does not, it must, or this test proves nothing.
func TestStormOfZombies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wrong, all, first := zombies(t.Context(), false)
		if wrong > 0 {
			t.Errorf("%d of %d schedules went wrong: %v", wrong, all, first)
		}
		naive, _, _ := zombies(t.Context(), true)
		if naive == 0 {
			t.Error("a table that does not check survived all the same")
		}
		t.Logf("%d schedules; with a table that does not check, %d of them go wrong", all, naive)
	})
}
