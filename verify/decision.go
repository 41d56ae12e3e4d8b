package verify

import (
	"encoding/json"
	"fmt"
	"strings"

	"sluice/batch"
)

// The keys of a snapshot's summary that say which run carried a decision out, and what it was.
const (
	summaryRun      = "sluice.run-id"
	summaryAccepted = "sluice.accepted"
)

// What is left to do about rows that a table lost, once somebody has decided: the ledger's counts keep them.
const (
	acceptTodo = "nothing if the rows were meant to stay gone: this remains open for as long as the table has this ledger; a new query into a table of its own can be proved"
	rereadTodo = "nothing if the numbers are those of the rows that were read again: the ledger counts these twice for as long as the table has it; a new query into a table of its own can be proved"
	whichTodo  = "find out what was decided, from the run's log or from whoever ran it: the counts remain open for as long as the table has this ledger"
)

// lossAccepted is the limit of rows that ledgers count and that somebody decided to go on without: which batch carried
// that out, what was chosen, and what the evidence has of it.
func (c *court) lossAccepted(k *partitionCase) Limit {
	l := Limit{Kind: LossAccepted}
	var told []string
	for _, claim := range k.claims {
		if claim.ledger.Uncounted == batch.None {
			continue
		}
		why, todo := c.decision(claim.ledger)
		told = append(told, why)
		l.Todo = todo
	}
	l.Why = strings.Join(told, "; ") + "; the counts of the ledger include the rows that were lost"
	if where, total := k.coverage.lacking(k.ever, maxSpans); total > 0 {
		l.Why += fmt.Sprintf("; without a row are the offsets %s%s", spansText(where), more(total, where))
	}
	return l
}

// decision says what is known of the newest decision about lost rows that a ledger remembers, and what to do about it.
func (c *court) decision(l *batch.Ledger) (why, todo string) {
	why = fmt.Sprintf("batch %d of query %s went on, by somebody's decision, after the table had lost rows", l.Uncounted, queryName(l))
	accepted, evidence := c.acceptance(l)
	if accepted == nil {
		return why + ": " + evidence, whichTodo
	}
	why += fmt.Sprintf(": the choice was --lost-rows %s, made when the table %s, according to %s", accepted.Choice, stateText(accepted), evidence)
	if accepted.Choice == batch.Accept {
		return why, acceptTodo
	}
	return why, rereadTodo
}

func stateText(a *batch.Acceptance) string {
	if a.Batch == batch.None {
		return "had nothing of the query"
	}
	return fmt.Sprintf("named batch %d, snapshot %d", a.Batch, a.Snapshot)
}

// acceptance finds the decision in the summary of the snapshot that carried it out, or in the checkpoint's newest plan,
// and says where; nil if neither is left.
func (c *court) acceptance(l *batch.Ledger) (*batch.Acceptance, string) {
	for _, m := range c.history.batches(l.Query) {
		if m.spark || m.batch != l.Uncounted {
			continue
		}
		p := m.snapshot.Summary.Properties
		var a batch.Acceptance
		if err := json.Unmarshal([]byte(p[summaryAccepted]), &a); err != nil || a.Choice == "" {
			return nil, fmt.Sprintf("which, %s does not say", describe(m.snapshot))
		}
		return &a, fmt.Sprintf("%s of run %s", describe(m.snapshot), p[summaryRun])
	}
	if c.log != nil && c.log.Plan != nil && l.Query == c.Query && c.log.Plan.Batch == l.Uncounted && c.log.Plan.Accepted != nil {
		return c.log.Plan.Accepted, fmt.Sprintf("plan %d of the checkpoint", l.Uncounted)
	}
	return nil, "which, is not known any more: the snapshot that said it has expired"
}
