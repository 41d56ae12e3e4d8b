package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"sluice/offsets"
)

// Source is Kafka, as far as the judge asks it. It must be safe for concurrent use.
type Source interface {
	// View says what Kafka holds of the partitions now. Partitions that are gone are missing in it. End and
	// HighWatermark are asked with the isolation level that the query reads with.
	View(ctx context.Context, partitions []offsets.TopicPartition) (*offsets.View, error)
	// Offsets calls found with the offsets of the records in r, ascending, some at a time; found keeps nothing. Records
	// that expire in the meantime are left out, as are markers and what the query's isolation level hides.
	Offsets(ctx context.Context, r offsets.Range, found func([]int64) error) error
}

// askKafka compares every partition that a ledger covers with what Kafka holds.
func (c *court) askKafka(ctx context.Context, all []*partitionCase) error {
	if c.report.Source = c.Source != nil; c.Source == nil {
		c.limit(Limit{Kind: NoSource, What: "that every record that Kafka holds is in the table",
			Why: "Kafka was not asked: rows are compared with what the ledgers counted", Todo: "verify with --source"})
		return nil
	}
	var asked []*partitionCase
	var partitions []offsets.TopicPartition
	for _, k := range all {
		if len(k.coverage) > 0 {
			asked, partitions = append(asked, k), append(partitions, k.TopicPartition)
		}
	}
	if len(asked) == 0 || c.rowsUnread {
		return nil
	}
	view, err := c.Source.View(ctx, partitions)
	if err != nil {
		return fmt.Errorf("ask Kafka what it holds: %w", err)
	}
	return parallel(ctx, c.reader.workers, len(asked), func(ctx context.Context, i int) error {
		return c.compareKafka(ctx, asked[i], view)
	})
}

// compareKafka compares one partition, as far as Kafka still has what the queries read.
func (c *court) compareKafka(ctx context.Context, k *partitionCase, view *offsets.View) error {
	bounds, known := view.Partitions[k.TopicPartition]
	if !known {
		span := k.coverage.span()
		k.open(Limit{Kind: Expired, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, span.From, span.Until), Why: "Kafka has no such partition"})
		return nil
	}
	k.leaveRecreated(view.TopicIDs[k.Topic], c.spark[k.TopicPartition])
	k.leaveGone(bounds)
	w := &kafkaScan{partitionCase: k, absent: roaring64.New()}
	for _, s := range k.live.clip(bounds.Start, max(bounds.End, bounds.HighWatermark)) {
		w.stretch = s
		if err := c.Source.Offsets(ctx, offsets.Range{TopicPartition: k.TopicPartition, From: s.from, Until: s.until}, w.block); err != nil {
			return fmt.Errorf("read the offsets of %s[%d,%d) from Kafka: %w", k, s.from, s.until, err)
		}
		w.passed()
	}
	if k.line.Kafka != nil {
		k.kafka = kafkaWord{absent: w.absent, count: w.count}
		k.kafkaLimits(w)
	}
	return nil
}

// open notes what asking Kafka leaves open.
func (k *partitionCase) open(l Limit) { k.limits = append(k.limits, l) }

// leaveRecreated takes what was read of a topic that is gone out of what is compared: Kafka holds another one under its
// name, whose offsets begin anew. now is that one's id. What tells no id is compared.
func (k *partitionCase) leaveRecreated(now string, spark []reading) {
	k.liveClaims = nil
	readings := slices.Clone(spark)
	for _, claim := range k.claims {
		old, a := claim.topic, claim.account
		if old != "" && now != "" && old != now || claim.past && claim.cut < 0 {
			k.open(Limit{Kind: Recreated, What: fmt.Sprintf("%s[%d,%d) against Kafka, as query %s has read it", k, a.First, a.Next, queryName(claim.ledger)),
				Why: fmt.Sprintf("the topic was deleted and created again: the ledger read topic id %s, Kafka has %s", cmp.Or(old, "unknown"), cmp.Or(now, "unknown"))})
			continue
		}
		k.liveClaims = append(k.liveClaims, claim)
		if claim.past && a.Next > claim.cut {
			k.open(Limit{Kind: NotInKafka, What: fmt.Sprintf("%s[%d,%d) against Kafka, as query %s has read it", k, max(claim.cut, a.First), a.Next, queryName(claim.ledger)),
				Why: fmt.Sprintf("the log was cut at offset %d, and what Kafka has from there on are other records", claim.cut)})
		}
		readings = append(readings, claim.live()...)
	}
	k.live = cover(readings)
}

