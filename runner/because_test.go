package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
	"sluice/runner"
)

// endable is a lease that is lost when end is called, with its argument as the cause.
type endable struct{ end context.CancelCauseFunc }

func (l *endable) Acquire(ctx context.Context) (context.Context, int64, error) {
	held, cancel := context.WithCancelCause(ctx)
	l.end = cancel
	return held, 1, nil
}

func (l *endable) Release(context.Context) error { return nil }

// cutOff ends a run while one of its requests waits for an answer.
type cutOff struct {
	// at is the request, and end what happens to the run while it waits; left counts how many of that name pass before.
	at   string
	left int
	end  func()
	// answer is what the request says once its context has ended.
	answer func(ctx context.Context) error
	met    bool
}

// wait passes a request, or has it wait until its context ends.
func (c *cutOff) wait(ctx context.Context, name string) error {
	if name != c.at || c.met {
		return nil
	}
	if c.left--; c.left >= 0 {
		return nil
	}
	c.met = true
	c.end()
	<-ctx.Done()
	return c.answer(ctx)
}

type cutSource struct {
	runner.Source
	cut *cutOff
}

func (s cutSource) View(ctx context.Context, isolation batch.Isolation, known offsets.Offsets) (*offsets.View, error) {
	if err := s.cut.wait(ctx, "view"); err != nil {
		return nil, err
	}
	return s.Source.View(ctx, isolation, known)
}

func (s cutSource) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	if err := s.cut.wait(ctx, "read"); err != nil {
		return nil, err
	}
	return s.Source.Read(ctx, task)
}

type cutSink struct {
	runner.Sink
	cut *cutOff
}

func (s cutSink) Table(ctx context.Context, query string) (*batch.Table, error) {
	if err := s.cut.wait(ctx, "table"); err != nil {
		return nil, err
	}
	return s.Sink.Table(ctx, query)
}

func (s cutSink) Create(ctx context.Context, schema columns.Schema) error {
	if err := s.cut.wait(ctx, "create"); err != nil {
		return err
	}
	return s.Sink.Create(ctx, schema)
}

func (s cutSink) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	if err := s.cut.wait(ctx, "commit"); err != nil {
		return nil, err
	}
	applied, err := s.Sink.Commit(ctx, c)
	if err == nil {
		err = s.cut.wait(ctx, "reload")
	}
	return applied, err
}

type cutLog struct {
	runner.Log
	cut *cutOff
}

func (l cutLog) Identity(ctx context.Context) (*batch.Identity, error) {
	if err := l.cut.wait(ctx, "identity"); err != nil {
		return nil, err
	}
	return l.Log.Identity(ctx)
}

func (l cutLog) Last(ctx context.Context) (*batch.LogState, error) {
	if err := l.cut.wait(ctx, "last"); err != nil {
		return nil, err
	}
	return l.Log.Last(ctx)
}

func (l cutLog) PinStart(ctx context.Context, start offsets.Offsets) (offsets.Offsets, error) {
	if err := l.cut.wait(ctx, "pin"); err != nil {
		return nil, err
	}
	return l.Log.PinStart(ctx, start)
}

func (l cutLog) WritePlan(ctx context.Context, plan *batch.Plan) error {
	if err := l.cut.wait(ctx, "publish"); err != nil {
		return err
	}
	return l.Log.WritePlan(ctx, plan)
}

func (l cutLog) WriteCommit(ctx context.Context, n int64) error {
	if err := l.cut.wait(ctx, "mark"); err != nil {
		return err
	}
	return l.Log.WriteCommit(ctx, n)
}

