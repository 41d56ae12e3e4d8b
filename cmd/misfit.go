package cmd

import (
	"context"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/progress"
	"sluice/runner"
)

// misfit makes it the refusal of an outlook if the table does not take the rows of the batch that comes next. An open plan
// has settings of its own, and those of the job where they do not do.
func (l *pipeline) misfit(ctx context.Context, o *runner.Outlook) error {
	if o.Refusal != nil || o.Replay == nil && o.Next == nil {
		return nil
	}
	if err := l.unmakeablePlaces(ctx, o); err != nil {
		if class := batch.ClassOf(err); class == batch.NotSetUp || class == batch.Inconsistent {
			o.Refusal, err = err, nil
		}
		return err
	}
	if !o.Table.Exists {
		return nil
	}
	headers := l.job.Source.IncludeHeaders
	value, err := l.valueFor(ctx, o.Table)
	if err != nil {
		return err
	}
	if plan := o.Replay; plan != nil && l.takes(ctx, *settled(plan.Value, &value), *settled(plan.IncludeHeaders, &headers)) == nil {
		return nil
	}
	err = l.takes(ctx, value, headers)
	if batch.ClassOf(err) == batch.Inconsistent {
		o.Refusal, err = err, nil
	}
	return err
}

// unmakeablePlaces is why what is not there yet cannot be made: the table, or the folder of dead letters.
func (l *pipeline) unmakeablePlaces(ctx context.Context, o *runner.Outlook) error {
	if !o.Table.Exists {
		if err := l.unmakeable(ctx, o.Table); err != nil {
			return err
		}
	}
	place := l.job.Value.LetterPlace()
	if o.DeadLetters == nil || o.DeadLetters.Exists || place.Kind != batch.InPath {
		return nil
	}
	s, err := l.deadLetters(ctx, place)
	if to, ok := s.(*folder); ok && err == nil {
		err = to.Makeable(ctx, nil)
	}
	return err
}

// unmakeable is why the table cannot be created as the job wants it laid out, or not in this folder. What else is wrong with
// the job is told elsewhere.
func (l *pipeline) unmakeable(ctx context.Context, missing *batch.Table) error {
	to, isFolder := l.sink.(*folder)
	rows := l.rowsFor(ctx, missing)
	switch {
	case isFolder:
		return to.Makeable(ctx, rows)
	case rows == nil:
		return nil
	}
	return l.iceberg.Makeable(rows)
}

// rowsFor is the columns of the next batch's rows; nil if what is wrong with the job is told elsewhere.
func (l *pipeline) rowsFor(ctx context.Context, table *batch.Table) columns.Schema {
	value, err := l.valueFor(ctx, table)
	if err != nil {
		return nil
	}
	d, err := l.newDecoder(value, l.job.Source.IncludeHeaders)
	if err != nil {
		return nil
	}
	return d.Schema()
}

func settled[T any](plans, jobs *T) *T {
	if plans != nil {
		return plans
	}
	return jobs
}

func (l *pipeline) takes(ctx context.Context, value batch.Value, headers bool) error {
	d, err := l.newDecoder(value, headers)
	if err != nil {
		return err
	}
	if altersTable(value) {
		_, err = l.sink.Evolution(ctx, d.Schema())
		return err
	}
	return l.sink.Fits(ctx, d.Schema())
}

// valueFor is how the next batch reads values: as the job says, and with addColumn with the columns that the table has besides.
func (l *pipeline) valueFor(ctx context.Context, table *batch.Table) (batch.Value, error) {
	if err := l.settle(ctx); err != nil {
		return batch.Value{}, err
	}
	value := l.settled()
	if !altersTable(value) {
		return value, nil
	}
	return decode.Widen(value, table.Columns)
}

// showRows adds what records become to a plan, and what the table has otherwise.
func (l *pipeline) showRows(ctx context.Context, shown *progress.Plan, o *runner.Outlook) error {
	value, err := l.valueFor(ctx, o.Table)
	if err != nil {
		return err
	}
	d, err := l.newDecoder(value, l.job.Source.IncludeHeaders)
	if err != nil {
		return err
	}
	for _, remark := range []string{l.leftOut(), l.unfilled()} {
		if remark != "" {
			shown.Notes = append(shown.Notes, remark)
		}
	}
	shown.Format, shown.Columns, shown.Differences = l.job.Value.Format, []progress.PlanColumn{}, []string{}
	for _, f := range d.Schema() {
		shown.Columns = append(shown.Columns, progress.PlanColumn{Name: f.Name, SQLType: ddl.FormatType(f.Type), Required: f.Required})
	}
	if !o.Table.Exists {
		return nil
	}
	if altersTable(value) {
		shown.Changes, err = l.sink.Evolution(ctx, d.Schema())
		if batch.ClassOf(err) != batch.Inconsistent {
			return err
		}
	}
	differences, err := l.sink.Differences(ctx, d.Schema())
	shown.Differences = append(shown.Differences, differences...)
	return err
}
