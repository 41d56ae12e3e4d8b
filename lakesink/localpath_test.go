package lakesink

import (
	"os"
	"path/filepath"
	"testing"
)

// Iceberg's own library, PyIceberg and DuckDB take addresses as they stand: https://github.com/apache/iceberg/issues/10279
func TestAnEscapeInAnAddressIsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plain", "two words/data"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"/plain/time=22%3A31/x":            "/plain/time=22%3A31/x", // a folder that is made
		"/two%20words/data/time=22%3A31/x": "/two words/data/time=22%3A31/x",
		"/two%20words/data":                "/two words/data",
		"/nothing%20there/a":               "/nothing there/a",
		"/plain/100%/x":                    "/plain/100%/x", // no escape
		"/plain/without/any":               "/plain/without/any",
		"/plain/p=%E6%97%A5/q=..%2F..":     "/plain/p=%E6%97%A5/q=..%2F..",
	} {
		if got := localPath("file://" + dir + address); got != dir+want {
			t.Errorf("%s is %s, want %s", address, got, dir+want)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "plain/time=22:31"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := localPath("file://"+dir+"/plain/time=22%3A31/x"), dir+"/plain/time=22:31/x"; got != want {
		t.Errorf("beside a folder of the other name: got %s, want %s", got, want)
	}
}

func TestAPartitionNeverLiesInTheFolderOfAnother(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"two words/data/s=+", "two words/data/s=%2B", "x=1 2/data"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"/two%20words/data/s=%252B/a.parquet":     "/two words/data/s=%252B/a.parquet",
		"/two%20words/data/s=%2B/t=%2B/a.parquet": "/two words/data/s=%2B/t=%2B/a.parquet",
		"/two%20words/data/s=+/a.parquet":         "/two words/data/s=+/a.parquet",
		"/x=1%202/data/s=%2B/a.parquet":           "/x=1 2/data/s=%2B/a.parquet", // a table's place has a = too
		"/x=1%202/data/a.parquet":                 "/x=1 2/data/a.parquet",
	} {
		if got := localPath("file://" + dir + address); got != dir+want {
			t.Errorf("%s is %s, want %s", address, got, dir+want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "two words/data/s=%2B")); err != nil {
		t.Fatal(err)
	}
	if got, want := localPath("file://"+dir+"/two%20words/data/s=%2B/a.parquet"), dir+"/two words/data/s=%2B/a.parquet"; got != want {
		t.Errorf("where only the other partition has a folder: got %s, want %s", got, want)
	}
}
