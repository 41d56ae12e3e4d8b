package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"sluice/batch"
)

// Turn is the part of a folder that a Spark query has written, on the same checkpoint: batches of which only Spark's log knows,
// until the manifest of the next batch of ours says what they are.
type Turn struct {
	// From and Until are the first and the last of the batches. What each of them wrote is not told apart.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	// Files have the size that Spark's log says, the rows that their footers say, and the values of partitions that are in their
	// paths.
	Files []batch.DataFile `json:"files"`
}

// turn is a Turn that no manifest has yet.
type turn struct {
	from, until int64
	files       []sinkFile
	// id stands for the snapshot that a table would have.
	id int64
}

// ownName matches the names of data files that this package writes.
var ownName = regexp.MustCompile(`^part-\d+-\d+-\d+-[0-9a-f-]{36}\.zstd\.parquet$`)

// follows says whether what Spark's log has beyond the manifests is the query's: a folder has one query that Spark is told of,
// and until it is known which, it is whoever has the checkpoint. That the batches are the checkpoint's is for the runner to say.
func (f *Folder) follows(s *state, query string) bool {
	switch {
	case f.options.DeadLetters:
		return false
	case s.claim != "":
		return s.claim == query
	}
	return f.options.SparkMetadata || s.schema != nil && s.schema.Spark
}

// turnAfter compares the newest manifest (nil for none) with Spark's log. It returns the newest manifest that counts, and what
// Spark has written after it; nil if nothing.
//
// A manifest that was made and not published before Spark took over does not count, if Spark carried out its batch again: then
// the log, which is there once for every batch, has Spark's files in the place of the manifest's. The log decides, since whoever
// reads by it sees nothing else.
//
// A log that is ahead with files of this package's alone is that of a folder whose manifests were restored: nothing of Spark's.
func (f *Folder) turnAfter(ctx context.Context, s *state, newest *Manifest) (*Manifest, *turn, error) {
	logs, err := f.sparkLogs(ctx)
	if err != nil {
		return nil, nil, err
	}
	last := newestLog(logs)
	if last == batch.None || newest != nil && last < newest.Batch {
		return newest, nil, nil
	}
	if newest != nil && last == newest.Batch {
		if published, err := f.isPublished(ctx, logs[last], newest); published || err != nil {
			return newest, nil, err
		}
	}
	l, err := f.readSpark(ctx, logs)
	if err != nil {
		return nil, nil, err
	}
	counts, err := f.countedBy(ctx, l, newest)
	if err != nil {
		return nil, nil, err
	}
	t := &turn{until: l.last, id: l.id}
	if counts != nil {
		t.from = counts.Batch + 1
	}
	return f.sortOut(ctx, l, newest, counts, t)
}

// isPublished says whether the log of the newest manifest's batch is certainly of that manifest, by reading nothing else. A folder
// that was moved has the addresses of before in its log.
func (f *Folder) isPublished(ctx context.Context, name string, m *Manifest) (bool, error) {
	text, err := f.options.Objects.Get(ctx, sparkFolder+name)
	if err != nil {
		return false, err
	}
	listed, ours := 0, true
	of := map[string]bool{}
	for _, file := range m.Files {
		of[path.Base(file.Path)] = true
	}
	lines := bytes.Split(text, []byte("\n"))
	for _, line := range lines[1:] {
		var file sinkFile
		if json.Unmarshal(line, &file) != nil {
			return false, nil
		}
		base := path.Base(file.Path)
		ours = ours && ownName.MatchString(base)
		if of[base] {
			listed++
		}
	}
	switch compact := name != fmt.Sprint(m.Batch); {
	case string(lines[0]) != sparkHead:
		return false, nil
	case len(m.Files) == 0 && compact:
		return ours, nil
	case compact:
		return listed == len(m.Files), nil
	}
	return listed == len(m.Files) && listed == len(lines)-1, nil
}

// countedBy is the newest manifest that Spark's log agrees with: the newest, or the one before it.
func (f *Folder) countedBy(ctx context.Context, l *listing, newest *Manifest) (*Manifest, error) {
	if newest == nil {
		return nil, nil
	}
	there := 0
	for _, file := range newest.Files {
		if _, ok := l.files[file.Path]; ok {
			there++
		}
	}
	instead := l.own[newest.Batch] > 0 // where that log was not made one with others
	switch {
	case there < len(newest.Files) && there > 0:
		return nil, f.strange("", "it lists %d of the %d files of batch %d, which are there together or not at all", there, len(newest.Files), newest.Batch)
	case there < len(newest.Files), len(newest.Files) == 0 && instead:
		return f.before(ctx, newest)
	}
	return newest, nil
}

// sortOut takes from what Spark's log lists what manifests do, and looks at the rest.
func (f *Folder) sortOut(ctx context.Context, l *listing, newest, counts *Manifest, t *turn) (*Manifest, *turn, error) {
	known := map[string]bool{}
	for at := counts; at != nil; {
		for _, file := range at.all() {
			if _, listed := l.files[file.Path]; !listed {
				return nil, nil, f.strange("", "it does not list %s, a file of batch %d: an option retention, or somebody, has taken it away", file.Path, at.Batch)
			}
			known[file.Path] = true
		}
		before, err := f.before(ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			err = f.lost(at, at.Previous)
		}
		if err != nil {
			return nil, nil, err
		}
		at = before
	}
	ours := 0
	for _, name := range l.order {
		if known[name] {
			continue
		}
		t.files = append(t.files, l.files[name])
		if ownName.MatchString(path.Base(name)) {
			ours++
		}
	}
	switch {
	case ours > 0 && ours == len(t.files):
		return newest, nil, nil
	case ours > 0:
		return nil, nil, f.strange("", "it lists %d files of batches whose manifests are gone among those that Spark has written: bring back %s", ours, bookFolder)
	case t.until < t.from && len(t.files) == 0:
		return newest, nil, nil
	case t.until < t.from: // in the place of a batch without files
		before, err := f.before(ctx, counts)
		if err != nil {
			return nil, nil, err
		}
		again := &turn{until: t.until, id: t.id}
		if before != nil {
			again.from = before.Batch + 1
		}
		return f.sortOut(ctx, l, newest, before, again)
	}
	return counts, t, nil
}

// all are the files that count with a manifest: its own, and what Spark wrote before it.
func (m *Manifest) all() []batch.DataFile {
	if m.Spark == nil {
		return m.Files
	}
	return append(m.Spark.Files[:len(m.Spark.Files):len(m.Spark.Files)], m.Files...)
}

// applied is what the folder says of a query: the newest manifest that counts, and Spark's batches after it.
func (s *state) applied(newest *Manifest) (*batch.Applied, error) {
	applied := &batch.Applied{Batch: batch.None, InHistory: batch.None}
	if newest != nil {
		var err error
		if applied, err = newest.applied(); err != nil {
			return nil, err
		}
	}
	if t := s.turn; t != nil {
		applied.Batch, applied.InHistory, applied.Plan, applied.Snapshot = t.until, t.until, "", t.id
	}
	return applied, nil
}
