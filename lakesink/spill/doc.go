// Package spill keeps sorted runs of rows in temporary files and merges them, so that more rows can be sorted than memory holds.
//
// Rows are batches whose last two columns are what they are sorted by, a Binary without nulls whose bytes are in the order of the
// rows, and an Int32 that says how many bytes a row takes. A run is one file of blocks; a block is the columns of consecutive rows
// one after the other, compressed with S2 and guarded by a CRC-32C. The files are for the process that makes them alone: they have
// mode 0600 and no name, so that nothing is left of them however the process ends, and their form has no version.
package spill

import "sluice/columns"

// KeyColumn and WeightColumn are the last two columns of rows.
var (
	KeyColumn    = columns.Array{Kind: columns.Binary}
	WeightColumn = columns.Array{Kind: columns.Int32}
)

func keysOf(rows *columns.Batch) *columns.Array { return &rows.Columns[len(rows.Columns)-2] }

func weightsOf(rows *columns.Batch) []int32 { return rows.Columns[len(rows.Columns)-1].Int32s }
