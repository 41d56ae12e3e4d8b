package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFileIsReadWithinBounds(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct{ path, want string }{
		"as large as may be": {file("a", largestFile), ""},
		"too large":          {file("b", largestFile+1), "larger than 4 MiB"},
		"a device":           {"/dev/zero", "a device"},
		"a folder":           {dir, "a folder"},
		"none":               {filepath.Join(dir, "none"), "no such file"},
	} {
		content, err := ReadFile(t.Context(), tc.path)
		if tc.want == "" && (err != nil || len(content) != largestFile) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %d bytes, %v, want %q", name, len(content), err, tc.want)
		}
	}
}

// pipe is a named pipe in a folder of its own.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// As a shell makes it of <(…).
func TestAPipeIsReadToItsEndAndWithinBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		size int
		want error
	}{"small": {1 << 20, nil}, "endless": {largestFile + 1<<20, errTooLarge}} {
		path := pipe(t)
		wrote := make(chan error, 1)
		go func() { wrote <- os.WriteFile(path, make([]byte, tc.size), 0) }()
		content, err := ReadFile(t.Context(), path)
		if !errors.Is(err, tc.want) || tc.want == nil && len(content) != tc.size {
			t.Errorf("%s: got %d bytes, %v, want %v", name, len(content), err, tc.want)
		}
		if err := <-wrote; err != nil && tc.want == nil {
			t.Error(err)
		}
	}
}

func TestAPipeThatNobodyWritesToIsLeftWhenAskedTo(t *testing.T) {
	told := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(told)
	if _, err := ReadFile(ctx, pipe(t)); !errors.Is(err, told) {
		t.Errorf("got %v, want %v", err, told)
	}
}

func TestWithoutAWorkingDirectoryOnlyRelativePathsAreWrong(t *testing.T) {
	base := []string{"source.subscribe=orders", "source.kafka.bootstrap.servers=b:9092", "sink.iceberg.table=a.t"}
	for warehouse, wrong := range map[string]bool{"/data/lake": false, "s3://lake/x": false, "lake": true} {
		_, err := Load(Input{Set: append([]string{"checkpoint=/data/c", "sink.iceberg.catalog.uri=/data/c.db", "sink.iceberg.catalog.warehouse=" + warehouse}, base...), WorkDirError: os.ErrNotExist})
		if got := err != nil && strings.Contains(err.Error(), "no working directory"); got != wrong || !wrong && err != nil {
			t.Errorf("%s: got %v", warehouse, err)
		}
	}
}

func TestAnAddressHoldsNoCredentials(t *testing.T) {
	for _, set := range []string{"checkpoint=s3://b/x?access_key=AK&secret_key=SEKRET", "checkpoint=s3://b/x?sessionToken=SEKRET", "checkpoint=s3://b/x?endpoint=http://me:SEKRET@host",
		"checkpoint=file://user:SEKRET@/x", "checkpoint=file://user:SEKRET@localhost/x", "checkpoint=s3://me:SEKRET@b/x", "sink.iceberg.catalog.warehouse=s3://b/x?secret_key=SEKRET",
		"sink.iceberg.catalog.warehouse=file://user:SEKRET@/x", "sink.iceberg.catalog.uri=file://user:SEKRET@/x", "sink.iceberg.catalog.uri=mysql://me:SEKRET@db/x"} {
		key, _, _ := strings.Cut(set, "=")
		_, err := Load(Input{Set: []string{set}, WorkDir: "/"})
		if err == nil || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), "AK&") {
			t.Errorf("%s: got %v", set, err)
		}
	}
}
