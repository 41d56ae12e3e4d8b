package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/runner"
)

// rejecting is the fake decoder with dead letters: every third record is malformed.
type rejecting struct{ policy string }

func (rejecting) Schema() columns.Schema { return decoder{}.Schema() }

func (d rejecting) Decode(r *columns.Records) (*columns.Batch, error) {
	kept := *r
	kept.Offsets = nil
	letters := &columns.Batch{Columns: []columns.Array{{Kind: columns.Int32}, {Kind: columns.Int64}}}
	said := &columns.Batch{Reasons: map[string]int64{}}
	for _, o := range r.Offsets {
		bad := o%3 == 2
		if bad {
			said.Bad++
			said.Reasons["syntax"]++
			said.Examples = append(said.Examples, columns.Example{Offset: o, Reason: "syntax", Text: "no JSON"})
		}
		switch {
		case bad && d.policy == batch.DeadLetterPolicy:
			letters.Columns[0].AppendInt32(r.Partition)
			letters.Columns[1].AppendInt64(o)
			letters.Rows++
		case bad && d.policy == "null":
			said.Nulled++
			fallthrough
		default:
			kept.Offsets = append(kept.Offsets, o)
		}
	}
	kept.Rows = len(kept.Offsets)
	rows, err := decoder{}.Decode(&kept)
	rows.Bad, rows.Reasons, rows.Examples, rows.Nulled = said.Bad, said.Reasons, said.Examples, said.Nulled
	if letters.Rows > 0 {
		rows.Rejected = letters
	}
	return rows, err
}

// The schema of the fake's dead letters.
var fakeLetters = columns.Schema{{Name: "kafka_partition", Type: columns.Type{Kind: columns.Int32}}, {Name: "kafka_offset", Type: columns.Type{Kind: columns.Int64}}}

// The jobs of the sweeps.
var (
	rejects  = batch.Value{Format: "json", OnMalformed: batch.DeadLetterPolicy, DeadLetters: "ops.dead"}
	rejects2 = batch.Value{Format: "json", OnMalformed: batch.DeadLetterPolicy, DeadLetters: "ops.other"}
	nulls    = batch.Value{Format: "json", OnMalformed: "null"}
)

// newLettersWorld is a world whose job has dead letters, and is changed after a fault.
func newLettersWorld(was, is batch.Value) *world {
	w := newWorld()
	w.value, w.changed = was, &is
	w.letters = map[string]*lake{"ops.dead": newLake(), "ops.other": newLake()}
	for name, dead := range w.letters {
		dead.uuid = "uuid of " + name
	}
	return w
}

// addLetters gives a run its tables of dead letters, whose every request passes its gate.
func (w *world) addLetters(q *runner.Query, g *gate) {
	if w.letters == nil {
		return
	}
	q.DeadLetterSchema = fakeLetters
	q.DeadLetters = func(place batch.LetterPlace) runner.Sink {
		if place.Kind == batch.InTopic {
			return &topicSink{topic: w.topics[place.Name], gate: g}
		}
		return &sink{lake: w.letters[place.Name], gate: g, letters: true}
	}
	q.NewDecoder = func(v batch.Value, _ bool) (runner.Decoder, error) { return rejecting{v.OnMalformed}, nil }
}

// rows are those of all tables together.
func (w *world) rows() (map[row]int, error) {
	rows, err := w.lake.rows()
	for _, dead := range w.letters {
		letters, more := dead.rows()
		err = errors.Join(err, more)
		for r, n := range letters {
			rows[r] += n
		}
	}
	return rows, err
}

// audit holds the ledgers of all tables against what is in them.
func (w *world) audit() error {
	id, err := checkpoint.NewLog(w.store).Query(context.Background())
	if err != nil {
		return err
	}
	main, err := batch.ParseLedger(w.lake.props, id)
	if err != nil || main == nil {
		return fmt.Errorf("ledger %v: %w", main, err)
	}
	elsewhere := int64(0)
	for name, dead := range w.letters {
		rows, err := dead.rows()
		if err != nil {
			return err
		}
		ledger, err := batch.ParseLedger(dead.props, id)
		if err != nil {
			return err
		}
		if ledger == nil {
			if len(rows) > 0 {
				return fmt.Errorf("%s has rows and no ledger", name)
			}
			continue
		}
		if ledger.Rows() != int64(len(rows)) {
			return fmt.Errorf("%s has %d rows, its ledger counts %d", name, len(rows), ledger.Rows())
		}
		if ledger.Batch > main.Batch {
			return fmt.Errorf("%s is at batch %d, the rows at %d", name, ledger.Batch, main.Batch)
		}
		elsewhere += ledger.Rows()
	}
	var counted int64
	for _, a := range main.Accounts {
		counted += a.DeadLetters
	}
	if counted != elsewhere {
		return fmt.Errorf("the ledger of the rows counts %d dead letters, their tables have %d", counted, elsewhere)
	}
	return nil
}

