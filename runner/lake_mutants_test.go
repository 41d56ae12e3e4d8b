package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
	"sluice/runner"
)

// The mutants of the real sink are wrapped around it: what they break is what lakesink and the runner would get wrong
// if the rule were not there.

// amnesia is a query that takes a batch which is in the table for one that is not, and a sink that does not look either.
type amnesia struct {
	runner.Sink
	log *rememberingLog
}

// rememberingLog remembers which batch was last planned or found open.
type rememberingLog struct {
	runner.Log
	open int64
}

func (l *rememberingLog) Last(ctx context.Context) (*batch.LogState, error) {
	s, err := l.Log.Last(ctx)
	if err == nil && s.Plan != nil && s.Commit < s.Plan.Batch {
		l.open = s.Plan.Batch
	}
	return s, err
}

func (l *rememberingLog) WritePlan(ctx context.Context, plan *batch.Plan) error {
	err := l.Log.WritePlan(ctx, plan)
	if err == nil {
		l.open = plan.Batch
	}
	return err
}

func (s amnesia) Table(ctx context.Context, query string) (*batch.Table, error) {
	if s.log.open == batch.None {
		if _, err := s.log.Last(ctx); err != nil {
			return nil, err
		}
	}
	t, err := s.Sink.Table(ctx, query)
	if err != nil || s.log.open == batch.None || t.Applied.Batch < s.log.open {
		return t, err
	}
	t.Applied.Batch, t.Applied.Plan = s.log.open-1, ""
	return t, nil
}

func (s amnesia) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	t, err := s.Sink.Table(ctx, c.Query)
	if err != nil {
		return nil, err
	}
	blind := *c.Plan
	blind.Accepted = &batch.Acceptance{Choice: batch.Accept, Batch: t.Applied.Batch, Snapshot: t.Applied.Snapshot}
	commit := *c
	commit.Plan = &blind
	return s.Sink.Commit(ctx, &commit)
}

// eager marks a batch as done before it is in the table.
type eager struct {
	runner.Sink
	log runner.Log
}

func (s eager) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	if err := s.log.WriteCommit(ctx, c.Plan.Batch); err != nil {
		return nil, err
	}
	return s.Sink.Commit(ctx, c)
}

// hopeful takes every failed commit for one that happened.
type hopeful struct{ runner.Sink }

func (s hopeful) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	applied, err := s.Sink.Commit(ctx, c)
	if err != nil && !errors.Is(err, laketest.ErrKilled) {
		return &batch.Applied{Batch: c.Plan.Batch, InHistory: c.Plan.Batch, Plan: c.Plan.Hash}, nil
	}
	return applied, err
}

// tidy deletes the files of a commit that ended in an error.
type tidy struct {
	lakeSink
	files *[]string
}

func (s tidy) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	*s.files = nil
	for _, r := range c.Results {
		for _, f := range r.Files {
			*s.files = append(*s.files, f.Path)
		}
	}
	return s.lakeSink.Commit(ctx, c)
}

// lax is a catalog that a mutant has changed: it keeps to no requirement, or deletes what was to be added after an error.
type lax struct {
	catalog.Catalog
	unpinned bool
	files    *[]string
}

func (c *lax) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return table.New(id, t.Metadata(), t.MetadataLocation(), t.FS, c), nil
}

func (c *lax) CreateTable(ctx context.Context, id table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	return c.Catalog.CreateTable(ctx, id, schema, options...)
}

func (c *lax) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if c.unpinned {
		requirements = nil
	}
	m, location, err := c.Catalog.CommitTable(ctx, id, requirements, updates)
	if err == nil || c.files == nil {
		return m, location, err
	}
	for _, path := range *c.files {
		u, parseErr := url.Parse(path)
		if parseErr != nil {
			return nil, "", errors.Join(err, parseErr)
		}
		err = errors.Join(err, os.Remove(u.Path))
	}
	return m, location, err
}

// lakeMutants break one run each; how is the kind of fault that brings it out.
var lakeMutants = map[mutant]struct {
	how    laketest.Mode
	change func(q *runner.Query)
}{
	noIdempotency: {laketest.KilledAfter, forgetful},
	markerFirst:   {laketest.KilledAfter, func(q *runner.Query) { q.Sink = eager{q.Sink, q.Log} }},
	planRecomputed: {laketest.Killed, func(q *runner.Query) {
		q.Log = &stretching{wholeLog: q.Log.(wholeLog), kafka: q.Source.(rawSource).source.kafka}
	}},
	failureIsSuccess: {laketest.NotApplied, func(q *runner.Query) { q.Sink = hopeful{q.Sink} }},
}

func forgetful(q *runner.Query) {
	log := &rememberingLog{Log: q.Log, open: batch.None}
	q.Log, q.Sink = log, amnesia{q.Sink, log}
}

// sweepLake strikes every effect of a mutant on a real table and returns the first violation that verify sees.
func sweepLake(t *testing.T, how laketest.Mode, change func(*lakeWorld)) error {
	t.Helper()
	for i := 0; ; i++ {
		w := newLakeWorld(t)
		change(w)
		s := laketest.BreakAt(i, how)
		met, err := w.struck(context.Background(), s, true)
		if !met {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%q %s: %w", s.Effects()[i], how, err)
		}
	}
}

// Each way to break the protocol around the real sink must be noticed, with verify as the judge.
func TestTheSweepOfARealTableNoticesEveryMutant(t *testing.T) {
	for name, m := range lakeMutants {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			wantNoticed(t, sweepLake(t, m.how, func(w *lakeWorld) { w.mutate = m.change }))
		})
	}
	t.Run(string(filesDeleted), func(t *testing.T) {
		t.Parallel()
		wantNoticed(t, sweepLake(t, laketest.AnswerLost, func(w *lakeWorld) {
			files := new([]string)
			w.outer = func(c catalog.Catalog) catalog.Catalog { return &lax{Catalog: c, files: files} }
			w.mutate = func(q *runner.Query) { q.Sink = tidy{q.Sink.(lakeSink), files} }
		}))
	})
}

// These two do harm only where another run goes on while one sleeps.
func TestTheStallsOnARealTableNoticeEveryMutant(t *testing.T) {
	t.Run(string(refNotPinned), func(t *testing.T) {
		t.Parallel()
		wantNoticed(t, stallLake(t, func(w *lakeWorld) {
			w.outer = func(c catalog.Catalog) catalog.Catalog { return &lax{Catalog: c, unpinned: true} }
		}))
	})
	t.Run(string(noGuard), func(t *testing.T) {
		t.Parallel()
		wantNoticed(t, stallLake(t, func(w *lakeWorld) { w.mutate = forgetful }))
	})
}

// stallLake holds a mutant at every step while healthy runs go on, and returns the first violation.
func stallLake(t *testing.T, change func(*lakeWorld)) error {
	t.Helper()
	for i := 0; ; i++ {
		w := newLakeWorld(t)
		h := haltAt(i)
		broken := *w
		change(&broken)
		name, _, err := w.stall(broken.sleeper(h), h)
		if err != nil {
			return fmt.Errorf("a run slept %s: %w", name, err)
		}
		if name == "" {
			return nil
		}
	}
}

func wantNoticed(t *testing.T, violation error) {
	t.Helper()
	if violation == nil {
		t.Error("no run was wrong")
	}
	t.Log(violation)
}
