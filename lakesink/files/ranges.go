package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sluice/batch"
)

const (
	// rangeSize is how many batches a range holds, keptAlone how many of the newest always keep a manifest of their own.
	rangeSize = 100
	keptAlone = 100
	// mostRangeBytes bounds a range: a store of small objects reads no larger ones. What is known of the columns of files is left
	// out where it would be exceeded; above some hundred thousand files in a hundred batches their manifests stay alone.
	mostRangeBytes = 24 << 20
)

// rangeHead is the first line of a range. One line follows for each of its manifests, in order.
type rangeHead struct {
	V      int    `json:"v"`
	Folder string `json:"folder"`
	Query  string `json:"query"`
	// From and Until are the numbers of batches that it stands for, also of those that it has no manifest of.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	// Manifests counts them.
	Manifests int `json:"manifests"`
}

// ranged is a manifest in a range. Only the last one keeps its ledger, which counts those before it too, and what stood alone.
type ranged struct {
	ID int64 `json:"id"`
	Manifest
}

// rangeStart is where the range of a batch begins.
func rangeStart(n int64) int64 { return n - n%rangeSize }

func rangeKey(query string, from int64) string {
	return fmt.Sprintf("%s%s/%d-%d.jsonl", rangeFolder, query, from, from+rangeSize)
}

// rangeOf reads the range of a batch: its manifests in order. fs.ErrNotExist if there is none yet.
func (f *Folder) rangeOf(ctx context.Context, query string, n int64) ([]*Manifest, error) {
	key := rangeKey(query, rangeStart(n))
	text, err := f.options.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	all, err := parseRange(text, query, rangeStart(n))
	if err != nil {
		return nil, f.damaged(key, err)
	}
	return all, nil
}

func parseRange(text []byte, query string, from int64) ([]*Manifest, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var head rangeHead
	if err := json.Unmarshal(lines[0], &head); err != nil {
		return nil, err
	}
	if head.V != formatVersion && head.V != sparkVersion || head.Query != query || head.From != from || head.Manifests != len(lines)-1 {
		return nil, fmt.Errorf("it is of batches from %d of query %s, format version %d, with %d of %d manifests", head.From, head.Query, head.V, len(lines)-1, head.Manifests)
	}
	var all []*Manifest
	for _, line := range lines[1:] {
		var r ranged
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		m := r.Manifest
		m.id = r.ID
		all = append(all, &m)
	}
	return all, nil
}

// inRange is a batch's manifest in its range. fs.ErrNotExist if there is no such range, or it has none of the batch.
func (f *Folder) inRange(ctx context.Context, query string, n int64) (*Manifest, error) {
	all, err := f.rangeOf(ctx, query, n)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(m *Manifest) bool { return m.Batch == n })
	if at < 0 {
		return nil, fmt.Errorf("batch %d is not in %s: %w", n, rangeKey(query, rangeStart(n)), fs.ErrNotExist)
	}
	return all[at], nil
}

// newestRanged is the newest manifest in any range of a query that has none alone, nil if there is no range.
func (f *Folder) newestRanged(ctx context.Context, query string) (*Manifest, error) {
	keys, err := f.options.Objects.List(ctx, rangeFolder+query+"/", "")
	if err != nil {
		return nil, err
	}
	last := batch.None
	for _, key := range keys {
		var from, until int64
		if _, err := fmt.Sscanf(key[len(rangeFolder+query+"/"):], "%d-%d.jsonl", &from, &until); err == nil && rangeKey(query, from) == key {
			last = max(last, from)
		}
	}
	if last == batch.None {
		return nil, nil
	}
	all, err := f.rangeOf(ctx, query, last)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[len(all)-1], nil
}

