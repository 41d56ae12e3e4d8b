package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"sluice/batch"
	"sluice/offsets"
)

// partitionCase is everything known of one partition.
type partitionCase struct {
	offsets.TopicPartition
	line     *Partition
	claims   []claim
	coverage coverage
	// liveClaims and live are those of the topic that Kafka has under this name now, once it was asked.
	liveClaims []claim
	live       coverage
	// seen counts the rows in the table; ever counts besides them those that others deleted.
	seen, ever *tally
	found      counts
	// short is how many rows fewer than the ledgers count were ever there; negative if there were more.
	short int64
	// below counts rows before everything that was read; before counts those that nobody has read and that lie before where
	// another system's progress was imported.
	below, before int64
	kafka         kafkaWord
	// limits are what asking Kafka left open.
	limits []Limit
	// letters are the dead letters that were found, nil if nobody could look; lettersWhole says that nobody removed any.
	letters      *tally
	lettersWhole bool
	// inTopics are the records whose dead letters are in a topic and in no table; nil if nobody could look.
	inTopics *roaring64.Bitmap
}

// kafkaWord is what Kafka says of a partition: records that are no rows.
type kafkaWord struct {
	absent *roaring64.Bitmap
	count  int64
}

// layCoverage turns the ledgers, and the checkpoint for what Spark read, into what may be in the table.
func (c *court) layCoverage() {
	c.claims = claims(c.ledgers)
	c.spark = c.sparkReadings()
	readings := maps.Clone(c.spark)
	for tp, all := range c.claims {
		for _, k := range all {
			readings[tp] = append(slices.Clip(readings[tp]), k.readings()...)
		}
	}
	c.coverage = map[offsets.TopicPartition]coverage{}
	covered := map[string]bool{}
	for tp, r := range readings {
		c.coverage[tp] = cover(r)
		covered[tp.Topic] = true
	}
	depth := func(tp offsets.TopicPartition) int { return max(2, c.coverage[tp].depth()+1) }
	c.rows, c.masked = newRowSet(covered, depth), newRowSet(covered, depth)
}

// cases gathers every partition that was read or has rows, in order.
func (c *court) cases() []*partitionCase {
	known := map[offsets.TopicPartition]bool{}
	for tp := range c.coverage {
		known[tp] = true
	}
	c.rows.each(func(tp offsets.TopicPartition, _ *tally) { known[tp] = true })
	var all []*partitionCase
	for _, tp := range slices.SortedFunc(maps.Keys(known), offsets.Compare) {
		all = append(all, c.weigh(tp))
	}
	return all
}

// weigh compares one partition's rows with what the ledgers count.
func (c *court) weigh(tp offsets.TopicPartition) *partitionCase {
	k := &partitionCase{TopicPartition: tp, claims: c.claims[tp], coverage: c.coverage[tp], seen: c.rows.of(tp).tally}
	k.ever = k.seen
	if gone := c.removed.of(tp).tally; gone.rows > 0 {
		k.ever = k.seen.clone()
		k.ever.addAll(gone)
	}
	span := k.coverage.span()
	line := &Partition{Topic: tp.Topic, Partition: tp.Partition, From: span.From, Until: span.Until, Queries: []string{}, Read: k.coverage.offsets(), Rows: k.seen.rows, Verdict: Proved}
	for _, claim := range k.claims {
		a := claim.account
		if !slices.Contains(line.Queries, claim.ledger.Query) {
			line.Queries = append(line.Queries, claim.ledger.Query)
		}
		line.Expected += a.Rows + a.Replayed
		line.Replayed += a.Replayed
		line.DeadLetters += a.DeadLetters
		line.Dropped += a.Dropped
		line.Lost += a.Lost
	}
	slices.Sort(line.Queries)
	k.line = line
	k.found = k.coverage.sort(k.seen)
	everCounted := k.coverage.sort(k.ever).counted
	line.DeletedByOthers = everCounted - k.found.counted
	k.short = line.Expected - everCounted
	k.below = within(k.seen.level(0), 0, span.From)
	k.before = c.beforeImport(k)
	c.weighLetters(k)
	return k
}

