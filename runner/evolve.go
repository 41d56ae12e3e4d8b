package runner

import (
	"context"
	"fmt"
	"strings"

	"sluice/batch"
	"sluice/columns"
)

// Evolver is the sink, where records may alter the table (lakesink). Nothing of a batch is in the table before the table
// takes all of it.
type Evolver interface {
	// Evolution says what Evolve would alter. An Inconsistent fault says what cannot be altered.
	Evolution(ctx context.Context, schema columns.Schema) ([]string, error)
	// Evolve makes the table take rows of the schema by one conditional update, and says what the table is afterwards
	// and what was altered. It is safe to repeat and to race. Fenced: commit's batch is not the next one any more.
	Evolve(ctx context.Context, commit *batch.Commit, schema columns.Schema) (*batch.Table, []string, error)
}

// Finder is a Decoder that notes fields of records which its schema lacks and which are to become columns.
type Finder interface {
	Unknown() []batch.Unknown
}

// Widening is how a query's table grows with its records.
type Widening struct {
	Evolver
	// On says whether values that are read so may alter the table.
	On func(value batch.Value) bool
	// Widen adds columns to the schema of a value: a table's own, or unknown fields. It depends on its arguments alone.
	Widen func(value batch.Value, by []columns.Field) (batch.Value, error)
	// Bounded is an error if unknown fields have made too many columns of a schema.
	Bounded func(value batch.Value) error
}

// grows says whether records may alter the table.
func (w *Widening) grows(value batch.Value) bool { return w != nil && w.On(value) }

// jobValue is how the job reads values now: with the columns that the table has besides, where these came from records.
// Otherwise every batch would be read twice, for fields that became columns long ago.
func (r *run) jobValue() (batch.Value, error) {
	if !r.Widening.grows(r.Value) || r.table == nil {
		return r.Value, nil
	}
	return r.Widening.Widen(r.Value, r.table.Columns)
}

// readAs reads a plan into files, as value says. Fields that the schema lacks become columns where they may: the table is
// altered, and then all is read again with them. A replay finds the same fields in the same records, and the columns there.
// The table's own shape must be that of the rows before they are written, and no other run may have gone on meanwhile.
func (r *run) readAs(ctx context.Context, plan *batch.Plan, value batch.Value, headers bool, done *work) error {
	for range mostRounds {
		if err := r.evolve(ctx, plan, value, headers, done); err != nil {
			return err
		}
		if err := r.readOnce(ctx, plan, value, headers, done); err != nil {
			return err
		}
		apart := value.OnMalformed == batch.DeadLetterPolicy
		unknown, err := batch.MergeUnknown(done.results, apart)
		if err != nil || len(unknown) == 0 {
			return err
		}
		if apart {
			value, err = r.settle(value, headers, unknown)
		} else {
			value, err = r.widen(value, batch.Fields(unknown))
		}
		if err != nil {
			return err
		}
		r.Reporter.Notice("records have fields that the schema lacks; they become columns, and the batch is read again", "batch", plan.Batch)
		r.Reporter.Advanced(-delivered(done.results))
	}
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("records of batch %d had fields beyond the schema each of the %d times that they were read", plan.Batch, mostRounds),
		Hint: "this is a defect of sluice: keep the log; set value.onUnknownField to ignore to go on"}
}

// delivered counts the records that were read.
func delivered(results []batch.TaskResult) (n int64) {
	for i := range results {
		for _, p := range results[i].Pieces {
			n += p.Delivered
		}
	}
	return n
}

// readOnce carries out the tasks of a plan.
func (r *run) readOnce(ctx context.Context, plan *batch.Plan, value batch.Value, headers bool, done *work) (err error) {
	done.tasks = r.tasksAs(plan, value, headers)
	if value.LetterPlace() != (batch.LetterPlace{}) {
		out := &batch.DeadLetterOutput{SchemaID: done.letters.table.SchemaID, SpecID: done.letters.table.SpecID}
		for i := range done.tasks {
			done.tasks[i].DeadLetters = out
		}
	}
	executor := &Executor{Source: r.Source, Sink: r.Sink, NewDecoder: r.NewDecoder, Advanced: r.Reporter.Advanced, DeadLetters: r.DeadLetters, DeadLetterSchema: r.DeadLetterSchema}
	done.results, err = executor.ExecuteAll(ctx, done.tasks, r.Workers)
	return err
}

// mostRounds bounds how often a batch is read. Twice is what there is to expect: with a wider schema a record that was
// malformed for what it leaves out (decode/json) may become a row, and bring fields of its own.
const mostRounds = 5

func (r *run) widen(value batch.Value, by []columns.Field) (batch.Value, error) {
	wider, err := r.Widening.Widen(value, by)
	if err == nil {
		err = r.Widening.Bounded(wider)
	}
	if err == nil && wider.Equal(value) {
		err = &batch.Fault{Class: batch.BadRecords, Message: "records have fields that value.schema lacks and that cannot become columns: " + names(by),
			Hint: "declare them in value.schema, or set value.onUnknownField to ignore or deadLetter; nothing of the batch is in the table, and the next run finishes it"}
	}
	return wider, err
}

// settle is widen where records that do not fit are dead letters: what the first of the plan have becomes columns, and the
// batch is read a second time with these and no others. So the outcome follows from plan and records alone, however often
// and by whomever the batch is carried out.
func (r *run) settle(value batch.Value, headers bool, unknown []batch.Unknown) (batch.Value, error) {
	decoder, err := r.NewDecoder(value, headers)
	if err != nil {
		return value, err
	}
	chosen, err := batch.Settle(unknown, decoder.Schema())
	if err != nil {
		return value, err
	}
	wider, err := r.Widening.Widen(value, batch.Fields(chosen))
	if err == nil {
		err = r.Widening.Bounded(wider)
	}
	wider.Closed = true
	return wider, err
}

func names(fields []columns.Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%q", f.Name))
	}
	return strings.Join(all, ", ")
}

// evolve makes the table take the rows of value.
func (r *run) evolve(ctx context.Context, plan *batch.Plan, value batch.Value, headers bool, done *work) error {
	if !r.Widening.grows(value) {
		return nil
	}
	decoder, err := r.NewDecoder(value, headers)
	if err != nil {
		return err
	}
	table, altered, err := r.Widening.Evolve(ctx, &batch.Commit{Query: r.queryID, Name: r.Name, Run: r.RunID, Plan: plan, TableUUID: r.table.UUID}, decoder.Schema())
	if err != nil {
		return err
	}
	r.table = table
	for _, change := range altered {
		r.Reporter.Notice("the "+r.table.Word()+" was altered", "table", r.TableName, "change", change, "batch", plan.Batch)
	}
	done.altered = append(done.altered, altered...)
	return nil
}
