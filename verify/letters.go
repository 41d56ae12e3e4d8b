package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// The columns that say of which batch of which query a dead letter is.
const (
	letterQuery = "query_id"
	letterBatch = "batch_id"
)

// lettersRole begins the role of a place of dead letters in an identity; the place follows, as batch.LetterPlace has it.
const lettersRole = "deadLetters/"

// LetterPlaces lists the places of one kind that a query's dead letters went to, by name, as its identity has them.
func LetterPlaces(identity *batch.Identity, kind batch.LetterKind) []string {
	var names []string
	if identity != nil {
		for role := range identity.Tables {
			if text, ok := strings.CutPrefix(role, lettersRole); ok {
				if place := batch.ParseLetterPlace(text); place.Kind == kind {
					names = append(names, place.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// LetterTables are those of them that are tables.
func LetterTables(identity *batch.Identity) []string { return LetterPlaces(identity, batch.InTable) }

// letterTable is one table of dead letters, with those of the query that the table of the rows counts.
type letterTable struct {
	name    string
	table   *table.Table
	history *history
	rows    *rowSet
	// damaged says that some of its files could not be read.
	damaged bool
}

// lettersAccepted says whether the query has gone on without dead letters that a place has lost: by somebody's decision, or
// since the place was a topic.
func (c *court) lettersAccepted() bool { return c.Identity != nil && len(c.Identity.LostLetters) > 0 }

// lostLetters is the limit of those dead letters: which places, and how they were found.
func (c *court) lostLetters() Limit {
	var decided, deleted []string
	for _, uuid := range slices.Sorted(maps.Keys(c.Identity.LostLetters)) {
		if lost := c.Identity.LostLetters[uuid]; batch.ParseLetterPlace(lost.Place).Kind == batch.InTopic {
			deleted = append(deleted, lost.Found)
		} else {
			decided = append(decided, lost.Found)
		}
	}
	var why []string
	if len(decided) > 0 {
		why = append(why, "somebody decided to go on without dead letters that were lost (--lost-dead-letters accept), according to the identity of the query: "+strings.Join(decided, "; "))
	}
	if len(deleted) > 0 {
		why = append(why, "a query goes on without the dead letters of a topic that was deleted, and its identity says: "+strings.Join(deleted, "; "))
	}
	return Limit{Kind: LossAccepted, Why: strings.Join(why, "; "), Todo: "nothing if they were meant to stay gone"}
}

// readLetters reads the tables of dead letters, after the table of the rows: of what was added since, nothing counts.
func (c *court) readLetters(ctx context.Context) error {
	if c.lettersAccepted() {
		l := c.lostLetters()
		l.What = "what became of all dead letters"
		c.limit(l)
	}
	for _, name := range slices.Sorted(maps.Keys(c.DeadLetters)) {
		t, err := c.DeadLetters[name](ctx)
		if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
			t, err = nil, nil
		}
		if err != nil {
			return fmt.Errorf("load the table of dead letters %s: %w", name, err)
		}
		if !c.sameLetterTable(name, t) {
			continue
		}
		if err := c.readLetterTable(ctx, name, t); err != nil {
			return err
		}
	}
	return nil
}

// sameLetterTable says whether there is a table to read: the one that the identity names.
func (c *court) sameLetterTable(name string, t *table.Table) bool {
	was, is := "", "none"
	if c.Identity != nil {
		was = c.Identity.Tables[lettersRole+name]
	}
	if t != nil {
		is = t.Metadata().TableUUID().String()
	}
	if was != "" && was != is && c.Identity.AcceptedLoss(was) == nil {
		c.problem(Problem{Kind: DeadLetterTableGone, Query: c.Query, What: "the table of dead letters " + name + " is gone, or another one took its place",
			Evidence: fmt.Sprintf("the identity of the query says that its UUID is %s; there is %s", was, is), Todo: "Bring it back, or run the query once with --lost-dead-letters accept."})
	}
	return t != nil && (was == "" || was == is)
}

func (c *court) readLetterTable(ctx context.Context, name string, t *table.Table) error {
	l := &letterTable{name: name, table: t, history: newHistory(t.Metadata()), rows: c.rows.like()}
	c.letters = append(c.letters, l)
	line := LetterTable{Name: name, UUID: t.Metadata().TableUUID().String(), Location: t.Location(), Batch: batch.None}
	if ledger, err := batch.ParseLedger(t.Properties(), c.Query); err != nil {
		c.problem(Problem{Kind: LedgerUnreadable, Query: c.Query, What: "the ledger of the table of dead letters " + name + " cannot be read", Evidence: err.Error(), Todo: ledgerTodo})
	} else if ledger != nil {
		line.Batch = ledger.Batch
	}
	if len(l.history.chain) > 0 {
		line.Snapshot = l.history.chain[0].SnapshotID
		if err := c.readLetterFiles(ctx, l); err != nil {
			return err
		}
	}
	line.DeadLetters = l.rows.total()
	c.report.LetterTables = append(c.report.LetterTables, line)
	return nil
}

// readLetterFiles counts the dead letters of the batches that the table of the rows has.
func (c *court) readLetterFiles(ctx context.Context, l *letterTable) error {
	r, err := newReader(ctx, l.table, DecodedColumns, c.Workers)
	if err != nil {
		return fmt.Errorf("table of dead letters %s: %w", l.name, err)
	}
	files, err := r.files(ctx, &l.history.chain[0])
	var broken *manifestError
	if errors.As(err, &broken) {
		finding, err := r.damage(ctx, broken.path, broken.err)
		if err != nil {
			return err
		}
		c.unreadableLetters(l, broken.path, finding)
		return nil
	}
	if err != nil {
		return err
	}
	r.only = &letterOwner{query: c.Query, newest: c.applied(c.Query)}
	scan := r.scan(nil)
	defer scan.Close()
	findings := make([]error, len(files))
	err = parallel(ctx, r.workers, len(files), func(ctx context.Context, i int) error {
		err := r.read(ctx, scan, files[i].task, gather(l.rows))
		if err != nil {
			findings[i], err = r.damage(ctx, files[i].path(), err)
		}
		return err
	})
	for i, finding := range findings {
		if finding != nil {
			c.unreadableLetters(l, files[i].path(), finding)
		}
	}
	return err
}

// letterOwner picks the dead letters of one query's batches up to the newest.
type letterOwner struct {
	query  string
	newest int64
}

// of says which rows those are; all of them for nobody in particular.
func (o *letterOwner) of(rows arrow.RecordBatch) (func(i int) bool, error) {
	if o == nil {
		return func(int) bool { return true }, nil
	}
	var queries interface{ Value(int) string }
	var batches *array.Int64
	for i, f := range rows.Schema().Fields() {
		switch a := rows.Column(i).(type) {
		case *array.String:
			if f.Name == letterQuery {
				queries = a
			}
		case *array.LargeString:
			if f.Name == letterQuery {
				queries = a
			}
		case *array.Int64:
			if f.Name == letterBatch {
				batches = a
			}
		}
	}
	if queries == nil || batches == nil {
		return nil, fmt.Errorf("columns %s and %s are not both there, as a text and a whole number", letterQuery, letterBatch)
	}
	return func(i int) bool { return queries.Value(i) == o.query && batches.Value(i) <= o.newest }, nil
}

func (c *court) unreadableLetters(l *letterTable, path string, finding error) {
	l.damaged = true
	p := Problem{Kind: FileUnreadable, Query: c.Query, What: "a file of the table of dead letters " + l.name + " cannot be read", Files: []string{path}, Evidence: fmt.Sprintf("%s: %v", path, finding),
		Todo: "Restore the file from a backup or an older version in the store."}
	if errors.Is(finding, fs.ErrNotExist) {
		p.Kind, p.What = FileGone, "a file of the table of dead letters "+l.name+" is gone from the store"
	}
	c.problem(p)
}

// untouched says whether nobody can have removed any: every snapshot since the first only added, and all files are there.
func (l *letterTable) untouched() bool {
	if l.damaged || !l.history.complete {
		return false
	}
	for _, s := range l.history.chain {
		if s.Summary == nil || s.Summary.Operation != table.OpAppend && s.Summary.Operation != table.OpReplace {
			return false
		}
	}
	return true
}

// weighLetters gathers the dead letters of one partition, if those of its only query were read.
func (c *court) weighLetters(k *partitionCase) {
	if len(k.claims) != 1 || k.claims[0].ledger.Query != c.Query || len(c.letters)+len(c.topics) == 0 {
		return
	}
	k.letters, k.lettersWhole = newTally(2), true
	for _, l := range c.letters {
		k.letters.addAll(l.rows.of(k.TopicPartition).tally)
		k.lettersWhole = k.lettersWhole && l.untouched()
	}
	k.line.DeadLettersFound = k.letters.rows
	c.weighTopics(k)
}

// judgeLetters compares the dead letters of a partition with what the ledger counts, and with the rows.
func (c *court) judgeLetters(k *partitionCase) {
	if k.letters == nil {
		return
	}
	says := k.claims[0].account.DeadLetters
	switch found, inTables := k.line.DeadLettersFound, k.letters.rows; {
	case inTables > says:
		c.badLetters(k, Problem{Kind: DeadLettersUnexpected, Count: inTables - says, What: fmt.Sprintf("%s has %s more than were counted", k, count(inTables-says, "dead letter"))})
	case found < says && c.lettersAccepted():
		k.line.Verdict = worse(k.line.Verdict, Unproven)
		l := c.lostLetters()
		l.What = fmt.Sprintf("what became of %s of %s", count(says-found, "dead letter"), k)
		c.limit(l)
	case found < says && !k.lettersWhole:
		k.line.Verdict = worse(k.line.Verdict, Unproven)
		c.limit(Limit{Kind: DeadLettersOnly, What: fmt.Sprintf("what became of %s of %s", count(says-found, "dead letter"), k),
			Why: c.removedWhy()})
	case found < says:
		c.badLetters(k, Problem{Kind: DeadLettersMissing, Count: says - found, What: fmt.Sprintf("%s lacks %s", k, count(says-found, "dead letter"))})
	}
	if twice := k.letters.rows - int64(k.letters.level(0).GetCardinality()); twice > 0 && !k.uncounted() { // what is read again after a loss is rejected again
		c.badLetters(k, Problem{Kind: DeadLettersTwice, Count: twice, Offsets: spans(k.letters.level(1), 0, maxOffset, maxSpans), What: fmt.Sprintf("%s has %s too many", k, count(twice, "dead letter"))})
	}
	both := roaring64.And(k.letters.level(0), k.seen.level(0))
	if n := int64(both.GetCardinality()) - k.line.Replayed; n > 0 && !k.uncounted() {
		c.badLetters(k, Problem{Kind: RowAndDeadLetter, Count: n, Offsets: spans(both, 0, maxOffset, maxSpans), Among: k.line.Replayed > 0, What: fmt.Sprintf("%s of %s are rows and dead letters", count(n, "record"), k)})
	}
}

// removedWhy says why dead letters may be lacking.
func (c *court) removedWhy() string {
	if len(c.unreadTopics) > 0 {
		return "they may be in topic " + strings.Join(c.unreadTopics, ", ") + ", which was not read"
	}
	if len(c.topics) > 0 {
		return "a topic or a table of dead letters does not have all that it had"
	}
	return "somebody has removed dead letters, or the history that would tell has expired"
}

// badLetters finishes a problem with the dead letters of a partition.
func (c *court) badLetters(k *partitionCase, p Problem) {
	k.line.Verdict = Broken
	p.Query = c.Query
	p.Evidence = fmt.Sprintf("the ledger of the rows counts %s, %d of them replayed; %s has %d", count(k.claims[0].account.DeadLetters, "dead letter"), k.line.Replayed, c.letterNames(), k.line.DeadLettersFound)
	if len(p.Offsets) > 0 {
		p.Evidence += "; offsets " + spansText(p.Offsets)
	}
	p.Todo = "Find what wrote or removed them: the snapshots of the tables say. Nothing that sluice does should lead to this."
	c.problem(p.at(k.TopicPartition))
}

func (c *court) letterNames() string {
	var names []string
	for _, l := range c.letters {
		names = append(names, l.name)
	}
	for _, l := range c.topics {
		names = append(names, "topic "+l.name)
	}
	return strings.Join(names, ", ")
}
