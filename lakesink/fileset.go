package lakesink

import (
	"context"
	"fmt"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
)

// FileSet is what the data files of one attempt at a task are like, where there is no table that says so.
type FileSet struct {
	// Store is where they go, Spare where the encoders come from.
	Store iceio.IO
	Spare *SpareFiles
	// Fields are their columns. Options are those of every file; MemoryBytes is what rows may take, as MemoryForRows says.
	Fields  []parquetfile.Field
	Options parquetfile.Options
	// TargetBytes is the size at which a file is finished.
	TargetBytes int64
	// Partitions say which rows go to a file together, SortBy in what order. Folder is the folder of a partition, by its
	// key.
	Partitions []partition.Field
	SortBy     []partition.OrderField
	Folder     func(spec *partition.Spec, key []byte) string
	// Address is where the n-th file goes, in the folder of its partition. It must never have been used before: on an
	// object store nothing else keeps the file from replacing what is there. Describe says of a finished one what the sink
	// keeps of it, beside the values of its partition.
	Address  func(folder string, n int) string
	Describe func(address string, s *parquetfile.Summary) batch.DataFile
}

// Write starts the files. Each becomes visible, whole, when it is finished; where the store is a local folder it is there from
// the start, and Abort removes it. When ctx ends, files that are open are not completed.
func (s *FileSet) Write(ctx context.Context) (*Writer, error) {
	w := &Writer{ctx: ctx, fs: s.Store, landing: newLanding(), set: s}
	var order *partition.Order
	if len(s.SortBy) > 0 {
		var err error
		if order, err = partition.NewOrder(s.SortBy); err != nil {
			return nil, err
		}
	}
	return w, w.lay(s.Fields, s.Options, s.Partitions, order)
}

func (w *Writer) spare() *spareFiles {
	if w.set != nil {
		return &w.set.Spare.spare
	}
	return &w.sink.spare
}

func (w *Writer) targetBytes() int64 {
	if w.set != nil {
		return w.set.TargetBytes
	}
	return w.target
}

// address is where the next file of a partition goes.
func (w *Writer) address(folder string) string {
	if w.set != nil {
		return w.set.Address(folder, w.begun)
	}
	return w.place.file(folder, fmt.Sprintf("%s-%d-%d-%s-%d.parquet", w.task.Query, w.task.Batch, w.task.Index, w.attempt, w.begun))
}

func (w *Writer) describe(address string, s *parquetfile.Summary) batch.DataFile {
	if w.set != nil {
		return w.set.Describe(address, s)
	}
	f := dataFile(address, s, w.table, w.properties.metrics)
	f.SpecID = w.task.SpecID
	return f
}

func (w *Writer) folderOf(spec *partition.Spec, key []byte) string {
	if w.set != nil {
		return w.set.Folder(spec, key)
	}
	return spec.Path(key)
}

// SpareFiles keeps file writers of tasks that are done for those of the next batch. The zero value is ready.
type SpareFiles struct{ spare spareFiles }

// Column is where rows have a column that a partition or an order looks at.
type Column struct {
	// Path leads to the values: a column of the rows, then the children of structs; partition.Nowhere alone where the rows
	// do not have it.
	Path []int
	// Source is the type of the sink's column, From that of the rows.
	Source, From columns.Type
}

// Locate finds a column by its field id. Partitions and orders look into structs, never into lists: false says that it is not
// there, or inside of one.
func Locate(fields []parquetfile.Field, id int) (Column, bool) {
	at, ok := locate(fields, id)
	return Column{at.path, at.source, at.from}, ok
}
