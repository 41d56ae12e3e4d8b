package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/offsets"
)

// readLedgers parses every ledger among the table's properties by itself, so that one that cannot be read leaves the
// others standing.
func (c *court) readLedgers() {
	properties := c.table.Properties()
	for _, id := range ledgerIDs(properties) {
		l, err := batch.ParseLedger(properties, id)
		if err == nil && l == nil {
			err = fmt.Errorf("table property %s is missing, but parts of it are there", batch.LedgerPrefix+id)
		}
		if err != nil {
			c.blind = true
			c.problem(Problem{Kind: LedgerUnreadable, Query: id, What: "the ledger of query " + id + " cannot be read", Evidence: err.Error(),
				Todo: "Somebody changed the table's properties: restore them from an older metadata file, or go on with a new query after deciding which rows to keep."})
			continue
		}
		if l.Branch != c.Branch && c.history.standing(l.Snapshot, l.Sequence) != standsIn {
			c.note("query %s writes to %s, and its newest batch, %d, is not in %s: it is not judged here", queryName(l), branchName(l.Branch), l.Batch, branchName(c.Branch))
			continue
		}
		c.ledgers = append(c.ledgers, l)
		q := Query{ID: id, Name: l.Name, Batch: l.Batch, Snapshot: l.Snapshot}
		for _, a := range accountsOf(l) {
			q.Rows, q.DeadLetters, q.Dropped, q.Lost = q.Rows+a.Rows, q.DeadLetters+a.DeadLetters, q.Dropped+a.Dropped, q.Lost+a.Lost
		}
		c.report.Queries = append(c.report.Queries, q)
	}
}

// accountsOf lists all accounts of a ledger, those of logs that are gone too.
func accountsOf(l *batch.Ledger) (all []batch.Account) {
	for _, a := range l.Accounts {
		all = append(all, a)
	}
	for _, p := range l.Past {
		all = append(all, p.Account)
	}
	return all
}

