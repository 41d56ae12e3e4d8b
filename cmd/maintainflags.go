package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"sluice/lakesink/maintain"
)

const (
	flagExpire       = "expire"
	flagCompact      = "compact"
	flagManifests    = "rewrite-manifests"
	flagOrphans      = "orphans"
	flagOnly         = "only"
	flagOlderThan    = "older-than"
	flagRetainLast   = "retain-last"
	flagOrphansOlder = "orphans-older-than"
	flagUnsafeAge    = "unsafe-age"
	flagYes          = "yes"
	flagAbandoned    = "abandoned-query"
	flagDropped      = "dropped-table"
	onlyRows         = "rows"
	onlyLetters      = "dead-letters"
	orphansShown     = 20
)

func (p *process) maintainCommand() *cli.Command {
	return &cli.Command{
		Name:  "maintain",
		Usage: "keep the tables small: expire snapshots, compact files, rewrite manifests, remove orphans",
		Description: "Without --expire, --compact, --rewrite-manifests or --orphans it does the first three, which is what a crontab wants. Removing files that nothing refers to has to be\n" +
			"asked for, and is only shown without --yes. Runs may go on beside it. It works on the table of the rows and on that of the dead letters. What bookkeeping needs is never removed.\n\n" +
			"   sluice maintain --job orders.yaml --dry-run\n   sluice maintain --job orders.yaml --orphans --yes\n\ndocs/maintain.md says what each action does, and what it leaves alone.",
		Flags: slices.Concat(jobFlags(), outputFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print no text unless something is wrong; the object of -o json is printed all the same"},
			&cli.BoolFlag{Name: flagDryRun, Usage: "show what would be done, and change nothing"},
			&cli.BoolFlag{Name: flagExpire, Usage: "expire old snapshots, and delete the files that only they have"},
			&cli.BoolFlag{Name: flagCompact, Usage: "make large data files of small ones, of the size of --target-file-size"},
			&cli.BoolFlag{Name: flagManifests, Usage: "make few manifests of many small ones"},
			&cli.BoolFlag{Name: flagOrphans, Usage: "find files that nothing refers to, and remove them with --yes"},
			&cli.BoolFlag{Name: flagYes, Usage: "remove what --orphans finds"},
			&cli.StringFlag{Name: flagOnly, Usage: "only one `TABLE` of the query's: rows or dead-letters"},
			&cli.StringFlag{Name: flagOlderThan, Usage: "expire snapshots older than `AGE`, such as 5d or 12h", DefaultText: "the table's history.expire.max-snapshot-age-ms, or 5d"},
			&cli.IntFlag{Name: flagRetainLast, Usage: "keep at least so many of a branch's newest snapshots, whatever their age (`COUNT`)", DefaultText: "the table's history.expire.min-snapshots-to-keep, or 1"},
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
	if err := u.pointless(c); err != nil {
		return nil, err
	}
	abandoned, err := idsOf(c, flagAbandoned)
	if err != nil {
		return nil, err
	}
	dropped, err := idsOf(c, flagDropped)
	if err != nil {
		return nil, err
	}
	u.expiry = maintain.ExpireOptions{RetainLast: c.Int(flagRetainLast), Abandoned: abandoned}
	u.search = maintain.OrphanOptions{Unsafe: c.Bool(flagUnsafeAge), Remove: c.Bool(flagYes), Abandoned: abandoned, Dropped: dropped, Show: orphansShown}
	if c.IsSet(flagRetainLast) && u.expiry.RetainLast < 1 {
		return nil, &usage{fmt.Errorf("--%s %d: one snapshot always stays", flagRetainLast, u.expiry.RetainLast), "use a number of at least 1"}
	}
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

// pointless refuses flags that make no difference to the actions that were chosen: whoever gives one means something by it.
func (u *upkeep) pointless(c *cli.Context) error {
	for _, f := range []struct {
		name, of string
		used     bool
	}{
		{flagOlderThan, "--" + flagExpire, u.expire},
		{flagRetainLast, "--" + flagExpire, u.expire},
		{flagYes, "--" + flagOrphans, u.orphans},
		{flagOrphansOlder, "--" + flagOrphans, u.orphans},
		{flagUnsafeAge, "--" + flagOrphans, u.orphans},
		{flagDropped, "--" + flagOrphans, u.orphans},
		{flagAbandoned, "--" + flagExpire + " or --" + flagOrphans, u.expire || u.orphans},
	} {
		if c.IsSet(f.name) && !f.used {
			return &usage{fmt.Errorf("--%s makes no difference without %s", f.name, f.of), "add " + f.of + ", or leave --" + f.name + " out"}
		}
	}
	return nil
}

// flinkOperator is how maintain names the committers of Flink, which keep no UUID.
const flinkOperator = "flink operator "

// idsOf reads the ids of queries or tables, which are UUIDs: what is none would match nothing, in silence.
func idsOf(c *cli.Context, name string) (ids []string, err error) {
	for _, id := range c.StringSlice(name) {
		if operator, ok := strings.CutPrefix(id, flinkOperator); ok && operator != "" && name == flagAbandoned {
			ids = append(ids, id)
			continue
		}
		if len(id) != 36 || uuid.Validate(id) != nil {
			return nil, &usage{fmt.Errorf("--%s %q is no UUID", name, id), "copy it from the message that names it"}
		}
		ids = append(ids, strings.ToLower(id))
	}
	return ids, nil
}

// own refuses to call the job's own query abandoned.
func (u *upkeep) own(query string) error {
	if query == "" || !slices.Contains(u.expiry.Abandoned, query) {
		return nil
	}
	return &usage{fmt.Errorf("--%s %s is the query of this job itself: its next run goes by the history that would be removed", flagAbandoned, query), "leave it out; only a query that does not run any more is abandoned"}
}
