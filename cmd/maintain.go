package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/batch"
	"sluice/job"
	"sluice/lakesink/maintain"
	"sluice/progress"
)

const (
	roleRows    = "rows"
	roleLetters = "deadLetters"

	foldersNeedNoneOf   = "a folder of files has no snapshots and no manifests to rewrite"
	foldersAreAsTheyAre = "a folder's files are not compacted"
)

func (p *process) maintain(c *cli.Context) error {
	if err := p.begin(c); err != nil {
		return err
	}
	asked, err := upkeepOf(c)
	if err != nil {
		return err
	}
	j, err := p.loadJob(c, job.ForSink|job.ForCheckpoint)
	if err != nil {
		return err
	}
	line, err := connect(c.Context, j, job.ForSink|job.ForCheckpoint)
	defer line.close()
	if err == nil && !asked.dry {
		err = line.unwritable(c.Context)
	}
	if err != nil {
		return cause(c.Context, err)
	}
	shown, failure := line.maintain(c.Context, asked)
	quiet := c.Bool(flagQuiet) && !p.json
	if failure == nil && !quiet || len(shown.Tables) > 0 && failure != nil {
		if err := progress.Write(p.stdout, p.json, shown); err != nil {
			return err
		}
	}
	return cause(c.Context, failure)
}

// maintain looks after the tables of the query, one after the other. What goes wrong with one keeps nobody from the others; the
// first failure is returned.
func (l *pipeline) maintain(ctx context.Context, asked *upkeep) (*progress.Maintain, error) {
	shown := &progress.Maintain{Query: l.job.Name, DryRun: asked.dry, Tables: []progress.MaintainTable{}}
	query, err := l.log.Query(ctx)
	if err != nil {
		return shown, err
	}
	shown.QueryID = query
	if err := asked.own(query); err != nil {
		return shown, err
	}
	letters, err := l.letterOutlets(ctx)
	if err != nil {
		return shown, err
	}
	if len(letters) == 0 && asked.only == onlyLetters {
		return shown, &usage{fmt.Errorf("--%s %s: the job has no table and no folder of dead letters", flagOnly, onlyLetters), "leave it out"}
	}
	asked.search.Keep = l.ownFolders(letters)
	asked.compaction.MemoryBytes = int64(l.budget.workers) * l.budget.files
	var first error
	keep := func(of *progress.MaintainTable, err error) {
		if of != nil {
			shown.Tables = append(shown.Tables, *of)
		}
		if first == nil {
			first = err
		}
	}
	if asked.only != onlyLetters {
		of, err := l.lookAfter(ctx, l.sink, roleRows, query, asked)
		if isNoTable(err) {
			err = l.noTable(err, "to maintain", "")
		}
		keep(of, err)
	}
	for _, o := range letters {
		if asked.only == onlyRows || ctx.Err() != nil {
			break
		}
		if of, err := l.lookAfter(ctx, o, roleLetters, query, asked); !isNoTable(err) {
			keep(of, err)
		}
	}
	return shown, first
}

// ownFolders are those that are no table's: the checkpoint, and folders of Parquet files.
func (l *pipeline) ownFolders(letters []outlet) []string {
	folders := []string{job.Folder(l.job.Checkpoint)}
	for _, o := range append([]outlet{l.sink}, letters...) {
		if f, ok := o.(*folder); ok {
			folders = append(folders, f.read.Location)
		}
	}
	return folders
}