// judge turns the weights into findings.
func (c *court) judge(all []*partitionCase) {
	b := c.excuses(all)
	for _, k := range all {
		for _, l := range k.limits {
			c.limit(l)
		}
		if c.rowsUnread {
			k.line.Verdict = Unproven
		} else {
			c.judgeExcess(k, b)
			c.judgeShortage(k, b)
			c.judgeLetters(k)
		}
		c.readTwice(k)
		c.report.Partitions = append(c.report.Partitions, *k.line)
	}
}

// excuses says which differences are within what is known not to be known.
type excuses struct {
	// deletions covers all rows that are short, spark all that are too many, of all partitions together.
	deletions, spark bool
}

func (c *court) excuses(all []*partitionCase) excuses {
	var short, excess, attributed float64
	for _, k := range all {
		short += float64(max(0, k.short))
		excess += float64(k.found.outside + max(0, -k.short))
		attributed += float64(k.found.uncounted)
	}
	budget := -attributed
	for _, l := range c.ledgers {
		budget += float64(c.history.sparkRows(l.Query))
	}
	lost := c.problems[FileGone]+c.problems[FileUnreadable] > 0 // rows are short for that reason: nothing is to be excused
	return excuses{deletions: !lost && short <= float64(c.unresolved)+float64(c.unreadRows), spark: excess <= budget}
}

// judgeExcess deals with rows that are there too often, or that should not be there.
func (c *court) judgeExcess(k *partitionCase, e excuses) {
	doubt, outside, surplus := k.found.uncounted, k.found.outside, max(0, -k.short)
	why := "Spark wrote, or may have written, them under this query id, and no ledger counts them"
	switch {
	case c.blind:
		doubt, outside, surplus = doubt+outside+surplus, 0, 0
		why = "the ledger of a query that may have written them cannot be read"
	case e.spark:
		doubt, outside, surplus = doubt+outside+surplus, 0, 0
	case k.below > 0 && len(k.claims) > 0 && c.log == nil && !c.history.complete:
		doubt, outside = doubt+k.below, outside-k.below
		why = "they are before the first offset that the ledger covers, and the snapshots that added them have expired: Spark may have written them before sluice went on; verify with the checkpoint"
	}
	kind := WrittenBySpark
	if k.before > 0 && outside >= k.before {
		if doubt == 0 {
			kind, why = WrittenBefore, c.importedFrom()
		}
		doubt, outside = doubt+k.before, outside-k.before
	}
	if doubt > 0 {
		k.line.Unattributed, k.line.Verdict = doubt, Unproven
		c.limit(Limit{Kind: kind, What: fmt.Sprintf("that %s of %s should be there", count(doubt, "row"), k), Why: why})
	}
	if outside > 0 {
		c.outside(k, outside)
	}
	if surplus > 0 {
		c.surplus(k, surplus)
	}
	if k.found.duplicates > 0 {
		c.duplicates(k)
	}
}

// beforeImport counts the rows that only the system can have written whose progress was imported.
func (c *court) beforeImport(k *partitionCase) (n int64) {
	if c.Identity == nil || c.Identity.Imported == nil {
		return 0
	}
	told := c.Identity.Imported.Told[k.TopicPartition]
	for _, s := range k.coverage.uncovered() {
		if s.From < told {
			n += within(k.seen.level(0), s.From, min(s.Until, told))
		}
	}
	return n
}

func (c *court) importedFrom() string {
	i := c.Identity.Imported
	return fmt.Sprintf("they are before the offset that was imported from %s %s: what had read until there wrote them, and no ledger counts them", i.From, i.Place)
}