// changes are what may happen to the job between a crash and its replay.
var changes = map[string][2]batch.Value{
	"the same job":                {rejects, rejects},
	"dead letters become nulls":   {rejects, nulls},
	"nulls become dead letters":   {nulls, rejects},
	"dead letters move elsewhere": {rejects, rejects2},
}

// Every record is in the rows' table or among the dead letters, once, wherever a run is struck and whatever has become of
// the job when it is recovered.
func TestARunWithDeadLettersStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, jobs := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := map[string]bool{}
				for _, arrivals := range []bool{false, true} {
					struck, violation := sweep(func() *world { return newLettersWorld(jobs[0], jobs[1]) }, none, arrivals)
					if violation != nil {
						t.Errorf("arrivals %v: %v", arrivals, violation)
					}
					maps.Copy(all, struck)
				}
				for _, effect := range []string{"letters: load", "letters: commit", "catalog: commit"} {
					if jobs[0].Rejects() && !all[effect] {
						t.Errorf("no run was struck at %q", effect)
					}
				}
			})
		})
	}
}

func TestARecoveryWithDeadLettersStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, jobs := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				recoverAnywhere(t, func() *world { return newLettersWorld(jobs[0], jobs[1]) }, 97)
			})
		})
	}
}

func TestAStalledRunWithDeadLettersThatWakesDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, jobs := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				schedules, fenced, violation := stalled(func() *world { return newLettersWorld(jobs[0], jobs[1]) }, none)
				if violation != nil {
					t.Error(violation)
				}
				if fenced == 0 || schedules < 50 {
					t.Errorf("%d schedules, %d fenced", schedules, fenced)
				}
			})
		})
	}
}

// tardy is the mutant that commits dead letters after the rows.
type tardy struct {
	runner.Sink
	waiting *func() error
}

func (s tardy) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	*s.waiting = func() error {
		_, err := s.Sink.Commit(ctx, c)
		return err
	}
	return &batch.Applied{Batch: c.Plan.Batch}, nil
}

// rowsFirst commits the rows, then what waits.
type rowsFirst struct {
	runner.Sink
	waiting *func() error
}

func (s rowsFirst) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	applied, err := s.Sink.Commit(ctx, c)
	if err == nil && *s.waiting != nil {
		err = (*s.waiting)()
	}
	*s.waiting = nil
	return applied, err
}

// heedless is the mutant that takes whatever dead letters of the batch are there for its own.
type heedless struct{ *sink }

func (s heedless) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	t, err := s.Table(ctx, c.Query)
	if err == nil && t.Applied.Batch == c.Plan.Batch {
		return &t.Applied, nil
	}
	return s.sink.Commit(ctx, c)
}

// broken puts mutants into the runs of a world.
func (w *world) broken(change func(q *runner.Query)) *world {
	w.mutate = change
	return w
}

func TestTheSweepNoticesDeadLettersThatComeAfterTheRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, violation := sweep(func() *world {
			return newLettersWorld(rejects, rejects).broken(func(q *runner.Query) {
				waiting, open := new(func() error), q.DeadLetters
				q.DeadLetters = func(place batch.LetterPlace) runner.Sink { return tardy{open(place), waiting} }
				q.Sink = rowsFirst{q.Sink, waiting}
			})
		}, none, true)
		wantNoticed(t, violation)
	})
}

// Where a plan cannot be finished with its own settings, the dead letters that are there decide: the mutant that does not
// look at them puts records into both tables.
func TestTheSweepNoticesDeadLettersThatAreNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, mutated := range []bool{false, true} {
			w := newLettersWorld(rejects, nulls)
			g := dyingAt("letters: commit")
			q, _ := w.query(g, none)
			if _, err := q.Run(t.Context()); g.struck == "" {
				t.Fatal(err)
			}
			w.change()
			w.mutate = func(q *runner.Query) {
				decoders, open := q.NewDecoder, q.DeadLetters
				q.NewDecoder = func(v batch.Value, headers bool) (runner.Decoder, error) {
					if v.Rejects() {
						return nil, &batch.Fault{Class: batch.Inconsistent, Message: "the plan cannot be finished as planned", Hint: "none"}
					}
					return decoders(v, headers)
				}
				if mutated {
					q.DeadLetters = func(place batch.LetterPlace) runner.Sink { return heedless{open(place).(*sink)} }
				}
			}
			q, _ = w.query(open(), none)
			_, err := q.Run(t.Context())
			switch {
			case mutated:
				wantNoticed(t, w.judge())
			case batch.ClassOf(err) != batch.Inconsistent:
				t.Errorf("got %v, want a refusal", err)
			}
		}
	})
}
