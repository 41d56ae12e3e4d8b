package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/offsets"
)

// targetFlat is how much more than at table version 10 a commit may cost later.
const targetFlat = 1.5

// window is how many commits in a row stand for a table version: old snapshots are expired that often, so that the cost
// of a commit rises and falls within it.
const window = lakesink.DefaultExpireEvery

// step is what one batch cost the table.
type step struct {
	// commit and maintain are the time of the commit and of what follows it.
	commit, maintain time.Duration
	// written is the bytes of new metadata files, newest the size of the newest table metadata among them, and held the
	// size of all metadata that is there.
	written, newest, held int64
}

// measureCommits commits tiny batches and compares the costs at several ages of the table.
func (b *bench) measureCommits(ctx context.Context) error {
	versions := []int64{10, 100, 1000}
	b.begin("commits", fmt.Sprintf("tiny batches into a local table; each version stands for the %d commits that begin with it", window))
	dir, discard, err := b.folder()
	if err != nil {
		return err
	}
	defer discard()
	steps, err := commitMany(ctx, dir, versions[len(versions)-1]+window)
	if err != nil {
		return err
	}
	for _, m := range ageMeasures {
		first := 0.0
		for i, v := range versions {
			n := of(fmt.Sprintf("%s at version %s", m.name, thousands(v)), m.unit, m.value(steps[v:v+window]))
			if i == 0 {
				first = n.Value
				b.add(n)
				continue
			}
			ratio := of(fmt.Sprintf("  / at version %d", versions[0]), "x", n.Value/first)
			if m.target {
				ratio = ratio.atMost(targetFlat)
			}
			b.add(n, ratio)
		}
	}
	return nil
}

// ageMeasures are what is compared between ages.
var ageMeasures = []struct {
	name, unit string
	value      func([]step) float64
	// target says that the value has one, and flat that it does not depend on the machine either.
	target, flat bool
}{
	{"commit, median", "ms", func(s []step) float64 {
		return median(each(s, func(x step) float64 { return x.commit.Seconds() * 1000 }))
	}, true, false},
	{"commit and expiry, mean", "ms", func(s []step) float64 {
		return mean(s, func(x step) float64 { return (x.commit + x.maintain).Seconds() * 1000 })
	}, true, false},
	{"metadata written for a commit, mean", "KiB", func(s []step) float64 {
		return mean(s, func(x step) float64 { return float64(x.written) / 1024 })
	}, true, true},
	{"newest table metadata, mean", "KiB", func(s []step) float64 {
		return mean(s, func(x step) float64 { return float64(x.newest) / 1024 })
	}, true, true},
	{"all metadata that is there, mean", "KiB", func(s []step) float64 {
		return mean(s, func(x step) float64 { return float64(x.held) / 1024 })
	}, false, false},
}

func mean(steps []step, value func(step) float64) float64 {
	total := 0.0
	for _, s := range steps {
		total += value(s)
	}
	return total / float64(len(steps))
}

// commitMany makes a table in dir and commits so many batches to it, with the settings of a run.
func commitMany(ctx context.Context, dir string, count int64) (steps []step, err error) {
	c, err := lakesink.OpenCatalog(ctx, lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.(catalog.Closer).Close()) }()
	s := &smallBatches{decoder: decode.NewRaw(false), sink: lakesink.New(c, lakesink.Options{Table: "bench.commits",
		ExpireEvery: lakesink.DefaultExpireEvery, KeepSnapshots: lakesink.DefaultKeepSnapshots})}
	if err := s.sink.Create(ctx, s.decoder.Schema()); err != nil {
		return nil, err
	}
	if s.table, err = s.sink.Table(ctx, smallQuery); err != nil {
		return nil, err
	}
	for n := range count {
		one, err := s.step(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", n, err)
		}
		steps = append(steps, one)
	}
	return steps, nil
}

