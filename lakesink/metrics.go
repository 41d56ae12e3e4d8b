package lakesink

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// dataFile describes a finished file: what the table's metadata will say of it.
func dataFile(path string, s *parquetfile.Summary, t *table.Table, modes *metricsModes) batch.DataFile {
	f := batch.DataFile{Path: path, Bytes: s.Bytes, Records: s.Rows, SplitOffsets: s.GroupOffsets,
		ColumnSizes: map[int]int64{}, ValueCounts: map[int]int64{}, NullCounts: map[int]int64{}, NaNCounts: map[int]int64{},
		LowerBounds: map[int][]byte{}, UpperBounds: map[int][]byte{}}
	types := leafTypes(tableFields(t.Schema().Fields()))
	for _, c := range s.Columns {
		mode := modes.of(c.ID)
		if mode.kind == "none" {
			continue
		}
		f.ColumnSizes[c.ID], f.ValueCounts[c.ID], f.NullCounts[c.ID] = c.Bytes, c.Values, c.Nulls
		kind := types[c.ID]
		if kind.Kind == columns.Float32 || kind.Kind == columns.Float64 {
			f.NaNCounts[c.ID] = c.NaNs
		}
		if mode.kind == "counts" || c.Nested {
			continue
		}
		if b := lowerBound(kind, c, mode.length); b != nil {
			f.LowerBounds[c.ID] = b
		}
		if b := upperBound(kind, c, mode.length); b != nil {
			f.UpperBounds[c.ID] = b
		}
	}
	return f
}

// leafTypes maps the id of every column of values to its type.
func leafTypes(fields []tableField) map[int]columns.Type {
	types := map[int]columns.Type{}
	var walk func([]tableField)
	walk = func(fields []tableField) {
		for i := range fields {
			types[fields[i].id] = fields[i].kind
			walk(fields[i].children)
		}
	}
	walk(fields)
	return types
}

// lowerBound is a column's lower bound in the table format's form (specification, Appendix D: single-value
// serialization), nil if there is none.
func lowerBound(t columns.Type, c parquetfile.ColumnSummary, length int) []byte {
	return bound(t, c.Lower, c.LowerCut, length, parquetfile.Floor)
}

// upperBound is none beside NaN. The format wants it left out of bounds, but DuckDB and Spark, for which it is above every
// number, then do not look for it in a file whose largest number is too small.
func upperBound(t columns.Type, c parquetfile.ColumnSummary, length int) []byte {
	if c.NaNs > 0 {
		return nil
	}
	return bound(t, c.Upper, c.UpperCut, length, parquetfile.Ceiling)
}

func bound(t columns.Type, plain []byte, cut bool, length int, shorten func([]byte, bool, int) []byte) []byte {
	if plain == nil {
		return nil
	}
	switch t.Kind {
	case columns.Decimal:
		return decimalBound(t, plain)
	case columns.String:
		if cut || utf8.RuneCount(plain) > length {
			return shorten(plain, true, length)
		}
		if !utf8.Valid(plain) {
			return nil // readers refuse to decode it
		}
	case columns.Binary:
		if cut || len(plain) > length {
			return shorten(plain, false, length)
		}
	}
	return plain
}

// decimalBound turns a Parquet decimal into the fewest big-endian bytes that hold it.
func decimalBound(t columns.Type, plain []byte) []byte {
	big := bytes.Clone(plain)
	switch len(plain) { // integers are little-endian, bytes are not; no precision above 18 takes 4 or 8 bytes
	case 4:
		binary.BigEndian.PutUint32(big, binary.LittleEndian.Uint32(plain))
	case 8:
		binary.BigEndian.PutUint64(big, binary.LittleEndian.Uint64(plain))
	}
	for len(big) > 1 && (big[0] == 0 && big[1] < 0x80 || big[0] == 0xff && big[1] >= 0x80) {
		big = big[1:]
	}
	return big
}
