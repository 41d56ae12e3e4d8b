//go:build integration && soak

package lakesink

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
	"sluice/rig"
)

var planningBatches = flag.Int("planning-batches", 10_000, "`how many` batches TestSoakPlanning commits to each table")

var planningSpark = flag.Bool("planning-spark", false, "have a Spark plan reads of the tables of TestSoakPlanning too, which needs Java and Maven")

const (
	firstBatch       = 1_772_600_000_000_000
	everyFiveMinutes = 5 * 60 * 1_000_000
	oneDay           = 24 * 3600 * 1_000_000
)

// timesOf are those of a batch's ten rows: eight of now, one that is a day late and one that is two days late.
func timesOf(n int64) (times [10]int64) {
	for k := range times {
		times[k] = firstBatch + n*everyFiveMinutes - max(0, int64(k)-7)*oneDay
	}
	return times
}

// batchRows are ten rows of one partition, five minutes after those of the batch before.
func batchRows(n int64) *columns.Batch {
	times := timesOf(n)
	rows := len(times)
	var keys, values, offs, at []any
	for k, when := range times {
		o := n*int64(rows) + int64(k)
		keys, values, offs, at = append(keys, fmt.Appendf(nil, "key-%d", k)), append(values, fmt.Appendf(nil, `{"order_id":%d}`, o)), append(offs, o), append(at, when)
	}
	s := rawSchema()
	return &columns.Batch{Rows: rows, Columns: []columns.Array{rowtest.Array(s[0].Type, keys), rowtest.Array(s[1].Type, values), rowtest.Constant(s[2].Type, topic, rows),
		rowtest.Constant(s[3].Type, int32(0), rows), rowtest.Array(s[4].Type, offs), rowtest.Array(s[5].Type, at), rowtest.Constant(s[6].Type, int32(0), rows)}}
}