func (c *court) duplicates(k *partitionCase) {
	n := k.found.duplicates
	k.line.Duplicates = n
	if c.blind { // the query whose ledger cannot be read may have read them too
		k.line.Verdict = worse(k.line.Verdict, Unproven)
		return
	}
	k.line.Verdict = Broken
	span := k.coverage.duplicated(k.seen, maxSpans)
	c.problem(Problem{Kind: DuplicateRows, Count: n, Offsets: span, Query: k.owner(), What: fmt.Sprintf("%s has %s too many", k, count(n, "row")),
		Evidence: fmt.Sprintf("%s; the table holds offsets %s%s more often than that", k.readers(), spansText(span), more(n, span)),
		Todo:     "Find what wrote them: the snapshots that added the files say. Remove the extra rows, then verify again."}.at(k.TopicPartition))
}

func (c *court) outside(k *partitionCase, n int64) {
	k.line.Unexpected += n
	k.line.Verdict = Broken
	span := k.coverage.outside(k.seen, maxSpans)
	c.problem(Problem{Kind: UnexpectedRows, Count: n, Offsets: span, Query: k.owner(),
		What:     fmt.Sprintf("%s has %s at offsets that no query has read", k, count(n, "row")),
		Evidence: fmt.Sprintf("%s; the table holds offsets %s%s", k.readers(), spansText(span), more(n, span)),
		Todo:     "Either a ledger was changed or restored from a backup, or something else writes rows of this topic: the snapshots that added the files say." + c.elsewhereImported(k)}.at(k.TopicPartition))
}

// elsewhereImported names what explains rows before everything that was read, where it cannot be seen: no table knows of an import.
func (c *court) elsewhereImported(k *partitionCase) string {
	if k.below == 0 || len(k.claims) == 0 || c.Identity != nil && c.Identity.Imported != nil {
		return ""
	}
	return " Where a query was begun by sluice import, only its own checkpoint knows that rows before it are another system's: verify with that one."
}

func (c *court) surplus(k *partitionCase, n int64) {
	k.line.Unexpected += n
	k.line.Verdict = Broken
	c.problem(Problem{Kind: UnexpectedRows, Count: n, Query: k.owner(),
		What: fmt.Sprintf("%s has %s more than were counted when they were written", k, count(n, "row")),
		Evidence: fmt.Sprintf("%s and count %s; the table holds %d at these offsets%s%s", k.readers(), count(k.line.Expected, "row"), k.found.counted,
			k.deletedText(), c.historyText(k)),
		Todo: "Either the ledger's counts were changed, or something else wrote rows at offsets that had none (aborted or compacted ones); verify with Kafka tells which."}.at(k.TopicPartition))
}

// judgeShortage deals with rows that should be there and are not.
func (c *court) judgeShortage(k *partitionCase, e excuses) {
	short := max(0, k.short)
	beyond := max(0, k.kafka.count-k.allowed()-short)
	switch {
	case short == 0:
	case k.uncounted():
		c.unaccounted(k, short, c.lossAccepted(k))
	case e.deletions:
		c.unaccounted(k, short, Limit{Kind: DeletionsUnread, Why: "as many rows were deleted by others, or are in files, that can no longer be read: it cannot be told whether it was these"})
	default:
		k.line.Missing += short
	}
	if beyond > 0 && k.uncounted() {
		l := c.lossAccepted(k)
		l.Why = "Kafka holds records for them; " + l.Why
		c.unaccounted(k, beyond, l)
	} else {
		k.line.Missing += beyond
	}
	if k.line.Missing > 0 {
		c.missing(k)
	}
}

func (c *court) unaccounted(k *partitionCase, n int64, l Limit) {
	k.line.Unaccounted += n
	k.line.Verdict = worse(k.line.Verdict, Unproven)
	l.What = fmt.Sprintf("what became of %s of %s", count(n, "row"), k)
	c.limit(l)
}

