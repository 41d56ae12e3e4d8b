package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
)

// Columns names the three columns that place a row in Kafka: a string, an int or long, and a long.
type Columns struct{ Topic, Partition, Offset string }

// The columns that sluice writes: with the raw format, and beside a decoded value.
var (
	RawColumns     = Columns{"topic", "partition", "offset"}
	DecodedColumns = Columns{"kafka_topic", "kafka_partition", "kafka_offset"}
)

// resolve finds the columns in a schema, the decoded ones first if none are named: a decoded value may have fields that
// are called like the raw ones.
func (c Columns) resolve(schema *iceberg.Schema) (Columns, error) {
	candidates := []Columns{DecodedColumns, RawColumns}
	if c != (Columns{}) {
		candidates = []Columns{c}
	}
	for _, c := range candidates {
		if c.fit(schema) {
			return c, nil
		}
	}
	c = candidates[len(candidates)-1]
	return Columns{}, &batch.Fault{Class: batch.NotSetUp,
		Message: fmt.Sprintf("the table has no columns %s (string), %s (int) and %s (long) to tell a row's place in Kafka by", c.Topic, c.Partition, c.Offset),
		Hint:    "verify needs the columns that say where each row came from: the query must write them."}
}

func (c Columns) fit(schema *iceberg.Schema) bool {
	is := func(name string, types ...iceberg.Type) bool {
		field, ok := schema.FindFieldByName(name)
		if !ok {
			return false
		}
		for _, t := range types {
			if field.Type.Equals(t) {
				return true
			}
		}
		return false
	}
	return is(c.Topic, iceberg.PrimitiveTypes.String) && is(c.Partition, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64) &&
		is(c.Offset, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64)
}

// reader reads the positions of rows out of data files.
type reader struct {
	table   *table.Table
	columns Columns
	store   icebergio.IO
	workers int
	// only, where set, is whose dead letters are read; others in the same table are passed over.
	only *letterOwner
}

func newReader(ctx context.Context, tbl *table.Table, columns Columns, workers int) (*reader, error) {
	columns, err := columns.resolve(tbl.Schema())
	if err != nil {
		return nil, err
	}
	store, err := tbl.FS(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the store of table %s: %w", tbl.Location(), err)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return &reader{table: tbl, columns: columns, store: store, workers: workers}, nil
}

// scan projects to the three columns; filter may be nil.
func (r *reader) scan(filter iceberg.BooleanExpression) *table.Scan {
	fields := []string{r.columns.Topic, r.columns.Partition, r.columns.Offset}
	if r.only != nil {
		fields = append(fields, letterQuery, letterBatch)
	}
	return r.table.Scan(table.WithSelectedFields(fields...),
		table.WithRowFilter(filter), table.WithMaxConcurrency(1), table.WithArrowBatchSize(chunkOffsets))
}

// read visits the rows of one task in g. A damaged file makes the libraries return errors or panic: both come back as
// errors.
func (r *reader) read(ctx context.Context, scan *table.Scan, task table.FileScanTask, g *gatherer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read %s: %v", task.File.FilePath(), p)
		}
	}()
	_, batches, err := scan.ReadTasks(ctx, []table.FileScanTask{task})
	if err != nil {
		return err
	}
	for rows, err := range batches {
		if err != nil {
			return err
		}
		err = r.place(rows, g)
		rows.Release()
		if err != nil {
			return err
		}
	}
	g.close()
	return nil
}

// place hands rows on in runs of the same partition.
func (r *reader) place(rows arrow.RecordBatch, g *gatherer) error {
	c, err := r.positions(rows)
	if err != nil {
		return err
	}
	owned, err := r.only.of(rows)
	if err != nil {
		return err
	}
	n := int(rows.NumRows())
	for from := 0; from < n; {
		until := from + 1
		if !owned(from) {
			from = until
			continue
		}
		if !c.known(from) || int64(int32(c.partitions.at(from))) != c.partitions.at(from) {
			g.unplaced(1)
			from = until
			continue
		}
		tp := offsets.TopicPartition{Topic: c.topics.Value(from), Partition: int32(c.partitions.at(from))}
		for until < n && owned(until) && c.known(until) && c.partitions.at(until) == int64(tp.Partition) && c.topics.Value(until) == tp.Topic {
			until++
		}
		tp.Topic = string([]byte(tp.Topic)) // it outlives the arrow batch
		g.run(tp, c.offsets.between(from, until))
		from = until
	}
	return nil
}

// positions are the three columns of a batch.
type positions struct {
	topics     interface{ Value(int) string }
	partitions whole
	offsets    whole
	nulls      []arrow.Array
}

func (p *positions) known(i int) bool {
	for _, a := range p.nulls {
		if a.IsNull(i) {
			return false
		}
	}
	return true
}

func (r *reader) positions(rows arrow.RecordBatch) (*positions, error) {
	p := &positions{}
	for _, name := range []string{r.columns.Topic, r.columns.Partition, r.columns.Offset} {
		at := rows.Schema().FieldIndices(name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %s is there %d times", name, len(at))
		}
		a := rows.Column(at[0])
		if a.NullN() > 0 {
			p.nulls = append(p.nulls, a)
		}
		switch a := a.(type) {
		case *array.String:
			p.topics = a
		case *array.LargeString:
			p.topics = a
		case *array.Int32:
			p.set(name == r.columns.Offset, whole{i32: a.Int32Values()})
		case *array.Int64:
			p.set(name == r.columns.Offset, whole{i64: a.Int64Values()})
		default:
			return nil, fmt.Errorf("column %s is read as %s", name, a.DataType())
		}
	}
	if p.topics == nil {
		return nil, errors.New("the topic column is no string")
	}
	return p, nil
}

func (p *positions) set(offset bool, w whole) {
	if offset {
		p.offsets = w
	} else {
		p.partitions = w
	}
}

// whole is a column of whole numbers of either width.
type whole struct {
	i32 []int32
	i64 []int64
}

func (w whole) at(i int) int64 {
	if w.i64 != nil {
		return w.i64[i]
	}
	return int64(w.i32[i])
}

func (w whole) between(from, until int) []int64 {
	if w.i64 != nil {
		return w.i64[from:until]
	}
	wide := make([]int64, until-from)
	for i := range wide {
		wide[i] = int64(w.i32[from+i])
	}
	return wide
}

// size asks the store how large a file is. fs.ErrNotExist says that it is not there.
func (r *reader) size(path string) (int64, error) {
	if s, ok := r.store.(icebergio.StatIO); ok {
		info, err := s.Stat(path)
		if err == nil && info.IsDir() {
			err = &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
		}
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	f, err := r.store.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// damage decides what an error of reading a file means: that the file is gone or damaged, which is a finding, or that
// the store could not be asked, which is an error. It reads the file's bytes to tell.
func (r *reader) damage(ctx context.Context, path string, cause error) (finding error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errors.Is(cause, fs.ErrNotExist) {
		return cause, nil
	}
	store := r.store
	if view, ok := store.(*viewFS); ok && view.filled[path] != nil {
		store = view.IO // the view opens only what has a footer
	}
	f, err := store.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return cause, nil
}

// parallel calls do for 0 … n-1 in workers goroutines and returns the first error, after which it starts no more.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}
