package lakesink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// fence stands between a transaction and the catalog. It adds what the library does not assert, that the schema is
// still the one the files were written for, and it takes away the library's own retries: those would replay an append
// on another writer's snapshot, after which a batch can be there twice.
type fence struct {
	catalog  table.CatalogIO
	schemaID int
	// sent says that the catalog was asked at all.
	sent bool
	// refused is the catalog's own answer, which the library hides where it wanted to try again.
	refused error
	// changed is the snapshot to commit where it is no longer what the library staged; nil otherwise.
	changed *table.Snapshot
}

var errNoReplay = errors.New("the commit was not accepted and is not replayed")

// LoadTable is what the library calls before it replays a commit.
func (f *fence) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, errNoReplay
}

// CommitTable passes the commit on.
func (f *fence) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	f.sent = true
	reqs = append(slices.Clip(reqs), table.AssertCurrentSchemaID(f.schemaID))
	if f.changed != nil {
		updates = slices.Clone(updates)
		for k, u := range updates {
			if u.Action() == table.UpdateAddSnapshot { // a batch makes one
				updates[k] = table.NewAddSnapshotUpdate(f.changed)
			}
		}
	}
	metadata, location, err := f.catalog.CommitTable(ctx, id, reqs, updates)
	f.refused = err
	return metadata, location, err
}

// fenced is the table with the fence in front of its catalog, and with one connection to its store instead of one a
// request.
func (i *Iceberg) fenced(t *table.Table) (*table.Table, *fence, error) {
	metadata, err := plainlyNamed(unviewed(t.Metadata()))
	if err != nil {
		return nil, nil, err
	}
	f := &fence{catalog: i.catalog, schemaID: t.Schema().ID}
	var once sync.Once
	var fs iceio.IO
	var failed error
	open := func(ctx context.Context) (iceio.IO, error) {
		once.Do(func() { fs, failed = t.FS(ctx) })
		return fs, failed
	}
	return table.New(t.Identifier(), metadata, t.MetadataLocation(), open, f), f, nil
}

// offer is a commit that is ready to be sent: its snapshot and everything it refers to is in the store.
type offer struct {
	tx       *table.Transaction
	fence    *fence
	base     string          // the metadata that it was made on
	parent   *table.Snapshot // nil for the table's first
	snapshot *table.Snapshot
	// manifests are what the list of snapshot listed has; listed is 0 if it has to be read again.
	manifests []iceberg.ManifestFile
	listed    int64
	// merges are the groups of manifests that became fewer with it.
	merges []*merged
}

// list is the snapshot's manifest list as it is in the store.
func (o *offer) list(fs iceio.IO) ([]iceberg.ManifestFile, error) {
	if o.listed != o.snapshot.SnapshotID {
		all, err := o.snapshot.Manifests(fs)
		if err != nil {
			return nil, fmt.Errorf("read the manifest list that was just written: %w", err)
		}
		o.manifests, o.listed = all, o.snapshot.SnapshotID
	}
	return o.manifests, nil
}

// stage prepares a batch's commit on one reading of the table: files, ledger and summary in one transaction that holds
// only while the head is the one that was read. Merges of manifests that earlier offers made are used again.
func (i *Iceberg) stage(ctx context.Context, t *table.Table, c *batch.Commit, prior *batch.Ledger, earlier []*merged) (*offer, error) {
	as, err := t, error(nil)
	if !slices.ContainsFunc(c.Results, func(r batch.TaskResult) bool { return len(r.Files) > 0 }) {
		if as, err = unmerged(t); err != nil { // the library's empty append merges
			return nil, err
		}
	}
	fenced, f, err := i.fenced(as)
	if err != nil {
		return nil, err
	}
	tx, err := i.begin(fenced)
	if err != nil {
		return nil, err
	}
	files, err := icebergFiles(fenced, c.Results)
	if err != nil {
		return nil, err
	}
	if err := appendFiles(ctx, tx, fenced, files, summaryOf(c)); err != nil {
		return nil, err
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return nil, err
	}
	o := &offer{tx: tx, fence: f, base: t.MetadataLocation(), parent: t.CurrentSnapshot(), snapshot: staged.SnapshotByName(i.options.Branch)}
	if err := o.merge(ctx, fenced, mergingOf(t), earlier); err != nil {
		return nil, err
	}
	if err := o.boundEmptyText(ctx, fenced); err != nil {
		return nil, err
	}
	if err := o.check(ctx, fenced, len(files)); err != nil {
		return nil, err
	}
	return o, o.keepBooks(t, i.Branch(), c.Ledger(prior))
}

// appendFiles adds the files to the snapshot. Without files an empty append still makes one: the head must move with
// every batch, or a rival's commit of the same batch would not be noticed.
func appendFiles(ctx context.Context, tx *table.Transaction, t *table.Table, files []iceberg.DataFile, summary iceberg.Properties) error {
	switch {
	case len(files) == 0:
		schema, err := table.SchemaToArrowSchema(t.Schema(), nil, true, false)
		if err != nil {
			return err
		}
		none, err := array.NewRecordReader(schema, nil)
		if err != nil {
			return err
		}
		defer none.Release()
		return tx.Append(ctx, none, summary)
	}
	// Rows and no deletes are an append, and one that merges no manifests, gives rows ids where the table has them (AddDataFiles
	// wants them given there), adds no name mapping, which files with field ids do not need, and looks for no duplicates: the
	// ledger and the pinned head stand for that.
	return tx.NewRowDelta(summary).AddRows(files...).Commit(ctx)
}

