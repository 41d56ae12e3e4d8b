package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/files"
	"sluice/objectstore"
	"sluice/offsets"
	"sluice/verify"
)

// counted counts the requests that a store gets, by their kind; a listing takes one for every thousand keys.
type counted struct {
	objectstore.Store
	mu       sync.Mutex
	requests map[string]int
}

func (c *counted) add(kind string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[kind] += n
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, objectstore.Version, error) {
	c.add("get", 1)
	return c.Store.Get(ctx, key)
}

func (c *counted) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	c.add("put", 1)
	return c.Store.PutIfAbsent(ctx, key, data)
}

func (c *counted) Delete(ctx context.Context, keys ...string) error {
	c.add("delete", 1+len(keys)/1000)
	return c.Store.Delete(ctx, keys...)
}

func (c *counted) List(ctx context.Context, prefix, after string) ([]string, error) {
	keys, err := c.Store.List(ctx, prefix, after)
	c.add("list", 1+len(keys)/1000)
	return keys, err
}

const costQuery = "3f6c0a52-0000-4000-8000-000000000001"

var costPlace = offsets.TopicPartition{Topic: "orders"}

// costManifest is the manifest of a batch of ten records in one file.
func costManifest(t *testing.T, folder string, n int64) *files.Manifest {
	t.Helper()
	ledger := &batch.Ledger{Query: costQuery, Name: "orders", Batch: n, Plan: fmt.Sprint("plan ", n), Run: "run", Uncounted: batch.None,
		Accounts: map[offsets.TopicPartition]batch.Account{costPlace: {Next: 10*n + 10, Epoch: -1, Rows: 10*n + 10}}}
	properties, err := ledger.Properties()
	if err != nil {
		t.Fatal(err)
	}
	return &files.Manifest{V: 1, Folder: folder, Query: costQuery, Name: "orders", Batch: n, Previous: n - 1, Plan: ledger.Plan, Run: "run", Attempt: fmt.Sprint("attempt ", n), WrittenMs: 1,
		Counts: files.Counts{Rows: 10}, Ledger: properties, Files: []batch.DataFile{{Path: fmt.Sprintf("part-%d-0-0-x.zstd.parquet", n), Bytes: 1000, Records: 10}}}
}

// filledFolder is a folder with batches up to n, the last two hundred of which stand alone.
func filledFolder(t *testing.T, n int64) (*folder, *counted) {
	t.Helper()
	store := &counted{Store: objectstore.NewMemory("folder"), requests: map[string]int{}}
	location := t.TempDir()
	data, err := lakesink.OpenStore(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	sleepless := func(context.Context, time.Duration) error { return nil }
	f := &folder{files.New(files.Options{Location: location, Objects: objects{store}, Store: data, Sleep: sleepless}), verify.Folder{Location: location, Objects: objects{store}, Store: data}}
	if err := f.Create(t.Context(), columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Int64}}}); err != nil {
		t.Fatal(err)
	}
	made, err := f.Table(t.Context(), costQuery)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, text string) {
		if err := store.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	marshal := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for from := int64(0); from < n-200; from += 100 {
		lines := []string{fmt.Sprintf(`{"v":1,"folder":%q,"query":%q,"from":%d,"until":%d,"manifests":100}`, made.UUID, costQuery, from, from+100)}
		for k := from; k < from+100; k++ {
			lines = append(lines, marshal(&struct {
				ID int64 `json:"id"`
				*files.Manifest
			}{k + 1, costManifest(t, made.UUID, k)}))
		}
		put(fmt.Sprintf("_sluice_ranges/%s/%d-%d.jsonl", costQuery, from, from+100), strings.Join(lines, "\n")+"\n")
	}
	for k := n - 200; k < n; k++ {
		put(fmt.Sprintf("_sluice/%s/%d.json", costQuery, k), marshal(costManifest(t, made.UUID, k)))
	}
	return f, store
}

// What docs/files.md says of requests, in a folder with 10,000 batches: they do not grow with how many there are.
func TestAFolderOfTenThousandBatchesCostsFewRequests(t *testing.T) {
	t.Parallel()
	f, store := filledFolder(t, 10_000)
	takes := func(what, want string, do func() error) {
		t.Helper()
		clear(store.requests)
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := fmt.Sprint(maps.Clone(store.requests)); got != want {
			t.Errorf("%s took %s, want %s", what, got, want)
		}
	}
	var applied *batch.Applied
	next := int64(10_000)
	commit := func() (err error) {
		applied, err = f.Commit(t.Context(), &batch.Commit{Query: costQuery, Name: "orders", Run: "run", Plan: &batch.Plan{Batch: next, Hash: fmt.Sprint("plan ", next),
			Start: offsets.Offsets{costPlace: 10 * next}, End: offsets.Offsets{costPlace: 10*next + 10}}})
		next++
		return err
	}
	look := func() error {
		found, err := f.Table(t.Context(), costQuery)
		if err == nil && (found.Applied.Batch != next-1 || found.Applied.Broken != nil) {
			t.Errorf("got batch %d, %v, want %d", found.Applied.Batch, found.Applied.Broken, next-1)
		}
		return err
	}
	takes("a run without records", "map[get:2 list:1]", look)
	takes("a batch", "map[get:5 list:2 put:1]", commit)
	takes("upkeep that is not due", "map[]", func() error { return f.Maintain(t.Context(), applied) })
	for next < 10_010 {
		if err := commit(); err != nil {
			t.Fatal(err)
		}
	}
	takes("upkeep that makes a range", "map[delete:1 get:214 list:1 put:1]", func() error { return f.Maintain(t.Context(), applied) })
	takes("upkeep that finds nothing to do", "map[get:2 list:1]", func() error { return f.Maintain(t.Context(), applied) })
	takes("a run after it", "map[get:2 list:1]", look)
	takes("status", "map[get:210 list:2]", func() error {
		all, _, err := f.filesThatCount(t.Context())
		if len(all) != 10_000 || !strings.HasSuffix(all[9_999], "/part-9999-0-0-x.zstd.parquet") {
			t.Errorf("got %d files", len(all))
		}
		return err
	})
}
