package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
)

// table is the folder as a table: what its metadata, manifest list and manifests would be, made in memory. Snapshots that are
// not the newest have no list of files: nobody removes files from a folder, so that nothing has to be compared.
func (f *Folder) table(uuid string, schema *folderSchema, all []*manifest, newest map[string]*manifest) (*table.Table, error) {
	view := &viewFS{IO: f.Store, made: map[string][]byte{}, filled: map[string][]filling{}}
	if err := f.fill(view, schema, all); err != nil {
		return nil, err
	}
	shape, err := schema.iceberg()
	if err != nil {
		return nil, fmt.Errorf("the columns of the folder: %w", err)
	}
	properties, err := ledgersOf(all, newest)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(m *manifest) bool { return m.sparks }) {
		properties[SparkWroteHere] = "true"
	}
	if properties[table.DefaultNameMappingKey], err = nameMapping(schema.Columns); err != nil {
		return nil, err
	}
	m := map[string]any{"format-version": 2, "table-uuid": uuid, "location": f.Location, "last-sequence-number": len(all), "last-updated-ms": int64(0),
		"last-column-id": shape.HighestFieldID(), "schemas": []any{shape}, "current-schema-id": shape.ID, "partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{}}},
		"default-spec-id": 0, "last-partition-id": 999, "sort-orders": []any{map[string]any{"order-id": 0, "fields": []any{}}}, "default-sort-order-id": 0, "properties": properties}
	if err := f.snapshots(m, view, shape, all); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	metadata, err := table.ParseMetadataBytes(text)
	if err != nil {
		return nil, fmt.Errorf("the folder as a table: %w", err)
	}
	return table.New(table.Identifier{f.Location}, metadata, f.at(bookFolder+"folder.json"), func(context.Context) (icebergio.IO, error) { return view, nil }, nil), nil
}

// fill notes what the files of a folder with partitions lack.
func (f *Folder) fill(view *viewFS, schema *folderSchema, all []*manifest) error {
	for _, m := range all {
		for i := range m.Files {
			lacks, err := schema.fillings(&m.Files[i])
			if err != nil {
				return damaged(m.key, err.Error())
			}
			if len(lacks) > 0 {
				view.filled[f.at(m.Files[i].Path)] = lacks
			}
		}
	}
	return nil
}

// ledgersOf are the ledgers of all queries as properties of a table; each names the snapshot of its newest batch.
func ledgersOf(all []*manifest, newest map[string]*manifest) (map[string]string, error) {
	properties := map[string]string{}
	for _, query := range slices.Sorted(maps.Keys(newest)) {
		m := newest[query]
		ledger, err := batch.ParseLedger(m.Ledger, query)
		if err != nil || ledger == nil {
			maps.Copy(properties, m.Ledger) // whoever reads them says what is wrong
			if ledger == nil {
				properties[batch.LedgerPrefix+query+".0"] = "" // a ledger that is there in part
			}
			continue
		}
		ledger.Snapshot, ledger.Sequence = m.id, int64(slices.Index(all, m)+1)
		for _, other := range all { // in order: the newest one counts
			if other.Query == query && other.replayed != nil {
				other.replayed.into(ledger)
			}
		}
		said, err := ledger.Properties()
		if err != nil {
			return nil, err
		}
		maps.Copy(properties, said)
	}
	return properties, nil
}

// into puts the dead letters that are rows into a ledger.
func (r *replay) into(ledger *batch.Ledger) {
	for _, n := range r.Replayed {
		tp := offsets.TopicPartition{Topic: n.Topic, Partition: n.Partition}
		a := ledger.Accounts[tp]
		a.Replayed = n.Records
		ledger.Accounts[tp] = a
	}
}

