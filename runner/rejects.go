package runner

import (
	"context"
	"fmt"

	"sluice/batch"
	"sluice/columns"
)

// rejects writes the dead letters of one attempt at a task. Their files are begun with the first of them: most tasks have
// none.
type rejects struct {
	executor *Executor
	task     *batch.Task
	attempt  string
	writer   Writer
	digest   batch.Digest
}

// write adds the records that a decoder rejected, and counts them.
func (r *rejects) write(ctx context.Context, rejected *columns.Batch, from *columns.Records, piece *batch.PieceResult) error {
	if r.writer == nil {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	offsets, err := offsetsOf(r.executor.DeadLetterSchema, rejected)
	if err != nil {
		return err
	}
	for _, offset := range offsets {
		r.digest.Add(from.Topic, from.Partition, offset)
	}
	piece.DeadLetters += int64(rejected.Rows)
	return r.writer.Write(ctx, stampLetters(rejected, r.task))
}

func (r *rejects) begin(ctx context.Context) (err error) {
	out := r.task.DeadLetters
	if out == nil {
		return fmt.Errorf("a record was rejected, and the task has no place for dead letters")
	}
	own := *r.task
	own.SchemaID, own.SpecID = out.SchemaID, out.SpecID
	if r.writer, err = r.executor.DeadLetters(r.task.Value.LetterPlace()).Write(ctx, &own, r.attempt, LetterColumns(r.executor.DeadLetterSchema)); err != nil {
		return fmt.Errorf("open files of dead letters: %w", err)
	}
	return nil
}

// letterOffset is the column of dead letters that says which record of its partition it was.
const letterOffset = "kafka_offset"

func offsetsOf(schema columns.Schema, rejected *columns.Batch) ([]int64, error) {
	for i := range schema {
		if schema[i].Name == letterOffset {
			return rejected.Columns[i].Int64s[:rejected.Rows], nil
		}
	}
	return nil, fmt.Errorf("dead letters have no column %s", letterOffset)
}

// close finishes the files; nil if there are none.
func (r *rejects) close(ctx context.Context) (*batch.DeadLetters, error) {
	if r.writer == nil {
		return nil, nil
	}
	files, err := r.writer.Close(ctx)
	return &batch.DeadLetters{Files: files, SchemaID: r.task.DeadLetters.SchemaID, SpecID: r.task.DeadLetters.SpecID, Digest: r.digest}, err
}

func (r *rejects) abort() {
	if r.writer != nil {
		r.writer.Abort()
	}
}

// note keeps what a decoder says of records that are no rows.
func note(result *batch.TaskResult, records *columns.Records, rows *columns.Batch) {
	if rows.Bad == 0 && len(rows.Reasons) == 0 {
		return
	}
	if result.Misfits == nil {
		result.Misfits = &batch.Misfits{}
	}
	said := batch.Misfits{Malformed: int64(rows.Bad), Reasons: rows.Reasons}
	for _, e := range rows.Examples {
		said.Examples = append(said.Examples, batch.Misfit{Topic: records.Topic, Partition: records.Partition, Offset: e.Offset, Reason: e.Reason, Text: e.Text})
	}
	result.Misfits.Add(&said)
}
