package runner_test

import (
	"context"
	"errors"
	"fmt"

	"sluice/batch"
	"sluice/columns"
	"sluice/runner"
)

// mutant breaks the commit protocol in one way. The sweeps must notice each of them.
type mutant string

const (
	none             mutant = ""
	noIdempotency    mutant = "no idempotency on append"
	markerFirst      mutant = "commit marker before table commit"
	planRecomputed   mutant = "plan recomputed on restart"
	filesDeleted     mutant = "files deleted after an unknown outcome"
	failureIsSuccess mutant = "failed append taken for committed"
	refNotPinned     mutant = "ref not pinned"
	noGuard          mutant = "no look at the table after the plan" // and a sink that does not look either
)

// sink is one run's hold on a lake: the commit protocol of DESIGN's table commit on the fake catalog, so that it can be
// broken on purpose. The real one, lakesink, passes the same sweep in lake_sweep_test.go.
type sink struct {
	lake   *lake
	gate   *gate
	mutant mutant
	// letters says that the table is one of dead letters, for the names of effects.
	letters bool
	log     runner.Log // for markerFirst
}

// as is an effect's name.
func (s *sink) as(effect string) string {
	if s.letters {
		return "letters: " + effect
	}
	return "catalog: " + effect
}

func (s *sink) Table(_ context.Context, query string) (t *batch.Table, err error) {
	err = s.gate.pass(s.as("load"), func() (err error) { t, err = s.table(s.lake.read(), query); return err })
	return t, err
}

func (s *sink) table(r reading, query string) (*batch.Table, error) {
	queries, err := batch.LedgerQueries(r.props)
	if err != nil {
		return nil, err
	}
	t := &batch.Table{Exists: true, UUID: r.uuid, Queries: queries, Sequence: int64(r.version), Applied: batch.Applied{Batch: batch.None, InHistory: batch.None}}
	ledger, err := batch.ParseLedger(r.props, query)
	if err != nil || ledger == nil {
		return t, err
	}
	a := &t.Applied
	a.Ledger, a.Batch, a.Plan, a.Snapshot, a.RolledBack = ledger, ledger.Batch, ledger.Plan, ledger.Snapshot, true
	for _, old := range r.history {
		if old.query == query {
			a.InHistory = max(a.InHistory, old.batch)
			a.RolledBack = a.RolledBack && old.batch != ledger.Batch
		}
	}
	return t, nil
}

func (s *sink) Create(context.Context, columns.Schema) error { return nil }

func (s *sink) Write(_ context.Context, task *batch.Task, attempt string, _ columns.Schema) (runner.Writer, error) {
	return &writer{sink: s, path: fmt.Sprintf("%s-%d-%d-%s", task.Query, task.Batch, task.Index, attempt)}, nil
}

type writer struct {
	sink *sink
	path string
	rows []row
}

func (w *writer) Write(_ context.Context, b *columns.Batch) error {
	if w.sink.letters {
		for i, o := range b.Columns[1].Int64s[:b.Rows] {
			w.rows = append(w.rows, row{b.Columns[0].Int32s[i], o})
		}
		return nil
	}
	for _, o := range b.Columns[1].Int64s {
		w.rows = append(w.rows, row{b.Columns[0].Int32s[0], o})
	}
	return nil
}

func (w *writer) Close(context.Context) ([]batch.DataFile, error) {
	if len(w.rows) == 0 {
		return nil, nil
	}
	err := w.sink.gate.effect("file", func() error {
		w.sink.lake.mu.Lock()
		defer w.sink.lake.mu.Unlock()
		w.sink.lake.files[w.path] = w.rows
		return nil
	})
	return []batch.DataFile{{Path: w.path, Records: int64(len(w.rows))}}, err
}

func (w *writer) Abort() {}

func (s *sink) Commit(ctx context.Context, c *batch.Commit) (*batch.Applied, error) {
	if s.mutant == markerFirst {
		if err := s.log.WriteCommit(ctx, c.Plan.Batch); err != nil {
			return nil, err
		}
	}
	for range 10 {
		done, err := s.attempt(c)
		if done != nil || err != nil {
			return done, err
		}
	}
	return nil, errors.New("gave up")
}

// attempt commits once and, whatever the answer, believes the table alone. Neither result: try again.
func (s *sink) attempt(c *batch.Commit) (*batch.Applied, error) {
	base, applied, err := s.check(c)
	if applied != nil || err != nil {
		return applied, err
	}
	var files []string
	for _, r := range c.Results {
		for _, f := range r.Files {
			files = append(files, f.Path)
		}
	}
	prior, err := batch.ParseLedger(base.props, c.Query)
	if err != nil {
		return nil, err
	}
	ledger := c.Ledger(prior)
	commit := func() error {
		return s.lake.commit(base, c.Query, c.Plan.Batch, files, func(snapshot int) map[string]string {
			ledger.Snapshot = int64(snapshot + 1)
			props, err := ledger.Properties()
			if err != nil {
				panic(err)
			}
			return props
		}, s.mutant != refNotPinned)
	}
	err = s.gate.effect(s.as("commit"), commit)
	switch {
	case errors.Is(err, errKilled):
		return nil, err
	case err != nil && s.mutant == filesDeleted:
		s.lake.mu.Lock()
		defer s.lake.mu.Unlock()
		for _, f := range files {
			delete(s.lake.files, f)
		}
		return nil, err
	case err != nil && s.mutant == failureIsSuccess:
		return &batch.Applied{Batch: c.Plan.Batch, Plan: c.Plan.Hash, Ledger: ledger}, nil
	case err == nil && s.mutant == noIdempotency:
		return &batch.Applied{Batch: c.Plan.Batch, Plan: c.Plan.Hash, Ledger: ledger}, nil
	}
	return nil, nil // the next attempt's check says whether it landed
}

// check reads the table afresh: applied is set if the batch is there already.
func (s *sink) check(c *batch.Commit) (base reading, applied *batch.Applied, err error) {
	err = s.gate.pass(s.as("load"), func() error { base = s.lake.read(); return nil })
	if err != nil {
		return base, nil, &batch.Fault{Class: batch.UnknownOutcome, Message: "commit", Err: err, Hint: "run again"}
	}
	t, err := s.table(base, c.Query)
	if err != nil {
		return base, nil, err
	}
	a := &t.Applied
	switch {
	case t.UUID != c.TableUUID:
		return base, nil, &batch.Fault{Class: batch.Inconsistent, Message: "another table", Hint: "look"}
	case s.mutant == noIdempotency || s.mutant == noGuard:
		return base, nil, nil
	case a.Batch == c.Plan.Batch && a.Plan == c.Plan.Hash:
		if c.DeadLetters != nil && *a.Ledger.Letters != *c.DeadLetters {
			return base, nil, &batch.Fault{Class: batch.Inconsistent, Message: "other dead letters", Hint: "look"}
		}
		return base, a, nil
	case c.DeadLetters != nil && a.Batch < c.Plan.Batch && !a.RolledBack:
		return base, nil, nil
	case c.Plan.Accepted.Covers(a) || a.Batch == c.Plan.Batch-1 && !a.RolledBack:
		return base, nil, nil
	case a.Batch >= c.Plan.Batch:
		return base, nil, &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("table at %d, want to commit %d", a.Batch, c.Plan.Batch), Hint: "none"}
	}
	return base, nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("table at %d, want to commit %d", a.Batch, c.Plan.Batch), Hint: "look"}
}

func (s *sink) Maintain(context.Context, *batch.Applied) error { return nil }
