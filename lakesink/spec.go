package lakesink

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
	"sluice/layout"
)

// transformOf is a transform in our words; false for one that we do not know.
func transformOf(t iceberg.Transform) (transform layout.Transform, width int, ok bool) {
	switch t := t.(type) {
	case iceberg.IdentityTransform:
		return layout.Identity, 0, true
	case iceberg.VoidTransform:
		return layout.Void, 0, true
	case iceberg.BucketTransform:
		return layout.Bucket, t.NumBuckets, true
	case iceberg.TruncateTransform:
		return layout.Truncate, t.Width, true
	case iceberg.YearTransform:
		return layout.Year, 0, true
	case iceberg.MonthTransform:
		return layout.Month, 0, true
	case iceberg.DayTransform:
		return layout.Day, 0, true
	case iceberg.HourTransform:
		return layout.Hour, 0, true
	}
	return "", 0, false
}

func icebergTransform(t layout.Term) iceberg.Transform {
	switch t.Transform {
	case layout.Void:
		return iceberg.VoidTransform{}
	case layout.Bucket:
		return iceberg.BucketTransform{NumBuckets: t.Width}
	case layout.Truncate:
		return iceberg.TruncateTransform{Width: t.Width}
	case layout.Year:
		return iceberg.YearTransform{}
	case layout.Month:
		return iceberg.MonthTransform{}
	case layout.Day:
		return iceberg.DayTransform{}
	case layout.Hour:
		return iceberg.HourTransform{}
	}
	return iceberg.IdentityTransform{}
}

// located is a column that fields lead to.
type located struct {
	path         []int
	source, from columns.Type
}

// locate finds a column by its id among fields to write. Partitions and orders look into structs, never into lists.
func locate(fields []parquetfile.Field, id int) (located, bool) {
	for i := range fields {
		f := &fields[i]
		at := located{path: []int{f.Source}, source: f.Type, from: f.Type}
		if f.From.Kind != 0 {
			at.from = f.From
		}
		if f.ID == id {
			return at, true
		}
		if f.Type.Kind != columns.Struct {
			continue
		}
		if inside, ok := locate(f.Children, id); ok {
			if f.Source != parquetfile.Nowhere {
				inside.path = append(at.path, inside.path...)
			} else {
				inside.path = at.path
			}
			return inside, true
		}
	}
	return located{}, false
}

// partitionFields are those of a spec, for rows that are written as the fields say.
func partitionFields(spec *iceberg.PartitionSpec, fields []parquetfile.Field) ([]partition.Field, error) {
	var out []partition.Field
	for _, f := range spec.Fields() {
		transform, width, ok := transformOf(f.Transform)
		if !ok || len(f.SourceIDs) > 1 {
			return nil, fmt.Errorf("partition field %s is made by %s, which sluice does not know", f.Name, f.Transform)
		}
		p := partition.Field{ID: f.FieldID, Name: f.Name, Transform: transform, Width: width, Path: []int{partition.Nowhere}}
		if at, ok := locate(fields, f.SourceID()); ok { // a column that is not written is null
			p.Path, p.Source, p.From = at.path, at.source, at.from
		}
		out = append(out, p)
	}
	return out, nil
}

// termsOf is how a spec would be asked for; fields that were dropped from it are left out.
func termsOf(spec *iceberg.PartitionSpec, schema *iceberg.Schema) []string {
	var terms []string
	for _, f := range spec.Fields() {
		transform, width, ok := transformOf(f.Transform)
		name, found := schema.FindColumnName(f.SourceID())
		switch {
		case transform == layout.Void:
		case !ok || !found:
			terms = append(terms, fmt.Sprintf("%s(%s)", f.Transform, cmp.Or(name, fmt.Sprint("column ", f.SourceID()))))
		default:
			terms = append(terms, layout.Term{Transform: transform, Width: width, Column: name}.String())
		}
	}
	return terms
}

func termTexts[T fmt.Stringer](terms []T) []string {
	var texts []string
	for _, t := range terms {
		texts = append(texts, t.String())
	}
	return texts
}

func listed(terms []string) string {
	if len(terms) == 0 {
		return "nothing"
	}
	return strings.Join(terms, ", ")
}

