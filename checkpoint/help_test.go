package checkpoint_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
	"sluice/offsets"
)

const testdata = "../testdata/checkpoint"

func mustParse(t *testing.T, text string) offsets.Offsets {
	t.Helper()
	o, err := offsets.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantFault checks an error's class, that it says what to do, and what it names.
func wantFault(t *testing.T, err error, class batch.Class, names ...string) {
	t.Helper()
	var fault *batch.Fault
	if !errors.As(err, &fault) || fault.Class != class {
		t.Errorf("got %v, want a fault of class %d", err, class)
		return
	}
	if batch.HintOf(err) == "" {
		t.Errorf("%v: no hint", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to name %q", err, name)
		}
	}
}

// folder copies a golden checkpoint into a store.
func folder(t *testing.T, name string) *objectstore.Memory {
	t.Helper()
	s := objectstore.NewMemory(t.Name())
	root := filepath.Join(testdata, name)
	noError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return s.Put(t.Context(), filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))), data)
	}))
	return s
}

// put writes objects as another program would.
func put(t *testing.T, s objectstore.Store, objects map[string]string) {
	t.Helper()
	for key, data := range objects {
		noError(t, s.Put(t.Context(), key, []byte(data)))
	}
}

func get(t *testing.T, s objectstore.Store, key string) string {
	t.Helper()
	data, _, err := s.Get(t.Context(), key)
	noError(t, err)
	return string(data)
}

func list(t *testing.T, s objectstore.Store, prefix string) []string {
	t.Helper()
	keys, err := s.List(t.Context(), prefix, "")
	noError(t, err)
	return keys
}

// simple is a plan over one partition.
func simple(n, from, until int64) *batch.Plan {
	tp := offsets.TopicPartition{Topic: "orders", Partition: 0}
	return &batch.Plan{Batch: n, Start: offsets.Offsets{tp: from}, End: offsets.Offsets{tp: until}, Isolation: batch.ReadCommitted, TimestampMs: 1}
}

// fill writes batches 0 to n-1 of ten offsets each, committed.
func fill(t *testing.T, s objectstore.Store, n int64) *checkpoint.Log {
	t.Helper()
	l := checkpoint.NewLog(s)
	_, err := l.CreateQuery(t.Context(), "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10")
	noError(t, err)
	_, err = l.PinStart(t.Context(), simple(0, 0, 0).Start)
	noError(t, err)
	for i := range n {
		noError(t, l.WritePlan(t.Context(), simple(i, i*10, i*10+10)))
		noError(t, l.WriteCommit(t.Context(), i))
	}
	return l
}

// counted counts the requests that reach a store.
type counted struct {
	objectstore.Store
	gets, lists, writes int
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, objectstore.Version, error) {
	c.gets++
	return c.Store.Get(ctx, key)
}

func (c *counted) List(ctx context.Context, prefix, after string) ([]string, error) {
	c.lists++
	return c.Store.List(ctx, prefix, after)
}

func (c *counted) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	c.writes++
	return c.Store.PutIfAbsent(ctx, key, data)
}

func (c *counted) PutIfMatch(ctx context.Context, key string, data []byte, v objectstore.Version) (objectstore.Version, error) {
	c.writes++
	return c.Store.PutIfMatch(ctx, key, data, v)
}

func (c *counted) Put(ctx context.Context, key string, data []byte) error {
	c.writes++
	return c.Store.Put(ctx, key, data)
}

func (c *counted) Delete(ctx context.Context, keys ...string) error {
	c.writes++
	return c.Store.Delete(ctx, keys...)
}

func sha256Hex(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// afterList does something once, after the first listing of a prefix.
type afterList struct {
	objectstore.Store
	prefix string
	do     func()
}

func (a *afterList) List(ctx context.Context, prefix, after string) ([]string, error) {
	keys, err := a.Store.List(ctx, prefix, after)
	if do := a.do; prefix == a.prefix && do != nil {
		a.do = nil
		do()
	}
	return keys, err
}
