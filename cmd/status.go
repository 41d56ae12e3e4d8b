package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/job"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
	"sluice/verify"
)

func (p *process) statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "where the query is: batches, lag, lease, last run; changes nothing",
		Description: "Reads the checkpoint and the table, asks Kafka for the live ends, and says whether the next run would stop, and what to do then.\n" +
			"If Kafka does not answer, everything but the lag is shown all the same.\n\n" +
			"The exit code is 0 also where the next run would stop: status has done what it is for. Where that is what you ask, use plan, which ends with the run's exit code.",
		Flags:  slices.Concat(jobFlags(), outputFlags()),
		Action: p.status,
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
	o, silence, err := l.foresee(ctx)
	if err != nil {
		return nil, err
	}
	s := &progress.Status{Query: l.job.Name, QueryID: o.QueryID, Checkpoint: l.store.String(), LastPlan: batch.None, Lag: -1, LogLag: -1,
		Table: l.sink.TableName(), Partitions: []progress.StatusPartition{}, Notes: []string{}}
	s.Action, s.Refusal = actionOf(o)
	s.Losses = lossesAhead(o)
	s.Notes = append(s.Notes, o.Remarks...)
	l.batches(s, o.Log, o.Table)
	s.DeadLetters = l.statusLetters(o)
	if s.GivenUp, err = l.givenUp(ctx, o); err != nil {
		return nil, err
	}
	if err := l.history(ctx, s); err != nil {
		return nil, err
	}
	reports, err := l.recent(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	if len(reports) > 0 {
		s.LastProgress = reports[0]
	}
	s.Rates = ratesOf(o, reports, silence == nil)
	if silence != nil {
		s.Notes = append(s.Notes, strings.TrimSuffix("lag is unknown: "+silence.Error()+"; "+hintOf(silence), "; "))
		o.View = &offsets.View{}
	} else {
		s.Lag, s.LogLag, s.Blocked = 0, 0, o.View.Blocked()
		s.Waiting, s.Bound = o.Waiting, o.Bound
	}
	partitions(s, o, silence == nil)
	if f, ok := l.sink.(*folder); ok {
		s.Read, err = f.exactly(ctx)
		if fault := (*batch.Fault)(nil); errors.As(err, &fault) && fault.Class == batch.Inconsistent {
			s.Notes, err = append(s.Notes, fault.Message), nil
		}
	}
	return s, err
}

func (l *pipeline) batches(s *progress.Status, log *batch.LogState, table *batch.Table) {
	s.LastCommit, s.TableBatch, s.TableUUID, s.TableLocation = log.Commit, table.Applied.Batch, table.UUID, table.Location
	if !table.Exists {
		s.Notes = append(s.Notes, "the "+table.Word()+" is not there")
	}
	if log.Plan == nil {
		return
	}
	s.LastPlan = log.Plan.Batch
	if log.Plan.Batch > log.Commit {
		s.Uncommitted = &progress.StatusBatch{Batch: log.Plan.Batch, Planned: stamp(log.Plan.TimestampMs), Offsets: log.Plan.Offsets()}
	}
}

// statusLetters is what the ledger of the rows says of dead letters, and where the identity and the job say that they go.
func (l *pipeline) statusLetters(o *runner.Outlook) *progress.StatusLetters {
	value := givenValue(&l.job.Value)
	s := &progress.StatusLetters{Place: value.LetterPlace().String(), Before: []string{}}
	for _, kind := range []batch.LetterKind{batch.InTable, batch.InTopic, batch.InPath} {
		for _, name := range verify.LetterPlaces(o.Identity, kind) {
			if place := (batch.LetterPlace{Kind: kind, Name: name}).String(); place != s.Place {
				s.Before = append(s.Before, place)
			}
		}
	}
	if ledger := o.Table.Applied.Ledger; ledger != nil {
		for _, a := range ledger.Accounts {
			s.DeadLetters += a.DeadLetters
			s.Replayed += a.Replayed
		}
	}
	if s.Place == "" && len(s.Before) == 0 && s.DeadLetters == 0 {
		return nil
	}
	return s
}

// givenUp is what the query has gone on without, by the table's bookkeeping and history. The history of a folder takes reading
// all of its manifests, which is done where the bookkeeping says that there is something to find.
func (l *pipeline) givenUp(ctx context.Context, o *runner.Outlook) (*progress.GivenUp, error) {
	ledger, load := o.Table.Applied.Ledger, l.sink.Load
	if ledger == nil {
		return nil, nil
	}
	if f, ok := l.sink.(*folder); ok {
		if load = f.loadForJudge; !verify.GaveUp(ledger) {
			return nil, nil
		}
	}
	t, err := load(ctx)
	if err != nil {
		return nil, err
	}
	found := verify.GivenUpIn(t, ledger)
	if found == nil {
		return nil, nil
	}
	shown := &progress.GivenUp{}
	return shown, sameJSON(found, shown)
}