// Maintain keeps what is listed with every commit bounded: manifests of a hundred batches become lines of one object, once a
// hundred newer ones are there, and are then removed. A range is created only if there is none, what it holds follows from
// the manifests alone, and nothing is removed before it is there: whoever reads meanwhile finds either.
//
// It also makes up for what of Spark's log was not written when its batch was committed.
//
// A name that is free again is no invitation: a run that slept for long may create the manifest of a batch whose range has
// been made. The range decides: what is in it counts, and Commit looks there first.
func (f *Folder) Maintain(ctx context.Context, applied *batch.Applied) error {
	due := applied.Batch >= rangeSize+keptAlone-1 && (applied.Batch%10 == 9 || f.options.DeadLetters)
	if applied.Ledger == nil || !due && !f.options.SparkMetadata {
		return nil
	}
	query := applied.Ledger.Query
	s, err := f.look(ctx)
	if err != nil || s.schema == nil {
		return err
	}
	newest, err := f.tip(ctx, s, query)
	if err == nil {
		err = s.crossed
	}
	if err != nil || newest == nil || s.turn != nil { // after Spark's turn there is nothing to make up for
		return err
	}
	if err := f.publish(ctx, s, newest); err != nil || !due {
		return err
	}
	for _, from := range closable(s.manifests[query], newest.Batch) {
		if err := f.closeRange(ctx, s, newest, from); err != nil {
			return fmt.Errorf("make one object of the manifests of batches %d to %d: %w", from, from+rangeSize-1, err)
		}
	}
	return nil
}

// closable lists the beginnings of ranges with manifests that need not stand alone any more.
func closable(numbers []int64, newest int64) []int64 {
	var starts []int64
	for _, n := range numbers {
		if from := rangeStart(n); rangedBy(n, newest) && !slices.Contains(starts, from) {
			starts = append(starts, from)
		}
	}
	return starts
}

// rangedBy says whether a batch may be in a range once there is the newest.
func rangedBy(n, newest int64) bool { return rangeStart(n)+rangeSize+keptAlone-1 <= newest }

// closeRange makes a range and removes the manifests that it stands for.
func (f *Folder) closeRange(ctx context.Context, s *state, newest *Manifest, from int64) error {
	_, err := f.rangeOf(ctx, newest.Query, from)
	if errors.Is(err, fs.ErrNotExist) {
		var text []byte
		if text, err = f.gather(ctx, newest, from); err != nil || len(text) > mostRangeBytes {
			return err
		}
		err = f.options.Objects.Own(ctx, rangeKey(newest.Query, from), text)
	}
	if err != nil {
		return err
	}
	var old []string
	for _, n := range s.manifests[newest.Query] {
		if rangeStart(n) == from {
			old = append(old, manifestKey(newest.Query, n))
		}
	}
	return f.options.Objects.Delete(ctx, old...)
}

// gather is a range as bytes: the manifests between its bounds that are met on the way back from the newest. One that is
// missing there is an error: nothing is removed.
func (f *Folder) gather(ctx context.Context, newest *Manifest, from int64) ([]byte, error) {
	var all []*Manifest
	for at := newest; at != nil && at.Batch >= from; {
		if at.Batch < from+rangeSize {
			all = append(all, at)
		}
		before, err := f.before(ctx, at)
		if err != nil && at.Previous >= from { // what lies before the range is another range's
			return nil, fmt.Errorf("read the manifest of batch %d, which %d follows: %w", at.Previous, at.Batch, err)
		}
		at = before
	}
	slices.Reverse(all)
	text, err := rangeText(newest, from, all)
	if err != nil || len(text) <= mostRangeBytes {
		return text, err
	}
	return rangeText(newest, from, lean(all))
}

// lean leaves out of manifests what is known of the columns of their files: most of what a manifest with very many files is.
func lean(all []*Manifest) []*Manifest {
	leaner := make([]*Manifest, len(all))
	for i, m := range all {
		is := *m
		is.Files = make([]batch.DataFile, len(m.Files))
		for k, file := range m.Files {
			is.Files[k] = batch.DataFile{Path: file.Path, Bytes: file.Bytes, Records: file.Records, SpecID: file.SpecID, Partition: file.Partition, SortOrderID: file.SortOrderID}
		}
		leaner[i] = &is
	}
	return leaner
}

// rangeText is a range as bytes.
func rangeText(newest *Manifest, from int64, all []*Manifest) ([]byte, error) {
	version := formatVersion
	for _, m := range all {
		version = max(version, m.version())
	}
	text, err := json.Marshal(&rangeHead{V: version, Folder: newest.Folder, Query: newest.Query, From: from, Until: from + rangeSize, Manifests: len(all)})
	if err != nil {
		return nil, err
	}
	for i, m := range all {
		line := ranged{ID: m.id, Manifest: *m}
		if i < len(all)-1 {
			line.Ledger, line.Alone = nil, nil
		}
		more, err := json.Marshal(&line)
		if err != nil {
			return nil, err
		}
		text = append(append(text, '\n'), more...)
	}
	return append(text, '\n'), nil
}
