package files

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/batch"
	"sluice/columns"
	"sluice/layout"
)

// kafkaRows are the columns of Spark's source of Kafka, as sluice has them.
var kafkaRows = columns.Schema{
	{Name: "key", Type: columns.Type{Kind: columns.Binary}}, {Name: "value", Type: columns.Type{Kind: columns.Binary}},
	{Name: "topic", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "partition", Type: columns.Type{Kind: columns.Int32}, Required: true},
	{Name: "offset", Type: columns.Type{Kind: columns.Int64}, Required: true}, {Name: "timestamp", Type: columns.Type{Kind: columns.TimestampTZ}},
	{Name: "timestampType", Type: columns.Type{Kind: columns.Int32}, Required: true},
}

// shared is a folder that Spark is told of, with batch 0 of sluice's in it.
type shared struct {
	*Folder
	*memory
	t *testing.T
}

func newShared(t *testing.T) *shared {
	t.Helper()
	m := newMemory()
	f := opened(t, m, func(o *Options) { o.SparkMetadata = true })
	commit(t, f, 0)
	return &shared{f, m, t}
}

// file puts a file into the folder, a Parquet file with the column a unless it is given, and returns its entry in Spark's log.
func (s *shared) file(name string, content []byte) string {
	s.t.Helper()
	if content == nil {
		content = parquetOf(s.t, []struct {
			A *int32 `parquet:"a,optional"`
		}{{}, {}})
	}
	path := filepath.Join(s.options.Location, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return entryOf(path, len(content))
}

func parquetOf[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var text bytes.Buffer
	out := parquet.NewGenericWriter[T](&text)
	_, err := out.Write(rows)
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// entryOf is a line of Spark's log as Spark 4.2 writes it.
func entryOf(path string, size int) string {
	return fmt.Sprintf(`{"path":"file://%s","size":%d,"isDir":false,"modificationTime":1796083964897,"blockReplication":1,"blockSize":33554432,"action":"add"}`, path, size)
}

func (s *shared) log(name string, entries ...string) {
	s.objects[sparkFolder+name] = strings.Join(append([]string{"v1"}, entries...), "\n")
}

const sparks = "part-00000-dc013856-3c23-4e60-b1b4-c3dd15e7ac07-c000.snappy.parquet"

func TestWhatSparkHasWrittenIsTakenOverWithTheNextBatch(t *testing.T) {
	s := newShared(t)
	s.log("1", s.file(sparks, nil))
	s.log("2")
	s.objects[sparkFolder+".1.crc"] = "crc"
	table, err := s.Table(t.Context(), query)
	if err != nil || table.Applied.Broken != nil || table.Applied.Batch != 2 || table.Applied.Plan != "" || table.Applied.Ledger.Batch != 0 {
		t.Fatalf("got %+v, %v", table, err)
	}
	if _, err := s.Commit(t.Context(), offered(2, "plan 2")); batch.ClassOf(err) != batch.Fenced {
		t.Errorf("batch 2 again: got %v", err)
	}
	commit(t, s.Folder, 3)
	m, err := s.manifest(t.Context(), query, 3)
	if err != nil || m.V != sparkVersion || m.Previous != 0 || m.Spark.From != 1 || m.Spark.Until != 2 || len(m.Spark.Files) != 1 || m.Spark.Files[0].Path != sparks || m.Spark.Files[0].Records != 2 {
		t.Errorf("got %+v, %v", m, err)
	}
	if s.objects[sparkFolder+"3"] != "v1" {
		t.Errorf("got the log %q of batch 3", s.objects[sparkFolder+"3"])
	}
	commit(t, s.Folder, 4)
	if m, err = s.manifest(t.Context(), query, 4); err != nil || m.V != formatVersion || m.Spark != nil {
		t.Errorf("got %+v, %v", m, err)
	}
}

// A manifest that was not published before Spark carried out its batch does not count: the log has Spark's files in its place.
func TestAManifestThatSparkHasOvertakenDoesNotCount(t *testing.T) {
	s := newShared(t)
	c := offered(1, "plan 1")
	c.Results = []batch.TaskResult{{Files: []batch.DataFile{{Path: "part-1-0-0-2cf5b6f5-3a5c-4f43-a2b5-0d8c2d1b6f11.zstd.parquet", Bytes: 1, Records: 1}}}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.log("1", s.file(sparks, nil))
	table, err := s.Table(t.Context(), query)
	if err != nil || table.Applied.Broken != nil || table.Applied.Batch != 1 || table.Applied.Plan != "" || table.Applied.Ledger.Batch != 0 {
		t.Fatalf("got %+v, %v", table, err)
	}
	commit(t, s.Folder, 2)
	m, err := s.manifest(t.Context(), query, 2)
	if err != nil || m.Previous != 0 || m.Spark == nil || m.Spark.From != 1 || m.Spark.Until != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestALogOfSparksThatCannotBeFollowedIsRefused(t *testing.T) {
	file := "part-1-0-0-" + attemptID + ".zstd.parquet"
	for want, forge := range map[string]func(s *shared){
		"none of a new file": func(s *shared) { s.log("1", strings.Replace(s.file(sparks, nil), `"add"`, `"delete"`, 1)) },
		`"isDir":true`:       func(s *shared) { s.log("1", strings.Replace(s.file(sparks, nil), "false", "true", 1)) },
		"than every 10. one": func(s *shared) { s.log("1.compact", s.file(sparks, nil)) },
		"_spark_metadata/9 of": func(s *shared) {
			for n := 1; n < 10; n++ {
				s.log(fmt.Sprint(n))
			}
		},
		"missing between 0 and 2":  func(s *shared) { s.log("2", s.file(sparks, nil)) },
		"begins with \"\"":         func(s *shared) { s.objects[sparkFolder+"1"] = "" },
		"begins with \"v2\"":       func(s *shared) { s.objects[sparkFolder+"1"] = "v2" },
		"the line \"{\"":           func(s *shared) { s.log("1", "{") },
		"it is not in /":           func(s *shared) { s.log("1", entryOf("/elsewhere/"+sparks, 1)) },
		"no file under that name":  func(s *shared) { s.log("1", s.file("_temporary/"+sparks, nil)) },
		"which is listed before":   func(s *shared) { s.log("1", s.file(sparks, nil)); s.log("2", s.file(sparks, nil)) },
		"whose manifests are gone": func(s *shared) { s.log("1", s.file(sparks, nil), s.file(file, nil)) },
		"it does not list part-1-0-0": func(s *shared) {
			c := offered(1, "plan 1")
			c.Results = []batch.TaskResult{{Files: []batch.DataFile{{Path: file, Bytes: 1, Records: 1}}}}
			if _, err := s.Commit(s.t.Context(), c); err != nil {
				s.t.Fatal(err)
			}
			commit(s.t, s.Folder, 2)
			s.log("1")
			s.log("3", s.file(sparks, nil))
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := newShared(t)
			forge(s)
			before := maps.Clone(s.objects)
			table, err := s.Table(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			wantClass(t, table.Applied.Broken, batch.Inconsistent, want)
			_, err = s.Commit(t.Context(), offered(4, "plan 4"))
			wantClass(t, err, batch.Inconsistent, want)
			if !maps.Equal(before, s.objects) {
				t.Errorf("something was written")
			}
		})
	}
}

func TestFilesOfSparksThatDoNotFitAreNamed(t *testing.T) {
	type other struct {
		A string `parquet:"a"`
	}
	type more struct {
		A *int32 `parquet:"a,optional"`
		B int32  `parquet:"b"`
	}
	for want, entry := range map[string]func(s *shared) string{
		"cannot be read as Parquet": func(s *shared) string { return s.file(sparks, []byte("a,b\n1,2\n1,2\n1,2\n")) },
		"which is gone":             func(s *shared) string { return entryOf(filepath.Join(s.options.Location, sparks), 7) },
		"has 7 bytes, and it has": func(s *shared) string {
			s.file(sparks, nil)
			return entryOf(filepath.Join(s.options.Location, sparks), 7)
		},
		"column a is int in the folder and string":     func(s *shared) string { return s.file(sparks, parquetOf(s.t, []other{{}})) },
		"the folder has no column b (int)":             func(s *shared) string { return s.file(sparks, parquetOf(s.t, []more{{}})) },
		"in 1 folders of partitions, and the folder h": func(s *shared) string { return s.file("a=1/"+sparks, nil) },
	} {
		t.Run(want, func(t *testing.T) {
			s := newShared(t)
			s.log("1", entry(s))
			_, err := s.Commit(t.Context(), offered(2, "plan 2"))
			wantClass(t, err, batch.Inconsistent, want, sparks)
			if _, err := s.Get(t.Context(), manifestKey(query, 2)); err == nil {
				t.Error("batch 2 is there")
			}
		})
	}
}

// The file is one that Spark 4.2 wrote of a source of Kafka's: timestamps in the old form, columns without ids, all optional.
func TestAFolderThatSparkHasBegunGetsTheColumnsOfBoth(t *testing.T) {
	content, err := os.ReadFile("testdata/spark.snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	begun := func(rows columns.Schema, by []layout.Term, name string) (*shared, error) {
		m := newMemory()
		f := opened(t, newMemory(), nil)
		f.options.Objects, f.options.SparkMetadata, f.options.PartitionBy = m, true, by
		s := &shared{f, m, t}
		s.log("0", s.file(name, content))
		if err := s.Create(t.Context(), rows); batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), "the output of a Spark query") {
			t.Errorf("before anybody has read it for a query: got %v", err)
		}
		table, err := s.Table(t.Context(), query)
		if err != nil || table.Exists || table.Applied.Batch != 0 || table.Applied.Ledger != nil {
			t.Fatalf("got %+v, %v", table, err)
		}
		return s, s.Create(t.Context(), rows)
	}
	s, err := begun(kafkaRows[2:], nil, sparks)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.look(t.Context())
	if err != nil || !state.schema.Spark || state.schema.V != begunBySparkVersion {
		t.Fatalf("got %+v, %v", state.schema, err)
	}
	var names []string
	for _, c := range state.schema.Columns {
		if names = append(names, c.Name+" "+c.Kind.String()); c.Required {
			t.Errorf("column %s is required", c.Name)
		}
	}
	if want := "[topic string partition int offset long timestamp timestamptz timestampType int key binary value binary]"; fmt.Sprint(names) != want {
		t.Errorf("got %v, want %s", names, want)
	}
	commit(t, s.Folder, 1)
	if s.objects[claimKey] == "" || s.objects[sparkFolder+"1"] != "v1" {
		t.Errorf("got %v", s.objects)
	}
	text := columns.Type{Kind: columns.String}
	for want, c := range map[string]struct {
		rows columns.Schema
		by   []layout.Term
		name string
	}{
		"column offset is string in the folder and long in the file":       {columns.Schema{{Name: "offset", Type: text}}, nil, sparks},
		"in the folder day=1: the job's rows have no such column":          {kafkaRows, nil, "day=1/" + sparks},
		"column topic is in the file, and in the names of folders as well": {kafkaRows, nil, "topic=t/" + sparks},
		"it is in 0 folders of partitions, and the folder has 1":           {kafkaRows, []layout.Term{{Transform: layout.Identity, Column: "topic"}}, sparks},
	} {
		s, err := begun(c.rows, c.by, c.name)
		wantClass(t, err, batch.Inconsistent, want)
		if s.objects[folderKey] != "" {
			t.Errorf("%s: the folder was made", want)
		}
	}
}

func TestValuesOfPartitionsAreReadFromSparksPaths(t *testing.T) {
	s := &Schema{Columns: []Column{{ID: 1, Name: "a b", Kind: columns.String}, {ID: 2, Name: "n", Kind: columns.Int32}, {ID: 3, Name: "d", Kind: columns.Date, Required: true}, {ID: 4, Name: "x", Kind: columns.TimestampTZ}},
		Partitions: []Partition{{ID: 1000, Name: "a b", Transform: layout.Identity, Source: 1}, {ID: 1001, Name: "n", Transform: layout.Identity, Source: 2}, {ID: 1002, Name: "d", Transform: layout.Identity, Source: 3}}}
	values, err := s.partitionOf("a b=c%2Fd %25/n=-7/d=2026-03-04/p.parquet")
	if err != nil || string(values[1000]) != `"c/d %"` || string(values[1001]) != "-7" || string(values[1002]) != `"2026-03-04"` {
		t.Errorf("got %v, %v", values, err)
	}
	if values, err = s.partitionOf("a b=__HIVE_DEFAULT_PARTITION__/n=__HIVE_DEFAULT_PARTITION__/d=2026-03-04/p.parquet"); err != nil || string(values[1000]) != "null" || string(values[1001]) != "null" {
		t.Errorf("got %v, %v", values, err)
	}
	for path, want := range map[string]string{
		"a b=c/n=1/p":                              "in 2 folders of partitions, and the folder has 3",
		"n=1/a b=c/d=2026-03-04/p":                 "in the folder n=1, where the partition a b is to be",
		"a b=c/n=x/d=2026-03-04/p":                 `the value "x" of the partition n`,
		"a b=c/n=1/d=__HIVE_DEFAULT_PARTITION__/p": "required",
		"a b=c/n=1/d=2026-13-04/p":                 "partition d",
	} {
		if _, err := s.partitionOf(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	s.Partitions[1].Source, s.Partitions[1].Name = 4, "x"
	if _, err := s.partitionOf("a b=c/x=2026-03-04 10%3A00%3A00/d=2026-03-04/p"); err == nil || !strings.Contains(err.Error(), "of the type timestamptz is not followed") {
		t.Errorf("got %v", err)
	}
}

func TestColumnsOfSparksFilesAreTold(t *testing.T) {
	type inner struct {
		Deep *string `parquet:"deep,optional"`
	}
	type row struct {
		B    bool             `parquet:"b"`
		F    float32          `parquet:"f"`
		D    float64          `parquet:"d"`
		Day  int32            `parquet:"day,date"`
		Sum  int64            `parquet:"sum,decimal(2:12)"`
		Text string           `parquet:"text,optional"`
		Raw  []byte           `parquet:"raw"`
		List []string         `parquet:"list,list"`
		Map  map[string]int64 `parquet:"map"`
		In   inner            `parquet:"in,optional"`
	}
	meta := func(content []byte) []format.SchemaElement {
		f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		return f.Metadata().Schema
	}
	all, err := columnsIn(meta(parquetOf(t, []row{{}})))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range all {
		text := f.Name + " " + typeName(f.Type)
		for _, in := range f.Type.Fields {
			text += " " + in.Name + ":" + typeName(in.Type)
		}
		told = append(told, text)
	}
	want := "[b boolean f float d double day date sum decimal(12,2) text string raw binary list list element:string map map key:string value:long in struct deep:string]"
	if fmt.Sprint(told) != want {
		t.Errorf("got  %v\nwant %s", told, want)
	}
	type odd struct {
		Small int8 `parquet:"small"`
	}
	if _, err := columnsIn(meta(parquetOf(t, []odd{{}}))); err == nil || !strings.Contains(err.Error(), "column small is INT32") {
		t.Errorf("got %v", err)
	}
	for n := range len(meta(parquetOf(t, []row{{}}))) {
		if _, err := columnsIn(meta(parquetOf(t, []row{{}}))[:n]); err == nil {
			t.Errorf("a footer that ends after %d elements was read", n)
		}
	}
}

// Two runs that take over at once: the manifest that is there first has the batch and Spark's files, and the other run is told so.
func TestOfTwoRunsThatTakeOverOneSucceeds(t *testing.T) {
	s := newShared(t)
	s.log("1", s.file(sparks, nil))
	rival := New(s.options)
	s.memory.before = func(key string) (error, bool) {
		if key == manifestKey(query, 2) {
			s.memory.before = nil
			commit(t, rival, 2)
		}
		return nil, true
	}
	_, err := s.Commit(t.Context(), offered(2, "plan 2"))
	wantClass(t, err, batch.Fenced)
	m, err := s.manifest(t.Context(), query, 2)
	if err != nil || m.Spark == nil || len(m.Spark.Files) != 1 || s.objects[sparkFolder+"2"] != "v1" {
		t.Errorf("got %+v, %v", m, err)
	}
	commit(t, s.Folder, 3)
}

// Before anything was taken over Spark may have gone on once more: what is offered then has all of it.
func TestATurnThatGoesOnIsReadAgain(t *testing.T) {
	s := newShared(t)
	s.log("1", s.file(sparks, nil))
	d := &deal{folder: s.Folder, commit: offered(2, "plan 2")}
	for n, want := range []bool{true, false, true} {
		if n == 2 {
			s.log("2", s.file("part-00001-dc013856-3c23-4e60-b1b4-c3dd15e7ac07-c000.snappy.parquet", nil))
		}
		state, _, err := d.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if moved, err := d.takeOver(t.Context(), state); err != nil || moved != want || len(d.spark.Files) != 1+n/2 {
			t.Errorf("reading %d: got %v, %v, %+v", n, moved, err, d.spark)
		}
	}
}
