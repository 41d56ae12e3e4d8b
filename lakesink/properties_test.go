package lakesink

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/rowtest"
)

// withProperties is a table of raw rows with properties, and a sink that says nothing of files itself.
func withProperties(t testing.TB, properties map[string]string, change ...func(*Options)) (*Iceberg, *table.Table) {
	t.Helper()
	s, c := newTable(t, append(change, func(o *Options) { o.TableProperties = properties })...)
	return s, load(t, c)
}

// opened opens a data file with parquet-go.
func opened(t testing.TB, f batch.DataFile) *parquet.File {
	t.Helper()
	data, err := os.ReadFile(localPath(f.Path))
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// noise are raw rows whose values are random letters.
func noise(n, size int) *columns.Batch {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	b := rawRows(0, 0, int64(n))
	values := make([]any, n)
	for i := range values {
		v := make([]byte, size)
		for k := range v {
			v[k] = byte(rng.Uint32())
		}
		values[i] = v
	}
	b.Columns[1] = rowtest.Array(rawSchema()[1].Type, values)
	return b
}

func TestPropertiesThatMakeNoSenseAreNamed(t *testing.T) {
	for key, values := range map[string][]string{
		"write.parquet.row-group-size-bytes":                  {"128MB", "0", "-1", "", "2147483648", "1e6", "99999999999999999999"},
		"write.parquet.page-size-bytes":                       {"1.5", "0"},
		"write.parquet.page-row-limit":                        {"many", "-20000"},
		"write.parquet.dict-size-bytes":                       {"0x10", "0"},
		"write.parquet.bloom-filter-max-bytes":                {"1MiB", "0"},
		"write.target-file-size-bytes":                        {"512MB", "0", "9223372036854775808"},
		"write.parquet.compression-codec":                     {"none", "lzo", "zstandard", ""},
		"write.parquet.compression-level":                     {"fast", "23", "1.0", ""},
		"write.metadata.metrics.max-inferred-column-defaults": {"all", ""},
		"write.parquet.bloom-filter-fpp.column.key":           {"0", "1", "NaN", "1%", "-0.1"},
		"write.parquet.bloom-filter-ndv.column.key":           {"0", "-5", "1e6", "many"},
	} {
		for _, value := range values {
			properties := map[string]string{key: value, "write.parquet.bloom-filter-enabled.column.key": "true"}
			dir := t.TempDir()
			c := openSQLite(t, dir)
			o := testOptions()
			o.TableProperties = properties
			s := New(c, o)
			err := s.Create(t.Context(), rawSchema())
			wantClass(t, err, batch.Inconsistent, key, fmt.Sprintf("%q", value))
			if hint := batch.HintOf(err); !strings.Contains(hint, "properties") {
				t.Errorf("%s = %q: hint %q", key, value, hint)
			}
			_, err = s.Write(t.Context(), taskFor(load(t, c)), "a", rawSchema())
			wantClass(t, err, batch.Inconsistent, key)
		}
	}
}

// What Iceberg's Java library passes over or takes for something else is no fault here either.
func TestPropertiesThatJavaPassesOverAreNoFault(t *testing.T) {
	for key, value := range map[string]string{
		"write.parquet.bloom-filter-enabled.column.nowhere":   "true",
		"write.parquet.bloom-filter-fpp.column.key":           "2", // of a column without a filter
		"write.parquet.bloom-filter-enabled.column.key":       "yes",
		"write.parquet.stats-enabled.column.nowhere":          "false",
		"write.metadata.metrics.column.nowhere":               "counts",
		"write.metadata.metrics.default":                      "nonsense",
		"write.metadata.metrics.max-inferred-column-defaults": "-1",
		"write.parquet.row-group-check-min-record-count":      "100",
		"write.distribution-mode":                             "hash",
		"write.parquet.page-version":                          "v2",
	} {
		s, _ := withProperties(t, map[string]string{key: value})
		if files := writeFiles(t, s, s.catalog, rawSchema(), rawRows(0, 0, 10)); len(files) != 1 || opened(t, files[0]).RowGroups()[0].ColumnChunks()[0].BloomFilter() != nil {
			t.Errorf("%s = %q: got %+v", key, value, files)
		}
	}
}

func TestTheTablesCodecAndLevelAreUsed(t *testing.T) {
	for _, c := range []struct {
		codec, level string
		want         format.CompressionCodec
	}{
		{"gzip", "9", format.Gzip}, {"GZIP", "0", format.Gzip}, {"snappy", "", format.Snappy}, {"snappy", "nonsense", format.Snappy}, {"uncompressed", "7", format.Uncompressed}, {"zstd", "22", format.Zstd},
		{"zstd", "-5", format.Zstd}, {"zstd", "0", format.Zstd}, {"lz4", "3", format.Lz4Raw}, {"lz4_raw", "", format.Lz4Raw}, {"brotli", "", format.Brotli}, {"brotli", "5", format.Brotli}, {"", "3", format.Zstd},
	} {
		properties := map[string]string{}
		if c.codec != "" {
			properties[table.ParquetCompressionKey] = c.codec
		}
		if c.level != "" {
			properties[table.ParquetCompressionLevelKey] = c.level
		}
		s, _ := withProperties(t, properties)
		files := writeFiles(t, s, s.catalog, rawSchema(), rawRows(0, 0, 300))
		if got := opened(t, files[0]).Metadata().RowGroups[0].Columns[0].MetaData.Codec; got != c.want {
			t.Errorf("%v: got %s, want %s", properties, got, c.want)
		}
		addFiles(t, s.catalog, files)
		if rows := scan(t, load(t, s.catalog)); len(rows) != 300 {
			t.Errorf("%v: %d rows", properties, len(rows))
		}
	}
}

// A level that asks for tables of tens of megabytes is lowered to what the memory is enough for.
func TestALevelIsNoHigherThanTheMemoryAllows(t *testing.T) {
	for _, c := range []struct {
		codec, level string
		memory       int64
		want         int
	}{
		{"zstd", "22", 256 << 20, 22}, {"zstd", "22", 64 << 20, 9}, {"zstd", "9", 24 << 20, 5}, {"zstd", "3", 1 << 20, 1}, {"brotli", "11", 64 << 20, 8}, {"brotli", "11", 16 << 20, 1}, {"gzip", "9", 16 << 20, 9},
	} {
		_, tbl := withProperties(t, map[string]string{table.ParquetCompressionKey: c.codec, table.ParquetCompressionLevelKey: c.level})
		if _, got := propertiesOf(tbl).encoder(c.memory / 4); got != c.want {
			t.Errorf("%s %s with %d bytes: got %d, want %d", c.codec, c.level, c.memory, got, c.want)
		}
	}
}

// pagesOf are the numbers of rows of the pages of a column in the first row group.
func pagesOf(t testing.TB, f *parquet.File, column int) (rows []int64) {
	t.Helper()
	group := f.RowGroups()[0]
	offsets, err := group.ColumnChunks()[column].OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	for k := range offsets.NumPages() {
		until := group.NumRows()
		if k+1 < offsets.NumPages() {
			until = offsets.FirstRowIndex(k + 1)
		}
		rows = append(rows, until-offsets.FirstRowIndex(k))
	}
	return rows
}

func TestPagesAndRowGroupsHaveTheTablesSizes(t *testing.T) {
	s, _ := withProperties(t, map[string]string{"write.parquet.row-group-size-bytes": "400000", "write.parquet.page-size-bytes": "20000", "write.parquet.page-row-limit": "70"},
		func(o *Options) { o.RowGroupBytes, o.PageBytes = 16<<20, 256<<10 })
	files := writeFiles(t, s, s.catalog, rawSchema(), noise(2000, 1000))
	f := opened(t, files[0])
	if n := len(f.RowGroups()); n < 5 || n > 6 || len(files[0].SplitOffsets) != n {
		t.Errorf("got %d row groups and split offsets %v, want 5 or 6 of 2 MB", n, files[0].SplitOffsets)
	}
	for g, group := range f.Metadata().RowGroups {
		if at := files[0].SplitOffsets[g]; at != group.FileOffset || group.TotalByteSize > 440_000 {
			t.Errorf("group %d at %d of %d bytes, split offset %d", g, group.FileOffset, group.TotalByteSize, at)
		}
	}
	for _, n := range pagesOf(t, f, 1) {
		if n > 25 {
			t.Errorf("a page has %d values of 1,000 bytes, want about 20", n)
		}
	}
	small := pagesOf(t, f, 4)
	for k, n := range small {
		if n > 70 || k < len(small)-1 && n < 70 {
			t.Errorf("page %d of a column of numbers has %d rows, want 70", k, n)
		}
	}
	addFiles(t, s.catalog, files)
	if rows := scan(t, load(t, s.catalog)); len(rows) != 2000 {
		t.Errorf("got %d rows", len(rows))
	}
}

func TestTheJobsFileSizeGoesBeforeTheTables(t *testing.T) {
	for _, c := range []struct {
		job   int64
		table string
		least int
		most  int
	}{{0, "200000", 5, 12}, {1 << 20, "200000", 2, 3}, {0, "", 1, 1}} {
		properties := map[string]string{}
		if c.table != "" {
			properties["write.target-file-size-bytes"] = c.table
		}
		s, _ := withProperties(t, properties, func(o *Options) { o.TargetFileBytes = c.job })
		if n := len(writeFiles(t, s, s.catalog, rawSchema(), noise(2000, 1000))); n < c.least || n > c.most {
			t.Errorf("%+v: got %d files", c, n)
		}
	}
}

func TestColumnsHaveTheFiltersAndStatisticsThatTheTableAsksFor(t *testing.T) {
	s, _ := withProperties(t, map[string]string{"write.parquet.bloom-filter-enabled.column.key": "true", "write.parquet.bloom-filter-enabled.column.offset": "TRUE",
		"write.parquet.bloom-filter-enabled.column.value": "false", "write.parquet.bloom-filter-fpp.column.offset": "0.5", "write.parquet.bloom-filter-ndv.column.key": "5000",
		"write.parquet.bloom-filter-max-bytes": "5000", "write.parquet.stats-enabled.column.offset": "false", "write.parquet.dict-encoding-enabled.column.topic": "false"})
	files := writeFiles(t, s, s.catalog, rawSchema(), rawRows(0, 0, 1000))
	f := opened(t, files[0])
	for column, want := range []int64{4096, 0, 0, 0, 512, 0, 0} {
		var got int64
		if filter := f.RowGroups()[0].ColumnChunks()[column].BloomFilter(); filter != nil {
			got = filter.Size()
		}
		if got != want {
			t.Errorf("%s: a filter of %d bytes, want %d", rawSchema()[column].Name, got, want)
		}
	}
	for column := range rawSchema() {
		m := f.Metadata().RowGroups[0].Columns[column]
		if has, want := m.MetaData.Statistics.MinValue != nil || m.ColumnIndexOffset > 0, rawSchema()[column].Name != "offset"; has != want {
			t.Errorf("%s has statistics: %v, want %v", rawSchema()[column].Name, has, want)
		}
		if dict, want := m.MetaData.DictionaryPageOffset > 0, rawSchema()[column].Name != "topic"; column > 1 && column != 4 && column != 5 && dict != want {
			t.Errorf("%s has a dictionary: %v, want %v", rawSchema()[column].Name, dict, want)
		}
	}
	if files[0].LowerBounds[5] == nil {
		t.Error("the table knows no bounds of a column without statistics in its files")
	}
}

func TestMetricsModesAreReadAsJavaDoes(t *testing.T) {
	none, counts, usual := metrics{kind: "none"}, metrics{kind: "counts"}, metrics{"truncate", 16}
	for value, want := range map[string]metrics{"none": none, "Counts": counts, "full": {"full", 1<<31 - 1}, "truncate(5)": {"truncate", 5},
		"TRUNCATE(5)": {"truncate", 5}, "truncate(0)": usual, "truncate(99999999999)": usual, "truncate(-1)": usual, "nonsense": usual, "": usual} {
		_, tbl := withProperties(t, map[string]string{"write.metadata.metrics.default": value, "write.metadata.metrics.column.key": "counts"})
		if got := propertiesOf(tbl).metrics; got.of(2) != want || got.of(1) != counts {
			t.Errorf("default %q: got %v, want %v", value, got, want)
		}
		_, tbl = withProperties(t, map[string]string{"write.metadata.metrics.default": "none", "write.metadata.metrics.column.key": value})
		if want == usual {
			want = none // a column's mode that makes no sense is the default
		}
		if got := propertiesOf(tbl).metrics; got.of(1) != want || got.of(2) != none {
			t.Errorf("column %q: got %v, want %v", value, got, want)
		}
	}
	// What files are sorted by has bounds, if nobody says otherwise of the column itself.
	for properties, want := range map[string][2]metrics{"none": {usual, none}, "counts": {usual, counts}, "truncate(3)": {{"truncate", 3}, {"truncate", 3}}} {
		_, tbl := withProperties(t, map[string]string{"write.metadata.metrics.default": properties, "write.metadata.metrics.column.timestamp": "none"},
			func(o *Options) { o.SortBy = sortBy(t, "truncate(2, value)", "bucket(4, key)", "days(timestamp)") })
		if got := propertiesOf(tbl).metrics; got.of(2) != want[0] || got.of(1) != want[1] || got.of(6) != none {
			t.Errorf("%s, sorted: got %v", properties, got)
		}
	}
}

// nestedSchema has 10 columns that count: a, b, s, s.x, s.t, s.t.y, l.element, m.key, m.value, z.
func nestedSchema() *iceberg.Schema {
	long := iceberg.PrimitiveTypes.Int64
	field := func(id int, name string, kind iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: kind}
	}
	return iceberg.NewSchema(0, field(1, "a", long),
		field(2, "s", &iceberg.StructType{FieldList: []iceberg.NestedField{field(7, "t", &iceberg.StructType{FieldList: []iceberg.NestedField{field(8, "y", long)}}), field(9, "x", long)}}),
		field(3, "l", &iceberg.ListType{ElementID: 10, Element: long}), field(4, "m", &iceberg.MapType{KeyID: 11, KeyType: iceberg.PrimitiveTypes.String, ValueID: 12, ValueType: long}),
		field(5, "b", long), field(6, "z", long))
}

