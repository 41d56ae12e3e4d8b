package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"sluice/batch"
	"sluice/columns"
)

// Executor carries out tasks: Kafka to data files. It needs nothing but the task, so another process may run it.
type Executor struct {
	Source Source
	Sink   Sink
	// NewDecoder makes the decoder of one task.
	NewDecoder NewDecoder
	// DeadLetters is the sink of a place of dead letters, for tasks that have them; DeadLetterSchema is what decoders say of
	// one.
	DeadLetters      func(place batch.LetterPlace) Sink
	DeadLetterSchema columns.Schema
	// Advanced is told of records that were read and handed to the files. Optional; called from several goroutines.
	Advanced func(records int64)
	// wider says that a task has found fields that become columns: no task of the batch writes on.
	wider atomic.Bool
}

// Execute carries out one task: it reads the pieces, decodes them, and writes files that are not part of the table
// yet. Every call is an attempt of its own with files of its own, so repeating it is safe. It fails unless every piece
// was read to its end.
func (e *Executor) Execute(ctx context.Context, task *batch.Task) (*batch.TaskResult, error) {
	decoder, err := e.NewDecoder(task.Value, task.IncludeHeaders)
	if err != nil {
		return nil, fmt.Errorf("task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	attempt := uuid.NewString()
	reader, err := e.Source.Read(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("open task %d of batch %d for reading: %w", task.Index, task.Batch, err)
	}
	defer reader.Close()
	writer, err := e.Sink.Write(ctx, task, attempt, decoder.Schema())
	if err != nil {
		return nil, fmt.Errorf("open files of task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	defer writer.Abort()

	result := &batch.TaskResult{Version: batch.FormatVersion, Query: task.Query, Batch: task.Batch, Plan: task.Plan, Index: task.Index,
		Attempt: attempt, SchemaID: task.SchemaID, SpecID: task.SpecID, Pieces: make([]batch.PieceResult, len(task.Pieces))}
	for i, p := range task.Pieces {
		result.Pieces[i] = batch.PieceResult{Piece: p, Position: p.From}
	}
	rejects := &rejects{executor: e, task: task, attempt: attempt}
	defer rejects.abort()
	if err := e.drain(ctx, reader, decoder, outputs{writer, rejects}, result); err != nil {
		return nil, fmt.Errorf("task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	if e.wider.Load() { // all is read again with more columns; what is open is given up
		return result, nil
	}
	if result.DeadLetters, err = rejects.close(ctx); err != nil {
		return nil, fmt.Errorf("finish the dead letters of task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	if result.Files, err = writer.Close(ctx); err != nil {
		return nil, fmt.Errorf("finish files of task %d of batch %d: %w", task.Index, task.Batch, err)
	}
	if spiller, spills := writer.(Spiller); spills {
		result.Spilled = spiller.Spilled()
	}
	return result, nil
}

// outputs are where the records of a task go.
type outputs struct {
	rows    Writer
	rejects *rejects
}

func (o *outputs) write(ctx context.Context, rows *columns.Batch, records *columns.Records, piece *batch.PieceResult) error {
	if err := o.rows.Write(ctx, rows); err != nil || rows.Rejected == nil {
		return err
	}
	return o.rejects.write(ctx, rows.Rejected, records, piece)
}

func (e *Executor) drain(ctx context.Context, reader Reader, decoder Decoder, to outputs, result *batch.TaskResult) error {
	for {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		piece := &result.Pieces[reader.Piece()]
		rows, err := decoder.Decode(records)
		for ; err == nil && rows != nil; rows, err = rows.Next() {
			if err := e.put(ctx, decoder, to, delivery{rows, records, piece}); err != nil {
				return err
			}
			note(result, records, rows)
		}
		if err != nil {
			return err
		}
		piece.Delivered += int64(records.Rows)
		if e.Advanced != nil {
			e.Advanced(int64(records.Rows))
		}
	}
	for i, position := range reader.Positions() {
		result.Pieces[i].Position = position
	}
	for i, lost := range reader.Lost() {
		result.Pieces[i].Lost = lost
	}
	result.ReadBytes = reader.ReadBytes()
	if weigher, weighs := reader.(Weigher); weighs {
		result.RecordBytes = weigher.RecordBytes()
	}
	if finder, finds := decoder.(Finder); finds {
		result.UnknownFields = finder.Unknown()
	}
	return nil
}

// delivery is what some records became, and the piece that they are of.
type delivery struct {
	rows    *columns.Batch
	records *columns.Records
	piece   *batch.PieceResult
}

// put writes rows, as long as none of the batch has shown that the table has to be wider for it.
func (e *Executor) put(ctx context.Context, decoder Decoder, to outputs, d delivery) error {
	if finder, finds := decoder.(Finder); finds && len(finder.Unknown()) > 0 {
		e.wider.Store(true)
	}
	if !e.wider.Load() {
		if err := to.write(ctx, d.rows, d.records, d.piece); err != nil {
			return err
		}
	}
	d.piece.Rows += int64(d.rows.Rows)
	d.piece.Nulled += int64(d.rows.Nulled)
	d.piece.Dropped += int64(d.rows.Dropped)
	return nil
}

// ExecuteAll carries out tasks, workers at a time. The first failure stops the others.
func (e *Executor) ExecuteAll(ctx context.Context, tasks []batch.Task, workers int) ([]batch.TaskResult, error) {
	results := make([]batch.TaskResult, len(tasks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, workers))
	for i := range tasks {
		group.Go(func() error {
			result, err := e.Execute(ctx, &tasks[i])
			if err == nil {
				results[i] = *result
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}
