package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/progress"
	"sluice/runner"
)

func (p *process) planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Usage: "what the next run would read and write; changes nothing",
		Description: "Reads broker, checkpoint and table as a run would, and prints what it would do first, which offsets the next batch has, and how many batches follow.\n" +
			"With --adopt, --new-query, --lost-rows or --lost-dead-letters it shows what that choice would do. Where a run would stop, it says why, and ends with the run's exit code.",
		Flags:  slices.Concat(jobFlags(), outputFlags(), choiceFlags()),
		Action: p.plan,
	}
}

func (p *process) plan(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForAll)
	if err != nil {
		return err
	}
	chosen, err := choicesOf(c)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, job.ForAll)
	defer line.close()
	if err != nil {
		return cause(c.Context, err)
	}
	query := line.query(silent{})
	chosen.tell(query)
	o, err := query.Inspect(c.Context)
	if err != nil {
		return cause(c.Context, err)
	}
	if err := line.misfit(c.Context, o); err != nil {
		return cause(c.Context, err)
	}
	shown := line.outlook(c.Context, o)
	if err := line.showRows(c.Context, shown, o); err != nil {
		return cause(c.Context, err)
	}
	if err := progress.Write(p.stdout, p.json, shown); err != nil {
		return err
	}
	p.told = o.Refusal != nil && !p.json // the plan's text says all of it
	return o.Refusal
}

// outlook puts what a run would do into words.
func (l *pipeline) outlook(ctx context.Context, o *runner.Outlook) *progress.Plan {
	shown := &progress.Plan{Query: l.job.Name, QueryID: o.QueryID, Batch: batch.None, EstimatedBytes: -1, EstimatedFiles: -1, KafkaBytes: -1,
		Isolation: string(l.job.Source.Isolation()), MaxOffsets: l.job.Source.MaxOffsetsPerTrigger, MaxBytes: l.job.Source.MaxBytesPerTrigger, Ranges: []progress.PlanRange{},
		Notes: append(append([]string{}, o.Unused...), o.Remarks...), Blocked: o.View.Blocked(),
		Tables: []progress.PlanTable{{Role: "main", Name: l.sink.TableName(), Exists: o.Table.Exists, UUID: o.Table.UUID, Location: o.Table.Location}}}
	if t := o.DeadLetters; t != nil {
		shown.Tables = append(shown.Tables, progress.PlanTable{Role: "deadLetters", Name: l.job.Value.LetterPlace().String(), Exists: t.Exists, UUID: t.UUID, Location: t.Location})
	}
	shown.Losses = lossesAhead(o)
	reports, _ := l.recent(ctx, o.Log) // what cannot be read is nothing to estimate from
	shown.Rates = ratesOf(o, reports, true)
	if shown.Action, shown.Refusal = actionOf(o); shown.Refusal != nil {
		return shown
	}
	shown.StartOrigin = l.startOrigin(o)
	shown.Limit, shown.Waiting, shown.Bound = o.Limit, o.Waiting, o.Bound
	if held := runner.HeldBack(o.View); held != "" {
		shown.Notes = append(shown.Notes, "open transactions hold back records, which are read once the transactions end: "+held)
	}
	next := o.Next
	if o.Replay != nil {
		next = o.Replay
		shown.Remaining, shown.Batches = o.Remaining, o.Batches+1
	} else if next != nil {
		shown.Remaining, shown.Batches = o.Remaining-next.Offsets(), o.Batches
		shown.KafkaBytes = o.BatchBytes
	}
	if next == nil {
		if shown.Waiting != nil {
			shown.Remaining = o.Remaining
		}
		return shown
	}
	if idle := l.budget.idleCores(cores()); idle != "" {
		shown.Notes = append(shown.Notes, idle)
	}
	shown.Batch, shown.Records = next.Batch, next.Offsets()
	for _, r := range next.Ranges() {
		shown.Ranges = append(shown.Ranges, progress.PlanRange{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, Records: r.Len(),
			Blocked: o.View.Partitions[r.TopicPartition].Blocked()})
	}
	shown.EstimatedFiles = int64(l.cutting().Tasks(next.Offsets()))
	shown.EstimatedBytes = estimate(reports, next.Offsets())
	if shown.EstimatedBytes > 0 {
		shown.EstimatedFiles = max(shown.EstimatedFiles, shown.EstimatedBytes/l.job.Sink.TargetFileSize())
	}
	return shown
}

func (l *pipeline) cutting() runner.Cutting {
	s := &l.job.Source
	return runner.Cutting{Workers: l.budget.workers, MinPartitions: int(s.MinPartitions), MaxRecordsPerPartition: s.MaxRecordsPerPartition}
}

// estimate is what so many offsets take in the table, going by the newest report; -1 if there is none.
func estimate(reports []*progress.Batch, n int64) int64 {
	if len(reports) == 0 || reports[0].Sluice.Offsets == 0 {
		return -1
	}
	last := &reports[0].Sluice
	return int64(float64(last.WrittenBytes) / float64(last.Offsets) * float64(n))
}

// startOrigin says why the query begins where it does: the question asked most about startingOffsets.
func (l *pipeline) startOrigin(o *runner.Outlook) string {
	switch {
	case o.Action == runner.Rebuild:
		return "the table's ledger"
	case o.Action == runner.Chosen:
		return "the choice about rows that the table lost"
	case o.Replay != nil:
		return fmt.Sprintf("plan %d of the checkpoint, as it was written", o.Replay.Batch)
	case o.Log.Plan != nil:
		return fmt.Sprintf("the end of batch %d in the checkpoint", o.Log.Plan.Batch)
	case o.Identity != nil && o.Identity.Imported != nil && (o.Log.Start == nil || o.Identity.BeganAt(o.Log.Start) != nil):
		i := o.Identity.Imported
		return fmt.Sprintf("the import from %s %s of %s", i.From, i.Place, moment(i.TimeMs))
	case o.Log.Start != nil:
		return "the start that an earlier run pinned in the checkpoint (sources/0/0)"
	case l.job.Source.StartingOffsetsByTimestamp != nil:
		return "startingOffsetsByTimestamp " + l.job.Text("source.startingOffsetsByTimestamp")
	case !l.job.Source.StartingTimestamp.IsZero():
		return "startingTimestamp " + l.job.Text("source.startingTimestamp")
	}
	return "startingOffsets " + l.job.Text("source.startingOffsets")
}
