package verify

import (
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
	if c.Source == nil {
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

// compareKafka compares one partition, as far as Kafka still has what the query read.
func (c *court) compareKafka(ctx context.Context, k *partitionCase, view *offsets.View) error {
	span := k.coverage.span()
	bounds, known := view.Partitions[k.TopicPartition]
	if !known {
		k.open(Limit{Kind: Expired, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, span.From, span.Until), Why: "Kafka has no such partition"})
		return nil
	}
	if old, now, again := k.recreated(view); again {
		k.open(Limit{Kind: Recreated, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, span.From, span.Until),
			Why: fmt.Sprintf("the topic was deleted and created again: the ledger read topic id %s, Kafka has %s", old, now)})
		return nil
	}
	end := max(bounds.End, bounds.HighWatermark)
	if bounds.Start > span.From {
		k.open(Limit{Kind: Expired, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, span.From, min(bounds.Start, span.Until)),
			Why: fmt.Sprintf("Kafka's log begins at offset %d now", bounds.Start)})
	}
	if end < span.Until {
		k.open(Limit{Kind: NotInKafka, What: fmt.Sprintf("%s[%d,%d) against Kafka", k, max(end, span.From), span.Until),
			Why: fmt.Sprintf("Kafka's log ends at offset %d: it was cut off, or this is another cluster", end)})
	}
	from, until := max(span.From, bounds.Start), min(span.Until, end)
	if from >= until {
		return nil
	}
	w := &kafkaScan{partitionCase: k, absent: roaring64.New()}
	if err := c.Source.Offsets(ctx, offsets.Range{TopicPartition: k.TopicPartition, From: from, Until: until}, w.block); err != nil {
		return fmt.Errorf("read the offsets of %s[%d,%d) from Kafka: %w", k, from, until, err)
	}
	k.kafka = kafkaWord{absent: w.absent, count: w.count}
	k.line.Kafka = &Kafka{From: from, Until: until, Records: w.records, Absent: w.count,
		NotThere: within(k.seen.level(0), from, until) - w.present}
	k.kafkaLimits(w)
	return nil
}

// open notes what asking Kafka leaves open.
func (k *partitionCase) open(l Limit) { k.limits = append(k.limits, l) }

func (k *partitionCase) recreated(view *offsets.View) (old, now string, again bool) {
	now = view.TopicIDs[k.Topic]
	for _, claim := range k.claims {
		if old = claim.ledger.TopicIDs[k.Topic]; old != "" && now != "" && old != now {
			return old, now, true
		}
	}
	return "", "", false
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
	if k.allowed() > 0 {
		k.open(Limit{Kind: DeadLettersOnly, What: fmt.Sprintf("which records of %s are dead letters, and that those arrived", k),
			Why: fmt.Sprintf("only counts were compared: the ledgers count %d as dead letters, dropped or lost, Kafka holds %s without a row", k.allowed(), count(w.count, "record"))})
	}
}

// kafkaScan compares Kafka's offsets with the rows, block by block.
type kafkaScan struct {
	*partitionCase
	absent *roaring64.Bitmap
	// records counts what Kafka has, present those of them that have a row, count the rows that are missing for them,
	// uncounted those that Spark was to write.
	records, present, count, uncounted int64
	block64                            []uint64
}

// block takes the next offsets.
func (w *kafkaScan) block(found []int64) error {
	w.records += int64(len(found))
	for _, s := range w.coverage {
		from, _ := slices.BinarySearch(found, s.from)
		until, _ := slices.BinarySearch(found, s.until)
		if from >= until {
			continue
		}
		b := roaring64.New()
		w.block64 = w.block64[:0]
		for _, o := range found[from:until] {
			w.block64 = append(w.block64, uint64(o))
		}
		b.AddMany(w.block64)
		w.present += int64(b.AndCardinality(w.seen.level(0)))
		for i := range s.counted + s.uncounted {
			lost := roaring64.AndNot(b, w.ever.level(i))
			n := int64(lost.GetCardinality())
			if i < s.counted {
				w.count += n
				w.absent.Or(lost)
			} else {
				w.uncounted += n
			}
		}
	}
	return nil
}
