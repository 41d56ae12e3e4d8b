package cmd_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// leftNothing fails the test if a run left a table, or anything in its checkpoint.
func (p *pipeline) leftNothing(t testing.TB) {
	t.Helper()
	for _, pattern := range []string{"*.parquet", "*.metadata.json", "*.gz.metadata.json", "*.avro"} {
		if found := filesIn(t, p.dir, pattern); len(found) > 0 {
			t.Errorf("left %v", found)
		}
	}
	if found := filesIn(t, p.checkpoint(), "[^.]*"); len(found) > 0 {
		t.Errorf("left %v in the checkpoint", found)
	}
}

// filesIn is files of a folder that need not be there.
func filesIn(t testing.TB, dir, pattern string) []string {
	t.Helper()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return files(t, dir, pattern)
}

// refusing is an address at which nobody listens.
func refusing(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silent accepts connections and never answers.
func silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	return l.Addr().String()
}

var _ = filepath.Join
