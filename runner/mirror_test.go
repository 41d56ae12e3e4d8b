package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/offsets"
	"sluice/runner"
)

// group is a consumer group as a mirror sees it.
type group struct {
	has    map[offsets.TopicPartition]offsets.Committed
	shows  int
	before func() // at the beginning of each reading
	read   func() error
	show   func(context.Context) error
}

func newGroup() *group { return &group{has: map[offsets.TopicPartition]offsets.Committed{}} }

func (g *group) Shown(context.Context) (map[offsets.TopicPartition]offsets.Committed, error) {
	if g.read != nil {
		if err := g.read(); err != nil {
			return nil, err
		}
	}
	if g.before != nil {
		g.before()
	}
	return maps.Clone(g.has), nil
}

func (g *group) Show(ctx context.Context, at map[offsets.TopicPartition]offsets.Committed) error {
	if g.show != nil {
		if err := g.show(ctx); err != nil {
			return err
		}
	}
	g.shows++
	maps.Copy(g.has, at)
	return nil
}

// mirrors gives a run the group.
func (g *group) mirrors(q *runner.Query) { q.Mirror, q.ConsumerGroup = g, "lag-orders" }

func (g *group) next() offsets.Offsets {
	next := offsets.Offsets{}
	for tp, c := range g.has {
		next[tp] = c.Next
	}
	return next
}

func (g *group) wantAt(t *testing.T, want offsets.Offsets) {
	t.Helper()
	if got := g.next(); !got.Equal(want) {
		t.Errorf("the group is at %v, want %v", got, want)
	}
}

func partition(n int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: "t", Partition: n}
}

func TestTheMirrorIsToldOfEachBatchOnceItIsMarked(t *testing.T) {
	w, g := newWorld(), newGroup()
	var marked []int64
	g.before = func() { marked = append(marked, w.newest(t).Commit) }
	s := w.drain(t, g.mirrors)
	if want := []int64{0, 1, 2}; !slices.Equal(marked, want) {
		t.Errorf("when the mirror was told, the markers were %v, want %v", marked, want)
	}
	g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 4})
	if c := g.has[partition(0)]; c.Epoch != 1 || c.Note != "sluice batch 2 of query "+w.queryID(t) {
		t.Errorf("got %+v", c)
	}
	if m := s.ConsumerGroup; m == nil || m.Name != "lag-orders" || m.Commits != 3 || m.Failures != 0 {
		t.Errorf("got %+v, want 3 commits", m)
	}
	if s, _, err := w.run(nil); err != nil || s.ConsumerGroup != nil {
		t.Errorf("got %+v, %v from a run without a mirror", s.ConsumerGroup, err)
	}
}

func TestAMirrorThatFailsIsOneWarningAndARunLikeAnyOther(t *testing.T) {
	for name, fail := range map[string]func(*group, error){
		"reading": func(g *group, err error) { g.read = func() error { return err } },
		"showing": func(g *group, err error) { g.show = func(context.Context) error { return err } },
	} {
		t.Run(name, func(t *testing.T) {
			w, g := newWorld(), newGroup()
			fail(g, &batch.Fault{Class: batch.NotSetUp, Message: "not allowed", Hint: "grant it"})
			s, said, err := w.run(g.mirrors)
			if err != nil || !s.CaughtUp || s.ConsumerGroup.Failures != 3 || s.ConsumerGroup.Commits != 0 {
				t.Fatalf("got %+v, group %+v, %v", s, s.ConsumerGroup, err)
			}
			if err := w.judge(); err != nil {
				t.Error(err)
			}
			warnings := slices.DeleteFunc(slices.Clone(said.said), func(line string) bool { return !strings.HasPrefix(line, "warning: ") })
			if len(warnings) != 1 || !strings.Contains(warnings[0], "lag-orders") || !strings.Contains(warnings[0], "not allowed") || !strings.Contains(warnings[0], "grant it") {
				t.Errorf("got %q, want one warning that says why and what to do", warnings)
			}
			g.read, g.show = nil, nil
			if s, _, err = w.run(g.mirrors); err != nil || s.Batches != 0 || s.ConsumerGroup.Commits != 1 {
				t.Errorf("got %+v, group %+v, %v, want the next run to catch up", s, s.ConsumerGroup, err)
			}
			g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 4})
		})
	}
}