// leaveGone notes what was read and Kafka's log no longer has.
func (k *partitionCase) leaveGone(bounds offsets.Bounds) {
	if len(k.live) == 0 {
		return
	}
	span, end := k.live.span(), max(bounds.End, bounds.HighWatermark)
	if bounds.Start > span.From {
		k.open(Limit{Kind: Expired, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, span.From, min(bounds.Start, span.Until)),
			Why: fmt.Sprintf("Kafka's log begins at offset %d now", bounds.Start)})
	}
	if end < span.Until {
		k.open(Limit{Kind: NotInKafka, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, max(end, span.From), span.Until),
			Why: fmt.Sprintf("Kafka's log ends at offset %d: it was cut off, or this is another cluster", end)})
	}
}

// kafkaLimits says what the comparison leaves open.
func (k *partitionCase) kafkaLimits(w *kafkaScan) {
	if n := k.line.Kafka.NotThere; n > 0 {
		k.open(Limit{Kind: NotInKafka, What: fmt.Sprintf("%s of %s against Kafka", count(n, "row"), k),
			Why: "Kafka has no record at their offsets: they were compacted away since, or read with another isolation level"})
	}
	if w.uncounted > 0 {
		k.line.Verdict = worse(k.line.Verdict, Unproven)
		k.open(Limit{Kind: WrittenBySpark, What: fmt.Sprintf("whether Spark left out %s of %s", count(w.uncounted, "record"), k),
			Why: "Kafka holds them, the table does not, and no ledger counts what Spark wrote"})
	}
	if w.unclear > 0 {
		k.open(Limit{Kind: Recreated, What: fmt.Sprintf("that %s of %s are in the table", count(w.unclear, "record"), k),
			Why: "the topic that was deleted had records at the same offsets, and rows do not say which topic they are of"})
	}
	if k.allowed() > 0 {
		k.open(Limit{Kind: DeadLettersOnly, What: fmt.Sprintf("which records of %s are dead letters, and that those arrived", k),
			Why: fmt.Sprintf("only counts were compared: the ledgers count %d as dead letters, dropped or lost, Kafka holds %s without a row", k.allowed(), count(w.count, "record"))})
	}
}

// kafkaScan compares Kafka's offsets with the rows, stretch by stretch and block by block.
type kafkaScan struct {
	*partitionCase
	// stretch is what is being compared.
	stretch stretch
	absent  *roaring64.Bitmap
	// present counts Kafka's records that have a row, in this stretch, count the rows that are missing for records, and
	// uncounted those that Spark was to write. unclear counts records whose row may be one of a topic that is gone.
	present, count, uncounted, unclear int64
	block64                            []uint64
}

// block takes the next offsets.
func (w *kafkaScan) block(found []int64) error {
	b, s := roaring64.New(), w.stretch
	w.block64 = w.block64[:0]
	for _, o := range found {
		w.block64 = append(w.block64, uint64(o))
	}
	b.AddMany(w.block64)
	w.word().Records += int64(len(found))
	w.present += int64(b.AndCardinality(w.seen.level(0)))
	for i := range s.copies() {
		lost := roaring64.AndNot(b, w.ever.level(i))
		if w.letters != nil {
			lost.AndNot(w.letters.level(0))
			lost.AndNot(w.inTopics)
		}
		n := int64(lost.GetCardinality())
		if i < s.counted {
			w.count += n
			w.absent.Or(lost)
		} else {
			w.uncounted += n
		}
	}
	w.compareOlder(b)
	return nil
}

// compareOlder finds the records of b that are there as often as they should be only if none of their rows is one of a
// topic that is gone.
func (w *kafkaScan) compareOlder(b *roaring64.Bitmap) {
	s := w.stretch
	for _, whole := range w.coverage.clip(s.from, s.until) {
		if whole.copies() == s.copies() {
			continue
		}
		there := roaring64.And(b, w.ever.level(s.copies()-1))
		there.RemoveRange(0, uint64(whole.from))
		there.RemoveRange(uint64(whole.until), maxOffset)
		w.unclear += int64(roaring64.AndNot(there, w.ever.level(whole.copies()-1)).GetCardinality())
	}
}

// word is what the report says of the comparison, which is there once something was compared.
func (w *kafkaScan) word() *Kafka {
	if w.line.Kafka == nil {
		w.line.Kafka = &Kafka{From: w.stretch.from}
	}
	return w.line.Kafka
}

// passed adds up a stretch that Kafka was asked for.
func (w *kafkaScan) passed() {
	s, word := w.stretch, w.word()
	word.Until = s.until
	word.Absent = w.count
	word.NotThere += within(w.seen.level(0), s.from, s.until) - w.present
	w.line.Compared += (s.until - s.from) * int64(s.copies())
	w.present = 0
}
