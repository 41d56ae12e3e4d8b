package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/runner"
)

// letterTopic is an in-memory topic of dead letters: a strict fake of what outlives a run. It may be deleted.
type letterTopic struct {
	mu    sync.Mutex
	made  int // how often; its id follows from it
	there bool
	rows  map[row]int
}

func (l *letterTopic) create() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.there {
		l.made, l.there, l.rows = l.made+1, true, map[row]int{}
	}
}

func (l *letterTopic) delete() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there, l.rows = false, nil
}

func (l *letterTopic) append(rows []row) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.there {
		return errors.New("unknown topic")
	}
	for _, r := range rows {
		l.rows[r]++
	}
	return nil
}

func (l *letterTopic) has(r row) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[r] > 0
}

// topicSink is one run's hold on it. What was written is there, or may be, as soon as it was sent: no commit makes it so.
type topicSink struct {
	topic *letterTopic
	gate  *gate
	// refuses says that the topic takes nothing from this run.
	refuses error
}

func (s *topicSink) Table(context.Context, string) (t *batch.Table, err error) {
	err = s.gate.pass("topic: look up", func() error {
		s.topic.mu.Lock()
		defer s.topic.mu.Unlock()
		t = &batch.Table{Exists: s.topic.there, Applied: batch.Applied{Batch: batch.None, InHistory: batch.None}}
		if t.Exists {
			t.UUID = fmt.Sprint("topic-", s.topic.made)
		}
		return nil
	})
	return t, err
}

func (s *topicSink) Create(context.Context, columns.Schema) error {
	return s.gate.effect("topic: create", func() error { s.topic.create(); return nil })
}

func (s *topicSink) Write(context.Context, *batch.Task, string, columns.Schema) (runner.Writer, error) {
	return &topicWriter{sink: s}, nil
}

func (s *topicSink) Commit(context.Context, *batch.Commit) (*batch.Applied, error) {
	return &batch.Applied{Batch: batch.None, InHistory: batch.None}, nil
}

func (s *topicSink) Maintain(context.Context, *batch.Applied) error { return nil }

type topicWriter struct {
	sink  *topicSink
	count int64
}

func (w *topicWriter) Write(_ context.Context, b *columns.Batch) error {
	if w.sink.refuses != nil {
		return w.sink.refuses
	}
	for i, o := range b.Columns[1].Int64s[:b.Rows] { // one by one: a run may end with some of them there
		one := []row{{b.Columns[0].Int32s[i], o}}
		if err := w.sink.gate.effect("topic: produce", func() error { return w.sink.topic.append(one) }); err != nil {
			return err
		}
		w.count++
	}
	return nil
}

func (w *topicWriter) Close(context.Context) ([]batch.DataFile, error) {
	return []batch.DataFile{{Path: "topic", Records: w.count}}, nil
}

func (w *topicWriter) Abort() {}

// The jobs of the sweeps.
var (
	topical  = batch.Value{Format: "json", OnMalformed: batch.DeadLetterPolicy, DeadLetterTopic: "dead"}
	topical2 = batch.Value{Format: "json", OnMalformed: batch.DeadLetterPolicy, DeadLetterTopic: "other"}
)

// topicChanges are what may happen to a job with a topic between a crash and its replay.
var topicChanges = map[string][2]batch.Value{
	"the same topic":                      {topical, topical},
	"dead letters become nulls":           {topical, nulls},
	"nulls become dead letters":           {nulls, topical},
	"dead letters go to another topic":    {topical, topical2},
	"dead letters go from table to topic": {rejects, topical},
	"dead letters go from topic to table": {topical, rejects},
}

func newTopicWorld(was, is batch.Value) *world {
	w := newLettersWorld(was, is)
	w.topics = map[string]*letterTopic{"dead": {}, "other": {}}
	return w
}

// judgeTopics is judge where dead letters may be in a topic: rows are there once and counted, what is in a table of dead
// letters is there once and no row, and whatever is no row is among the dead letters.
func (w *world) judgeTopics() error {
	rows, err := w.lake.rows()
	if err != nil {
		return err
	}
	inTables := map[row]int{}
	for name, dead := range w.letters {
		letters, err := dead.rows()
		if err != nil {
			return err
		}
		for r, n := range letters {
			if inTables[r] += n; inTables[r] > 1 || rows[r] > 0 {
				return fmt.Errorf("%v is in %s %d times, and a row %d times", r, name, n, rows[r])
			}
		}
	}
	noRow := int64(0)
	for partition, offsets := range w.kafka.records {
		for _, offset := range offsets {
			r := row{partition, offset}
			switch n := rows[r]; {
			case n > 1:
				return fmt.Errorf("%v is a row %d times", r, n)
			case n == 0 && inTables[r] == 0 && !w.topics["dead"].has(r) && !w.topics["other"].has(r):
				return fmt.Errorf("%v is lost: it is no row and no dead letter", r)
			case n == 0:
				noRow++
			}
		}
	}
	return w.counted(noRow)
}

// counted compares the ledger's count of dead letters with the records that are no rows.
func (w *world) counted(noRow int64) error {
	id, err := checkpoint.NewLog(w.store).Query(context.Background())
	if err != nil {
		return err
	}
	main, err := batch.ParseLedger(w.lake.props, id)
	if err != nil || main == nil {
		return fmt.Errorf("ledger %v: %w", main, err)
	}
	counted := int64(0)
	for _, a := range main.Accounts {
		counted += a.DeadLetters
	}
	if counted != noRow {
		return fmt.Errorf("the ledger counts %d dead letters, %d records are no rows", counted, noRow)
	}
	return nil
}

