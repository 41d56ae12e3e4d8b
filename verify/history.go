package verify

import (
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// The keys of a snapshot's summary that say which batch of which query it holds: ours, and Spark's.
const (
	summaryQuery      = "sluice.query-id"
	summaryName       = "sluice.query-name"
	summaryBatch      = "sluice.batch-id"
	summaryPlan       = "sluice.plan"
	summarySparkQuery = "spark.sql.streaming.queryId"
	summarySparkEpoch = "spark.sql.streaming.epochId"
)

// history is the current snapshot and its ancestors, as far as they have not expired.
type history struct {
	// chain is newest first, empty for a table without snapshots.
	chain []table.Snapshot
	index map[int64]int
	// complete says that the chain reaches the table's first snapshot.
	complete bool
	metadata table.Metadata
}

func newHistory(metadata table.Metadata) *history {
	h := &history{metadata: metadata, index: map[int64]int{}}
	head := metadata.CurrentSnapshot()
	if head == nil {
		h.complete = true
		return h
	}
	chain, rootless := table.AncestorsOfChecked(head.SnapshotID, metadata.SnapshotByID)
	h.chain, h.complete = chain, rootless && startsHistory(&chain[len(chain)-1])
	for i, s := range h.chain {
		h.index[s.SnapshotID] = i
	}
	return h
}

// startsHistory reports whether a snapshot without a parent is the first one: number 1 of the table, or, where snapshots
// have no numbers, one that holds nothing but what it added. Expiry by PyIceberg takes the parent of what it leaves, so
// having none says nothing, and after an overwrite what it leaves holds nothing else either.
func startsHistory(s *table.Snapshot) bool {
	return s.SequenceNumber == 1 || s.SequenceNumber < 1 && holdsOnlyNew(s)
}

// holdsOnlyNew reports whether a snapshot counts what it added and nothing else.
func holdsOnlyNew(s *table.Snapshot) bool {
	for _, what := range []string{"data-files", "records"} {
		total, err := number(s, "total-"+what)
		added, addErr := number(s, "added-"+what)
		deleted, deleteErr := number(s, "deleted-"+what)
		if err != nil || addErr != nil || deleteErr != nil || total != added || deleted != 0 {
			return false
		}
		if _, known := s.Summary.Properties["total-"+what]; !known {
			return false
		}
	}
	return true
}

// mark is the batch that a snapshot says it holds.
type mark struct {
	query string
	batch int64
	plan  string
	// spark says that Spark wrote it, which sets no key of ours.
	spark bool
}

// markOf reads a summary. ok is false where there is none, or none that can be read.
func markOf(s *table.Snapshot) (m mark, ok bool) {
	if s.Summary == nil {
		return mark{}, false
	}
	p := s.Summary.Properties
	m = mark{query: p[summaryQuery], plan: p[summaryPlan]}
	number := p[summaryBatch]
	if m.query == "" {
		m, number = mark{query: p[summarySparkQuery], spark: true}, p[summarySparkEpoch]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	m.batch = n
	return m, m.query != "" && err == nil
}

// describe names a snapshot for people.
func describe(s *table.Snapshot) string {
	operation := "unknown operation"
	if s.Summary != nil {
		operation = string(s.Summary.Operation)
	}
	at := time.UnixMilli(s.TimestampMs).UTC().Format(time.RFC3339)
	text := fmt.Sprintf("snapshot %d (%s, %s", s.SnapshotID, operation, at)
	if m, ok := markOf(s); ok {
		writer := "query " + m.query
		if m.spark {
			writer = "Spark query " + m.query
		} else if name := s.Summary.Properties[summaryName]; name != "" {
			writer = "query " + name
		}
		text += fmt.Sprintf(", batch %d of %s", m.batch, writer)
	}
	return text + ")"
}

// describeID names a snapshot that may have expired.
func (h *history) describeID(id int64) string {
	if s := h.metadata.SnapshotByID(id); s != nil {
		return describe(s)
	}
	return fmt.Sprintf("snapshot %d (expired)", id)
}

// standing is where a ledger's snapshot stands to the table's history.
type standing int

const (
	// standsIn: it is the current snapshot or an ancestor.
	standsIn standing = iota
	// expired: it is older than what expiry has left, or may be.
	expired
	// removed: the history has no place for it, the table was rolled back or the ledger is forged.
	removed
)

// standing places a snapshot by its id and sequence number. What the walk did not meet has expired only if it is older
// than the oldest snapshot that the walk met. Tables of format version 1 number nothing: there, only a snapshot that is
// still known and younger was certainly left behind.
func (h *history) standing(id, sequence int64) standing {
	if _, ok := h.index[id]; ok {
		return standsIn
	}
	if h.complete {
		return removed
	}
	oldest := h.chain[len(h.chain)-1]
	s := h.metadata.SnapshotByID(id)
	younger := sequence >= oldest.SequenceNumber
	if h.metadata.Version() == 1 {
		younger = s != nil && s.TimestampMs >= oldest.TimestampMs
	} else if s != nil && oldest.ParentSnapshotID == nil && holdsOnlyNew(&oldest) {
		younger = true // the table was replaced: what was before is kept, and is not part of it
	}
	if younger {
		return removed
	}
	return expired
}

// batches lists what the history says of one query, newest first.
func (h *history) batches(query string) []markedSnapshot {
	var found []markedSnapshot
	for i := range h.chain {
		if m, ok := markOf(&h.chain[i]); ok && m.query == query {
			found = append(found, markedSnapshot{m, &h.chain[i]})
		}
	}
	return found
}

type markedSnapshot struct {
	mark
	snapshot *table.Snapshot
}

// sparkSince is the newest batch that Spark applied after the ledger did (or ever, without one); None if it did not.
func (h *history) sparkSince(query string, ledger *batch.Ledger) int64 {
	for _, m := range h.batches(query) {
		if ledger != nil && m.snapshot.SnapshotID == ledger.Snapshot {
			break
		}
		if m.spark && (ledger == nil || m.batch > ledger.Batch) {
			return m.batch
		}
	}
	return batch.None
}

// sparkRows sums the rows that Spark's snapshots in the history say they added for a query.
func (h *history) sparkRows(query string) int64 {
	var n int64
	for _, m := range h.batches(query) {
		if m.spark {
			added, _ := number(m.snapshot, "added-records")
			n += added
		}
	}
	return n
}

// number reads a whole number of a summary; absent is 0, since writers leave zeros out.
func number(s *table.Snapshot, key string) (int64, error) {
	if s.Summary == nil {
		return 0, fmt.Errorf("snapshot %d has no summary", s.SnapshotID)
	}
	text, ok := s.Summary.Properties[key]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(text, 10, 64)
}