// The failures of a mirror that does not answer take five seconds of a run, however many batches it has.
func TestAMirrorThatDoesNotAnswerIsWaitedForOnce(t *testing.T) {
	w, g := newWorld(), newGroup()
	clock, asked := time.UnixMilli(1_700_000_000_000), 0
	g.show = func(ctx context.Context) error {
		asked++
		until, bounded := ctx.Deadline()
		if left := time.Until(until); !bounded || left > 5*time.Second {
			t.Errorf("the mirror has %v, want 5s at most", left)
		}
		clock = clock.Add(5 * time.Second) // as if it had waited for the end of ctx
		return context.DeadlineExceeded
	}
	s, _, err := w.run(func(q *runner.Query) { g.mirrors(q); q.Now = func() time.Time { return clock } })
	if err != nil || !s.CaughtUp || s.ConsumerGroup.Failures != 3 || asked != 1 {
		t.Errorf("got caught up %v, group %+v, asked %d times, %v", s.CaughtUp, s.ConsumerGroup, asked, err)
	}
}

func TestARunWithNothingToDoTellsTheMirrorWhatAKilledRunDidNot(t *testing.T) {
	w, g := newWorld(), newGroup()
	w.drain(t, g.mirrors)
	w.kafka.produce(0, 1)
	w.kafka.produce(2, 2)
	w.mutate = g.mirrors
	w.dieAt(t, "create commits/3")
	g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 4})
	s := w.drain(t, g.mirrors)
	g.wantAt(t, offsets.Offsets{partition(0): 10, partition(1): 4, partition(2): 3})
	if s.Batches != 0 || s.ConsumerGroup.Commits != 1 {
		t.Errorf("got %d batches, group %+v, want none, and one commit", s.Batches, s.ConsumerGroup)
	}
	if s := w.drain(t, g.mirrors); s.ConsumerGroup.Commits != 0 || g.shows != 4 {
		t.Errorf("got %+v, %d commits in all: the group had everything already", s.ConsumerGroup, g.shows)
	}
	g.has = map[offsets.TopicPartition]offsets.Committed{} // brokers forget what was not committed for a week
	if s := w.drain(t, g.mirrors); s.ConsumerGroup.Commits != 1 {
		t.Errorf("got %+v, want what was forgotten committed again", s.ConsumerGroup)
	}
}

func TestARunThatWasOvertakenDoesNotMoveTheMirrorBack(t *testing.T) {
	w, g := newWorld(), newGroup()
	overtaken := false
	g.before = func() { // after its marker, and while it sleeps others go on
		if overtaken {
			return
		}
		overtaken, g.before = true, nil
		if s, _, err := w.run(g.mirrors); err != nil || s.LastBatch != 2 {
			t.Fatalf("got %+v, %v", s, err)
		}
	}
	_, said, err := w.run(g.mirrors)
	if batch.ClassOf(err) != batch.Fenced {
		t.Errorf("got %v, want it fenced", err)
	}
	g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 4})
	if !strings.Contains(fmt.Sprint(said.said), "is not moved back") {
		t.Errorf("got %q", said.said)
	}
}

// lostLease ends the run's lease when it is told to.
type lostLease struct {
	noLease
	lose context.CancelCauseFunc
}

func (l *lostLease) Acquire(ctx context.Context) (context.Context, int64, error) {
	held, lose := context.WithCancelCause(ctx)
	l.lose = lose
	return held, 1, nil
}

func TestARunThatLostItsLeaseTellsTheMirrorNothing(t *testing.T) {
	w, g, lease := newWorld(), newGroup(), &lostLease{}
	g.before = func() { lease.lose(&batch.Fault{Class: batch.Fenced, Message: "taken over"}) }
	_, _, err := w.run(func(q *runner.Query) { g.mirrors(q); q.Lease = lease })
	if batch.ClassOf(err) != batch.Fenced || g.shows != 0 {
		t.Errorf("got %v and %d commits to the group, want it fenced, and none", err, g.shows)
	}
}

