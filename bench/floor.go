package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/kafkasrc"
	"sluice/lakesink/parquetfile"
)

// fetchChild drains the corpus with the reader that a run uses, and keeps nothing: what fetching, decompressing and
// laying out in columns cost without anything after it.
func fetchChild(ctx context.Context, a assignment) (any, error) {
	source, tasks, err := openCorpus(ctx, a)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	begin := startWatch()
	rows := make([]int64, len(tasks))
	group, ctx := errgroup.WithContext(ctx)
	for i := range tasks {
		group.Go(func() error {
			return drain(ctx, source, &tasks[i], func(records *columns.Records) error {
				rows[i] += int64(records.Rows)
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return begin.stop(sum(rows)), wrongCount(sum(rows), a)
}

func wrongCount(rows int64, a assignment) error {
	if rows != a.Corpus.each()*int64(a.Corpus.Partitions) {
		return fmt.Errorf("read %d records of %d", rows, a.Corpus.Records)
	}
	return nil
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// openCorpus opens the source and lays the partitions out over the workers in turn.
func openCorpus(ctx context.Context, a assignment) (*kafkasrc.Source, []batch.Task, error) {
	source, err := kafkasrc.Open(ctx, kafkasrc.Options{Client: map[string]string{"bootstrap.servers": a.Broker},
		Subscription: kafkasrc.Subscription{Topics: []string{a.Corpus.topic()}}})
	if err != nil {
		return nil, nil, err
	}
	tasks := make([]batch.Task, a.Workers)
	for i := range tasks {
		tasks[i].Isolation = batch.ReadCommitted
	}
	for p := range a.Corpus.Partitions {
		t := &tasks[int(p)%a.Workers]
		t.Pieces = append(t.Pieces, batch.Piece{Topic: a.Corpus.topic(), Partition: p, Until: a.Corpus.each(), LeaderEpoch: -1})
	}
	return source, tasks, nil
}

func drain(ctx context.Context, source *kafkasrc.Source, task *batch.Task, each func(*columns.Records) error) error {
	reader, err := source.Read(ctx, task)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(records); err != nil {
			return err
		}
	}
}

// encoding is what encodeChild found.
type encoding struct {
	work
	// ReferenceRows were compressed one 256 KiB block after the other, which took ReferenceCPU.
	Reference work  `json:"reference"`
	Bytes     int64 `json:"bytes"`
}

// encodeChild holds the whole corpus in columns, and writes it as the data files of a run into nothing. The same values
// then go through the compressor alone, for the reference that everything is compared with.
func encodeChild(ctx context.Context, a assignment) (any, error) {
	debug.SetGCPercent(-1) // the columns of the corpus would be walked for nothing
	shares, err := hold(ctx, a)
	if err != nil {
		return nil, err
	}
	var result encoding
	bytes := make([]int64, len(shares))
	begin := startWatch()
	var group errgroup.Group
	for i, share := range shares {
		group.Go(func() (err error) {
			bytes[i], err = encode(share, memoryOf(a.Workers))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	result.work = begin.stop(a.Corpus.Records)
	result.Bytes = sum(bytes)
	result.Reference, err = reference(shares[0])
	return result, err
}

// hold reads the corpus into memory as the columns that the writer gets, one share a worker.
func hold(ctx context.Context, a assignment) ([][]*columns.Batch, error) {
	source, tasks, err := openCorpus(ctx, a)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	shares := make([][]*columns.Batch, len(tasks))
	group, ctx := errgroup.WithContext(ctx)
	for i := range tasks {
		group.Go(func() error {
			decoder := decode.NewRaw(false)
			return drain(ctx, source, &tasks[i], func(records *columns.Records) error {
				rows, err := decoder.Decode(records)
				if err == nil {
					shares[i] = append(shares[i], cloneBatch(rows))
				}
				return err
			})
		})
	}
	return shares, group.Wait()
}

func cloneBatch(rows *columns.Batch) *columns.Batch {
	c := &columns.Batch{Rows: rows.Rows, Columns: slices.Clone(rows.Columns)}
	for i := range c.Columns {
		a := &c.Columns[i]
		a.Validity, a.Data, a.Offsets = slices.Clone(a.Validity), slices.Clone(a.Data), slices.Clone(a.Offsets)
		a.Int32s, a.Int64s = slices.Clone(a.Int32s), slices.Clone(a.Int64s)
	}
	return c
}

// rawFields are the columns of a table of raw records, with the field ids that a new table has.
func rawFields() []parquetfile.Field {
	var fields []parquetfile.Field
	for i, f := range decode.NewRaw(false).Schema() {
		fields = append(fields, parquetfile.Field{Name: f.Name, ID: i + 1, Required: f.Required, Type: f.Type, Source: i})
	}
	return fields
}

// memoryOf is what a run of default memory leaves to each writer.
func memoryOf(workers int) int64 { return 256<<20/2/int64(workers) - 3<<20 }

// encode writes a share as one file.
func encode(share []*columns.Batch, memory int64) (int64, error) {
	w, err := parquetfile.NewWriter(rawFields(), parquetfile.Options{MemoryBytes: memory})
	if err != nil {
		return 0, err
	}
	if err := w.Begin(io.Discard); err != nil {
		return 0, err
	}
	for _, rows := range share {
		for from := 0; from < rows.Rows; {
			if from, err = w.Append(rows, from); err != nil {
				return 0, err
			}
		}
	}
	summary, err := w.Close()
	if err != nil {
		return 0, err
	}
	return summary.Bytes, nil
}

// referenceBytes is how much of the corpus the reference compresses: enough for half a second.
const (
	referenceBytes = 100 << 20
	referenceBlock = 256 << 10
)

// reference is what compressing the values alone takes, one block after the other on one goroutine, at zstd's fastest
// level. It follows the speed of the machine at that moment, so ratios to it can be compared between machines.
func reference(share []*columns.Batch) (work, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return work{}, err
	}
	values, rows := joined(share)
	var out []byte
	begin := startWatch()
	for block := range slices.Chunk(values, referenceBlock) {
		out = encoder.EncodeAll(block, out[:0])
	}
	return begin.stop(rows), nil
}

// joined lays the values of the first rows end to end.
func joined(share []*columns.Batch) (values []byte, rows int64) {
	var b bytes.Buffer
	for _, batch := range share {
		if b.Len() >= referenceBytes {
			break
		}
		b.Write(batch.Columns[1].Data)
		rows += int64(batch.Rows)
	}
	return b.Bytes(), rows
}
