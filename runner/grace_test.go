package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
	"sluice/runner"
)

// deaf is a sink that does not hear that the run has to end, as one that waits for a catalog's answer: its first commit
// is applied, or not, and then nothing is answered until hears is closed.
type deaf struct {
	runner.Sink
	applies bool
	// began is called when the commit is under way, and ended gets what it was told in the end.
	began func()
	hears chan struct{}
	ended chan error
}

func (d *deaf) Commit(ctx context.Context, c *batch.Commit) (applied *batch.Applied, err error) {
	if d.applies {
		applied, err = d.Sink.Commit(ctx, c)
	}
	d.began()
	<-d.hears
	if !d.applies {
		applied, err = d.Sink.Commit(ctx, c)
	}
	d.ended <- err
	return applied, err
}

// A catalog that does not answer is not waited for beyond the grace: a scheduler that has asked a run to end kills it soon.
// What becomes of the commit is for the next run to find out, and it may become something at any time: also after that.
func TestACommitThatOutlivesTheGraceIsGivenUp(t *testing.T) {
	for _, cause := range []error{errToldToStop, leaseTaken} {
		for _, applies := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				var told time.Time
				q, _ := w.query(open(), none)
				q.Grace = 20 * time.Second
				d := &deaf{Sink: q.Sink, applies: applies, hears: make(chan struct{}), ended: make(chan error, 1),
					began: func() { told = time.Now(); end(cause) }}
				q.Sink = d
				s, err := q.Run(ctx)
				if batch.ClassOf(err) != batch.UnknownOutcome || batch.HintOf(err) == "" || s.Batches != 0 {
					t.Fatalf("applied %v: got %+v, %v, want an unknown outcome", applies, s, err)
				}
				if took := time.Since(told); took < q.Grace || took > q.Grace+10*time.Second {
					t.Errorf("applied %v: it ended %s after it had to, with a grace of %s", applies, took, q.Grace)
				}
				if log := w.newest(t); log.Plan.Batch != 0 || log.Commit != batch.None {
					t.Errorf("applied %v: got plan %d and marker %d, want the plan open", applies, log.Plan.Batch, log.Commit)
				}
				want := int64(10)
				if applies {
					want -= int64(len(w.lake.files[w.lake.snapshots[0].files[0]]))
				}
				if s := w.drain(t, nil); s.Records != want {
					t.Errorf("applied %v: the next run read %d records, want %d", applies, s.Records, want)
				}
				close(d.hears) // and what was not applied comes now
				if err := <-d.ended; !applies && batch.ClassOf(err) != batch.Fenced {
					t.Errorf("the commit that came too late was told %v", err)
				}
				w.drain(t, nil)
			})
		}
	}
}

// A sink that knows what became of its commit is believed, although the grace is over.
func TestWhatASinkKnowsOfItsCommitIsTheAnswerAfterTheGraceToo(t *testing.T) {
	for _, class := range []batch.Class{batch.Inconsistent, batch.Fenced} {
		synctest.Test(t, func(t *testing.T) {
			found := &batch.Fault{Class: class, Message: "found", Hint: "look"}
			c := &cutOff{at: "commit", answer: func(context.Context) error { return found }}
			if _, err := newWorld().cutShort(c, errToldToStop); err != found {
				t.Errorf("got %v, want %v", err, found)
			}
		})
	}
}