const (
	smallQuery = "5d1b6c70-0000-4000-8000-000000000001"
	smallTopic = "orders"
	// smallRows are the rows of a batch.
	smallRows = 10
)

// smallBatches commits batches of a few rows of one partition.
type smallBatches struct {
	sink    *lakesink.Iceberg
	decoder *decode.Raw
	table   *batch.Table
	// seen holds the metadata files that were there after the last commit.
	seen map[string]bool
}

func (s *smallBatches) step(ctx context.Context, n int64) (one step, err error) {
	tp := offsets.TopicPartition{Topic: smallTopic}
	plan := &batch.Plan{Batch: n, Start: offsets.Offsets{tp: n * smallRows}, End: offsets.Offsets{tp: (n + 1) * smallRows},
		TopicIDs: map[string]string{smallTopic: "AAAAAAAAAAAAAAAAAAAAAQ"}, Hash: fmt.Sprintf("%064x", n+1)}
	result, err := s.execute(ctx, plan)
	if err != nil {
		return one, err
	}
	began := time.Now()
	applied, err := s.sink.Commit(ctx, &batch.Commit{Query: smallQuery, Name: "bench", Run: "bench", Plan: plan,
		Results: []batch.TaskResult{*result}, TableUUID: s.table.UUID})
	if err != nil {
		return one, err
	}
	committed := time.Now()
	if err := s.sink.Maintain(ctx, applied); err != nil {
		return one, err
	}
	one.commit, one.maintain = committed.Sub(began), time.Since(committed)
	return one, s.weigh(&one)
}

// execute writes the data file of a batch.
func (s *smallBatches) execute(ctx context.Context, plan *batch.Plan) (*batch.TaskResult, error) {
	r := plan.Ranges()[0]
	piece := batch.Piece{Topic: r.Topic, Partition: r.Partition, From: r.From, Until: r.Until, LeaderEpoch: -1}
	task := &batch.Task{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash, Pieces: []batch.Piece{piece},
		SchemaID: s.table.SchemaID, SpecID: s.table.SpecID}
	attempt := fmt.Sprintf("attempt-%d", plan.Batch)
	w, err := s.sink.Write(ctx, task, attempt, s.decoder.Schema())
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	rows, err := s.decoder.Decode(smallRecords(r))
	if err == nil {
		err = w.Write(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	files, err := w.Close(ctx)
	if err != nil {
		return nil, err
	}
	return &batch.TaskResult{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash, Attempt: attempt, Files: files,
		SchemaID: task.SchemaID, SpecID: task.SpecID,
		Pieces: []batch.PieceResult{{Piece: piece, Position: r.Until, Delivered: r.Len(), Rows: r.Len()}}}, nil
}

func smallRecords(r offsets.Range) *columns.Records {
	records := &columns.Records{Topic: r.Topic, Key: columns.Array{Kind: columns.Binary}, Value: columns.Array{Kind: columns.Binary}}
	maker := newOrders(r.Partition, 0)
	for at := r.From; at < r.Until; at++ {
		key, value, when := maker.next()
		records.Key.AppendBytes(key)
		records.Value.AppendBytes(value)
		records.Offsets = append(records.Offsets, at)
		records.Timestamps = append(records.Timestamps, when.UnixMilli())
		records.Rows++
	}
	return records
}

// weigh looks at the metadata files that are there now.
func (s *smallBatches) weigh(one *step) error {
	location, err := url.Parse(s.table.Location)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(location.Path, "metadata"))
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(entries))
	var newest time.Time
	for _, e := range entries {
		about, err := e.Info()
		if err != nil {
			return err
		}
		seen[e.Name()] = true
		one.held += about.Size()
		if !s.seen[e.Name()] {
			one.written += about.Size()
		}
		if strings.Contains(e.Name(), ".metadata.json") && !about.ModTime().Before(newest) {
			newest, one.newest = about.ModTime(), about.Size()
		}
	}
	s.seen = seen
	return nil
}