// summary is what the snapshot of a batch, or of a replay, says of itself.
func (m *manifest) summary() map[string]string {
	s := map[string]string{"operation": string(table.OpAppend), "added-data-files": strconv.Itoa(len(m.Files)), "added-records": strconv.FormatInt(m.Counts.Rows, 10)}
	switch {
	case m.sparks:
		s[summarySparkQuery], s[summarySparkEpoch] = m.Query, strconv.FormatInt(m.Batch, 10)
	case m.replayed == nil:
		s[summaryQuery], s[summaryName], s[summaryBatch], s[summaryPlan] = m.Query, m.Name, strconv.FormatInt(m.Batch, 10), m.Plan
	}
	if len(m.Losses) > 0 {
		s[summaryLost], s[summaryLosses] = strconv.FormatInt(batch.LostOffsets(m.Losses), 10), lossesText(m.Losses)
	}
	return s
}

// snapshots adds one snapshot for each batch, and the newest one's list of files.
func (f *Folder) snapshots(metadata map[string]any, view *viewFS, shape *iceberg.Schema, all []*manifest) error {
	if len(all) == 0 {
		return nil
	}
	var listed []iceberg.ManifestFile
	snapshots := make([]map[string]any, len(all))
	list := f.at(bookFolder + "snap-view.avro")
	for i, m := range all {
		s := map[string]any{"snapshot-id": m.id, "sequence-number": i + 1, "timestamp-ms": m.WrittenMs, "schema-id": shape.ID, "manifest-list": list + "." + strconv.Itoa(i),
			"summary": m.summary()}
		if i > 0 {
			s["parent-snapshot-id"] = all[i-1].id
		}
		snapshots[i] = s
		if len(m.Files) == 0 {
			continue
		}
		file, err := f.entries(view, shape, m, int64(i+1))
		if err != nil {
			return fmt.Errorf("the files of batch %d: %w", m.Batch, err)
		}
		listed = append(listed, file)
	}
	head := len(all) - 1
	snapshots[head]["manifest-list"] = list
	sequence := int64(len(all))
	var out bytes.Buffer
	if err := iceberg.WriteManifestList(2, &out, all[head].id, nil, &sequence, 0, listed); err != nil {
		return err
	}
	view.made[list] = out.Bytes()
	metadata["snapshots"], metadata["current-snapshot-id"] = snapshots, all[head].id
	metadata["refs"] = map[string]any{"main": map[string]any{"snapshot-id": all[head].id, "type": "branch"}}
	return nil
}

// entries is a batch's manifest as a table's, under its own name.
func (f *Folder) entries(view *viewFS, shape *iceberg.Schema, m *manifest, sequence int64) (iceberg.ManifestFile, error) {
	spec := *iceberg.UnpartitionedSpec
	var out bytes.Buffer
	w, err := iceberg.NewManifestWriter(2, &out, spec, shape, m.id)
	if err != nil {
		return nil, err
	}
	for i := range m.Files {
		file := &m.Files[i]
		b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, f.at(file.Path), iceberg.ParquetFile, nil, nil, nil, file.Records, file.Bytes)
		if err != nil {
			return nil, err
		}
		b.ValueCounts(file.ValueCounts).NullValueCounts(file.NullCounts).NaNValueCounts(file.NaNCounts).LowerBoundValues(file.LowerBounds).UpperBoundValues(file.UpperBounds)
		if err := w.Add(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &m.id, &sequence, &sequence, b.Build())); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	name := f.at(m.key)
	if strings.HasSuffix(name, ".jsonl") { // several are in it
		name += "#" + strconv.FormatInt(m.Batch, 10)
	}
	view.made[name] = out.Bytes()
	return iceberg.NewManifestFile(2, name, int64(out.Len()), 0, m.id).SequenceNum(sequence, sequence).AddedFiles(int32(len(m.Files))).AddedRows(m.Counts.Rows).Build(), nil
}

// iceberg is the folder's columns as a table's schema.
func (s *folderSchema) iceberg() (*iceberg.Schema, error) {
	fields, err := icebergFields(s.Columns)
	if err != nil {
		return nil, err
	}
	return iceberg.NewSchema(s.ID, fields...), nil
}