// ledgerIDs lists the queries that have a ledger or a part of one, in order. Query ids hold no dot.
func ledgerIDs(properties map[string]string) []string {
	ids := map[string]bool{}
	for key := range properties {
		if rest, ok := strings.CutPrefix(key, batch.LedgerPrefix); ok {
			id, _, _ := strings.Cut(rest, ".")
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func branchName(branch string) string {
	if branch == "" {
		return "the main branch"
	}
	return "branch " + branch
}

func (c *court) ledger(query string) *batch.Ledger {
	for _, l := range c.ledgers {
		if l.Query == query {
			return l
		}
	}
	return nil
}

// name is how messages call a query.
func queryName(l *batch.Ledger) string {
	if l.Name == "" {
		return l.Query
	}
	return l.Name
}

// checkLedgers holds every ledger against itself and against the table's history.
func (c *court) checkLedgers() {
	for _, l := range c.ledgers {
		for _, tp := range l.Next().Partitions() {
			c.checkAccount(l, tp, l.Accounts[tp])
		}
		for _, p := range l.Past {
			c.checkAccount(l, p.TopicPartition, p.Account)
		}
		c.checkSnapshot(l)
		c.checkHistory(l)
	}
}

// checkAccount refuses what no run can have counted.
func (c *court) checkAccount(l *batch.Ledger, tp offsets.TopicPartition, a batch.Account) {
	evidence := ""
	switch {
	case a.First < 0 || a.Next < a.First:
		evidence = fmt.Sprintf("it goes from offset %d to %d", a.First, a.Next)
	case min(a.Rows, a.DeadLetters, a.Dropped, a.Lost, a.Nulled, a.Rows-a.Nulled, a.Replayed, a.DeadLetters-a.Replayed) < 0:
		evidence = fmt.Sprintf("it counts %d rows (%d of them of malformed records), %d dead letters (%d of them replayed), %d dropped, %d lost", a.Rows, a.Nulled, a.DeadLetters, a.Replayed, a.Dropped, a.Lost)
	case l.Uncounted == batch.None && a.Rows+a.DeadLetters+a.Dropped+a.Lost > a.Next-a.First:
		evidence = fmt.Sprintf("it counts %d rows, %d dead letters, %d dropped and %d lost in the %d offsets of [%d,%d)",
			a.Rows, a.DeadLetters, a.Dropped, a.Lost, a.Next-a.First, a.First, a.Next)
	default:
		return
	}
	c.problem(Problem{Kind: LedgerImpossible, Query: l.Query, Evidence: evidence, Todo: ledgerTodo,
		What: fmt.Sprintf("what the ledger of query %s says of %s is impossible", queryName(l), tp)}.at(tp))
}

const ledgerTodo = "Do not run the query before it is clear who changed the table's properties: it would go on from what the ledger says. " +
	"Compare with an older metadata file of the table."

// checkSnapshot holds a ledger against the snapshot that it names.
func (c *court) checkSnapshot(l *batch.Ledger) {
	says := fmt.Sprintf("the ledger of query %s names snapshot %d, sequence number %d, for batch %d", queryName(l), l.Snapshot, l.Sequence, l.Batch)
	switch c.history.standing(l.Snapshot, l.Sequence) {
	case expired:
		if !c.confirmed(l) {
			c.limit(Limit{Kind: LedgerUnconfirmed, What: fmt.Sprintf("that batch %d is the newest of query %s", l.Batch, queryName(l)),
				Why: "the snapshot that the ledger names has expired, and no checkpoint was given that confirms it", Todo: "verify with the checkpoint"})
		}
	case removed:
		c.notInHistory(l, says)
	case standsIn:
		s := &c.history.chain[c.history.index[l.Snapshot]]
		m, ok := markOf(s)
		if ok && !m.spark && m.query == l.Query && m.batch == l.Batch && m.plan == l.Plan && s.SequenceNumber == l.Sequence {
			return
		}
		c.problem(Problem{Kind: LedgerSnapshot, Query: l.Query, What: fmt.Sprintf("the ledger of query %s does not fit the snapshot that it names", queryName(l)),
			Evidence: fmt.Sprintf("%s and plan %.12s; that is %s with sequence number %d and plan %.12s", says, l.Plan, describe(s), s.SequenceNumber, m.plan),
			Todo:     ledgerTodo})
	}
}

func (c *court) notInHistory(l *batch.Ledger, says string) {
	if c.consented(l) {
		c.limit(Limit{Kind: LossAccepted, What: "rows of query " + queryName(l) + " that the table lost when it was rolled back",
			Why: "somebody has decided about them, and the next run carries that out", Todo: "run the query, then verify again"})
		return
	}
	evidence := says + "; the history of " + branchName(c.Branch) + " has no such snapshot and"
	if c.history.complete {
		evidence += " is complete"
	} else {
		oldest := &c.history.chain[len(c.history.chain)-1]
		evidence += fmt.Sprintf(" goes back to sequence number %d", oldest.SequenceNumber)
	}
	c.problem(Problem{Kind: LedgerSnapshot, Query: l.Query, What: fmt.Sprintf("the snapshot that applied batch %d of query %s is no longer part of the table", l.Batch, queryName(l)),
		Evidence: evidence, Todo: "If the table was rolled back, roll it forward again, or let the next run read the rows again or accept that they are gone. If not, the property was changed."})
}

// checkHistory looks for batches of ours that the ledger does not know, and for batches applied more than once.
func (c *court) checkHistory(l *batch.Ledger) {
	seen := map[int64]markedSnapshot{}
	for _, m := range c.history.batches(l.Query) {
		if m.spark {
			continue
		}
		if m.batch > l.Batch {
			c.problem(Problem{Kind: LedgerBehind, Query: l.Query, What: fmt.Sprintf("the ledger of query %s is behind the table", queryName(l)),
				Evidence: fmt.Sprintf("it says that batch %d is the newest; there is %s", l.Batch, describe(m.snapshot)), Todo: ledgerTodo})
		}
		if other, twice := seen[m.batch]; twice {
			c.problem(Problem{Kind: BatchTwice, Query: l.Query, What: fmt.Sprintf("batch %d of query %s was applied twice", m.batch, queryName(l)),
				Evidence: fmt.Sprintf("by %s and by %s", describe(m.snapshot), describe(other.snapshot)),
				Todo:     "Delete the rows of one of the two snapshots; please report this, for the commit protocol should make it impossible."})
		}
		seen[m.batch] = m
	}
}