// Of a table with more columns than the limit, only the first have metrics: all of the table's own before those inside of others.
func TestOnlyTheFirstColumnsOfAWideTableHaveMetrics(t *testing.T) {
	for limit, want := range map[string][]int{"10": nil, "9": {1, 5, 6, 9, 8, 10, 11, 12}, "5": {1, 5, 6, 9, 8}, "4": {1, 5, 6, 9}, "2": {1, 5}, "0": {}} {
		metadata, err := table.NewMetadata(nestedSchema(), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "file:///t", iceberg.Properties{metricsInferredKey: limit})
		if err != nil {
			t.Fatal(err)
		}
		tbl := table.New(table.Identifier{"t"}, metadata, "", nil, nil)
		got := propertiesOf(tbl).metrics
		var names, wanted []string
		for id := range got.byID {
			name, _ := tbl.Schema().FindColumnName(id)
			names = append(names, name)
		}
		for _, id := range want {
			name, _ := nestedSchema().FindColumnName(id)
			wanted = append(wanted, name)
		}
		slices.Sort(names)
		slices.Sort(wanted)
		if !slices.Equal(names, wanted) || (want == nil) != (got.rest == usualMetrics) {
			t.Errorf("limit %s: got %v, the rest %v; want %v", limit, names, got.rest, wanted)
		}
	}
}

