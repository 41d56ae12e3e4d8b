package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/job"
	"sluice/offsets"
	"sluice/progress"
)

func (p *process) statusCommand() *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "where the query is: batches, lag, lease, last run; changes nothing",
		Description: "Reads the checkpoint and the table, and asks Kafka for the live ends. If Kafka does not answer, everything but the lag is shown all the same.",
		Flags:       slices.Concat(jobFlags(), outputFlags()),
		Action:      p.status,
	}
}

func (p *process) status(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForAll)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, job.ForSink|job.ForCheckpoint)
	defer line.close()
	if err != nil {
		return cause(c.Context, err)
	}
	s, err := line.status(c.Context)
	if err != nil {
		return cause(c.Context, err)
	}
	return progress.Write(p.stdout, p.json, s)
}

func (l *pipeline) status(ctx context.Context) (*progress.Status, error) {
	s := &progress.Status{Query: l.job.Name, Checkpoint: l.store.String(), LastPlan: batch.None, LastCommit: batch.None, TableBatch: batch.None, Lag: -1,
		Table: l.sink.TableName(), Partitions: []progress.StatusPartition{}, Notes: []string{}}
	var err error
	if s.QueryID, err = l.log.Query(ctx); err != nil {
		return nil, err
	}
	table, err := l.sink.Table(ctx, s.QueryID)
	if err != nil {
		return nil, err
	}
	log, err := l.log.Last(ctx)
	if err != nil {
		return nil, err
	}
	l.batches(s, log, table)
	if err := l.history(ctx, s, log); err != nil {
		return nil, err
	}
	l.partitions(ctx, s, reached(log, table))
	return s, nil
}

func (l *pipeline) batches(s *progress.Status, log *batch.LogState, table *batch.Table) {
	s.LastCommit, s.TableBatch, s.TableUUID, s.TableLocation = log.Commit, table.Applied.Batch, table.UUID, table.Location
	if !table.Exists {
		s.Notes = append(s.Notes, "the table is not there")
	}
	if log.Plan == nil {
		return
	}
	s.LastPlan = log.Plan.Batch
	if log.Plan.Batch > log.Commit {
		s.Uncommitted = &progress.StatusBatch{Batch: log.Plan.Batch, Planned: stamp(log.Plan.TimestampMs), Offsets: log.Plan.Offsets()}
	}
}

// reached is where the query stands: the table's word if it has one.
func reached(log *batch.LogState, table *batch.Table) offsets.Offsets {
	switch ledger := table.Applied.Ledger; {
	case ledger != nil && ledger.Batch == table.Applied.Batch:
		return ledger.Next()
	case log.Plan != nil && log.Plan.Batch == table.Applied.Batch:
		return log.Plan.End
	case log.Plan != nil:
		return log.Plan.Start
	}
	return log.Start
}

// history reads the lease, the newest run and the newest report.
func (l *pipeline) history(ctx context.Context, s *progress.Status, log *batch.LogState) error {
	holder, err := checkpoint.ReadHolder(ctx, l.store)
	if err != nil {
		return err
	}
	if holder != nil {
		s.Lease = &progress.StatusLease{Owner: fmt.Sprintf("run %s, process %d on %s", holder.Run, holder.PID, holder.Host),
			Since: progress.Timestamp{Time: holder.Acquired}, Released: holder.Released}
	}
	runs, err := l.log.Runs(ctx, 1)
	if err != nil {
		return err
	}
	for _, text := range runs {
		var record progress.RunRecord
		if err := json.Unmarshal(text, &record); err != nil {
			s.Notes = append(s.Notes, "the record of the newest run cannot be read: "+err.Error())
			continue
		}
		s.LastRun = lastRun(&record)
	}
	s.LastProgress, err = l.lastProgress(ctx, log)
	return err
}

func lastRun(r *progress.RunRecord) *progress.StatusRun {
	shown := &progress.StatusRun{ID: r.RunID, State: r.State, Started: r.Started, Finished: r.Finished}
	if r.Summary != nil {
		shown.ExitCode, shown.Error = &r.Summary.ExitCode, r.Summary.Error
	}
	return shown
}

// lastProgress is the report of the newest batch that has one; nil for none. One that cannot be read counts as none.
func (l *pipeline) lastProgress(ctx context.Context, log *batch.LogState) (*progress.Batch, error) {
	if log.Commit == batch.None {
		return nil, nil
	}
	text, err := l.log.Progress(ctx, log.Commit)
	if err != nil || text == nil {
		return nil, err
	}
	var report progress.Batch
	if json.Unmarshal(text, &report) != nil {
		return nil, nil
	}
	return &report, nil
}

// partitions asks Kafka for the live ends; without an answer the lag stays unknown.
func (l *pipeline) partitions(ctx context.Context, s *progress.Status, reached offsets.Offsets) {
	view, err := l.ends(ctx, reached)
	if err != nil {
		s.Notes = append(s.Notes, "Kafka did not answer, so lag is unknown: "+err.Error())
		view = &offsets.View{}
	} else {
		s.Lag, s.Blocked = 0, heldBack(view)
	}
	all := reached.Clone()
	for tp := range view.Partitions {
		if _, known := all[tp]; !known {
			all[tp] = -1
		}
	}
	for _, tp := range all.Partitions() {
		row := progress.StatusPartition{Topic: tp.Topic, Partition: tp.Partition, Next: all[tp], End: -1, Lag: -1}
		if b, ok := view.Partitions[tp]; ok {
			row.End, row.Lag = b.End, max(0, b.End-max(all[tp], b.Start))
			s.Lag += row.Lag
		}
		s.Partitions = append(s.Partitions, row)
	}
}

func (l *pipeline) ends(ctx context.Context, reached offsets.Offsets) (*offsets.View, error) {
	if err := l.openSource(ctx); err != nil {
		return nil, err
	}
	return l.source.View(ctx, l.job.Source.Isolation(), reached)
}

func stamp(ms int64) progress.Timestamp { return progress.Timestamp{Time: time.UnixMilli(ms)} }
