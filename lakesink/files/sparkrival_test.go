package files

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
)

// own is a commit of a batch with one file of sluice's.
func own(n int64, name string) *batch.Commit {
	c := offered(n, fmt.Sprint("plan ", n))
	c.Results = []batch.TaskResult{{Files: []batch.DataFile{{Path: fmt.Sprintf("part-%d-0-0-%s.zstd.parquet", n, name), Bytes: 1, Records: 1}}}}
	return c
}

const attemptID = "2cf5b6f5-3a5c-4f43-a2b5-0d8c2d1b6f11"

// A Spark that carries out the same batch at any moment of a commit: whatever its log lists counts, and the run is told so. Where Spark
// comes too late its own check of the log keeps it from writing.
func TestOfSparkAndARunThatCarryOutOneBatchOneSucceeds(t *testing.T) {
	for _, beyond := range []int64{0, 1} { // Spark goes on by so many batches
		for _, at := range []string{manifestKey(query, 1), sparkFolder + "1"} {
			for _, files := range []bool{true, false} {
				t.Run(fmt.Sprint(beyond, at, files), func(t *testing.T) {
					s := newShared(t)
					entry := s.file(sparks, nil)
					s.memory.before = func(key string) (error, bool) {
						if key == at {
							s.memory.before = nil
							s.log("1", entry)
							for n := int64(2); n <= 1+beyond; n++ {
								s.log(fmt.Sprint(n))
							}
						}
						return nil, true
					}
					c := own(1, attemptID)
					if !files {
						c.Results = nil
					}
					_, err := s.Commit(t.Context(), c)
					wantClass(t, err, batch.Fenced)
					table, err := s.Table(t.Context(), query)
					if err != nil || table.Applied.Broken != nil || table.Applied.Batch != 1+beyond || table.Applied.Plan != "" {
						t.Fatalf("got %+v, %v", table, err)
					}
					commit(t, s.Folder, 2+beyond)
					m, err := s.manifest(t.Context(), query, 2+beyond)
					if err != nil || m.Previous != 0 || m.Spark == nil || m.Spark.From != 1 || m.Spark.Until != 1+beyond || len(m.Spark.Files) != 1 {
						t.Errorf("got %+v, %v", m, err)
					}
				})
			}
		}
	}
}

// What is left of a compacted log that was cut short is refused, wherever the end is: in a line, or between two. Without the files of
// its own batch it is what a Spark writes that has carried out the batch and found nothing.
func TestACompactedLogThatWasCutShortIsRefused(t *testing.T) {
	s := newShared(t)
	for n := int64(1); n < 10; n++ {
		if _, err := s.Commit(t.Context(), own(n, attemptID)); err != nil {
			t.Fatal(err)
		}
	}
	whole := s.objects[sparkFolder+"9.compact"]
	s.log("10", s.file(sparks, nil))
	for n := range strings.LastIndexByte(whole, '\n') {
		if n%41 > 0 && whole[n] != '\n' && whole[n+1] != '\n' {
			continue
		}
		s.objects[sparkFolder+"9.compact"] = whole[:n]
		table, err := s.Table(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if table.Applied.Broken == nil {
			t.Fatalf("%d of %d bytes were taken for the log: %q", n, len(whole), whole[:n])
		}
	}
	s.objects[sparkFolder+"9.compact"] = whole
	if table, err := s.Table(t.Context(), query); err != nil || table.Applied.Broken != nil || table.Applied.Batch != 10 {
		t.Errorf("got %+v, %v", table, err)
	}
}

// A batch whose log somebody has removed cannot be made one with others; what was done then is said.
func TestALogThatIsToBeCompactedAndIsGoneIsNamed(t *testing.T) {
	s := newShared(t)
	for n := int64(1); n < 9; n++ {
		commit(t, s.Folder, n)
	}
	delete(s.objects, sparkFolder+"4")
	_, err := s.Commit(t.Context(), offered(9, "plan 9"))
	wantClass(t, err, batch.Inconsistent, "_spark_metadata/4 of", "9.compact")
	for key := range s.objects { // as the hint says
		if strings.HasPrefix(key, sparkFolder) {
			delete(s.objects, key)
		}
	}
	commit(t, s.Folder, 10)
	if s.objects[sparkFolder+"9.compact"] != "v1" || s.objects[sparkFolder+"10"] != "v1" {
		t.Errorf("got %v", s.objects)
	}
}

// Addresses are those that Hadoop's Path writes: https://github.com/apache/hadoop/blob/trunk/hadoop-common-project/hadoop-common/src/main/java/org/apache/hadoop/fs/Path.java
func TestAddressesOfSparksAreFoundInTheFolder(t *testing.T) {
	for _, c := range []struct{ location, address, want string }{
		{"/data/a b", "file:///data/a%20b/p.parquet", "p.parquet"},
		{"/data/a b", "file:/data/a%20b/p.parquet", "p.parquet"},
		{"/data/100%", "file:///data/100%25/k=c%252Fd/p.parquet", "k=c%2Fd/p.parquet"},
		{"/data/größe", "file:///data/größe/p.parquet", "p.parquet"},
		{"/data/größe", "file:///data/gr%C3%B6%C3%9Fe/p.parquet", "p.parquet"},
		{"/data/a+b#c?d", "file:///data/a+b%23c%3Fd/k=1+1/p.parquet", "k=1+1/p.parquet"},
		{"/data/x", "file:///data/x/_p=1/p.parquet", "_p=1/p.parquet"},
		{"s3://lake/x y", "s3a://lake/x%20y/p.parquet", "p.parquet"},
		{"s3://lake/x", "s3n://lake/x/p.parquet", "p.parquet"},
		{"gs://lake/x", "gs://lake/x/k=ü/p.parquet", "k=ü/p.parquet"},
		{"abfss://lake@a.dfs.core.windows.net/x", "abfss://lake@a.dfs.core.windows.net/x/p.parquet", "p.parquet"},
		{"abfss://lake@a.dfs.core.windows.net/x", "abfs://lake@a.dfs.core.windows.net/x/p.parquet", "p.parquet"},
		{"/data/x", "file:///data/xy/p.parquet", ""},
		{"/data/x", "file:///data/x/../x/p.parquet", ""},
		{"/data/x", "file:///data/x//p.parquet", ""},
		{"/data/x", "file:///data/x/_tmp/p.parquet", ""},
		{"/data/x", "file:///data/x/.hidden=1/p.parquet", ""},
		{"/data/x", "file:///data/x/_p.parquet", ""},
		{"s3://lake/x", "s3a://pond/x/p.parquet", ""},
		{"s3://lake/x", "/x/p.parquet", ""},
		{"/data/x", "file:///data/x/%zz.parquet", ""},
	} {
		f := New(Options{Location: c.location, Objects: newMemory()})
		if got, err := f.withinFolder(c.address); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s in %s: got %q, %v, want %q", c.address, c.location, got, err, c.want)
		}
		if c.want != "" {
			if got, err := f.withinFolder(f.sparkPath(c.want)); err != nil || got != c.want {
				t.Errorf("%s in %s, as this package writes it: got %q, %v", c.want, c.location, got, err)
			}
		}
	}
}
