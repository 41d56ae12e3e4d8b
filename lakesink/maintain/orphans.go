package maintain

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink"
)

// Ages of orphans. A writer that has been at work for longer than the age of its first file would lose that file: a floor is
// kept, whoever asks (https://github.com/apache/iceberg/issues/4194, https://github.com/StarRocks/starrocks/pull/77394).
const (
	DefaultOrphanAge = 72 * time.Hour
	LeastOrphanAge   = 24 * time.Hour
)

// OrphanOptions say which files that nothing refers to may go.
type OrphanOptions struct {
	// OlderThan is how old a file must be by the store's clock; 0 is DefaultOrphanAge. Below LeastOrphanAge it is refused,
	// unless Unsafe.
	OlderThan time.Duration
	Unsafe    bool
	// Remove removes them; without it they are only found.
	Remove bool
	// Keep are folders that are never touched: the checkpoint, and others that the job names.
	Keep []string
	// Abandoned are ids of queries that do not run any more: files of their unfinished batches are files like others.
	Abandoned []string
	// Dropped are UUIDs of tables that were dropped and whose files are still in the folders: these are files like others.
	Dropped []string
	// Show is how many of the files are named in the result.
	Show int
}

// Orphans is what was found of files that nothing refers to.
type Orphans struct {
	// Listed is all that is in the table's folders. Of what nothing refers to, Found may go, and Removed are gone.
	Listed, Found, Removed Count
	// Young are too young to tell, Open belong to a batch that may still be committed, Doubtful have the name of a file that is
	// referred to under another address, Others are none that an Iceberg table has: all of these stay.
	Young, Open, Doubtful, Others Count
	// First are the first of those found, OlderThan the age that was asked for, Cutoff when files were too young from.
	First     []string
	OlderThan time.Duration
	Cutoff    time.Time
	// Skipped says why nothing was looked at, empty if it was.
	Skipped string
}

func (o *OrphanOptions) check() error {
	if o.OlderThan == 0 {
		o.OlderThan = DefaultOrphanAge
	}
	if o.OlderThan >= LeastOrphanAge || o.Unsafe {
		return nil
	}
	return &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("files younger than %s may be those of a writer that has yet to commit them: %s is not taken for the age of orphans", LeastOrphanAge, o.OlderThan),
		Hint: "use 24h or more"}
}

// Orphans finds the files in a table's folders that nothing refers to, and removes them if it is told to. A file stays if
// anything may want it: any snapshot, on any branch or none, the log of metadata, statistics; if it is young by the store's
// clock; if it is of a batch that the table has not reached yet, which the query may commit however long it was asleep; if it has
// the name of a file that is referred to at another address; or if it is of no kind that a table has. Folders whose name begins
// with _ or . are not looked into.
//
// Nothing is removed, and it is an error, where the table shares its folders with another, or something that it refers to
// cannot be read.
func (t *Table) Orphans(ctx context.Context, o OrphanOptions) (*Orphans, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	tbl, store, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	s := &search{table: t, options: o, store: store, reach: newReach(t.Name(), store), result: Orphans{OlderThan: o.OlderThan}}
	if s.result.Skipped = notCollected(tbl); s.result.Skipped != "" {
		return &s.result, nil
	}
	s.folders = foldersOf(tbl)
	if err := t.alone(ctx, s.folders); err != nil {
		return nil, err
	}
	if err := s.clock(ctx, tbl); err != nil {
		return nil, err
	}
	if err := s.list(ctx, tbl); err != nil {
		return nil, err
	}
	if err := s.sift(ctx); err != nil {
		return nil, err
	}
	return &s.result, s.remove(ctx)
}

// foldersOf are the table's folders, none within another.
func foldersOf(tbl *table.Table) []string {
	var out []string
	for _, f := range lakesink.FoldersOf(tbl) {
		if !slices.ContainsFunc(out, func(o string) bool { return within(canonical(f), canonical(o)) }) {
			out = append(out, f)
		}
	}
	return out
}

// search is one search for orphans.
type search struct {
	table   *Table
	options OrphanOptions
	store   iceio.IO
	folders []string
	reach   *reach
	result  Orphans
	// files are candidates: old enough, and of a kind that a table has.
	files []lakesink.StoredFile
	// settled is the time from which a compaction may still be about to commit what it wrote, whatever age was asked for.
	settled time.Time
	// metadataSeen says that the table's own metadata file was in the listing.
	metadataSeen bool
}

// clock sets the time from which files are too young. It is the store's, where one is written to anyway: a host whose clock is
// days ahead would take all files for old ones. Of two clocks the slower counts.
func (s *search) clock(ctx context.Context, tbl *table.Table) error {
	now := s.table.options.Now()
	if s.options.Remove && !s.table.DryRun() {
		there, err := lakesink.StoreClock(ctx, s.store, strings.TrimRight(tbl.Location(), "/"))
		if err != nil {
			return err
		}
		if there.Before(now) {
			now = there
		}
	}
	s.result.Cutoff = now.Add(-s.options.OlderThan)
	s.settled = now.Add(-LeastOrphanAge)
	return nil
}