// history reads the lease and the newest run.
func (l *pipeline) history(ctx context.Context, s *progress.Status) error {
	holder, err := checkpoint.ReadHolder(ctx, l.store)
	if err != nil {
		return err
	}
	atWork := ""
	if holder != nil {
		s.Lease = leaseOf(holder, time.Now())
		if s.Lease.Live {
			atWork = holder.Run
		}
	}
	runs, err := l.log.Runs(ctx, 2)
	if err != nil {
		return err
	}
	for _, text := range runs {
		var record progress.RunRecord
		if err := json.Unmarshal(text, &record); err != nil {
			s.Notes = append(s.Notes, "the record of the newest run cannot be read: "+err.Error())
			break
		}
		if record.RunID != atWork {
			s.LastRun = lastRun(&record)
			break
		}
	}
	return nil
}

// leaseOf takes a run for alive that gave a sign of life within its lease's time to live.
func leaseOf(h *checkpoint.Holder, now time.Time) *progress.StatusLease {
	return &progress.StatusLease{Owner: fmt.Sprintf("run %s, process %d on %s", h.Run, h.PID, h.Host), Since: progress.Timestamp{Time: h.Acquired},
		Heartbeat: progress.Timestamp{Time: h.Heartbeat}, Released: h.Released, Live: !h.Released && now.Sub(h.Heartbeat) < h.TTL()}
}

func lastRun(r *progress.RunRecord) *progress.StatusRun {
	shown := &progress.StatusRun{ID: r.RunID, State: r.State, Started: r.Started, Finished: r.Finished, Hint: r.Hint}
	if r.Summary == nil {
		return shown
	}
	shown.ExitCode, shown.Error = &r.Summary.ExitCode, r.Summary.Error
	if r.Class == progress.Interrupted { // in records of before the state was failed
		shown.State = progress.Interrupted
	}
	if shown.Error != "" && shown.Hint == "" {
		shown.Hint = hintOfCode(r.Summary.ExitCode)
	}
	return shown
}

// partitions lists where the batches in the table end, beside the live ends, and sums the lag. What is not known of one
// partition is not known of the sum: nobody shall take records that are gone for a query that has caught up. Partitions that
// the job has gone on without are no part of it.
func partitions(s *progress.Status, o *runner.Outlook, asked bool) {
	landed, known := o.Landed()
	all, lost := landed.Clone(), o.Lost(landed)
	for tp := range o.View.Partitions {
		if _, read := all[tp]; !read {
			all[tp] = -1
		}
	}
	for _, tp := range all.Partitions() {
		row := progress.StatusPartition{Topic: tp.Topic, Partition: tp.Partition, Next: all[tp], End: -1, Lag: -1, LogEnd: -1, LogLag: -1}
		b, there := o.View.Partitions[tp]
		if there {
			row.End, row.Blocked, row.LogEnd = b.End, b.Blocked(), b.End+b.Blocked()
		}
		if there && known && !lost[tp] {
			row.Lag = max(0, b.End-max(all[tp], b.Start))
			row.LogLag = max(0, row.LogEnd-max(all[tp], b.Start))
		}
		row.State = stateOf(&row, standing{asked, there, known, lost[tp]})
		s.Partitions = append(s.Partitions, row)
		switch {
		case !there && o.GoneOnWithout(tp):
		case row.Lag < 0 || s.Lag < 0:
			s.Lag = -1
		default:
			s.Lag += row.Lag
			s.LogLag += row.LogLag
		}
	}
	if !known || s.Lag < 0 {
		s.Lag, s.LogLag = -1, -1
	}
}

// standing is what is known of a partition: Kafka was asked and has it, the query's position is known, what comes next is lost.
type standing struct{ asked, there, known, lost bool }

func stateOf(row *progress.StatusPartition, is standing) string {
	switch {
	case !is.asked:
		return progress.PartitionUnknown
	case !is.there:
		return progress.PartitionGone
	case is.lost:
		return progress.PartitionLost
	case !is.known:
		return progress.PartitionUnknown
	case row.Next < 0:
		return progress.PartitionNew
	case row.Blocked > 0:
		return progress.PartitionHeld
	}
	return progress.PartitionRead
}

func stamp(ms int64) progress.Timestamp { return progress.Timestamp{Time: time.UnixMilli(ms)} }
