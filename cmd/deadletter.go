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
	"sluice/lakesink"
	"sluice/offsets"
	"sluice/progress"
)

const (
	flagRecord = "record"
	flagDryRun = "dry-run"
	flagBatch  = "batch"
)

func (p *process) deadLetterCommand() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag { return slices.Concat(jobFlags(), outputFlags(), more) }
	return &cli.Command{
		Name:  "deadletter",
		Usage: "look at the records that are no rows, or make rows of them: ls, show, replay",
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "count the query's dead letters by topic, reason and batch, and list the newest", Action: p.listDeadLetters,
				Flags: flags(&cli.IntFlag{Name: flagLimit, Aliases: []string{"n"}, Value: 10, Usage: "list at most so many of the newest (`COUNT`)"})},
			{Name: "show", Usage: "show dead letters whole: key, value, headers and error, escaped", Action: p.showDeadLetters,
				Description: "Shows the records that --record names, all of the batch that --batch names, or the newest.\n\n   sluice deadletter show --job orders.yaml --record orders-3@1042\n   sluice deadletter show --job orders.yaml --batch 7 --output json > letters.json",
				Flags: flags(&cli.StringSliceFlag{Name: flagRecord, Usage: "show this one: `TOPIC-PARTITION@OFFSET`; may be repeated"},
					&cli.Int64Flag{Name: flagBatch, Usage: "show all of batch `NUMBER`, however many, also of one that is not finished"},
					&cli.IntFlag{Name: flagLimit, Aliases: []string{"n"}, Value: 1, Usage: "without --record and --batch, show so many of the newest (`COUNT`)"})},
			{Name: "replay", Usage: "decode the dead letters again, as the job is now, and add those that are rows to the table, each once", Action: p.replayDeadLetters,
				Description: "What cannot be read stays a dead letter, and the dead letters stay where they are. It may be repeated, also after it was killed: what is in the table is not added again.\n" +
					"It waits for the lease as a run does, and ends with exit code 11 while a run is active.",
				Flags: flags(&cli.BoolFlag{Name: flagDryRun, Usage: "decode and count only, and write nothing: what would become rows, and why the rest would not"})},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return &usage{fmt.Errorf("unknown command %q", "deadletter "+c.Args().First()), "use sluice deadletter ls, show or replay"}
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func (p *process) listDeadLetters(c *cli.Context) error {
	line, found, err := p.deadLetters(c)
	if line != nil {
		defer line.close()
	}
	if err != nil {
		return err
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	rows, err := p.letterRows(c.Context, line, found, func() (lakesink.Places, error) { return line.letterPlaces(c.Context, found) })
	if err != nil {
		return cause(c.Context, err)
	}
	if !rows.known {
		found.shown.Replayed = -1
	}
	tally := letterTally{topics: counts[string]{}, reasons: counts[string]{}, batches: counts[int64]{}, newest: newestPlaces{limit: limit}}
	err = line.eachLetter(c.Context, found, lakesink.LetterReasons, func(table string, letter *lakesink.Letter) (bool, error) {
		tally.add(found.shown, rows, table, letter)
		return true, c.Context.Err()
	})
	if err != nil {
		return cause(c.Context, err)
	}
	tally.into(found.shown)
	if err := progress.Write(p.stdout, p.json, found.shown); err != nil {
		return err
	}
	return found.stop
}

func limitOf(c *cli.Context) (int, error) {
	n := c.Int(flagLimit)
	if n < 1 || n > mostRows {
		return 0, &usage{fmt.Errorf("--%s %d is out of range", flagLimit, n), fmt.Sprintf("use a number from 1 to %d", mostRows)}
	}
	return n, nil
}

// record is one record that somebody wants to see.
type record struct {
	offsets.TopicPartition
	offset int64
}

// recordsOf reads TOPIC-PARTITION@OFFSET.
func recordsOf(c *cli.Context) (map[record]bool, error) {
	wanted := map[record]bool{}
	for _, text := range c.StringSlice(flagRecord) {
		place, at, ok := strings.Cut(text, "@")
		dash := strings.LastIndex(place, "-")
		offset, err := strconv.ParseInt(at, 10, 64)
		partition, err2 := strconv.ParseInt(place[dash+1:], 10, 32)
		if !ok || dash < 1 || err != nil || err2 != nil || offset < 0 || partition < 0 {
			return nil, &usage{fmt.Errorf("--%s %q is no record", flagRecord, text), "write it as in orders-3@1042"}
		}
		wanted[record{offsets.TopicPartition{Topic: place[:dash], Partition: int32(partition)}, offset}] = true
	}
	return wanted, nil
}

func placesOf(wanted map[record]bool) lakesink.Places {
	all := lakesink.Places{}
	for at := range wanted {
		all.Add(at.TopicPartition, at.offset)
	}
	return all
}

// letterPlaces are the places of a query's dead letters.
func (l *pipeline) letterPlaces(ctx context.Context, of *letterSet) (lakesink.Places, error) {
	all := lakesink.Places{}
	err := l.eachLetter(ctx, of, lakesink.LetterPlaces, func(_ string, letter *lakesink.Letter) (bool, error) {
		all.Add(letter.TopicPartition, letter.Offset)
		return true, ctx.Err()
	})
	return all, err
}

func (p *process) showDeadLetters(c *cli.Context) error {
	line, found, err := p.deadLetters(c)
	if line != nil {
		defer line.close()
	}
	if err != nil {
		return err
	}
	wanted, err := recordsOf(c)
	if err != nil {
		return err
	}
	if c.IsSet(flagBatch) {
		return p.showBatch(c, line, found)
	}
	if len(wanted) == 0 {
		if wanted, err = line.newestRecords(c, found); err != nil {
			return cause(c.Context, err)
		}
		if len(wanted) == 0 && !p.json {
			fmt.Fprintln(p.stdout, progress.Plural(0, "dead letter"))
		}
	}
	asked := len(wanted)
	rows, err := p.letterRows(c.Context, line, found, func() (lakesink.Places, error) { return placesOf(wanted), nil })
	if err != nil {
		return cause(c.Context, err)
	}
	err = line.eachLetter(c.Context, found, lakesink.WholeLetters, func(table string, letter *lakesink.Letter) (bool, error) {
		at := record{letter.TopicPartition, letter.Offset}
		if !wanted[at] {
			return true, c.Context.Err()
		}
		delete(wanted, at)
		return len(wanted) > 0, progress.Write(p.stdout, p.json, wholeLetter(rows.placeOf(table, letter), letter))
	})
	if err != nil {
		return cause(c.Context, err)
	}
	if len(wanted) > 0 {
		var names []string
		for at := range wanted {
			names = append(names, fmt.Sprintf("%s@%d", at.TopicPartition, at.offset))
		}
		slices.Sort(names)
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%d of %d records are no dead letters of query %s: %s", len(names), asked, found.shown.Query, strings.Join(names, ", ")),
			Hint: "sluice deadletter ls lists the newest that are there"}
	}
	return found.stop
}

