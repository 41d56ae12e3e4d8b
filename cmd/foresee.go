package cmd

import (
	"context"
	"errors"

	"sluice/batch"
	"sluice/offsets"
	"sluice/progress"
	"sluice/runner"
)

// What plan and status share: both ask what a run would do now.

// silent is told everything and says nothing.
type silent struct{}

func (silent) Planned(int64, int64, int64, bool) {}
func (silent) Advanced(int64)                    {}
func (silent) Committed(*progress.Batch)         {}
func (silent) Notice(string, ...any)             {}
func (silent) Warning(string, ...any)            {}

var actions = map[runner.Action]string{runner.First: progress.ActionStart, runner.Next: progress.ActionContinue, runner.Replay: progress.ActionReplay,
	runner.Mark: progress.ActionMark, runner.Rebuild: progress.ActionRebuild, runner.Chosen: progress.ActionLostRows}

// actionOf names what a run would begin with, and says why it would stop; nil if it would not.
func actionOf(o *runner.Outlook) (string, *progress.Refusal) {
	if err := o.Refusal; err != nil {
		code := exitCode(err)
		return progress.ActionStop, &progress.Refusal{ExitCode: code, Class: class(err, code), Error: err.Error(), Hint: hintOf(err)}
	}
	return actions[o.Action], nil
}

// lossesAhead are what the run would come upon.
func lossesAhead(o *runner.Outlook) (ahead []progress.LossAhead) {
	for _, l := range o.Losses {
		one := progress.LossAhead{Loss: runner.Told(l.Loss), Accepted: l.Accepted, Option: l.Cause.Option()}
		ahead = append(ahead, one)
	}
	return ahead
}

// foresee asks what a run would do now, without Kafka where that does not answer: silence says why not. What
// checkpoint and table say is worth having then all the same.
func (l *pipeline) foresee(ctx context.Context) (o *runner.Outlook, silence, err error) {
	if err := l.openRegistry(ctx); err != nil {
		return nil, nil, err
	}
	if silence = l.openSource(ctx); silence == nil {
		if o, silence = l.query(silent{}).Inspect(ctx); silence == nil {
			return o, nil, l.misfitIfKnown(ctx, o)
		}
	}
	query := l.query(silent{})
	query.Source, query.Bound = unasked{}, nil
	o, err = query.Inspect(ctx)
	return o, silence, err
}

// misfitIfKnown is misfit, unless a registry that does not answer leaves open what the rows are: the rest is worth having.
func (l *pipeline) misfitIfKnown(ctx context.Context, o *runner.Outlook) error {
	if err := l.settle(ctx); err != nil {
		o.Remarks = append(o.Remarks, "whether the table takes the rows is not known, since the schema registry does not say which they are: "+err.Error())
		return nil
	}
	return l.misfit(ctx, o)
}

// unasked stands for a Kafka that does not answer: it says nothing that could disagree with checkpoint and table.
type unasked struct{}

// Start knows no partition.
func (unasked) Start(context.Context) (offsets.Offsets, error) { return offsets.Offsets{}, nil }

// View ends where the query stands.
func (unasked) View(_ context.Context, _ batch.Isolation, known offsets.Offsets) (*offsets.View, error) {
	view := &offsets.View{Partitions: map[offsets.TopicPartition]offsets.Bounds{}}
	for tp, at := range known {
		view.Partitions[tp] = offsets.Bounds{Start: at, End: at, HighWatermark: at, LeaderEpoch: -1}
	}
	return view, nil
}

// Cuts knows of none, and of no epochs that would differ.
func (unasked) Cuts(context.Context, offsets.Offsets, map[offsets.TopicPartition]int32) (offsets.Offsets, bool, error) {
	return nil, true, nil
}

// Read has nothing to read.
func (unasked) Read(context.Context, *batch.Task) (runner.Reader, error) {
	return nil, errors.New("nobody asked Kafka")
}