// applyRows commits one batch of these rows.
func applyRows(t testing.TB, s *Iceberg, n int64) {
	t.Helper()
	ctx := context.Background()
	at, err := s.Table(ctx, queryID)
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(n, 10*n, 10*n+10)
	var results []batch.TaskResult
	for index, r := range plan.Ranges() {
		task := &batch.Task{Version: batch.FormatVersion, Query: queryID, Batch: n, Plan: plan.Hash, Index: index, SchemaID: at.SchemaID, SpecID: at.SpecID,
			Pieces: []batch.Piece{{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}}}
		result := batch.TaskResult{Version: batch.FormatVersion, Query: queryID, Batch: n, Plan: plan.Hash, Index: index, Attempt: "a", SchemaID: at.SchemaID, SpecID: at.SpecID,
			Pieces: []batch.PieceResult{{Piece: task.Pieces[0], Position: r.Until, Delivered: r.Len(), Rows: r.Len()}}}
		if index == 0 {
			w, err := s.Write(ctx, task, fmt.Sprint("a", n), rawSchema())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(ctx, batchRows(n)); err != nil {
				t.Fatal(err)
			}
			if result.Files, err = w.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		results = append(results, result)
	}
	applied, err := s.Commit(ctx, commitOf(s, queryID, plan, results))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(ctx, applied); err != nil {
		t.Fatal(err)
	}
}

// What a reader opens before the first data file must not grow with the number of batches. Counts decide; the times, which PyIceberg
// and DuckDB took, are shown beside those of the first table, for they depend on who else is using the machine.
func TestSoakPlanning(t *testing.T) {
	for name, partitions := range map[string][]layout.Term{"unpartitioned": nil, "by_day": {{Transform: layout.Day, Column: "timestamp"}}} {
		for _, version := range []string{"2", "3"} {
			t.Run(name+"_v"+version, func(t *testing.T) { planningAt(t, partitions, version) })
		}
	}
}

func planningAt(t *testing.T, partitions []layout.Term, version string) {
	c := openSQLite(t, t.TempDir())
	o := testOptions()
	o.ExpireEvery, o.KeepSnapshots, o.PartitionBy, o.TableProperties = DefaultExpireEvery, DefaultKeepSnapshots, partitions, map[string]string{table.PropertyFormatVersion: version}
	s := New(c, o)
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	var first *rig.Planning
	for at := int64(10); at <= int64(*planningBatches); at *= 10 {
		for ; n < at; n++ {
			applyRows(t, s, n)
		}
		if at == 100 {
			continue
		}
		day := (firstBatch + at/2*everyFiveMinutes) / oneDay * oneDay
		metadata := localPath(load(t, c).MetadataLocation())
		filters := []string{fmt.Sprintf("offset = %d", at/2*10), fmt.Sprintf("timestamp >= '%s' and timestamp < '%s'", clock(day), clock(day+oneDay))}
		if *planningSpark {
			planInSpark(t, metadata, at, filters, rowsOn(at, day))
		}
		p := rig.Plan(t, metadata, 3, filters...)
		if first == nil {
			first = &p
		}
		showPlanning(t, at, p, *first)
		wantPlanning(t, at, p, rowsOn(at, day), partitions != nil)
	}
}

// planInSpark prints how long a Spark takes, and checks what it finds.
func planInSpark(t *testing.T, metadata string, batches int64, filters []string, onDay int64) {
	t.Helper()
	for k, plan := range rig.PlanInSpark(t, metadata, 3, filters...) {
		t.Logf("%d batches: Spark plans %d tasks in %.3f s, counts in %.3f s: %s", batches, plan.Tasks, plan.Plan, plan.Count, cmp.Or(plan.Filter, "all"))
		if want := []int64{10 * batches, 1, onDay}[k]; plan.Rows != want {
			t.Errorf("%d batches: Spark finds %d rows for %q, want %d", batches, plan.Rows, plan.Filter, want)
		}
	}
}

// showPlanning prints one table, and how many times as long as in the first one engines took.
func showPlanning(t *testing.T, batches int64, p, first rig.Planning) {
	t.Helper()
	t.Logf("%d batches: %d manifests of %d B, list %d B, metadata %d B", batches, p.AllManifests, p.ManifestBytes, p.ListBytes, p.MetadataBytes)
	for k, plan := range p.Plans {
		t.Logf("  %5d manifests, %5d files, PyIceberg %.3f s (x%.1f), DuckDB %.3f s (x%.1f): %s", plan.Manifests, plan.Files, plan.Plan, plan.Plan/first.Plans[k].Plan,
			plan.Count, plan.Count/first.Plans[k].Count, cmp.Or(plan.Filter, "all"))
	}
}

// wantPlanning checks what was found and how much was opened for it.
func wantPlanning(t *testing.T, batches int64, p rig.Planning, onDay int64, partitioned bool) {
	t.Helper()
	if most := table.ManifestMinMergeCountDefault + 30; p.AllManifests > most {
		t.Errorf("%d batches: %d manifests, want at most %d", batches, p.AllManifests, most)
	}
	if most := int64(10 << 10); p.ListBytes > most || p.MetadataBytes > most {
		t.Errorf("%d batches: a manifest list of %d B and metadata of %d B, want at most %d each", batches, p.ListBytes, p.MetadataBytes, most)
	}
	for k, rows := range []int64{10 * batches, 1, onDay} {
		if p.Plans[k].Rows != rows {
			t.Errorf("%d batches: %q finds %d rows, want %d", batches, p.Plans[k].Filter, p.Plans[k].Rows, rows)
		}
	}
	if p.Plans[1].Files != 1 {
		t.Errorf("%d batches: %d files are to be read for one offset", batches, p.Plans[1].Files)
	}
	if got := p.Plans[2].Manifests; partitioned && batches >= 10_000 && got > 5 {
		t.Errorf("%d batches: %d of %d manifests are read for a day in the middle, want at most 5", batches, got, p.AllManifests)
	}
}

// rowsOn is how many rows of so many batches are of a day.
func rowsOn(batches, day int64) (rows int64) {
	for n := range batches {
		for _, at := range timesOf(n) {
			if at >= day && at < day+oneDay {
				rows++
			}
		}
	}
	return rows
}

// clock writes a time in microseconds as both engines read it.
func clock(at int64) string { return time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05+00:00") }