// At least once in a topic: every record that is no row is there, wherever a run is struck and whatever has become of the
// job, or of the place of its dead letters, when it is recovered. Rows stay exactly once.
func TestARunWithATopicOfDeadLettersStruckAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	for name, jobs := range topicChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := map[string]bool{}
				for _, arrivals := range []bool{false, true} {
					struck, violation := sweep(func() *world { return newTopicWorld(jobs[0], jobs[1]) }, none, arrivals)
					if violation != nil {
						t.Errorf("arrivals %v: %v", arrivals, violation)
					}
					maps.Copy(all, struck)
				}
				for _, effect := range []string{"topic: look up", "topic: create", "topic: produce", "catalog: commit"} {
					if jobs[0].DeadLetterTopic != "" && !all[effect] {
						t.Errorf("no run was struck at %q", effect)
					}
				}
			})
		})
	}
}

func TestARecoveryWithATopicOfDeadLettersStruckAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	for name, jobs := range topicChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				recoverAnywhere(t, func() *world { return newTopicWorld(jobs[0], jobs[1]) }, 97)
			})
		})
	}
}

func TestAStalledRunWithATopicOfDeadLettersThatWakesDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, jobs := range topicChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				schedules, fenced, violation := stalled(func() *world { return newTopicWorld(jobs[0], jobs[1]) }, none)
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

// lateTopic is the mutant whose writer says that dead letters are there before they are sent: with the commit of the rows.
type lateTopic struct {
	*topicSink
	waiting *func() error
}

func (s lateTopic) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	w, err := s.topicSink.Write(ctx, task, attempt, schema)
	return &lateWriter{Writer: w, waiting: s.waiting}, err
}

type lateWriter struct {
	runner.Writer
	waiting *func() error
	count   int64
}

func (w *lateWriter) Write(ctx context.Context, b *columns.Batch) error {
	kept := &columns.Batch{Rows: b.Rows, Columns: []columns.Array{{Int32s: append([]int32{}, b.Columns[0].Int32s...)}, {Int64s: append([]int64{}, b.Columns[1].Int64s...)}}}
	before := *w.waiting
	*w.waiting = func() error {
		var err error
		if before != nil {
			err = before()
		}
		return errors.Join(err, w.Writer.Write(ctx, kept))
	}
	w.count += int64(b.Rows)
	return nil
}

func (w *lateWriter) Close(context.Context) ([]batch.DataFile, error) {
	return []batch.DataFile{{Path: "topic", Records: w.count}}, nil
}

func TestTheSweepNoticesDeadLettersThatAreSentAfterTheRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, violation := sweep(func() *world {
			return newTopicWorld(topical, topical).broken(func(q *runner.Query) {
				waiting, open := new(func() error), q.DeadLetters
				q.DeadLetters = func(place batch.LetterPlace) runner.Sink { return lateTopic{open(place).(*topicSink), waiting} }
				q.Sink = rowsFirst{q.Sink, waiting}
			})
		}, none, true)
		wantNoticed(t, violation)
	})
}

// A topic that was deleted is made again, and whoever looks is told that what was in it is gone.
func TestATopicOfDeadLettersThatIsGoneIsMadeAgainAndTold(t *testing.T) {
	for name, change := range map[string]struct {
		what string
		do   func(*letterTopic)
	}{
		"deleted":       {"the topic of dead letters dead is gone", func(l *letterTopic) { l.delete() }},
		"created again": {"was created again: its id is topic-2 and was topic-1", func(l *letterTopic) { l.delete(); l.create() }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTopicWorld(topical, topical)
			run := func() (said string) {
				q, told := w.query(open(), none)
				if _, err := q.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				return strings.Join(told.said, "\n")
			}
			if said := run(); strings.Contains(said, "topic of dead letters") {
				t.Errorf("the first run said %q", said)
			}
			change.do(w.topics["dead"])
			w.arrive()
			if said := run(); !strings.Contains(said, "warning: the topic of dead letters dead") || !strings.Contains(said, change.what) {
				t.Errorf("got %q, want a warning that it %s", said, change.what)
			}
			w.arrive()
			if said := run(); strings.Contains(said, "topic of dead letters") {
				t.Errorf("it was told again: %q", said)
			}
			if !w.topics["dead"].has(row{2, 2}) && !w.topics["dead"].has(row{0, 8}) {
				t.Error("the topic has no dead letter of the later batches")
			}
		})
	}
}

// A plan whose topic takes nothing any more does not stand in the way of a job that names another place.
func TestAPlanWhoseTopicTakesNothingIsFinishedWhereTheJobSays(t *testing.T) {
	for name, class := range map[string]batch.Class{"no right": batch.NotSetUp, "a record too large": batch.BadRecords} {
		t.Run(name, func(t *testing.T) {
			w := newTopicWorld(topical, rejects)
			refused := &batch.Fault{Class: class, Message: "refused", Hint: "none"}
			w.mutate = func(q *runner.Query) {
				open := q.DeadLetters
				q.DeadLetters = func(place batch.LetterPlace) runner.Sink {
					s := open(place)
					if topic, ok := s.(*topicSink); ok {
						topic.refuses = refused
					}
					return s
				}
			}
			q, _ := w.query(open(), none)
			if _, err := q.Run(t.Context()); !errors.Is(err, refused) {
				t.Fatalf("got %v, want %v", err, refused)
			}
			q, _ = w.query(open(), none) // the job as it was: nothing else to do
			if _, err := q.Run(t.Context()); !errors.Is(err, refused) {
				t.Fatalf("got %v, want %v", err, refused)
			}
			w.change()
			if err := w.settle(none); err != nil {
				t.Error(err)
			}
		})
	}
}