func TestAWideTableHasMetricsOfAHundredColumns(t *testing.T) {
	var schema columns.Schema
	row := make([]any, 130)
	for i := range row {
		schema, row[i] = append(schema, columns.Field{Name: fmt.Sprint("c", i), Type: columns.Type{Kind: columns.Int64}}), int64(i)
	}
	for limit, want := range map[string]int{"": 100, "130": 130, "7": 7} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		if limit != "" {
			o.TableProperties = map[string]string{metricsInferredKey: limit}
		}
		s := New(c, o)
		if err := s.Create(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		f := writeFiles(t, s, c, schema, rowtest.Build(schema, [][]any{row}))[0]
		for what, n := range map[string]int{"value counts": len(f.ValueCounts), "lower bounds": len(f.LowerBounds), "upper bounds": len(f.UpperBounds), "sizes": len(f.ColumnSizes)} {
			if n != want {
				t.Errorf("limit %q: %d %s, want %d", limit, n, what, want)
			}
		}
		if f.LowerBounds[want] == nil || f.LowerBounds[want+1] != nil {
			t.Errorf("limit %q: not the first columns", limit)
		}
	}
}

// Bounds are as long as the table asks for, up to 4 KiB, and enclose the values however they are cut.
func TestBoundsAreAsLongAsTheTableAsksFor(t *testing.T) {
	schema := columns.Schema{{Name: "s", Type: columns.Type{Kind: columns.String}}, {Name: "b", Type: columns.Type{Kind: columns.Binary}}}
	text, ones := strings.Repeat("日本語", 3000), bytes.Repeat([]byte{0xff}, 9000)
	rows := [][]any{{text, ones}, {"日本" + text, append([]byte{1}, ones...)}}
	for mode, want := range map[string][4]int{ // of the text: lower and upper bound; of the bytes: the same
		"truncate(1)": {3, 3, 1, 0}, "truncate(16)": {48, 48, 16, 0}, "truncate(100)": {300, 300, 100, 0}, "truncate(1000)": {3000, 3000, 1000, 0}, "truncate(100000)": {4095, 4095, 4096, 0}, "full": {4095, 4095, 4096, 0},
	} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		o.TableProperties = map[string]string{"write.metadata.metrics.default": mode}
		s := New(c, o)
		if err := s.Create(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		f := writeFiles(t, s, c, schema, rowtest.Build(schema, rows))[0]
		got := [4]int{len(f.LowerBounds[1]), len(f.UpperBounds[1]), len(f.LowerBounds[2]), len(f.UpperBounds[2])}
		if got != want {
			t.Errorf("%s: bounds of %v bytes, want %v", mode, got, want)
		}
		if f.UpperBounds[2] != nil {
			t.Errorf("%s: nothing of this length is above all ones", mode)
		}
		if lower, upper := string(f.LowerBounds[1]), string(f.UpperBounds[1]); lower > text || lower > "日本"+text || upper <= text || upper <= "日本"+text {
			t.Errorf("%s: a value is outside of its bounds", mode)
		}
		if len(f.LowerBounds[2]) > 0 && bytes.Compare(f.LowerBounds[2], rows[1][1].([]byte)) > 0 {
			t.Errorf("%s: bytes are below their bound", mode)
		}
		short := writeFiles(t, s, c, schema, rowtest.Build(schema, [][]any{{"z", []byte{0xff}}}))[0]
		if string(short.UpperBounds[1]) != "z" || !bytes.Equal(short.UpperBounds[2], []byte{0xff}) {
			t.Errorf("%s: short values are their own bounds: got %q, %x", mode, short.UpperBounds[1], short.UpperBounds[2])
		}
	}
}

