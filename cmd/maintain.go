package cmd

import (
	"context"
	"errors"
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
	flagExpire        = "expire"
	flagCompact       = "compact"
	flagManifests     = "rewrite-manifests"
	flagOrphans       = "orphans"
	flagOnly          = "only"
	flagOlderThan     = "older-than"
	flagRetainLast    = "retain-last"
	flagOrphansOlder  = "orphans-older-than"
	flagUnsafeAge     = "unsafe-age"
	flagYes           = "yes"
	flagAbandoned     = "abandoned-query"
	flagDropped       = "dropped-table"
	onlyRows          = "rows"
	onlyLetters       = "dead-letters"
	roleRows          = "rows"
	roleLetters       = "deadLetters"
	orphansShown      = 20
	foldersNeedNoneOf = "a folder of files has no snapshots and no manifests to rewrite"
)

func (p *process) maintainCommand() *cli.Command {
	return &cli.Command{
		Name:  "maintain",
		Usage: "keep the tables small: expire snapshots, compact files, rewrite manifests, remove orphans",
		Description: "Without --expire, --compact, --rewrite-manifests or --orphans it does the first three, which is what a crontab wants. Removing files that nothing refers to has to be\n" +
			"asked for, and is only shown without --yes. Runs may go on beside it. It works on the table of the rows and on that of the dead letters. What bookkeeping needs is never removed.\n\n" +
			"   sluice maintain --job orders.yaml --dry-run\n   sluice maintain --job orders.yaml --orphans --yes\n\ndocs/maintain.md says what each action does, and what it leaves alone.",
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagDryRun, Usage: "show what would be done, and change nothing"},
			&cli.BoolFlag{Name: flagExpire, Usage: "expire old snapshots, and delete the files that only they have"},
			&cli.BoolFlag{Name: flagCompact, Usage: "make large data files of small ones, of the size of --target-file-size"},
			&cli.BoolFlag{Name: flagManifests, Usage: "make few manifests of many small ones"},
			&cli.BoolFlag{Name: flagOrphans, Usage: "find files that nothing refers to, and remove them with --yes"},
			&cli.BoolFlag{Name: flagYes, Usage: "remove what --orphans finds"},
			&cli.StringFlag{Name: flagOnly, Usage: "only one of the query's tables: `rows` or dead-letters"},
			&cli.StringFlag{Name: flagOlderThan, Usage: "expire snapshots older than `AGE`, such as 5d or 12h [the table's history.expire.max-snapshot-age-ms, or 5d]"},
			&cli.IntFlag{Name: flagRetainLast, Usage: "keep at least so many of a branch's newest snapshots, whatever their age (`COUNT`) [the table's history.expire.min-snapshots-to-keep, or 1]"},
			&cli.StringFlag{Name: flagOrphansOlder, Value: "3d", Usage: "orphans are files older than `AGE`, at least 24h"},
			&cli.BoolFlag{Name: flagUnsafeAge, Usage: "take an age below 24h: files of a writer that is at work are lost"},
			&cli.StringSliceFlag{Name: flagAbandoned, Usage: "keep nothing for the bookkeeping of the query with this `ID`, which does not run any more; may be repeated"},
			&cli.StringSliceFlag{Name: flagDropped, Usage: "files of the table with this `UUID`, which was dropped, are orphans like others; may be repeated"},
		}),
		Action: p.maintain,
	}
}

// upkeep is what was asked for.
type upkeep struct {
	dry, expire, compact, manifests, orphans bool
	only                                     string
	expiry                                   maintain.ExpireOptions
	search                                   maintain.OrphanOptions
	compaction                               maintain.CompactOptions
}

// upkeepOf reads the flags.
func upkeepOf(c *cli.Context) (*upkeep, error) {
	u := &upkeep{dry: c.Bool(flagDryRun), expire: c.Bool(flagExpire), compact: c.Bool(flagCompact), manifests: c.Bool(flagManifests), orphans: c.Bool(flagOrphans), only: c.String(flagOnly)}
	if !u.expire && !u.compact && !u.manifests && !u.orphans {
		u.expire, u.compact, u.manifests = true, true, true
	}
	if u.only != "" && u.only != onlyRows && u.only != onlyLetters {
		return nil, &usage{fmt.Errorf("--%s %q is none of the query's tables", flagOnly, u.only), "use rows or dead-letters"}
	}
	abandoned := c.StringSlice(flagAbandoned)
	u.expiry = maintain.ExpireOptions{RetainLast: c.Int(flagRetainLast), Abandoned: abandoned}
	u.search = maintain.OrphanOptions{Unsafe: c.Bool(flagUnsafeAge), Remove: c.Bool(flagYes), Abandoned: abandoned, Dropped: c.StringSlice(flagDropped), Show: orphansShown}
	if c.IsSet(flagRetainLast) && u.expiry.RetainLast < 1 {
		return nil, &usage{fmt.Errorf("--%s %d: one snapshot always stays", flagRetainLast, u.expiry.RetainLast), "use a number of at least 1"}
	}
	var err error
	if u.expiry.OlderThan, err = ageOf(c, flagOlderThan); err != nil {
		return nil, err
	}
	if u.search.OlderThan, err = ageOf(c, flagOrphansOlder); err != nil {
		return nil, err
	}
	if u.search.OlderThan < maintain.LeastOrphanAge && !u.search.Unsafe {
		return nil, &usage{fmt.Errorf("--%s %s: younger files may be those of a writer that has yet to commit them", flagOrphansOlder, c.String(flagOrphansOlder)),
			"use 24h or more; --" + flagUnsafeAge + " takes less, if nothing at all writes to the table"}
	}
	return u, nil
}

// ageOf reads an age: Go's durations, and days.
func ageOf(c *cli.Context, name string) (time.Duration, error) {
	text := c.String(name)
	if text == "" && !c.IsSet(name) {
		return 0, nil
	}
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int64
		n, err = strconv.ParseInt(days, 10, 32)
		age = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			err = errors.New("it is more than a hundred years")
		}
	}
	if err != nil || age <= 0 {
		return 0, &usage{fmt.Errorf("--%s %q is no age", name, text), "write it as in 5d, 36h or 90m"}
	}
	return age, nil
}

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
	if len(shown.Tables) > 0 {
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
	letters, err := l.letterOutlets(ctx)
	if err != nil {
		return shown, err
	}
	asked.search.Keep = append(asked.search.Keep, job.Folder(l.job.Checkpoint))
	for _, o := range append([]outlet{l.sink}, letters...) {
		if f, ok := o.(*folder); ok {
			asked.search.Keep = append(asked.search.Keep, f.read.Location)
		}
	}
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
		err = lookAfterTable(ctx, maintain.Open(o.Iceberg, options), asked, of)
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
	shown := &progress.MaintainExpiry{Snapshots: int64(e.Snapshots), Kept: int64(e.Kept), Refs: append([]string{}, e.Refs...), Held: []progress.MaintainHeld{},
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
	shown := &progress.MaintainCompact{Commits: int64(c.Commits), Left: c.Left.Few + c.Left.WithDeletes + c.Left.OtherSpecs + c.Left.OtherFormats + c.Left.TooLarge}
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