func TestTheMirrorGoesBackWhereATopicBeginsAnew(t *testing.T) {
	others := map[offsets.TopicPartition]offsets.Committed{partition(0): {Next: 8, Epoch: 1, Note: "by hand"}, partition(1): {Next: 50}}
	for name, has := range map[string]map[offsets.TopicPartition]offsets.Committed{"from its own offsets": nil, "from offsets of others": others} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %v", name, killed), func(t *testing.T) {
				w, g := newWorld(), newGroup()
				w.drain(t, g.mirrors)
				maps.Copy(g.has, has)
				w.kafka.topicID, w.kafka.epoch = "topic-2", 0
				w.kafka.records, w.kafka.end = map[int32][]int64{}, map[int32]int64{}
				w.kafka.produce(0, 2)
				accept := func(q *runner.Query) { g.mirrors(q); q.Accepts = batch.Causes{batch.Recreated, batch.Missing} }
				if killed {
					w.mutate = accept
					g.read = func() error { return errors.New("not now") }
					w.dieAt(t, "create commits/3")
					g.read = nil
				}
				if _, _, err := w.run(accept); err != nil {
					t.Fatal(err)
				}
				if got := g.next()[partition(0)]; got != 3 {
					t.Errorf("the group is at %d, want 3, where the new topic was read to", got)
				}
			})
		}
	}
}

func TestTheMirrorIsNotMovedBackFromWhatOthersPutThere(t *testing.T) {
	w, g := newWorld(), newGroup()
	g.has = map[offsets.TopicPartition]offsets.Committed{partition(0): {Next: 5, Epoch: -1}, partition(1): {Next: 40, Epoch: -1, Note: "sluice batch 0 of query 0"}}
	_, said, err := w.run(g.mirrors)
	if err != nil {
		t.Fatal(err)
	}
	g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 40})
	told := slices.DeleteFunc(said.said, func(line string) bool { return !strings.Contains(line, "is not moved back") })
	if len(told) != 1 || !strings.Contains(told[0], "t-1 from 40") {
		t.Errorf("got %q, want one notice that names the partition", told)
	}
}

func TestAQueryThatSharesItsGroupWithAnotherIsWarnedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		has  offsets.Committed
		want int
	}{
		"behind": {offsets.Committed{Next: 1, Note: "sluice batch 0 of query other-1"}, 1},
		"ahead":  {offsets.Committed{Next: 40, Note: "sluice batch 9 of query other-1"}, 1},
		"a hand": {offsets.Committed{Next: 40, Note: "by hand"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := newWorld(), newGroup()
			g.before = func() { // the other one goes on meanwhile
				g.has[partition(0)], g.has[partition(1)] = c.has, c.has
			}
			_, said, err := w.run(g.mirrors)
			if err != nil {
				t.Fatal(err)
			}
			told := slices.DeleteFunc(said.said, func(line string) bool { return !strings.Contains(line, "another query commits") })
			if len(told) != c.want || c.want > 0 && (!strings.Contains(told[0], "query other-1") || !strings.Contains(told[0], "source.consumerGroup")) {
				t.Errorf("got %q, want %d warnings that name the query", told, c.want)
			}
		})
	}
	w, g := newWorld(), newGroup()
	w.drain(t, g.mirrors)
	_, said, err := w.run(g.mirrors)
	if err != nil || strings.Contains(fmt.Sprint(said.said), "another query") {
		t.Errorf("got %q, %v of its own notes, want no warning", said.said, err)
	}
}

func TestTheMirrorGoesBackWhereLostRowsAreReadAgain(t *testing.T) {
	for name, notes := range map[string]string{"from its own offsets": "", "from offsets of others": "by hand"} {
		t.Run(name, func(t *testing.T) {
			w, g := newWorld(), newGroup()
			w.retain = 100
			w.drain(t, g.mirrors)
			for tp, c := range g.has {
				if notes != "" {
					g.has[tp] = offsets.Committed{Next: c.Next, Epoch: c.Epoch, Note: notes}
				}
			}
			w.lake.rollBack(2)
			again := func(q *runner.Query) { g.mirrors(q); q.LostRows, q.MaxBatches = batch.Reread, 1 }
			var first offsets.Offsets
			g.show = func(context.Context) error { first = w.newest(t).Plan.End; return nil }
			if s, _, err := w.run(again); err != nil || s.Batches != 1 {
				t.Fatalf("got %+v, %v", s, err)
			}
			g.wantAt(t, first)
			g.show = nil
			w.drain(t, g.mirrors)
			g.wantAt(t, offsets.Offsets{partition(0): 8, partition(1): 4})
		})
	}
}
