package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/partition"
)

// icebergFiles are the results' files in the library's terms. A file that is listed twice would be read twice.
func icebergFiles(t *table.Table, results []batch.TaskResult) ([]iceberg.DataFile, error) {
	var files []iceberg.DataFile
	listed := map[string]bool{}
	specs := filing{table: t, fields: map[int][]partition.Field{}}
	for r := range results {
		for k := range results[r].Files {
			path := results[r].Files[k].Path
			if listed[path] {
				return nil, fmt.Errorf("file %s is listed twice", path)
			}
			listed[path] = true
			f, err := specs.file(&results[r].Files[k])
			if err != nil {
				return nil, fmt.Errorf("file %s: %w", path, err)
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// filing turns descriptions of files into the library's.
type filing struct {
	table *table.Table
	// fields are those of partition specs, by the spec's id.
	fields map[int][]partition.Field
}

// spec is a partition spec of the table with its fields.
func (g *filing) spec(id int) (*iceberg.PartitionSpec, []partition.Field, error) {
	spec := g.table.Metadata().PartitionSpecByID(id)
	if spec == nil {
		return nil, nil, fmt.Errorf("the table has no partition spec %d", id)
	}
	if fields, ok := g.fields[id]; ok {
		return spec, fields, nil
	}
	fields, err := partitionFields(spec, plainFields(tableFields(g.table.Schema().Fields())))
	g.fields[id] = fields
	return spec, fields, err
}

func (g *filing) file(f *batch.DataFile) (iceberg.DataFile, error) {
	spec, fields, err := g.spec(f.SpecID)
	if err != nil {
		return nil, err
	}
	values, err := partitionValues(fields, f)
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(*spec, iceberg.EntryContentData, f.Path, iceberg.ParquetFile, values, nil, nil, f.Records, f.Bytes)
	if err != nil {
		return nil, err
	}
	b.ColumnSizes(f.ColumnSizes).ValueCounts(f.ValueCounts).NullValueCounts(f.NullCounts).NaNValueCounts(f.NaNCounts).
		LowerBoundValues(f.LowerBounds).UpperBoundValues(f.UpperBounds).SplitOffsets(f.SplitOffsets)
	if f.SortOrderID != 0 {
		b.SortOrderID(f.SortOrderID)
	}
	return b.Build(), nil
}