func icebergFields(all []folderColumn) ([]iceberg.NestedField, error) {
	fields := make([]iceberg.NestedField, len(all))
	for i := range all {
		c := &all[i]
		t, err := c.icebergType()
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		fields[i] = iceberg.NestedField{ID: c.ID, Name: c.Name, Required: c.Required, Type: t}
	}
	return fields, nil
}

var simpleTypes = map[columns.Kind]iceberg.Type{
	columns.Bool: iceberg.PrimitiveTypes.Bool, columns.Int32: iceberg.PrimitiveTypes.Int32, columns.Int64: iceberg.PrimitiveTypes.Int64,
	columns.Float32: iceberg.PrimitiveTypes.Float32, columns.Float64: iceberg.PrimitiveTypes.Float64, columns.Date: iceberg.PrimitiveTypes.Date,
	columns.Time: iceberg.PrimitiveTypes.Time, columns.Timestamp: iceberg.PrimitiveTypes.Timestamp, columns.TimestampTZ: iceberg.PrimitiveTypes.TimestampTz,
	columns.String: iceberg.PrimitiveTypes.String, columns.Binary: iceberg.PrimitiveTypes.Binary, columns.UUID: iceberg.PrimitiveTypes.UUID,
}

func (c *folderColumn) icebergType() (iceberg.Type, error) {
	if t, ok := simpleTypes[c.Kind]; ok {
		return t, nil
	}
	inner, err := icebergFields(c.Fields)
	switch {
	case err != nil:
		return nil, err
	case c.Kind == columns.Decimal:
		return iceberg.DecimalTypeOf(c.Precision, c.Scale), nil
	case c.Kind == columns.Fixed:
		return iceberg.FixedTypeOf(c.Width), nil
	case c.Kind == columns.Struct:
		return &iceberg.StructType{FieldList: inner}, nil
	case c.Kind == columns.List && len(inner) == 1:
		return &iceberg.ListType{ElementID: inner[0].ID, Element: inner[0].Type, ElementRequired: inner[0].Required}, nil
	case c.Kind == columns.Map && len(inner) == 2:
		return &iceberg.MapType{KeyID: inner[0].ID, KeyType: inner[0].Type, ValueID: inner[1].ID, ValueType: inner[1].Type, ValueRequired: inner[1].Required}, nil
	}
	return nil, fmt.Errorf("a %s of %d fields", c.Kind, len(inner))
}

// viewFS is the folder's store with the objects of the table that it stands for.
type viewFS struct {
	icebergio.IO
	made map[string][]byte
	// filled are the columns that files are to be read with besides their own.
	filled map[string][]filling
}

// Open opens an object that was made, or one of the store.
func (v *viewFS) Open(name string) (icebergio.File, error) {
	if content, ok := v.made[name]; ok {
		return &madeFile{Reader: bytes.NewReader(content), name: name}, nil
	}
	f, err := v.IO.Open(name)
	if err != nil || v.filled[name] == nil {
		return f, err
	}
	whole, err := fill(f, v.filled[name])
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the end of %s: %w", name, err), f.Close())
	}
	return whole, nil
}

// Stat asks for the size of an object.
func (v *viewFS) Stat(name string) (fs.FileInfo, error) {
	if content, ok := v.made[name]; ok {
		return madeInfo{path.Base(name), int64(len(content))}, nil
	}
	if s, ok := v.IO.(icebergio.StatIO); ok {
		return s.Stat(name)
	}
	file, err := v.IO.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}

type madeFile struct {
	*bytes.Reader
	name string
}

func (m *madeFile) Close() error { return nil }

func (m *madeFile) Stat() (fs.FileInfo, error) { return madeInfo{path.Base(m.name), m.Size()}, nil }

var _ io.ReaderAt = (*madeFile)(nil)

type madeInfo struct {
	name string
	size int64
}

func (i madeInfo) Name() string       { return i.name }
func (i madeInfo) Size() int64        { return i.size }
func (i madeInfo) Mode() fs.FileMode  { return 0o444 }
func (i madeInfo) ModTime() time.Time { return time.Time{} }
func (i madeInfo) IsDir() bool        { return false }
func (i madeInfo) Sys() any           { return nil }
