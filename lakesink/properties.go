package lakesink

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/parquetfile"
)

// Properties that iceberg-go has no name for.
const (
	bloomFalsePositivesPrefix = "write.parquet.bloom-filter-fpp.column."
	bloomDistinctPrefix       = "write.parquet.bloom-filter-ndv.column."
	statisticsEnabledPrefix   = "write.parquet.stats-enabled.column."
	dictionaryEnabledPrefix   = "write.parquet.dict-encoding-enabled.column."
	metricsColumnPrefix       = table.MetricsModeColumnConfPrefix + "."
	metricsInferredKey        = "write.metadata.metrics.max-inferred-column-defaults"
)

// fileProperties are what the properties of a table say of its data files (Iceberg's documentation, Configuration, Write
// properties), read as Iceberg's Java library does. A number that they do not give is 0.
type fileProperties struct {
	codec parquetfile.Codec
	level int

	target    int64 // bytes of a file
	rowGroup  int   // bytes
	page      int   // bytes
	pageRows  int
	dict      int // bytes
	bloomMost int // bytes

	// columns are those of columns of values that are to be written in a way of their own, by field id.
	columns map[int]parquetfile.ColumnOptions
	metrics *metricsModes
	// faults are the properties that make no sense, each with what would.
	faults []string
}

// propertiesOf reads the properties of a table. Those of columns that it does not have, or no more, are passed over.
func propertiesOf(t *table.Table) *fileProperties {
	p, all, schema := &fileProperties{columns: map[int]parquetfile.ColumnOptions{}}, t.Properties(), t.Schema()
	p.readCodec(all)
	p.target = p.number(all, table.WriteTargetFileSizeBytesKey, math.MaxInt64)
	for key, to := range map[string]*int{table.ParquetRowGroupSizeBytesKey: &p.rowGroup, table.ParquetPageSizeBytesKey: &p.page,
		table.ParquetPageRowLimitKey: &p.pageRows, table.ParquetDictSizeBytesKey: &p.dict, table.ParquetBloomFilterMaxBytesKey: &p.bloomMost} {
		*to = int(p.number(all, key, math.MaxInt32))
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		p.readColumn(all, key, schema)
	}
	p.metrics = p.readMetrics(all, t)
	p.bound(schema)
	slices.Sort(p.faults)
	return p
}

func (p *fileProperties) fault(all iceberg.Properties, key, want string) {
	p.faults = append(p.faults, fmt.Sprintf("its property %s is %q: want %s", key, all[key], want))
}

// number is a property that is a whole number from 1 on, 0 if there is none such.
func (p *fileProperties) number(all iceberg.Properties, key string, most int64) int64 {
	text, ok := all[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 || n > most {
		p.fault(all, key, fmt.Sprintf("a whole number from 1 to %d", most))
		return 0
	}
	return n
}

// codecs are what is understood by the names of compressions: Iceberg's and, of LZ4, Parquet's for the kind that readers agree about.
var codecs = map[string]parquetfile.Codec{"zstd": parquetfile.Zstd, "snappy": parquetfile.Snappy, "gzip": parquetfile.Gzip, "lz4": parquetfile.LZ4,
	"lz4_raw": parquetfile.LZ4, "brotli": parquetfile.Brotli, "uncompressed": parquetfile.Uncompressed}

// levels are the least and the greatest level of the codecs that have some.
var levels = map[parquetfile.Codec][2]int{parquetfile.Zstd: {-131072, 22}, parquetfile.Gzip: {0, 9}, parquetfile.Brotli: {0, 11}}

func (p *fileProperties) readCodec(all iceberg.Properties) {
	p.codec = parquetfile.Zstd
	if name, ok := all[table.ParquetCompressionKey]; ok {
		if p.codec, ok = codecs[strings.ToLower(strings.TrimSpace(name))]; !ok {
			p.fault(all, table.ParquetCompressionKey, "zstd, snappy, gzip, lz4, brotli or uncompressed")
			return
		}
	}
	text, ok := all[table.ParquetCompressionLevelKey]
	between, has := levels[p.codec]
	if !ok || !has { // the others have no levels, as Java's library also ignores
		return
	}
	level, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || level < between[0] || level > between[1] {
		p.fault(all, table.ParquetCompressionLevelKey, fmt.Sprintf("a whole number from %d to %d, for %s", between[0], between[1], p.codec))
		return
	}
	if level == 0 && p.codec == parquetfile.Zstd {
		level = 3 // as zstd has it
	}
	p.level = level
}

// readColumn takes in a property of a column.
func (p *fileProperties) readColumn(all iceberg.Properties, key string, schema *iceberg.Schema) {
	column := func(prefix string) (int, bool) {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return 0, false
		}
		f, ok := schema.FindFieldByName(name)
		return f.ID, ok
	}
	on := strings.EqualFold(strings.TrimSpace(all[key]), "true") // anything else is false, as in Java
	if id, ok := column(table.ParquetBloomFilterColumnEnabledKeyPrefix + "."); ok && on {
		p.change(id, func(o *parquetfile.ColumnOptions) { o.Bloom = p.bloom(all, key) })
	}
	if id, ok := column(statisticsEnabledPrefix); ok {
		p.change(id, func(o *parquetfile.ColumnOptions) { o.NoStatistics = !on })
	}
	if id, ok := column(dictionaryEnabledPrefix); ok {
		p.change(id, func(o *parquetfile.ColumnOptions) { o.NoDictionary = !on })
	}
}

func (p *fileProperties) change(id int, how func(*parquetfile.ColumnOptions)) {
	o := p.columns[id]
	how(&o)
	p.columns[id] = o
}

// bloom is the filter of a column for which key asks.
func (p *fileProperties) bloom(all iceberg.Properties, key string) *parquetfile.Bloom {
	name := strings.TrimPrefix(key, table.ParquetBloomFilterColumnEnabledKeyPrefix+".")
	b := &parquetfile.Bloom{FalsePositives: 0.01, Distinct: p.number(all, bloomDistinctPrefix+name, math.MaxInt64)}
	if text, ok := all[bloomFalsePositivesPrefix+name]; ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(v > 0 && v < 1) {
			p.fault(all, bloomFalsePositivesPrefix+name, "a number above 0 and below 1")
			return b
		}
		b.FalsePositives = v
	}
	return b
}

// bound has as much followed of long values as their bounds are to keep.
func (p *fileProperties) bound(schema *iceberg.Schema) {
	for id, kind := range leafTypes(tableFields(schema.Fields())) {
		if n := p.metrics.of(id).bytes(kind); n > 0 {
			p.change(id, func(o *parquetfile.ColumnOptions) { o.BoundBytes = n })
		}
	}
}

// apply gives fields the options of their columns.
func (p *fileProperties) apply(fields []parquetfile.Field) {
	for i := range fields {
		fields[i].Options = p.columns[fields[i].ID]
		p.apply(fields[i].Children)
	}
}

// encoder is how pages are compressed where an encoder has so much memory: the level is lowered until it does.
func (p *fileProperties) encoder(memory int64) (codec parquetfile.Codec, level int) {
	level = p.level
	for level > 1 && parquetfile.EncoderBytes(p.codec, level) > memory {
		level--
	}
	return p.codec, level
}
