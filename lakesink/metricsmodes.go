package lakesink

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/columns"
)

// metrics says how much the metadata keeps of a column: none, counts, truncate (bounds of so many bytes or code points)
// or full.
type metrics struct {
	kind   string
	length int
}

// mostBoundBytes is how much of a value a bound keeps at most, whatever the mode: what is longer prunes nothing more, and is in
// the metadata of every file.
const mostBoundBytes = 4 << 10

// bytes is how much of the values of a column has to be followed for its bounds, 0 if no more than usual.
func (m metrics) bytes(kind columns.Type) int {
	n := 0
	switch kind.Kind {
	case columns.String:
		n = 4 * min(m.length, mostBoundBytes) // code points
	case columns.Binary:
		n = m.length
	}
	if n <= usualBoundBytes {
		return 0
	}
	return min(n, mostBoundBytes)
}

// usualBoundBytes are followed in any case: the bounds of the default, 16 code points.
const usualBoundBytes = 64

// usualMetrics are the format's default.
var usualMetrics = metrics{"truncate", 16}

var truncateMode = regexp.MustCompile(`^truncate\((\d+)\)$`)

// parseMetrics reads a mode; one that makes no sense counts as other, as in Iceberg's Java library.
func parseMetrics(text string, other metrics) metrics {
	text = strings.ToLower(strings.TrimSpace(text))
	switch text {
	case "none", "counts":
		return metrics{kind: text}
	case "full":
		return metrics{text, math.MaxInt32}
	}
	if m := truncateMode.FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 32); err == nil && n > 0 {
			return metrics{"truncate", int(n)}
		}
	}
	return other
}

// metricsModes are those of the columns of a table.
type metricsModes struct {
	byID map[int]metrics
	rest metrics
}

func (m *metricsModes) of(id int) metrics {
	if mode, ok := m.byID[id]; ok {
		return mode
	}
	return m.rest
}

// inferredColumns is for how many columns bounds are kept if no property says more: a table of thousands would have manifests of
// little else.
const inferredColumns = 100

// readMetrics reads write.metadata.metrics.* as Java's MetricsConfig does: the default mode holds for all columns or, where
// none is given, for the first ones of a wide table; columns that files are sorted by have bounds in any case; a column's own
// mode goes before all.
func (p *fileProperties) readMetrics(all iceberg.Properties, t *table.Table) *metricsModes {
	m, schema := &metricsModes{byID: map[int]metrics{}, rest: usualMetrics}, t.Schema()
	if text, ok := all[table.DefaultWriteMetricsModeKey]; ok {
		m.rest = parseMetrics(text, usualMetrics)
	} else if most := p.inferred(all); counted(schema.Fields()) > most {
		for _, id := range firstLeaves(schema.Fields(), most) {
			m.byID[id] = usualMetrics
		}
		m.rest = metrics{kind: "none"}
	}
	ofSorted := m.rest
	if m.rest.length == 0 {
		ofSorted = usualMetrics
	}
	order := t.SortOrder()
	for _, f := range order.Fields() {
		if f.Transform.PreservesOrder() && len(f.SourceIDs) == 1 {
			m.byID[f.SourceID()] = ofSorted
		}
	}
	for key, text := range all {
		if name, ok := strings.CutPrefix(key, metricsColumnPrefix); ok {
			if f, ok := schema.FindFieldByName(name); ok {
				m.byID[f.ID] = parseMetrics(text, m.rest)
			}
		}
	}
	return m
}

// inferred is the number of columns that have bounds if nothing is said of them.
func (p *fileProperties) inferred(all iceberg.Properties) int {
	text, ok := all[metricsInferredKey]
	if !ok {
		return inferredColumns
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	switch {
	case err != nil:
		p.fault(all, metricsInferredKey, "a whole number")
		return inferredColumns
	case n < 0:
		return inferredColumns
	}
	return int(n)
}

// counted is how many columns count towards the limit: those of values, and structs.
func counted(fields []iceberg.NestedField) (n int) {
	for _, f := range fields {
		if _, list := f.Type.(*iceberg.ListType); !list {
			if _, aMap := f.Type.(*iceberg.MapType); !aMap {
				n++
			}
		}
		if inner, ok := f.Type.(iceberg.NestedType); ok {
			n += counted(inner.Fields())
		}
	}
	return n
}

// firstLeaves are the first columns of values: those of the table before those of its first struct, list or map, and so on.
func firstLeaves(fields []iceberg.NestedField, most int) (ids []int) {
	for _, f := range fields {
		if _, nested := f.Type.(iceberg.NestedType); !nested && len(ids) < most {
			ids = append(ids, f.ID)
		}
	}
	for _, f := range fields {
		if inner, nested := f.Type.(iceberg.NestedType); nested && len(ids) < most {
			ids = append(ids, firstLeaves(inner.Fields(), most-len(ids))...)
		}
	}
	return ids
}
