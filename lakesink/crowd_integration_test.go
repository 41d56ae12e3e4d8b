//go:build integration

package lakesink

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/offsets"
	"sluice/rig"
)

// crowd are queries that commit to one table at the same time, each with a partition of its own.
type crowd struct {
	queries, batches int
	rows             int64
	// open opens the catalog for one of them, as another process would.
	open func() catalog.Catalog
}

// planFor is batch n of query k.
func (c *crowd) planFor(k int, n int64) *batch.Plan {
	tp := offsets.TopicPartition{Topic: topic, Partition: int32(k)}
	return &batch.Plan{Batch: n, Start: offsets.Offsets{tp: n * c.rows}, End: offsets.Offsets{tp: (n + 1) * c.rows}, Hash: fmt.Sprintf("%064x", 1000*k+int(n)), TopicIDs: map[string]string{topic: "id"}}
}

func (c *crowd) queryID(k int) string { return fmt.Sprintf("3f6c0a52-0000-4000-8000-%012d", k) }

// commit commits all batches of one query and returns how often it had to wait at most for one of them.
func (c *crowd) commit(k int) (waits int, err error) {
	o := testOptions()
	most := 0
	o.Backoff, o.Sleep = nil, func(ctx context.Context, d time.Duration) error { waits++; return Sleep(ctx, d) }
	s := New(c.open(), o)
	for n := range int64(c.batches) {
		waits = 0
		a, err := apply(s, c.queryID(k), c.planFor(k, n))
		if err != nil {
			return most, fmt.Errorf("query %d, batch %d: %w", k, n, err)
		}
		if a.Batch != n {
			return most, fmt.Errorf("query %d, batch %d: the table has batch %d", k, n, a.Batch)
		}
		most = max(most, waits)
	}
	return most, nil
}

// all lets every query commit at once.
func (c *crowd) all(t *testing.T) {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	waits, errs := make([]int, c.queries), make([]error, c.queries)
	for k := range c.queries {
		all.Go(func() { waits[k], errs[k] = c.commit(k) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	slices.Sort(waits)
	t.Logf("%d queries with %d batches each in %s; the most that one waited for a batch: median %d times, most %d", c.queries, c.batches, time.Since(began).Round(time.Millisecond), waits[len(waits)/2], waits[len(waits)-1])
}

// want is every row of every query.
func (c *crowd) want() (rows []rig.Row) {
	for k := range c.queries {
		rows = append(rows, rowsOf(int32(k), 0, int64(c.batches)*c.rows)...)
	}
	return rows
}

// https://github.com/apache/iceberg-go/pull/1079, https://github.com/apache/iceberg-go/issues/830: a hundred queries commit to
// one table at the same time. All land, once each, and none gives up.
func TestAHundredQueriesCommitToOneTableAtOnce(t *testing.T) {
	dir := t.TempDir()
	c := &crowd{queries: 100, batches: 1, rows: 5, open: func() catalog.Catalog { return openSQLite(t, dir) }}
	c.proves(t, dir)
}

func TestQueriesCommitToOneTableOnS3AtOnce(t *testing.T) {
	dir, bucket := t.TempDir(), rig.S3(t)
	c := &crowd{queries: 12, batches: 2, rows: 5}
	c.open = func() catalog.Catalog {
		lake, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: bucket.Folder, Properties: map[string]string{"s3.endpoint": bucket.Endpoint}})
		if err != nil {
			t.Fatal(err)
		}
		return lake
	}
	c.proves(t, dir)
}

// proves has the queries commit to a new table, and others read it.
func (c *crowd) proves(t *testing.T, dir string) {
	t.Helper()
	if err := newSink(c.open()).Create(t.Context(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	c.all(t)
	wantReading(t, rig.Python(t)("--catalog-db", filepath.Join(dir, "catalog.db"), "--catalog-name", "default", "--table", tableName), c.want())
	if n := len(load(t, c.open()).Metadata().Snapshots()); n != c.queries*c.batches {
		t.Errorf("the table has %d snapshots, want %d", n, c.queries*c.batches)
	}
}