// specDifferences are what keeps us from writing into a table's partitions, and how they differ from what the job asks for.
func (i *Iceberg) specDifferences(t *table.Table, fields []parquetfile.Field) []string {
	spec := t.Metadata().PartitionSpecByID(t.Metadata().DefaultPartitionSpec())
	if spec == nil { // https://github.com/apache/iceberg-go/issues/1855
		return []string{fmt.Sprintf("the metadata of the table has no partition spec %d, which it calls the current one", t.Metadata().DefaultPartitionSpec())}
	}
	parts, err := partitionFields(spec, fields)
	if err == nil {
		_, err = partition.NewSpec(parts)
	}
	if err == nil {
		err = manifestable(spec, t.Schema())
	}
	if err != nil {
		return []string{err.Error()}
	}
	want := slices.DeleteFunc(slices.Clone(i.options.PartitionBy), func(t layout.Term) bool { return t.Transform == layout.Void })
	if i.options.PartitionBy == nil {
		return nil
	}
	has, asked := termsOf(spec, t.Schema()), termTexts(want)
	if slices.Equal(slices.Sorted(slices.Values(has)), slices.Sorted(slices.Values(asked))) {
		return nil
	}
	return []string{fmt.Sprintf("the table is partitioned by %s, and sink.iceberg.partitionBy asks for %s: leave it out to follow the table, or alter the table's partitions", listed(has), listed(asked))}
}

// newSpec is the partition spec of a new table.
func newSpec(terms []layout.Term, schema *iceberg.Schema) (*iceberg.PartitionSpec, error) {
	var fields []iceberg.PartitionField
	taken := map[string]bool{}
	for _, f := range schema.Fields() {
		taken[f.Name] = true
	}
	for _, t := range terms {
		column, err := columnFor(t, schema)
		if err != nil {
			return nil, fmt.Errorf("sink.iceberg.partitionBy %s: %w", t, err)
		}
		name := unused(taken, specName(t), t.Transform == layout.Identity)
		taken[name] = true
		fields = append(fields, iceberg.PartitionField{SourceIDs: []int{column.ID}, FieldID: iceberg.PartitionDataIDStart + len(fields), Name: name, Transform: icebergTransform(t)})
	}
	for k, f := range fields {
		for _, g := range fields[:k] {
			if f.SourceID() == g.SourceID() && f.Transform.Equals(g.Transform) {
				return nil, fmt.Errorf("sink.iceberg.partitionBy has %s twice", terms[k])
			}
		}
	}
	spec := iceberg.NewPartitionSpec(fields...)
	if err := manifestable(&spec, schema); err != nil {
		return nil, fmt.Errorf("sink.iceberg.partitionBy: %w", err)
	}
	return &spec, nil
}

// manifestable says whether the library can write the manifests of a spec: it gives all decimals there one name, and fails where
// that comes twice.
func manifestable(spec *iceberg.PartitionSpec, schema *iceberg.Schema) error {
	var decimals []string
	for _, f := range spec.Fields() {
		column, _ := schema.FindFieldByID(f.SourceID())
		if _, ok := column.Type.(iceberg.DecimalType); !ok {
			continue
		}
		if _, ok := f.Transform.ResultType(column.Type).(iceberg.DecimalType); ok {
			decimals = append(decimals, f.Name)
		}
	}
	if len(decimals) > 1 {
		return fmt.Errorf("partition fields %s are decimals, of which sluice can write one in a table", strings.Join(decimals, " and "))
	}
	return nil
}

// columnFor finds the column of a term, if its values can be transformed.
func columnFor(t layout.Term, schema *iceberg.Schema) (iceberg.NestedField, error) {
	column, ok := schema.FindFieldByName(t.Column)
	if !ok {
		return column, fmt.Errorf("the rows have no column %s", t.Column)
	}
	if _, ok := locate(plainFields(tableFields(schema.Fields())), column.ID); !ok {
		return column, fmt.Errorf("column %s lies inside a list or map", t.Column)
	}
	if kind := newTableField("", 0, false, column.Type); !partition.Takes(t.Transform, kind.kind) {
		return column, fmt.Errorf("column %s is %s, which cannot be partitioned or sorted like this", t.Column, kind.typeName())
	}
	return column, nil
}

func plainFields(fields []tableField) (out []parquetfile.Field) {
	for i := range fields {
		out = append(out, fields[i].nowhere())
	}
	return out
}