// letterOutlets are the tables and folders of dead letters that the query has used, and the job's.
func (l *pipeline) letterOutlets(ctx context.Context) ([]outlet, error) {
	identity, err := l.log.Identity(ctx)
	if err != nil {
		return nil, err
	}
	places := readablePlaces(identity)
	if place := l.job.Value.LetterPlace(); place.Kind == batch.InTable || place.Kind == batch.InPath {
		if !slices.Contains(places, place.String()) {
			places = append(places, place.String())
		}
	}
	var found []outlet
	for _, place := range places {
		o, err := l.letterbox(ctx, place)
		if err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	return found, nil
}

// lookAfter does what was asked for to one table. It returns nil, and the error, where there is no such table.
func (l *pipeline) lookAfter(ctx context.Context, o outlet, role, query string, asked *upkeep) (*progress.MaintainTable, error) {
	of := &progress.MaintainTable{Table: o.TableName(), Role: role}
	options := maintain.Options{DryRun: asked.dry, Query: query}
	var err error
	switch o := o.(type) {
	case *folder:
		err = lookAfterFolder(ctx, &maintain.Folder{Location: o.read.Location, Books: o.read.Objects, Store: o.read.Store, Options: options}, asked, of)
	case sink:
		t := maintain.Open(o.Iceberg, options)
		of.Table = t.Name()
		err = lookAfterTable(ctx, t, asked, of)
	}
	if isNoTable(err) {
		return nil, err
	}
	if err != nil {
		of.Error, of.Hint = err.Error(), hintOf(err)
	}
	return of, err
}

func lookAfterTable(ctx context.Context, t *maintain.Table, asked *upkeep, of *progress.MaintainTable) error {
	for _, action := range []struct {
		wanted bool
		do     func() error
	}{
		{asked.expire, func() error {
			e, err := t.Expire(ctx, asked.expiry)
			of.Expire = shownExpiry(e)
			return err
		}},
		{asked.compact, func() error {
			c, err := t.Compact(ctx, asked.compaction)
			of.Compact = shownCompaction(c, asked.dry)
			return err
		}},
		{asked.manifests, func() error {
			m, err := t.RewriteManifests(ctx)
			of.Manifests = shownManifests(m)
			return err
		}},
		{asked.orphans, func() error {
			o, err := t.Orphans(ctx, asked.search)
			of.Orphans = shownOrphans(o, asked)
			return err
		}},
	} {
		if !action.wanted {
			continue
		}
		if err := action.do(); err != nil {
			return err
		}
	}
	return nil
}

func lookAfterFolder(ctx context.Context, f *maintain.Folder, asked *upkeep, of *progress.MaintainTable) error {
	if asked.expire {
		of.Expire = &progress.MaintainExpiry{Refs: []string{}, Held: []progress.MaintainHeld{}, Skipped: foldersNeedNoneOf}
	}
	if asked.compact {
		of.Compact = &progress.MaintainCompact{Skipped: foldersAreAsTheyAre}
	}
	if asked.manifests {
		of.Manifests = &progress.MaintainManifests{Skipped: foldersNeedNoneOf}
	}
	if !asked.orphans {
		return nil
	}
	o, err := f.Orphans(ctx, asked.search)
	of.Orphans = shownOrphans(o, asked)
	return err
}

func shownCount(c maintain.Count) progress.MaintainCount { return progress.MaintainCount(c) }

func shownExpiry(e *maintain.Expiry) *progress.MaintainExpiry {
	if e == nil {
		return nil
	}
	shown := &progress.MaintainExpiry{Snapshots: int64(e.Snapshots), Kept: int64(e.Kept), Old: int64(e.Old), Refs: append([]string{}, e.Refs...), Held: []progress.MaintainHeld{},
		Data: shownCount(e.Data), Metadata: shownCount(e.Metadata), Skipped: e.Skipped}
	for _, h := range e.Held {
		shown.Held = append(shown.Held, progress.MaintainHeld{Query: h.Query, Name: h.Name, Snapshots: int64(h.Snapshots)})
	}
	return shown
}

func shownCompaction(c *maintain.Compaction, dry bool) *progress.MaintainCompact {
	if c == nil {
		return nil
	}
	shown := &progress.MaintainCompact{Commits: int64(c.Commits), Skipped: c.Skipped, Left: c.Left.Few + c.Left.WithDeletes + c.Left.OtherSpecs + c.Left.OtherFormats + c.Left.TooLarge}
	for _, g := range c.Groups {
		switch g.State {
		case maintain.Dropped:
			shown.Dropped++
		case maintain.FailedGroup:
			shown.Failed++
		case maintain.Planned:
			if !dry {
				continue
			}
			fallthrough
		default:
			shown.Groups++
			shown.In.Files, shown.In.Bytes = shown.In.Files+g.In.Files, shown.In.Bytes+g.In.Bytes
			shown.Out.Files, shown.Out.Bytes = shown.Out.Files+g.Out.Files, shown.Out.Bytes+g.Out.Bytes
		}
		if shown.Why == "" {
			shown.Why = g.Why
		}
	}
	return shown
}

func shownManifests(m *maintain.Manifests) *progress.MaintainManifests {
	if m == nil {
		return nil
	}
	return &progress.MaintainManifests{Rewritten: shownCount(m.Rewritten), Written: shownCount(m.Written), Kept: shownCount(m.Kept), Entries: m.Entries, Snapshot: m.Snapshot, Skipped: m.Skipped}
}

func shownOrphans(o *maintain.Orphans, asked *upkeep) *progress.MaintainOrphans {
	if o == nil {
		return nil
	}
	return &progress.MaintainOrphans{Found: shownCount(o.Found), Removed: shownCount(o.Removed), Listed: shownCount(o.Listed), Young: shownCount(o.Young), Open: shownCount(o.Open),
		Doubtful: shownCount(o.Doubtful), Others: shownCount(o.Others), First: append([]string{}, o.First...), OlderThan: ageText(o.OlderThan), Asked: asked.search.Remove, Skipped: o.Skipped}
}

// ageText writes an age as people do.
func ageText(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	text := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
