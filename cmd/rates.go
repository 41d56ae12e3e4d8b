package cmd

import (
	"context"
	"encoding/json"
	"time"

	"sluice/batch"
	"sluice/progress"
	"sluice/runner"
)

// recent are the newest reports, newest first: a request for each, progress.RecentBatches in all. Those that are missing, or
// cannot be read as reports, are left out. An error is that of the newest one: estimates do without the others.
func (l *pipeline) recent(ctx context.Context, log *batch.LogState) (reports []*progress.Batch, err error) {
	for n := log.Commit; n >= 0 && n > log.Commit-progress.RecentBatches; n-- {
		text, err := l.log.Progress(ctx, n)
		if err != nil && n == log.Commit {
			return nil, err
		}
		if err != nil {
			break
		}
		report := &progress.Batch{}
		if text != nil && json.Unmarshal(text, report) == nil && report.BatchID == n {
			reports = append(reports, report)
		}
	}
	return reports, nil
}

// ratesOf estimates by the reports. Where Kafka was not asked, or the run would stop, nothing is known of what there is to read.
func ratesOf(o *runner.Outlook, reports []*progress.Batch, asked bool) *progress.Rates {
	now, backlog := progress.Now{Time: time.Now(), Other: map[string]bool{}}, progress.Backlog{Offsets: -1, Batches: -1}
	if asked {
		now.Ends = o.View.Ends()
	}
	if plan := o.Log.Plan; plan != nil {
		for topic, id := range plan.TopicIDs {
			now.Other[topic] = o.View.TopicIDs[topic] != "" && o.View.TopicIDs[topic] != id
		}
	}
	if asked && o.Refusal == nil {
		backlog.Offsets, backlog.Batches = o.Remaining, o.Batches
		if o.Waiting != nil && o.Limit > 0 {
			backlog.Batches = (o.Remaining + o.Limit - 1) / o.Limit
		} else if o.Waiting != nil {
			backlog.Batches = 1
		}
		if o.Replay != nil {
			backlog.Offsets += o.Replay.Offsets()
			backlog.Batches++
		}
	}
	return progress.Estimate(reports, now, backlog)
}
