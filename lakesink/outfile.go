package lakesink

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// outFile is the data file that rows of one partition go to, one after the other as each is full.
type outFile struct {
	w     *Writer
	files *parquetfile.Writer
	// key is the partition's, folder its place, both empty without partitions; values are its own, by field id.
	key    string
	folder string
	values map[int]json.RawMessage
	// open is nil between files.
	open *upload
}

// maxGroups bounds the footer of a file whose row groups are kept small by a small memory.
const maxGroups = 4096

// add adds rows, and finishes files as they are full.
func (o *outFile) add(ctx context.Context, rows *columns.Batch) error {
	for from := 0; from < rows.Rows; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.open == nil {
			o.begin()
		}
		next, err := o.files.Append(rows, from)
		if err != nil {
			return explain(fmt.Sprintf("write %s", o.open.path), err)
		}
		from = next
		if o.files.Size() >= o.w.targetBytes() || o.files.Groups() >= maxGroups {
			if err := o.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a file. The store hears of it when the first bytes go there.
func (o *outFile) begin() {
	o.open = o.w.newUpload(o.w.address(o.folder))
	o.w.begun++
	o.files.Begin(o.open)
}

// finish ends the open file. Close of the writer waits for the store to have all of it.
func (o *outFile) finish() error {
	summary, err := o.files.Close()
	if err != nil {
		return explain(fmt.Sprintf("write %s", o.open.path), err)
	}
	f := o.w.describe(o.open.path, summary)
	f.Partition, f.SortOrderID = o.values, o.w.sortOrder
	o.w.share(&f)
	o.w.finished = append(o.w.finished, f)
	finished := o.open
	o.open = nil
	return o.w.landing.land(finished, summary.Bytes)
}

// share lets a file have the counts of the one before it where they are the same, as those of nulls and NaN mostly are: what is known
// of a file is kept until the commit. Nobody changes them for one file alone.
func (w *Writer) share(f *batch.DataFile) {
	if len(w.finished) == 0 {
		return
	}
	last := &w.finished[len(w.finished)-1]
	if maps.Equal(f.ValueCounts, last.ValueCounts) {
		f.ValueCounts = last.ValueCounts
	}
	if maps.Equal(f.NullCounts, last.NullCounts) {
		f.NullCounts = last.NullCounts
	}
	if maps.Equal(f.NaNCounts, last.NaNCounts) {
		f.NaNCounts = last.NaNCounts
	}
}

// abort drops the open file.
func (o *outFile) abort() {
	if o.open != nil {
		o.open.abort()
		o.open = nil
	}
}
