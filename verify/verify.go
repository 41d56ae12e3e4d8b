package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
)

// Options say what to judge and whom to ask. The zero value judges the table alone.
type Options struct {
	// Query is the id of the query that Checkpoint and Identity belong to; empty if there are none. Every query with a
	// ledger in the table is judged, whichever it is.
	Query string
	// Branch is the branch that the table is loaded as (its current snapshot is that branch's head), empty for main. Queries
	// that write to others are left out, unless their newest batch is in this one too.
	Branch string
	// Checkpoint reads the newest end of the checkpoint; nil if there is none to compare with.
	Checkpoint func(context.Context) (*batch.LogState, error)
	// Identity is what the checkpoint belongs to; nil if unknown.
	Identity *batch.Identity
	// Source is Kafka; nil if it is not to be asked.
	Source Source
	// DeadLetters load the tables that the dead letters of Query went to, by name: all of them, if Identity names them
	// (LetterTables). One that is not there is catalog.ErrNoSuchTable or ErrNoSuchNamespace. Without any, dead letters are
	// compared by their number alone.
	DeadLetters map[string]func(context.Context) (*table.Table, error)
	// LetterTopics read the topics that dead letters of Query went to, by name: all of them, if Identity names them
	// (LetterPlaces); nil for one that is not to be read, of which the report says so.
	LetterTopics map[string]ReadTopic
	// Columns are the columns that place a row. The default is what sluice writes: DecodedColumns where the table has
	// them, else RawColumns.
	Columns Columns
	// Workers is how many files are read at once. The default is GOMAXPROCS.
	Workers int
	// Advanced is told how many of the data files have been read; nil if nobody wants to know. Calls come from several
	// goroutines.
	Advanced func(files, of int64)

	// bookkeeping is what is wrong with the objects that a folder's table was read from.
	bookkeeping func() []Problem
}

const (
	// maxReadings bounds how often the table is read again because files went away, and how often checkpoint and table
	// are read to get a pair that belongs together.
	maxReadings = 3
	maxPairs    = 5
)

// Table judges the table that load returns: it is loaded afresh for each reading, through any catalog. What witnesses say
// is in the report; an error means that a witness could not be heard. Repeating is safe.
func Table(ctx context.Context, load func(context.Context) (*table.Table, error), options Options) (*Report, error) {
	if options.Query == "" && (options.Checkpoint != nil || options.Identity != nil) {
		return nil, errors.New("verify: a checkpoint or identity needs the id of the query that it belongs to")
	}
	for reading := 1; ; reading++ {
		c := &court{Options: options, problems: map[Kind]int64{}, limits: map[Kind]int64{},
			report: &Report{Queries: []Query{}, Partitions: []Partition{}, Problems: []Problem{}, CannotProve: []Limit{}, Notes: []string{}}}
		if err := c.hear(ctx, load); err != nil {
			return nil, err
		}
		moved, err := c.moved(ctx, load)
		if err != nil {
			return nil, err
		}
		if !moved || reading == maxReadings {
			c.close()
			return c.report, nil
		}
	}
}

// hear reads all the evidence once.
func (c *court) hear(ctx context.Context, load func(context.Context) (*table.Table, error)) error {
	if err := c.open(ctx, load); err != nil {
		return err
	}
	if c.bookkeeping != nil {
		for _, p := range c.bookkeeping() {
			c.problem(p)
		}
	}
	c.readLedgers()
	c.checkLedgers()
	c.compareCheckpoint()
	c.layCoverage()
	if err := c.readTable(ctx); err != nil {
		return err
	}
	if err := c.readRemovals(ctx); err != nil {
		return err
	}
	if err := c.readLetters(ctx); err != nil {
		return err
	}
	if err := c.readTopics(ctx); err != nil {
		return err
	}
	all := c.cases()
	if err := c.askKafka(ctx, all); err != nil {
		return err
	}
	c.judge(all)
	c.tellHoles(all)
	return c.locate(ctx)
}

// open reads checkpoint and table so that they belong together: the checkpoint must be the same before and after.
func (c *court) open(ctx context.Context, load func(context.Context) (*table.Table, error)) error {
	for pair := 1; ; pair++ {
		before, err := c.readCheckpoint(ctx)
		if err != nil {
			return err
		}
		if c.table, err = load(ctx); err != nil {
			return fmt.Errorf("load the table: %w", err)
		}
		after, err := c.readCheckpoint(ctx)
		if err != nil {
			return err
		}
		if same(before, after) {
			c.log = after
			break
		}
		if pair == maxPairs {
			c.limit(Limit{Kind: RunActive, What: "that checkpoint and table agree",
				Why: "a run was committing batches so fast that no moment between two of them could be read", Todo: "verify when no run is active"})
			break
		}
	}
	c.history = newHistory(c.table.Metadata())
	c.report.Table = strings.Join(c.table.Identifier(), ".")
	if c.Branch != "" {
		c.report.Table += ".branch_" + c.Branch
	}
	c.report.TableUUID = c.table.Metadata().TableUUID().String()
	c.report.Location = c.table.Location()
	if len(c.history.chain) > 0 {
		c.report.Snapshot = c.history.chain[0].SnapshotID
	}
	var err error
	c.reader, err = newReader(ctx, c.table, c.Columns, c.Workers)
	return err
}

