package lakesink

import (
	"context"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/objectstore"
)

// What follows is what a sink of Parquet files without a catalog (lakesink/files) shares with that of an Iceberg table: how
// a data file gets into a store, and what is said of it.

// OpenStore opens the store of an address: a local path, or a URL such as s3://bucket/folder with the properties that
// iceberg-go takes for it. What is written to a local folder is on disk when it is closed.
func OpenStore(ctx context.Context, address string, properties map[string]string) (iceio.IO, error) {
	if isLocal(address) {
		return durableFS{}, nil
	}
	return iceio.LoadFS(ctx, properties, address)
}

// FolderStore is the store of a folder that is open already, at an address such as gs://bucket/folder.
func FolderStore(ctx context.Context, store objectstore.Folder, address string) iceio.IO {
	return &storeFS{ctx: ctx, store: store, folder: address}
}

// MemoryForRows is what is left of a writer's memory for rows, beside the buffers of an upload and of the encoder.
func MemoryForRows(memory int64, store iceio.IO) int64 {
	return max(1<<20, memory-uploadMemory(store)-parquetfile.EncoderBytes(parquetfile.Zstd, 0))
}

// DescribeFile says of a finished file what a table format's metadata would: sizes, counts, and bounds of 16 code points
// or bytes, by field id. types are those of the columns of values.
func DescribeFile(path string, s *parquetfile.Summary, types map[int]columns.Type) batch.DataFile {
	f := batch.DataFile{Path: path, Bytes: s.Bytes, Records: s.Rows, SplitOffsets: s.GroupOffsets,
		ColumnSizes: map[int]int64{}, ValueCounts: map[int]int64{}, NullCounts: map[int]int64{}, NaNCounts: map[int]int64{},
		LowerBounds: map[int][]byte{}, UpperBounds: map[int][]byte{}}
	for _, c := range s.Columns {
		kind := types[c.ID]
		f.ColumnSizes[c.ID], f.ValueCounts[c.ID], f.NullCounts[c.ID] = c.Bytes, c.Values, c.Nulls
		if kind.Kind == columns.Float32 || kind.Kind == columns.Float64 {
			f.NaNCounts[c.ID] = c.NaNs
		}
		if c.Nested {
			continue
		}
		if b := lowerBound(kind, c, boundLength); b != nil {
			f.LowerBounds[c.ID] = b
		}
		if b := upperBound(kind, c, boundLength); b != nil {
			f.UpperBounds[c.ID] = b
		}
	}
	return f
}

// StoredSize asks a store how large a file is.
func StoredSize(store iceio.IO, path string) (int64, error) { return storedSize(store, path) }

// boundLength is how much of a long value a bound keeps, as in Iceberg's default.
const boundLength = 16

// ProgramForm puts a program's name and version into the words that Parquet readers look for in a file's footer.
func ProgramForm(program string) string { return createdByForm(program) }

// Explain says what an error of a store means to whoever started the run. doing is what was attempted.
func Explain(doing string, err error) error { return explain(doing, err) }

// WithinColumns is what columns have of a schema, as Iceberg.Within says of a table.
func WithinColumns(has []columns.Field, schema columns.Schema, asTheTable bool) *Held {
	h := &Held{}
	h.Columns = h.amid(tableFieldsOf(has), schema, "", asTheTable)
	return h
}

func tableFieldsOf(fields []columns.Field) []tableField {
	out := make([]tableField, len(fields))
	for i, f := range fields {
		inner := f.Type.Fields
		out[i] = tableField{name: f.Name, required: f.Required, kind: f.Type, children: tableFieldsOf(inner)}
		out[i].kind.Fields = nil
	}
	return out
}

// ProbeFolder finds out whether files can be written, read and removed in a folder, and leaves nothing.
func ProbeFolder(ctx context.Context, store iceio.IO, folder string, answer time.Duration) error {
	p := &probe{folder: folder, open: func(context.Context) (iceio.IO, error) { return store, nil }, answer: answer}
	return p.run(ctx)
}
