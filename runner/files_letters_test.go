package runner_test

import (
	"context"
	"fmt"
	"testing"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// filedLetters is how a job with a table of dead letters reads values where they go to a folder.
func filedLetters(v batch.Value, folder string) batch.Value {
	v.SendLetters(batch.LetterPlace{Kind: batch.InPath, Name: folder})
	return v
}

// someMalformed are JSON records, among them tombstones and some that are no rows.
func someMalformed(partition int32, offset int64) []byte {
	switch offset % 4 {
	case 1:
		return nil
	case 2:
		return []byte("{")
	}
	return fmt.Appendf(nil, `{"p":%d,"o":%d}`, partition, offset)
}

// letterChanges are what becomes of a job between a crash and its replay.
var letterChanges = map[string][2]batch.Value{
	"the same job":                      {filedLetters(letting, "dead"), filedLetters(letting, "dead")},
	"dead letters become nulls":         {filedLetters(letting, "dead"), keeping},
	"nulls become dead letters":         {keeping, filedLetters(lettingAll, "dead")},
	"another policy and folder":         {filedLetters(letting, "dead"), filedLetters(lettingMoved, "other")},
	"tombstones no longer dead letters": {filedLetters(lettingAll, "dead"), filedLetters(letting, "dead")},
}

// The sweep over rows and dead letters in folders, while the job's policies and the place of the dead letters are changed
// between a crash and its replay: verify finds every record in one of them, once.
func TestDeadLettersInFoldersStruckAnywhereAreThereOnce(t *testing.T) {
	for name, jobs := range letterChanges {
		t.Run(name, func(t *testing.T) {
			if !*full && name != "another policy and folder" && name != "dead letters become nulls" && name != "nulls become dead letters" {
				t.Skip("with -full only: the fake table has all of them")
			}
			t.Parallel()
			struck := map[string]bool{}
			for i := 0; ; i++ {
				s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
				w := newFilesWorld(t)
				w.value, w.mutate = someMalformed, valued(jobs[0])
				met, err := w.fail(t, s)
				if !met {
					if err != nil {
						t.Error(err)
					}
					break
				}
				struck[s.Effects()[i]] = true
				w.arrive()
				w.mutate = valued(jobs[1])
				if err := w.recovers(t); err != nil {
					t.Errorf("%q: %v", s.Effects()[i], err)
				}
			}
			if jobs[0].Rejects() && (!struck["book dead _sluice/<id>/1.json"] || !struck["book dead _sluice/folder.json"]) {
				t.Errorf("the folder of dead letters was not struck: %v", struck)
			}
		})
	}
}

// The same with the rows in an Iceberg table, and also where dead letters move from a table to a folder.
func TestDeadLettersInAFolderBesideAnIcebergTableStruckAnywhereAreThereOnce(t *testing.T) {
	for name, jobs := range letterChanges {
		t.Run(name, func(t *testing.T) {
			if !*full && name != "another policy and folder" {
				t.Skip("with -full only: rows in folders have more of them")
			}
			t.Parallel()
			struck := map[string]bool{}
			for i := 0; ; i++ {
				s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
				w := newTypedWorld(t)
				w.dead, w.mutate = deadFolders(t), valued(jobs[0])
				met, err := w.fail(context.Background(), s)
				if !met {
					if err != nil {
						t.Error(err)
					}
					break
				}
				struck[s.Effects()[i]] = true
				w.arrive()
				w.mutate = valued(jobs[1])
				if err := w.recovers(context.Background()); err != nil {
					t.Errorf("%q: %v", s.Effects()[i], err)
				}
			}
			if jobs[0].Rejects() && !struck["book dead _sluice/<id>/1.json"] {
				t.Errorf("the folder of dead letters was not struck: %v", struck)
			}
		})
	}
}

// A run sleeps before each of its writes while two others, with another policy and place, recover what it left and go on.
func TestARunWithDeadLettersInFoldersThatStallsAnywhereDoesNoHarm(t *testing.T) {
	t.Parallel()
	fenced, slept := 0, map[string]bool{}
	for i := 0; ; i++ {
		w := newFilesWorld(t)
		w.value, w.mutate = someMalformed, valued(filedLetters(letting, "dead"))
		h := haltAt(i)
		sleeper := w.query(t, &laketest.Script{Step: h.step})
		w.mutate = valued(filedLetters(lettingMoved, "other"))
		name, outcome, err := w.stall(t, sleeper, h)
		if err != nil {
			t.Errorf("a run slept %s: %v", name, err)
		}
		if name == "" {
			break
		}
		slept[name] = true
		switch batch.ClassOf(outcome) {
		case batch.Fenced:
			fenced++
		case batch.Failed:
		default:
			t.Errorf("the run that slept %s was told: %v", name, outcome)
		}
	}
	if fenced == 0 || !slept["before book dead _sluice/<id>/1.json"] {
		t.Errorf("%d were fenced, of those that slept at %v", fenced, slept)
	}
}

// What a plan's dead letters were found to be is not to be found otherwise by its replay.
func TestAReplayWithOtherDeadLettersInAFolderIsRefused(t *testing.T) {
	w := newFilesWorld(t)
	w.value, w.mutate = someMalformed, whole(filedLetters(letting, "dead"))
	met, err := w.fail(t, laketest.BreakWhen(func(name string) bool { return name == "book dead _sluice/<id>/0.json" }, laketest.KilledAfter))
	if !met {
		t.Fatal(err)
	}
	nulls := func(q *runner.Query) {
		decoders := q.NewDecoder
		q.Value = keeping
		q.NewDecoder = func(v batch.Value, headers bool) (runner.Decoder, error) {
			if v.Rejects() {
				return nil, &batch.Fault{Class: batch.Inconsistent, Message: "the plan cannot be finished as planned", Hint: "none"}
			}
			return decoders(v, headers)
		}
	}
	w.mutate = nulls
	_, err = w.query(t, &laketest.Script{}).Run(t.Context())
	if batch.ClassOf(err) != batch.Inconsistent {
		t.Errorf("got %v, want a refusal", err)
	}
	w.mutate = func(q *runner.Query) { // the mutant that does not compare
		nulls(q)
		open := q.DeadLetters
		q.DeadLetters = func(place batch.LetterPlace) runner.Sink { return uncaring{open(place)} }
	}
	if _, err = w.query(t, &laketest.Script{}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNoticed(t, w.judge(t.Context()))
}

// uncaring takes any batch of dead letters that is there for the same.
type uncaring struct{ runner.Sink }

func (s uncaring) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	applied, err := s.Sink.Commit(ctx, c)
	if batch.ClassOf(err) == batch.Inconsistent {
		return &batch.Applied{Batch: c.Plan.Batch, Plan: c.Plan.Hash, InHistory: c.Plan.Batch}, nil
	}
	return applied, err
}