// liveBytes is what is in use after a collection.
func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A table that asks for a gigabyte of everything is written in no more memory than any other.
func TestTheMemoryBoundsWhatATableAsksFor(t *testing.T) {
	const memory = 12 << 20
	greedy := map[string]string{"write.parquet.row-group-size-bytes": "1073741824", "write.parquet.page-size-bytes": "1073741824", "write.parquet.dict-size-bytes": "1073741824",
		"write.parquet.bloom-filter-max-bytes": "134217728", "write.parquet.page-row-limit": "2147483647", "write.parquet.compression-level": "22",
		"write.target-file-size-bytes": "9223372036854775807", "write.metadata.metrics.default": "full"}
	for _, column := range []string{"key", "value", "offset", "timestamp"} {
		greedy["write.parquet.bloom-filter-enabled.column."+column] = "true"
	}
	for name, change := range map[string]func(*Options){"plain": func(*Options) {}, "partitioned": func(o *Options) { o.PartitionBy = partitionBy(t, "bucket(20, offset)") },
		"sorted": func(o *Options) { o.SortBy = sortBy(t, "value") }} {
		s, tbl := withProperties(t, maps.Clone(greedy), change, func(o *Options) { o.MemoryBytes = memory })
		var rows []*columns.Batch
		for range 8 {
			rows = append(rows, noise(500, 1000))
		}
		before := liveBytes()
		w, err := s.Write(context.Background(), taskFor(tbl), "a", rawSchema())
		if err != nil {
			t.Fatal(err)
		}
		var most int64
		for n := range 80 {
			if err := w.Write(context.Background(), rows[n%len(rows)]); err != nil {
				t.Fatal(err)
			}
			if n%5 == 4 {
				most = max(most, liveBytes()-before)
			}
		}
		files, err := w.Close(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if most > memory {
			t.Errorf("%s: 40 MB took up to %d bytes of memory, want at most %d", name, most, memory)
		}
		var written int64
		for _, f := range files {
			written += f.Records
		}
		if written != 40_000 {
			t.Errorf("%s: %d rows", name, written)
		}
	}
}