// specName is the name that the reference implementation gives a field of a new table's spec.
func specName(t layout.Term) string {
	switch t.Transform {
	case layout.Identity:
		return t.Column
	case layout.Truncate:
		return t.Column + "_trunc"
	case layout.Void:
		return t.Column + "_null"
	}
	return t.Column + "_" + string(t.Transform)
}

// unused is the name, with a number if it is taken. That of a column is free for the column itself alone.
func unused(taken map[string]bool, name string, identity bool) string {
	if identity || !taken[name] {
		return name
	}
	for n := 2; ; n++ {
		if numbered := fmt.Sprintf("%s_%d", name, n); !taken[numbered] {
			return numbered
		}
	}
}

// partitionValues are a file's in the library's terms.
func partitionValues(fields []partition.Field, f *batch.DataFile) (map[int]any, error) {
	values := make(map[int]any, len(fields))
	for k := range fields {
		p := &fields[k]
		text, ok := f.Partition[p.ID]
		if !ok {
			return nil, fmt.Errorf("there is no value for partition field %s", p.Name)
		}
		v, err := p.Read(text)
		if err != nil {
			return nil, err
		}
		values[p.ID] = libraryValue(&v, p.Result())
	}
	return values, nil
}

func libraryValue(v *partition.Value, t columns.Type) any {
	if v.Null {
		return nil
	}
	switch t.Kind {
	case columns.Bool:
		return v.Int == 1
	case columns.Int32:
		return int32(v.Int)
	case columns.Int64:
		return v.Int
	case columns.Date:
		return iceberg.Date(v.Int)
	case columns.Time:
		return iceberg.Time(v.Int)
	case columns.Timestamp, columns.TimestampTZ:
		return iceberg.Timestamp(v.Int)
	case columns.Float32:
		return float32(v.Float)
	case columns.Float64:
		return v.Float
	case columns.Decimal:
		return iceberg.Decimal{Val: decimal128.New(v.High, v.Low), Scale: t.Scale}
	case columns.String:
		return string(v.Bytes)
	case columns.UUID:
		return uuid.UUID(v.Bytes)
	}
	return v.Bytes
}

// plainlyNamed is the metadata with names of partition fields that Avro allows: the library writes manifests with the names
// as they are, and fails where one has a dot or a space in it. Others replace what Avro forbids (the reference implementation
// in AvroSchemaUtil.makeCompatibleName, in the same words as here). Readers go by the fields' ids.
func plainlyNamed(m table.Metadata) (table.Metadata, error) {
	odd := false
	for _, spec := range m.PartitionSpecs() {
		for _, f := range spec.Fields() {
			odd = odd || avroName(f.Name) != f.Name
		}
	}
	if !odd {
		return m, nil
	}
	return edited(m, renameSpecs)
}

// edited is the metadata with a change of its JSON.
func edited(m table.Metadata, change func(map[string]json.RawMessage) error) (table.Metadata, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	if err := change(whole); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	return table.ParseMetadataBytes(text)
}

func renameSpecs(metadata map[string]json.RawMessage) error {
	var specs []map[string]json.RawMessage
	if err := json.Unmarshal(metadata["partition-specs"], &specs); err != nil {
		return fmt.Errorf("read the table's partition specs: %w", err)
	}
	for _, spec := range specs {
		var fields []map[string]any
		if err := json.Unmarshal(spec["fields"], &fields); err != nil {
			return fmt.Errorf("read the fields of a partition spec: %w", err)
		}
		taken := map[string]bool{}
		for _, f := range fields {
			name, _ := f["name"].(string)
			name = unused(taken, avroName(name), false)
			f["name"], taken[name] = name, true
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		spec["fields"] = text
	}
	text, err := json.Marshal(specs)
	metadata["partition-specs"] = text
	maps.DeleteFunc(metadata, func(key string, _ json.RawMessage) bool { return key == "partition-spec" }) // version 1 has it besides
	return err
}

// avroName replaces what a name in Avro must not have.
func avroName(name string) string {
	var b strings.Builder
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		switch digit := c >= '0' && c <= '9'; {
		case letter, digit && i > 0:
			b.WriteRune(c)
		case digit:
			b.WriteString("_" + string(c))
		default:
			fmt.Fprintf(&b, "_x%X", c)
		}
	}
	return b.String()
}