func (c *court) missing(k *partitionCase) {
	k.line.Verdict = Broken
	p := Problem{Kind: MissingRows, Count: k.line.Missing, Query: k.owner(), What: fmt.Sprintf("%s lacks %s", k, count(k.line.Missing, "row")),
		Todo: "See whether a problem above names a file that is gone. Else find the snapshot that removed them, in the table's history or its older metadata files, and roll back or load the offsets again."}
	var total int64
	if k.kafka.count > 0 {
		p.Offsets, total = spans(k.kafka.absent, 0, maxOffset, maxSpans), k.kafka.count
	} else {
		p.Offsets, total = k.coverage.lacking(k.ever, maxSpans)
	}
	p.Among = total > k.line.Missing
	p.Evidence = fmt.Sprintf("%s and count %s; the table holds %d of them%s%s", k.readers(), count(k.line.Expected, "row"), k.found.counted, k.deletedText(), c.historyText(k))
	if k.kafka.count > 0 {
		p.Evidence += fmt.Sprintf("; Kafka holds %s without a row, the ledgers count %d as dead letters, dropped or lost", count(k.kafka.count, "record"), k.allowed())
	}
	if len(p.Offsets) > 0 {
		which := "at offsets"
		if p.Among {
			which = fmt.Sprintf("among %s without a row, which begin with", count(total, "offset"))
		}
		p.Evidence += fmt.Sprintf("; %s %s%s", which, spansText(p.Offsets), more(total, p.Offsets))
	}
	c.problem(p.at(k.TopicPartition))
}

// readers says who read the partition.
func (k *partitionCase) readers() string {
	if len(k.claims) == 0 {
		return "no ledger covers the partition"
	}
	text := ""
	for i, claim := range k.claims {
		if i > 0 {
			text += ", "
		}
		text += claim.text()
	}
	return "by the ledgers " + text
}

func (k *partitionCase) deletedText() string {
	if k.line.DeletedByOthers == 0 {
		return ""
	}
	return fmt.Sprintf(", others deleted %d", k.line.DeletedByOthers)
}

// historyText adds a third opinion, where the history is whole: what the snapshots of the only query say they added.
func (c *court) historyText(k *partitionCase) string {
	if !c.history.complete || len(k.claims) != 1 {
		return ""
	}
	var added int64
	for _, m := range c.history.batches(k.claims[0].ledger.Query) {
		n, err := number(m.snapshot, "added-records")
		if err != nil || m.spark {
			return ""
		}
		added += n
	}
	return fmt.Sprintf("; over all partitions the ledger counts %s, and the query's snapshots say they added %d", count(k.claims[0].ledger.Rows(), "row"), added)
}

// allowed is how many records of Kafka need not be rows: what the ledgers count as gone elsewhere. Lost offsets are
// among them, for a log that diverged may hold records there again, where the ledger does not say which they are.
func (k *partitionCase) allowed() (n int64) {
	for _, c := range k.liveClaims {
		n += max(0, c.account.DeadLetters) + max(0, c.account.Dropped) + c.unplaced()
	}
	if k.letters != nil { // those that were found are told one by one
		n = max(0, n-k.line.DeadLettersFound)
	}
	return n
}

// owner is the id of the only query that read the partition.
func (k *partitionCase) owner() string {
	if len(k.line.Queries) == 1 {
		return k.line.Queries[0]
	}
	return ""
}

// uncounted says whether a ledger's counts may include rows whose loss was accepted.
func (k *partitionCase) uncounted() bool {
	return slices.ContainsFunc(k.claims, func(c claim) bool { return c.ledger.Uncounted != batch.None })
}

// more says how many offsets are not among those listed.
func more(total int64, listed []Span) string {
	for _, s := range listed {
		total -= s.Until - s.From
	}
	if total <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", total)
}

func worse(a, b Verdict) Verdict {
	rank := map[Verdict]int{Proved: 0, Unproven: 1, Broken: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
