package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync/atomic"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// readTable reads every data file of the current snapshot: into c.rows what readers of the table see, into c.masked
// what delete files hide from them. Every entry is held against its file.
func (c *court) readTable(ctx context.Context) error {
	if len(c.history.chain) == 0 {
		return nil
	}
	files, err := c.reader.files(ctx, &c.history.chain[0])
	if err != nil {
		return c.manifestDamage(ctx, err)
	}
	c.files = files
	c.checkPaths()
	scan := c.reader.scan(nil)
	defer scan.Close()
	var done atomic.Int64
	findings := make([][]Problem, len(files))
	err = parallel(ctx, c.reader.workers, len(files), func(ctx context.Context, i int) error {
		var err error
		findings[i], err = c.readFile(ctx, scan, &files[i])
		if c.Advanced != nil {
			c.Advanced(done.Add(1), int64(len(files)))
		}
		return err
	})
	for _, found := range findings {
		for _, p := range found {
			c.problem(p)
		}
	}
	return err
}

// manifestDamage makes a finding of a manifest that is gone or damaged. Nothing can be said of the rows then.
func (c *court) manifestDamage(ctx context.Context, cause error) error {
	var m *manifestError
	if !errors.As(cause, &m) {
		return cause
	}
	finding, err := c.reader.damage(ctx, m.path, m.err)
	if err != nil {
		return err
	}
	c.rowsUnread = true
	p := Problem{Kind: ManifestUnreadable, What: "a manifest cannot be read", Files: []string{m.path}, Count: max(0, m.rows),
		Evidence: fmt.Sprintf("%s: %v", m.path, finding), Todo: "No engine can read the table like this: restore the file, or roll the table back to a snapshot without it."}
	if errors.Is(finding, fs.ErrNotExist) {
		p.Kind, p.What = ManifestGone, "a manifest is gone from the store"
	}
	c.problem(p)
	c.limit(Limit{Kind: RowsUnread, What: "which rows are in the table", Why: "a manifest that lists its files cannot be read"})
	return nil
}

// checkPaths counts the files and finds those that are listed more than once: all their rows are there as often.
func (c *court) checkPaths() {
	listed := make(map[string]*dataFile, len(c.files))
	for i := range c.files {
		f := &c.files[i]
		c.report.Files++
		c.report.Bytes += f.task.File.FileSizeBytes()
		if f.task.File.FileFormat() != iceberg.ParquetFile {
			c.unreadRows += f.task.File.Count()
			c.limit(Limit{Kind: FilesUnread, What: fmt.Sprintf("%s in %s", f.rows(), f.path()),
				Why: fmt.Sprintf("verify reads Parquet, the file is %s", f.task.File.FileFormat())})
		}
		other := listed[f.path()]
		if other == nil {
			listed[f.path()] = f
			continue
		}
		c.problem(Problem{Kind: FileTwice, What: fmt.Sprintf("a data file with %s is in the table twice", f.rows()), Count: f.task.File.Count(),
			Evidence: fmt.Sprintf("%s is listed by manifest %s, added by %s, and by manifest %s, added by %s", f.path(),
				other.manifest, c.history.describeID(other.snapshot), f.manifest, c.history.describeID(f.snapshot)),
			Files: []string{f.path()}, Todo: "Remove one of the two entries: every reader sees these rows twice."})
	}
}