// cutShort runs once; the request that c names waits until the run has ended by the cause: a signal to the process, or
// the lost lease.
func (w *world) cutShort(c *cutOff, cause error) (*notices, error) {
	ctx, signal := context.WithCancelCause(context.Background())
	defer signal(nil)
	q, said := w.query(open(), none)
	lease := &endable{}
	c.end = func() {
		if errors.Is(cause, runner.ErrInterrupted) {
			signal(cause)
		} else {
			lease.end(cause)
		}
	}
	q.Lease, q.Grace = lease, 30*time.Second
	q.Source, q.Sink, q.Log = cutSource{q.Source, c}, cutSink{q.Sink, c}, cutLog{q.Log, c}
	_, err := q.Run(ctx)
	return said, err
}

var (
	leaseTaken    = &batch.Fault{Class: batch.Fenced, Message: "the lease was taken over by run x", Hint: "nothing to do"}
	leaseSilent   = &batch.Fault{Class: batch.Failed, Message: "the lease could not be renewed for 15s", Hint: "see why the store does not answer"}
	errToldToStop = fmt.Errorf("SIGTERM: %w", runner.ErrInterrupted)
)

// A request that is under way when the lease is lost, or a signal comes, fails in words of its own: whoever is called at
// night must be told why the run ended, not what that led to.
func TestARunThatIsCutShortSaysWhyWhateverWasUnderWay(t *testing.T) {
	answers := map[string]func(context.Context) error{
		"the client's words": func(ctx context.Context) error {
			return fmt.Errorf("read table t: operation error S3: GetObject, %w", ctx.Err())
		},
		"a fault around them": func(ctx context.Context) error {
			return &batch.Fault{Class: batch.NotSetUp, Message: "the host name does not resolve", Hint: "check it", Err: ctx.Err()}
		},
		"words that hide it": func(context.Context) error {
			return &batch.Fault{Class: batch.Failed, Message: "interrupted (9)", Hint: "run again"}
		},
	}
	for _, at := range []string{"table", "create", "identity", "last", "view", "pin", "publish", "read", "commit", "reload", "mark"} {
		for name, answer := range answers {
			for _, cause := range []error{leaseTaken, leaseSilent, errToldToStop} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					c := &cutOff{at: at, answer: answer}
					if at == "table" || at == "identity" {
						c.left = 1 // the first is before the lease
					}
					said, err := w.cutShort(c, cause)
					if !c.met || err != cause {
						t.Errorf("%s, %s: got %v, want %v", at, name, err, cause)
					}
					hidden := strings.Contains(strings.Join(said.said, "\n"), "interrupted (9)")
					if want := name == "words that hide it"; hidden != want {
						t.Errorf("%s, %s: what failed on its own was told: %v, want %v", at, name, hidden, want)
					}
					w.drain(t, nil)
				})
			}
		}
	}
}

// Before the lease there is only a signal.
func TestASignalBeforeTheLeaseIsTheReasonToo(t *testing.T) {
	w := newWorld()
	c := &cutOff{at: "table", answer: func(ctx context.Context) error { return ctx.Err() }}
	if _, err := w.cutShort(c, errToldToStop); err != errToldToStop {
		t.Errorf("got %v", err)
	}
	w.drain(t, nil)
}

// What was really found is the better answer, also if the run was ending.
func TestWhatWasFoundIsToldAlsoByARunThatIsCutShort(t *testing.T) {
	for _, class := range []batch.Class{batch.Fenced, batch.DataLoss, batch.Inconsistent, batch.BadRecords, batch.UnknownOutcome, batch.NotSetUp} {
		for _, at := range []string{"view", "read", "commit", "reload"} {
			for _, cause := range []error{leaseTaken, leaseSilent, errToldToStop} {
				synctest.Test(t, func(t *testing.T) {
					found := &batch.Fault{Class: class, Message: "found", Hint: "look"}
					if class == batch.UnknownOutcome {
						found.Err = context.Canceled // what it is unknown for
					}
					c := &cutOff{at: at, answer: func(context.Context) error { return found }}
					if _, err := newWorld().cutShort(c, cause); !errors.Is(err, found) {
						t.Errorf("%v at %s, ended by %v: got %v", class, at, cause, err)
					}
				})
			}
		}
	}
}