func summaryOf(c *batch.Commit) iceberg.Properties {
	var rows, deadLetters, dropped, nulled int64
	for _, r := range c.Results {
		for _, p := range r.Pieces {
			rows += p.Rows
			deadLetters += p.DeadLetters
			dropped += p.Dropped
			nulled += p.Nulled
		}
	}
	n := strconv.FormatInt(c.Plan.Batch, 10)
	p := iceberg.Properties{keyQuery: c.Query, keyName: c.Name, keyBatch: n, keyPlan: c.Plan.Hash, keyRun: c.Run,
		keyRecords: strconv.FormatInt(rows, 10), keyDeadLetters: strconv.FormatInt(deadLetters, 10)}
	if c.DeadLetters != nil {
		p[keyDeadLetters] = p[keyRecords]
		return p
	}
	p[keySparkQuery], p[keySparkEpoch] = c.Query, n // Spark does not write dead letters: it skips what is in the rows' table
	if c.Plan.Accepted != nil {
		p[keyAccepted] = c.Plan.Accepted.String()
	}
	if losses := c.Losses(); len(losses) > 0 {
		p[keyLost], p[keyLosses] = strconv.FormatInt(batch.LostOffsets(losses), 10), lossText(losses)
	}
	if len(c.Altered) > 0 {
		p[keyAltered] = clipped(strings.Join(c.Altered, "; "))
	}
	for key, count := range map[string]int64{keyDropped: dropped, keyNulled: nulled} {
		if count > 0 { // the summary is repeated in every metadata file
			p[key] = strconv.FormatInt(count, 10)
		}
	}
	return p
}

// lossText names the first few ranges: the summary is repeated in every metadata file.
func lossText(losses []batch.Loss) string {
	const most = 10
	var named []string
	for _, l := range losses[:min(most, len(losses))] {
		named = append(named, l.String())
	}
	text := strings.Join(named, "; ")
	if n := len(losses) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return clipped(text)
}

// clipped bounds a text that every metadata file repeats.
func clipped(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// keepBooks puts the ledger into the same commit.
func (o *offer) keepBooks(t *table.Table, branch string, ledger *batch.Ledger) error {
	ledger.Branch = branch
	ledger.Snapshot, ledger.Sequence = o.snapshot.SnapshotID, o.snapshot.SequenceNumber
	return o.setLedger(t, ledger)
}

func (o *offer) setLedger(t *table.Table, ledger *batch.Ledger) error {
	properties, err := ledger.Properties()
	if err != nil {
		return err
	}
	var stale []string // parts of a ledger that was longer before
	for key := range t.Properties() {
		if _, ok := properties[key]; !ok && strings.HasPrefix(key, batch.LedgerPrefix+ledger.Query+".") {
			stale = append(stale, key)
		}
	}
	if err := o.tx.RemoveProperties(stale); err != nil {
		return err
	}
	return o.tx.SetProperties(properties)
}

// check proves, before anything is sent, that the new snapshot has every live file of its parent and ours besides. Losing
// the others' rows in an append has happened to more than one library (https://github.com/apache/iceberg-go/issues/976,
// https://github.com/apache/iceberg-go/issues/869). Manifests that were carried over as they are need no look inside.
func (o *offer) check(ctx context.Context, t *table.Table, added int) error {
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	var before []iceberg.ManifestFile
	if o.parent != nil {
		if before, err = o.parent.Manifests(fs); err != nil {
			return fmt.Errorf("read the manifest list of snapshot %d: %w", o.parent.SnapshotID, err)
		}
	}
	after, err := o.list(fs)
	if err != nil {
		return err
	}
	gone, came := difference(before, after), difference(after, before)
	for _, content := range []iceberg.ManifestContent{iceberg.ManifestContentData, iceberg.ManifestContentDeletes} {
		was, err := live(fs, gone, content)
		if err != nil {
			return err
		}
		is, err := live(fs, came, content)
		if err != nil {
			return err
		}
		want := was
		if content == iceberg.ManifestContentData {
			want += added
		}
		if is != want {
			return &batch.Fault{Class: batch.Inconsistent,
				Message: fmt.Sprintf("the commit would leave the table with the wrong files: manifests with %d live %s files were replaced and %d files added, but the new ones have %d; nothing was committed", was, content, want-was, is),
				Hint:    "this is a defect of the table library or a damaged table: look at the table's manifests before anything else writes to it"}
		}
	}
	return nil
}

func difference(these, those []iceberg.ManifestFile) []iceberg.ManifestFile {
	there := map[string]bool{}
	for _, m := range those {
		there[m.FilePath()] = true
	}
	return slices.DeleteFunc(slices.Clone(these), func(m iceberg.ManifestFile) bool { return there[m.FilePath()] })
}

// live counts the files that manifests of one content have. Writers exist that leave the counters at zero or empty: then
// the manifest is read.
func live(fs iceio.IO, manifests []iceberg.ManifestFile, content iceberg.ManifestContent) (n int, err error) {
	for _, m := range manifests {
		if m.ManifestContent() != content {
			continue
		}
		added, existing := m.AddedDataFiles(), m.ExistingDataFiles()
		if added >= 0 && existing >= 0 && added+existing > 0 {
			n += int(added + existing)
			continue
		}
		for _, err := range m.Entries(fs, true) {
			if err != nil {
				return 0, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			n++
		}
	}
	return n, nil
}