// readFile reads one data file and holds it against its entry. Files of other formats were noted before.
func (c *court) readFile(ctx context.Context, scan *table.Scan, f *dataFile) ([]Problem, error) {
	if f.task.File.FileFormat() != iceberg.ParquetFile {
		return nil, nil
	}
	size, err := c.reader.size(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return []Problem{c.unreadable(f, err)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the size of %s: %w", f.path(), err)
	}
	found := f.checkSize(size)
	whole, err := c.readRows(ctx, scan, f)
	if err != nil {
		finding, err := c.reader.damage(ctx, f.path(), err)
		if err != nil {
			return nil, err
		}
		p := c.unreadable(f, finding)
		if p.Kind == FileGone && f.deleted() {
			p.What = fmt.Sprintf("a delete file that applies to a data file with %s is gone from the store", f.rows())
		}
		return append(found, p), nil
	}
	found = append(found, f.checkRows(whole.rows)...)
	found = append(found, f.checkBounds(c.reader.columns.Partition, f.partition, whole.partition)...)
	return append(found, f.checkBounds(c.reader.columns.Offset, f.offset, whole.offset)...), nil
}

// readRows counts a file's rows, and apart those that delete files hide. It returns what the file itself holds.
func (c *court) readRows(ctx context.Context, scan *table.Scan, f *dataFile) (*gatherer, error) {
	if !f.deleted() {
		all := gather(c.rows)
		return all, c.reader.read(ctx, scan, f.task, all)
	}
	seen, stored := c.rows.like(), c.rows.like()
	if err := c.reader.read(ctx, scan, f.task, gather(seen)); err != nil {
		return nil, err
	}
	whole := gather(stored)
	bare := table.FileScanTask{File: f.task.File, Length: f.task.Length}
	if err := c.reader.read(ctx, scan, bare, whole); err != nil {
		return nil, err
	}
	c.rows.addAll(seen)
	c.masked.addAll(stored.minus(seen))
	return whole, nil
}

// unreadable reports a file that is gone or cannot be read.
func (c *court) unreadable(f *dataFile, finding error) Problem {
	p := Problem{Kind: FileUnreadable, Files: []string{f.path()}, Count: f.task.File.Count(), Offsets: f.claimed(),
		What: fmt.Sprintf("a data file with %s cannot be read", f.rows()),
		Todo: "Restore the file from a backup or an older version in the store; if there is none, the rows in its offsets must be loaded again."}
	if errors.Is(finding, fs.ErrNotExist) {
		p.Kind, p.What = FileGone, fmt.Sprintf("a data file with %s is gone from the store", f.rows())
	}
	p.Evidence = fmt.Sprintf("manifest %s lists it, added by %s: %v", f.manifest, c.history.describeID(f.snapshot), finding)
	if len(p.Offsets) > 0 && f.partition.any {
		p.Evidence += fmt.Sprintf("; by its manifest it holds offsets %s of partitions %s", spansText(p.Offsets), Span{f.partition.min, f.partition.max + 1})
	}
	return p
}

// claimed is the offsets that the entry says the file holds.
func (f *dataFile) claimed() []Span {
	if !f.offset.any || f.offset.max == math.MaxInt64 {
		return nil
	}
	return []Span{{f.offset.min, f.offset.max + 1}}
}

func (f *dataFile) checkSize(size int64) []Problem {
	says := f.task.File.FileSizeBytes()
	if size == says {
		return nil
	}
	return []Problem{{Kind: FileSize, What: "a data file does not have the size that its manifest says", Files: []string{f.path()},
		Evidence: fmt.Sprintf("%s has %d bytes, manifest %s says %d", f.path(), size, f.manifest, says),
		Todo:     "The file was replaced or cut off, or its manifest is wrong: restore it; engines that trust the size fail on it."}}
}

func (f *dataFile) checkRows(rows int64) []Problem {
	says := f.task.File.Count()
	if rows == says {
		return nil
	}
	return []Problem{{Kind: FileRows, What: "a data file does not have the number of rows that its manifest says", Files: []string{f.path()}, Count: max(rows-says, says-rows),
		Evidence: fmt.Sprintf("%s has %s, manifest %s says %d", f.path(), count(rows, "row"), f.manifest, says),
		Todo:     "Engines that answer counts from manifests give wrong answers: rewrite the file."}}
}

func (f *dataFile) checkBounds(column string, says, has extent) []Problem {
	if !says.any || !has.any || (has.min >= says.min && has.max <= says.max) {
		return nil
	}
	return []Problem{{Kind: FileBounds, What: "a data file holds values outside the bounds that its manifest gives", Files: []string{f.path()},
		Evidence: fmt.Sprintf("%s holds %s from %d to %d, manifest %s says %d to %d", f.path(), column, has.min, has.max, f.manifest, says.min, says.max),
		Todo:     "Queries that filter on the column skip these rows: rewrite the file."}}
}
