package verify

import (
	"fmt"

	"sluice/batch"
	"sluice/offsets"
)

// confirmed says whether the checkpoint bears out a ledger whose snapshot has expired: its batch is the newest plan, or
// the one before a plan that is still to be applied.
func (c *court) confirmed(l *batch.Ledger) bool {
	if c.log == nil || l.Query != c.Query || c.log.Plan == nil {
		return false
	}
	return c.log.Plan.Is(l.Plan) || (c.log.Plan.Batch == l.Batch+1 && c.log.Commit == l.Batch)
}

// consented says whether the newest plan carries a decision about rows that the table lost, made about this ledger.
func (c *court) consented(l *batch.Ledger) bool {
	if c.log == nil || c.log.Plan == nil || l.Query != c.Query {
		return false
	}
	return c.log.Plan.Accepted.Covers(&batch.Applied{Batch: l.Batch, Snapshot: l.Snapshot})
}

// applied is the newest batch that the table says was applied of the query, by us or by Spark.
func (c *court) applied(query string) int64 {
	l := c.ledger(query)
	if spark := c.history.sparkSince(query, l); spark != batch.None {
		return spark
	}
	if l != nil {
		return l.Batch
	}
	return batch.None
}

// compareCheckpoint holds the checkpoint against the table, by the rules with which a run recovers.
func (c *court) compareCheckpoint() {
	c.compareTable()
	if c.log == nil {
		return
	}
	l, applied := c.ledger(c.Query), c.applied(c.Query)
	if l == nil && c.blind {
		return // its ledger may be the one that cannot be read
	}
	if l != nil && c.consented(l) {
		return
	}
	planned := batch.None
	if c.log.Plan != nil {
		planned = c.log.Plan.Batch
	}
	if applied < c.log.Commit && c.hiddenBySpark(l) {
		c.limit(Limit{Kind: WrittenBySpark, What: fmt.Sprintf("that batches %d to %d are in the table", applied+1, c.log.Commit),
			Why: "Spark wrote them, no ledger counts them, and their snapshots have expired"})
		return
	}
	switch {
	case applied > planned:
		c.behind(applied, planned)
	case c.log.Commit > planned, applied < c.log.Commit, applied < planned-1:
		c.ahead(l, applied, planned)
	case applied == planned:
		c.compareNewest(l)
	default:
		c.compareNext(l)
	}
}

// hiddenBySpark says whether Spark may have applied the newest batch in a snapshot that has expired: only where it made
// the newest plan, or the plan before one that is not yet done.
func (c *court) hiddenBySpark(l *batch.Ledger) bool {
	if c.history.complete || c.log.Plan == nil || (l != nil && c.history.standing(l.Snapshot, l.Sequence) == standsIn) {
		return false
	}
	return c.log.Plan.Foreign || c.log.Commit == c.log.Plan.Batch-1
}

// behind: the table is past what the checkpoint has planned.
func (c *court) behind(applied, planned int64) {
	evidence := fmt.Sprintf("the table has batch %d, the checkpoint's newest plan is that of batch %d", applied, planned)
	if planned == batch.None {
		evidence = fmt.Sprintf("the table has batch %d, the checkpoint has no plan at all", applied)
	}
	c.problem(Problem{Kind: CheckpointBehind, Query: c.Query, What: "the checkpoint is behind the table", Evidence: evidence,
		Todo: "The checkpoint was lost or restored from a backup, or is another one: the table's ledger decides, and the next run rebuilds the checkpoint from it."})
}

// ahead: the checkpoint says that a batch is done which the table does not have.
func (c *court) ahead(l *batch.Ledger, applied, planned int64) {
	kind, what := CheckpointAhead, "the checkpoint is ahead of the table"
	if l == nil && applied == batch.None {
		kind, what = LedgerMissing, "the table has no ledger of the query"
	}
	c.problem(Problem{Kind: kind, Query: c.Query, What: what,
		Evidence: fmt.Sprintf("the checkpoint has planned batch %d and marked batch %d as done; the newest batch in the table is %s", planned, c.log.Commit, batchText(applied)),
		Todo:     "The table was restored, rolled back or replaced, or its properties were changed: put the table back, or decide whether the next run reads the missing batches again."})
}

func batchText(n int64) string {
	if n == batch.None {
		return "none"
	}
	return fmt.Sprint(n)
}