// list takes down what is in the folders.
func (s *search) list(ctx context.Context, tbl *table.Table) error {
	own := canonical(tbl.MetadataLocation())
	expected := slices.ContainsFunc(s.folders, func(f string) bool { return within(own, canonical(f)) })
	hidden := hiddenBut(tbl)
	var keep []string
	for _, k := range s.options.Keep {
		keep = append(keep, canonical(k))
	}
	for _, folder := range s.folders {
		at := canonical(folder)
		err := lakesink.EachFile(ctx, s.store, folder, func(f lakesink.StoredFile) error {
			c := canonical(f.Path)
			s.metadataSeen = s.metadataSeen || c == own
			if !within(c, at) || slices.ContainsFunc(keep, func(k string) bool { return within(c, k) }) || hidden(strings.TrimPrefix(c, at)) {
				return nil
			}
			s.result.Listed.add(f.Bytes)
			s.files = append(s.files, f)
			return nil
		})
		if err != nil {
			return lakesink.Explain("list "+folder, err)
		}
	}
	if expected && !s.metadataSeen {
		return inconsistent(fmt.Sprintf("%s, the metadata of table %s, is not among the files that its folder %s has", tbl.MetadataLocation(), s.table.Name(), s.folders[0]),
			"the folder that was listed is not the one that the catalog means (a link, another mount or endpoint?); nothing was removed", nil)
	}
	return nil
}

// hiddenBut says which paths below a table's folder are hidden: those with a name that begins with _ or ., as Spark and Hive
// take it, unless it is the folder of a partition.
func hiddenBut(tbl *table.Table) func(string) bool {
	var fields []string
	for _, spec := range tbl.Metadata().PartitionSpecs() {
		for _, f := range spec.Fields() {
			fields = append(fields, f.Name+"=")
		}
	}
	return func(below string) bool {
		for _, name := range strings.Split(below, "/") {
			if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
				if !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(name, f) }) {
					return true
				}
			}
		}
		return false
	}
}

// sift leaves the orphans of what was listed. The table is read after the listing: whatever was committed until then counts.
func (s *search) sift(ctx context.Context) error {
	tbl, _, err := s.table.load(ctx)
	if err != nil {
		return err
	}
	if err := s.reach.addTable(ctx, tbl); err != nil {
		return err
	}
	open, err := openBatches(tbl, s.table.options.Query, s.options.Abandoned)
	if err != nil {
		return err
	}
	var orphans []lakesink.StoredFile
	for _, f := range s.files {
		c := canonical(f.Path)
		switch {
		case s.reach.files.has(c):
		case !ofATable(path.Base(c)):
			s.result.Others.add(f.Bytes)
		case f.Modified.IsZero() || !f.Modified.Before(s.result.Cutoff):
			s.result.Young.add(f.Bytes)
		case open(path.Base(c)), strings.HasPrefix(path.Base(c), compactedQuery+"-") && !f.Modified.Before(s.settled):
			s.result.Open.add(f.Bytes)
		case s.reach.names.has(path.Base(c)):
			s.result.Doubtful.add(f.Bytes)
		default:
			orphans = append(orphans, f)
		}
	}
	s.files = orphans
	if err := s.ours(tbl); err != nil {
		return err
	}
	for i, f := range s.files {
		s.result.Found.add(f.Bytes)
		if i < s.options.Show {
			s.result.First = append(s.result.First, f.Path)
		}
	}
	return nil
}

// ofATable reports whether a name is that of a file which Iceberg's writers make. Others are somebody's, whatever they are.
func ofATable(name string) bool {
	for _, suffix := range []string{".parquet", ".avro", ".orc", ".puffin", ".stats", ".metadata.json", ".metadata.json.gz"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// remove removes the orphans, and looks again before each step whether the table has got anything that refers to them.
func (s *search) remove(ctx context.Context) error {
	if !s.options.Remove || s.table.DryRun() {
		return nil
	}
	for chunk := range slices.Chunk(s.files, removedAtOnce) {
		tbl, _, err := s.table.load(ctx)
		if err != nil {
			return err
		}
		if err := s.reach.addTable(ctx, tbl); err != nil {
			return err
		}
		var goes []unreferred
		for _, f := range chunk {
			if c := canonical(f.Path); !s.reach.files.has(c) && !s.reach.names.has(path.Base(c)) {
				goes = append(goes, unreferred{f.Path, f.Bytes, false})
			}
		}
		gone, err := removeAll(ctx, s.store, goes)
		for _, f := range gone {
			s.result.Removed.add(f.bytes)
		}
		if err != nil {
			return lakesink.Explain(fmt.Sprintf("remove orphans of table %s", s.table.Name()), err)
		}
	}
	return nil
}
