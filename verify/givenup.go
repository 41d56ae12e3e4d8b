package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
)

// The keys of a snapshot's summary that say what its batch goes on without: how many offsets, and the first of their ranges.
const (
	summaryLost   = "sluice.lost"
	summaryLosses = "sluice.losses"
)

// GivenUp is what was gone from Kafka before it was read and was accepted as lost.
type GivenUp struct {
	// Offsets counts them, as far as they can be counted.
	Offsets int64 `json:"offsets"`
	// Partitions are those that ledgers count a loss of, ascending.
	Partitions []GivenUpPartition `json:"partitions"`
	// Batches are those that went on without something, the newest first, as far as their snapshots have not expired.
	Batches []GivenUpBatch `json:"batches"`
}

// GivenUpPartition is what one query has given up of a partition.
type GivenUpPartition struct {
	Query     string `json:"query"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offsets   int64  `json:"offsets"`
	// Ranges are where they were, as far as the ledger names them: the newest of a log that is still there.
	Ranges []Span `json:"ranges,omitempty"`
	// GoneFrom are the offsets up to which logs were read that are gone: the topic was created again, or the log was cut. Nobody
	// can tell how many records came after.
	GoneFrom []int64 `json:"goneFrom,omitempty"`
}

// GivenUpBatch is what the snapshot of a batch says that it goes on without.
type GivenUpBatch struct {
	Query string `json:"query"`
	Batch int64  `json:"batch"`
	// Timestamp is when it was committed: 2026-11-30T04:00:01.250Z, which sorts as text.
	Timestamp string `json:"timestamp"`
	Offsets   int64  `json:"offsets"`
	// What names the first ranges, each with its cause, as in orders-3[10,20) retention.
	What string `json:"what"`
}

// GivenUpIn is what a query has given up by its ledger and the snapshots of the table; nil for nothing.
func GivenUpIn(t *table.Table, ledger *batch.Ledger) *GivenUp {
	if ledger == nil {
		return nil
	}
	return givenUp([]*batch.Ledger{ledger}, newHistory(t.Metadata()))
}

// GaveUp reports whether a ledger counts a loss, or has left a log behind.
func GaveUp(l *batch.Ledger) bool { return l != nil && len(givenUpBy(l)) > 0 }

// givenUp gathers what all ledgers say; nil for nothing.
func givenUp(ledgers []*batch.Ledger, h *history) *GivenUp {
	all := &GivenUp{Partitions: []GivenUpPartition{}, Batches: []GivenUpBatch{}}
	for _, l := range ledgers {
		all.Partitions = append(all.Partitions, givenUpBy(l)...)
		all.Batches = append(all.Batches, h.givenUp(l)...)
	}
	if len(all.Partitions)+len(all.Batches) == 0 {
		return nil
	}
	for i := range all.Partitions {
		all.Offsets += all.Partitions[i].Offsets
	}
	slices.SortStableFunc(all.Partitions, func(a, b GivenUpPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	slices.SortStableFunc(all.Batches, func(a, b GivenUpBatch) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
	return all
}

// givenUpBy is what one ledger says.
func givenUpBy(l *batch.Ledger) (found []GivenUpPartition) {
	lines := map[offsets.TopicPartition]*GivenUpPartition{}
	line := func(tp offsets.TopicPartition) *GivenUpPartition {
		if lines[tp] == nil {
			lines[tp] = &GivenUpPartition{Query: l.Query, Topic: tp.Topic, Partition: tp.Partition}
		}
		return lines[tp]
	}
	for tp, a := range l.Accounts {
		if a.Lost > 0 {
			line(tp).Offsets += a.Lost
		}
	}
	for _, p := range l.Past {
		gone := line(p.TopicPartition)
		gone.Offsets += max(0, p.Lost)
		gone.GoneFrom = append(gone.GoneFrom, p.Next)
	}
	for _, r := range l.Lost {
		if of := lines[r.TopicPartition]; of != nil {
			of.Ranges = append(of.Ranges, Span{r.From, r.Until})
		}
	}
	for _, one := range lines {
		found = append(found, *one)
	}
	return found
}

// givenUp are the batches of a query of which the snapshots say that they go on without something.
func (h *history) givenUp(l *batch.Ledger) (found []GivenUpBatch) {
	for _, m := range h.batches(l.Query) {
		p := m.snapshot.Summary.Properties
		if m.spark || m.batch > l.Batch || p[summaryLosses] == "" {
			continue
		}
		n, _ := strconv.ParseInt(p[summaryLost], 10, 64) // for people: the ledger counts
		found = append(found, GivenUpBatch{Query: l.Query, Batch: m.batch, Timestamp: time.UnixMilli(m.snapshot.TimestampMs).UTC().Format("2006-01-02T15:04:05.000Z"), Offsets: n, What: p[summaryLosses]})
	}
	return found
}

// lossesText names the first few losses, as the summary of a table's snapshot does.
func lossesText(losses []batch.Loss) string {
	var named []string
	for _, l := range losses[:min(maxSpans, len(losses))] {
		named = append(named, l.String())
	}
	if n := len(losses) - len(named); n > 0 {
		named = append(named, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(named, "; ")
}
