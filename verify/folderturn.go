package verify

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"sluice/batch"
	"sluice/columns"
)

// SparkWroteHere is the property by which the table that a folder stands for says that some of its files are Spark's: they have no ids
// of columns, and timestamps in the old form that Spark writes by default.
const SparkWroteHere = "sluice.spark-files"

// turn is batches of the query that Spark wrote, as the manifest of the batch after them has them.
type turn struct {
	From  int64            `json:"from"`
	Until int64            `json:"until"`
	Files []batch.DataFile `json:"files"`
}

// batches is how many there are.
func (t *turn) batches() int64 {
	if t == nil {
		return 0
	}
	return t.Until - t.From + 1
}

// between says whether they lie between two batches.
func (t *turn) between(before, n int64) bool {
	return t == nil || before < t.From && t.From <= t.Until && t.Until < n
}

func (t *turn) text() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(", and that Spark wrote the batches %d to %d", t.From, t.Until)
}

// manifest stands for the batches as what would be a snapshot, before that of m.
func (t *turn) manifest(m *manifest) *manifest {
	return sparks(m.Query, t, fmt.Sprintf("%s#spark-%d", m.key, t.Until), m.WrittenMs)
}

// after stands for the batches that Spark has written after the newest manifest.
func (l *sparkLog) after(query string, newest int64, names []string) *manifest {
	t := &turn{From: newest + 1, Until: l.last}
	for _, name := range names {
		t.Files = append(t.Files, batch.DataFile{Path: name, Bytes: l.files[name].Size})
	}
	m := sparks(query, t, fmt.Sprintf("%s%d#spark", sparkFolder, l.last), l.newestM)
	m.uncounted = true
	return m
}

func sparks(query string, t *turn, key string, written int64) *manifest {
	m := &manifest{Query: query, Batch: t.Until, Files: t.Files, WrittenMs: written, key: key, sparks: true}
	for i := range m.Files {
		m.Counts.Rows += m.Files[i].Records
	}
	sum := sha256.Sum256([]byte(query + key))
	m.id = int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	return m
}

// countSparks reads how many rows are in the files that Spark has written after the manifests, and what their paths say. A file
// that cannot be read is left for whoever reads its rows.
func (f *Folder) countSparks(ctx context.Context, b *books) error {
	for _, m := range b.all {
		if !m.uncounted {
			continue
		}
		rows := make([]int64, len(m.Files))
		err := parallel(ctx, readAhead, len(m.Files), func(_ context.Context, i int) error {
			file := &m.Files[i]
			in, err := f.Store.Open(f.at(file.Path))
			if err == nil {
				defer in.Close()
				if footer, _, err := footerOf(in); err == nil {
					rows[i] = footer.NumRows
				}
			}
			return b.schema.placed(file)
		})
		if err != nil {
			return err
		}
		m.uncounted = false
		for i, n := range rows {
			m.Files[i].Records = n
			m.Counts.Rows += n
		}
	}
	return nil
}

// placed takes the values of the folder's partitions from the path of a file.
func (s *folderSchema) placed(file *batch.DataFile) error {
	levels := strings.Split(file.Path, "/")
	levels = levels[:len(levels)-1]
	for i := range s.Partitions {
		p := &s.Partitions[i]
		c := s.leftOut(p)
		if c == nil {
			continue
		}
		name, escaped := "", ""
		if i < len(levels) {
			name, escaped, _ = strings.Cut(levels[i], "=")
		}
		text, err := url.PathUnescape(escaped)
		if name, _ = url.PathUnescape(name); name != p.Name || err != nil {
			return damaged(sparkFolder, fmt.Sprintf("%s is not in a folder of the partition %s", file.Path, p.Name))
		}
		value := json.RawMessage(text)
		switch c.Kind {
		case columns.Bool, columns.Int32, columns.Int64:
		default:
			if value, err = json.Marshal(text); err != nil {
				return err
			}
		}
		if text == hiveNull {
			value = json.RawMessage("null")
		}
		if file.Partition == nil {
			file.Partition = map[int]json.RawMessage{}
		}
		file.Partition[p.ID] = value
	}
	return nil
}

// hiveNull is the value that stands for null in the name of a folder.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// nameMapping tells which columns are meant in files without ids of fields, which Spark's are (Iceberg specification, "Name
// Mapping Serialization").
func nameMapping(all []folderColumn) (string, error) {
	text, err := json.Marshal(mapped(all, nil))
	return string(text), err
}

func mapped(all []folderColumn, names []string) []map[string]any {
	fields := make([]map[string]any, len(all))
	for i := range all {
		c := &all[i]
		name := c.Name
		if names != nil {
			name = names[i]
		}
		fields[i] = map[string]any{"field-id": c.ID, "names": []string{name}}
		var inner []string
		switch c.Kind { // by position: the names are the format's
		case columns.List:
			inner = []string{"element"}
		case columns.Map:
			inner = []string{"key", "value"}
		}
		if len(c.Fields) > 0 {
			fields[i]["fields"] = mapped(c.Fields, inner)
		}
	}
	return fields
}