// showBatch shows every dead letter of a batch as it is read: there may be more than memory holds.
func (p *process) showBatch(c *cli.Context, line *pipeline, of *letterSet) error {
	if c.IsSet(flagRecord) || c.IsSet(flagLimit) {
		return &usage{fmt.Errorf("--%s shows a whole batch, and --%s or --%s other records", flagBatch, flagRecord, flagLimit), "give one of them"}
	}
	n := c.Int64(flagBatch)
	rows, err := p.letterRows(c.Context, line, of, func() (lakesink.Places, error) { return line.letterPlaces(c.Context, of) })
	if err != nil {
		return cause(c.Context, err)
	}
	shown := 0
	err = line.eachLetter(c.Context, of, lakesink.WholeLetters, func(table string, letter *lakesink.Letter) (bool, error) {
		if letter.Batch != n {
			return true, c.Context.Err()
		}
		shown++
		return true, progress.Write(p.stdout, p.json, wholeLetter(rows.placeOf(table, letter), letter))
	})
	if err != nil {
		return cause(c.Context, err)
	}
	if shown == 0 {
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("batch %d of query %s has no dead letters", n, of.shown.Query), Hint: "sluice deadletter ls counts them by batch"}
	}
	return of.stop
}

// newestRecords are the newest dead letters, as many as are asked for.
func (l *pipeline) newestRecords(c *cli.Context, of *letterSet) (map[record]bool, error) {
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	newest, wanted := newestPlaces{limit: limit}, map[record]bool{}
	err = l.eachLetter(c.Context, of, lakesink.LetterPlaces, func(table string, letter *lakesink.Letter) (bool, error) {
		newest.add((&letterRows{}).placeOf(table, letter))
		return true, c.Context.Err()
	})
	for _, p := range newest.places {
		wanted[record{offsets.TopicPartition{Topic: p.Topic, Partition: p.Partition}, p.Offset}] = true
	}
	return wanted, err
}

func wholeLetter(at progress.DeadLetterPlace, l *lakesink.Letter) *progress.DeadLetter {
	d := &progress.DeadLetter{DeadLetterPlace: at, Key: l.Key, Value: l.Value, Headers: []progress.PeekHeader{}, Query: l.QueryName}
	if l.TimestampMs != -1 {
		d.Timestamp = &progress.Timestamp{Time: time.UnixMilli(l.TimestampMs)}
	}
	for _, h := range l.Headers {
		d.Headers = append(d.Headers, progress.PeekHeader{Key: string(h.Key), Value: h.Value})
	}
	return d
}