// compareNewest: the newest plan is in the table, so that its ends are the ledger's.
func (c *court) compareNewest(l *batch.Ledger) {
	if c.log.Plan == nil {
		return // nothing planned, nothing applied
	}
	if c.log.Commit == c.log.Plan.Batch-1 {
		c.note("batch %d is in the table and not yet marked as done: the next run marks it", c.log.Plan.Batch)
	} else if c.log.Commit < c.log.Plan.Batch-1 {
		c.note("the checkpoint lacks marks for batches %d to %d, which are in the table", c.log.Commit+1, c.log.Plan.Batch)
	}
	if l == nil || l.Batch != c.log.Plan.Batch {
		return // applied by Spark
	}
	if !c.log.Plan.Is(l.Plan) {
		c.differs(fmt.Sprintf("batch %d was applied with plan %.12s, the checkpoint holds plan %.12s", l.Batch, l.Plan, c.log.Plan.Hash))
		return
	}
	c.compareOffsets(l, c.log.Plan.End, "ends")
	for topic, id := range c.log.Plan.TopicIDs {
		if known := l.TopicIDs[topic]; id != "" && known != "" && known != id {
			c.differs(fmt.Sprintf("plan %d reads topic %s with id %s, the ledger has id %s", l.Batch, topic, id, known))
		}
	}
}

// compareNext: the newest plan is still to be applied, so that it starts where the ledger ends.
func (c *court) compareNext(l *batch.Ledger) {
	c.note("batch %d is planned and not in the table: the next run finishes it", c.log.Plan.Batch)
	if l != nil && l.Batch == c.log.Plan.Batch-1 {
		c.compareOffsets(l, c.log.Plan.Before(), "starts")
	}
}

// compareOffsets holds a ledger's next offsets against a plan's. Partitions that only the ledger knows are no longer
// read; those that only the plan starts with are new.
func (c *court) compareOffsets(l *batch.Ledger, plan offsets.Offsets, where string) {
	for _, tp := range plan.Partitions() {
		a, known := l.Accounts[tp]
		switch {
		case !known && where == "ends":
			c.differs(fmt.Sprintf("plan %d ends at offset %d of %s, the ledger has no such partition", c.log.Plan.Batch, plan[tp], tp))
		case known && a.Next != plan[tp]:
			c.differs(fmt.Sprintf("plan %d %s at offset %d of %s, the ledger goes on at %d", c.log.Plan.Batch, where, plan[tp], tp, a.Next))
		}
	}
	for _, tp := range c.log.Start.Partitions() {
		if first, known := began(l, tp); known && first < c.log.Start[tp] {
			c.differs(fmt.Sprintf("the query was pinned to start at offset %d of %s, the ledger began at %d", c.log.Start[tp], tp, first))
		}
	}
}

func (c *court) differs(evidence string) {
	c.problem(Problem{Kind: CheckpointDiffers, Query: c.Query, What: "checkpoint and ledger differ", Evidence: evidence,
		Todo: "One of them was changed, or belongs to another query: find out which before the next run, which will refuse to start."})
}

// compareTable checks that this is the table that checkpoint and identity mean.
func (c *court) compareTable() {
	have := c.report.TableUUID
	claim := func(who, want string) {
		if want != "" && want != have {
			c.problem(Problem{Kind: TableReplaced, Query: c.Query, What: "this is not the table that the query writes to",
				Evidence: fmt.Sprintf("%s names the table %s, the table is %s", who, want, have),
				Todo:     "The table was dropped and created again, or the name means another one now: point the job to the right table, or start a new query."})
		}
	}
	if c.Identity != nil {
		claim("identity.json", c.Identity.Tables[mainTable])
	}
	if c.log != nil && c.log.Plan != nil {
		claim(fmt.Sprintf("plan %d", c.log.Plan.Batch), c.log.Plan.Tables[mainTable])
	}
}

// mainTable is the role of the table that rows go to, as Plan.Tables and Identity.Tables name it.
const mainTable = "main"

// sparkReadings lists what the checkpoint says Spark read under this query before the ledger began and after it ended.
func (c *court) sparkReadings() map[offsets.TopicPartition][]reading {
	found := map[offsets.TopicPartition][]reading{}
	if c.log == nil {
		return found
	}
	l := c.ledger(c.Query)
	end := c.sparkEnd(l)
	add := func(tp offsets.TopicPartition, from, until int64) {
		if from < until {
			found[tp] = append(found[tp], reading{from: from, until: until})
		}
	}
	for tp, start := range c.log.Start {
		if l == nil {
			add(tp, start, end[tp])
		} else if first, known := began(l, tp); known {
			add(tp, start, first)
		}
	}
	if l != nil {
		for tp, until := range end {
			add(tp, l.Accounts[tp].Next, until)
		}
	}
	return found
}

// sparkEnd is where Spark's newest batch in the table ended, as the checkpoint has it; nil if the newest is ours.
func (c *court) sparkEnd(l *batch.Ledger) offsets.Offsets {
	if c.log.Plan == nil {
		return nil
	}
	applied := c.history.sparkSince(c.Query, l)
	if applied == batch.None && c.hiddenBySpark(l) {
		applied = c.log.Commit
	}
	switch {
	case applied == batch.None:
		return nil
	case applied >= c.log.Plan.Batch:
		return c.log.Plan.End
	default:
		return c.log.Plan.Before()
	}
}