func (c *court) readCheckpoint(ctx context.Context) (*batch.LogState, error) {
	if c.Checkpoint == nil {
		return nil, nil
	}
	state, err := c.Checkpoint(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint: %w", err)
	}
	return state, nil
}

func same(a, b *batch.LogState) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Commit != b.Commit || (a.Plan == nil) != (b.Plan == nil) {
		return false
	}
	return a.Plan == nil || (a.Plan.Batch == b.Plan.Batch && a.Plan.Hash == b.Plan.Hash)
}

// moved says whether files that were found gone are so only because somebody replaced the snapshot in the meantime: then
// everything must be read again.
func (c *court) moved(ctx context.Context, load func(context.Context) (*table.Table, error)) (bool, error) {
	if c.problems[FileGone]+c.problems[ManifestGone] == 0 {
		return false, nil
	}
	now, err := load(ctx)
	if err != nil {
		return false, fmt.Errorf("load the table again: %w", err)
	}
	head := now.CurrentSnapshot()
	return head == nil || head.SnapshotID != c.report.Snapshot, nil
}

// close adds up.
func (c *court) close() {
	r := c.report
	for _, p := range r.Partitions {
		r.Rows += p.Rows
		r.Expected += p.Expected
		r.Duplicates += p.Duplicates
		r.Missing += p.Missing
		r.Unexpected += p.Unexpected
		r.DeletedByOthers += p.DeletedByOthers
		r.ReadTwice += p.ReadTwice
		r.Unaccounted += p.Unaccounted
		r.Unattributed += p.Unattributed
		r.DeadLetters += p.DeadLetters
		r.DeadLettersFound += p.DeadLettersFound
		r.Replayed += p.Replayed
		r.Dropped += p.Dropped
		r.Lost += p.Lost
		r.Verdict = worse(r.Verdict, p.Verdict)
	}
	r.GivenUp = givenUp(c.ledgers, c.history)
	c.countBatches()
	c.countForeign()
	c.closeLimits()
	for _, kind := range slices.Sorted(maps.Keys(c.problems)) {
		if n := c.problems[kind] - maxFindings; n > 0 {
			r.Problems = append(r.Problems, Problem{Kind: kind, Count: n, What: fmt.Sprintf("%s of the kind %s, besides those above", count(n, "problem"), kind),
				Evidence: "only the first few of a kind are told one by one", Todo: "Solve those above, then verify again."})
		}
	}
	r.OK = len(r.Problems) == 0
	switch {
	case !r.OK:
		r.Verdict = Broken
	case len(c.ledgers) == 0 || c.rowsUnread:
		r.Verdict = Unproven
	case r.Verdict == "":
		r.Verdict = Proved
	}
}

func (c *court) countBatches() {
	for _, l := range c.ledgers {
		c.report.Batches += c.applied(l.Query) + 1
	}
	if c.Query != "" && c.ledger(c.Query) == nil {
		applied := c.applied(c.Query) + 1
		c.report.Batches += applied
		if applied == 0 && !c.blind {
			c.note("nothing was applied of query %s yet", c.Query)
		}
	}
}

func (c *court) countForeign() {
	r := c.report
	for topic, n := range c.rows.foreign {
		if r.Foreign == nil {
			r.Foreign = map[string]int64{}
		}
		r.Foreign[topic] = n
		r.ForeignRows += n
	}
	if c.rows.nowhere > 0 {
		c.note("not judged, for want of a topic, partition or offset: %s", count(c.rows.nowhere, "row"))
		r.ForeignRows += c.rows.nowhere
	}
}

// closeLimits adds what is not proven of the whole.
func (c *court) closeLimits() {
	if len(c.ledgers) == 0 {
		c.limit(Limit{Kind: NoLedger, What: "anything about the rows", Why: "the table has no ledger: no query of sluice has written to it"})
	}
	if c.Checkpoint == nil {
		c.limit(Limit{Kind: NoCheckpoint, What: "that the checkpoint agrees with the table", Why: "none was given"})
	}
	c.tellUnread()
	var shared []string
	for _, tp := range slices.SortedFunc(maps.Keys(c.coverage), offsets.Compare) {
		if c.coverage[tp].depth() > 1 {
			shared = append(shared, tp.String())
		}
	}
	if len(shared) > 0 {
		c.limit(Limit{Kind: SharedPartitions, What: "which of the queries that read the same offsets a row belongs to",
			Why: fmt.Sprintf("rows do not say who wrote them; shared: %s, the first %s", count(int64(len(shared)), "partition"), shared[0])})
	}
	for _, kind := range slices.Sorted(maps.Keys(c.limits)) {
		if n := c.limits[kind] - maxFindings; n > 0 {
			c.report.CannotProve = append(c.report.CannotProve, Limit{Kind: kind, What: fmt.Sprintf("%d more of the kind %s", n, kind)})
		}
	}
}
