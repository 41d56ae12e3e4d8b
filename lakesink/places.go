package lakesink

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
)

// Places are offsets by partition, in compressed bitmaps.
type Places map[offsets.TopicPartition]*roaring64.Bitmap

// Add puts a record in; one that is in already stays.
func (p Places) Add(tp offsets.TopicPartition, offset int64) {
	if p[tp] == nil {
		p[tp] = roaring64.New()
	}
	p[tp].Add(uint64(offset))
}

// Has says whether a record is in.
func (p Places) Has(tp offsets.TopicPartition, offset int64) bool {
	return p[tp] != nil && p[tp].Contains(uint64(offset))
}

// Count is the number of records of a partition.
func (p Places) Count(tp offsets.TopicPartition) int64 {
	if p[tp] == nil {
		return 0
	}
	return int64(p[tp].GetCardinality())
}

// and is how many records of a partition are in both.
func (p Places) and(other Places, tp offsets.TopicPartition) int64 {
	if p[tp] == nil || other[tp] == nil {
		return 0
	}
	return int64(p[tp].AndCardinality(other[tp]))
}

// Total is the number of all.
func (p Places) Total() (n int64) {
	for tp := range p {
		n += p.Count(tp)
	}
	return n
}

// Replayed finds which of some dead letters of a query are rows of the table: those that a replay has decoded. Only
// partitions are searched that have any by the ledger, no file is opened whose statistics say that it has none, and the
// search, which begins with the newest files, ends when as many are found as the ledger counts. A table that is not there
// is as in Load.
func (i *Iceberg) Replayed(ctx context.Context, query string, letters Places) (Places, error) {
	for attempt := 1; ; attempt++ {
		t, err := i.Load(ctx)
		if err != nil {
			return nil, err
		}
		applied, err := appliedOf(t, query)
		if err != nil {
			return nil, i.unreadable(err)
		}
		there, err := letters.ReplayedIn(ctx, t, applied.Ledger)
		switch {
		case err == nil:
			return there, nil
		case !isGone(err) || attempt == reloads: // else maintenance took what this reading refers to
			return nil, explain(fmt.Sprintf("search table %s for dead letters that are rows", i.TableName()), err)
		}
	}
}

// ReplayedIn finds them in one reading of what can be read like a table.
func (p Places) ReplayedIn(ctx context.Context, t *table.Table, ledger *batch.Ledger) (Places, error) {
	wanted, most := p.replayed(ledger)
	return wanted.presentIn(ctx, t, most)
}

// replayed are those of the places that are in partitions of which a ledger says that some were replayed, and how many.
func (p Places) replayed(ledger *batch.Ledger) (some Places, n int64) {
	some = Places{}
	for tp, set := range p {
		if ledger != nil && ledger.Accounts[tp].Replayed > 0 {
			some[tp] = set
			n += ledger.Accounts[tp].Replayed
		}
	}
	return some, n
}

// noBound is for presentIn.
const noBound = math.MaxInt64

// presentIn finds those of the places that the table has rows of, at most so many. Files whose statistics say that they
// have none are not opened.
func (p Places) presentIn(ctx context.Context, t *table.Table, most int64) (Places, error) {
	there := Places{}
	if p.Total() == 0 {
		return there, nil
	}
	names := []string{letterTopic, letterPartition, letterOffset}
	ids := map[string]int{}
	for _, name := range names {
		f, ok := t.Schema().FindFieldByName(name)
		if !ok {
			return nil, &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("the table has no column %s to tell by whether a record is there", name),
				Hint: "give the column its name back: without it nobody can tell which records are rows already"}
		}
		ids[name] = f.ID
	}
	skip := func(task table.FileScanTask) bool {
		return !p.mayBeIn(task.File, ids[letterPartition], ids[letterOffset])
	}
	err := eachBatch(ctx, t, names, 64<<10, skip, func(rows arrow.RecordBatch) (bool, error) {
		err := p.intersect(rows, there)
		return there.Total() < most, err
	})
	return there, err
}

func (p Places) intersect(rows arrow.RecordBatch, there Places) error {
	cells := map[string]arrow.Array{}
	for i, f := range rows.Schema().Fields() {
		cells[f.Name] = rows.Column(i)
	}
	topics, ok := cells[letterTopic].(interface{ Value(int) string })
	partitions, fine := wholes(cells[letterPartition])
	at, good := wholes(cells[letterOffset])
	if !ok || !fine || !good {
		return fmt.Errorf("the columns %s, %s and %s of the table have other types than sluice writes", letterTopic, letterPartition, letterOffset)
	}
	for i := range int(rows.NumRows()) {
		tp := offsets.TopicPartition{Topic: topics.Value(i), Partition: int32(partitions(i))}
		if p.Has(tp, at(i)) {
			tp.Topic = string([]byte(tp.Topic)) // it outlives the columns
			there.Add(tp, at(i))
		}
	}
	return nil
}

// wholes reads whole numbers of either width.
func wholes(a arrow.Array) (func(int) int64, bool) {
	switch a := a.(type) {
	case interface{ Value(int) int32 }:
		return func(i int) int64 { return int64(a.Value(i)) }, true
	case interface{ Value(int) int64 }:
		return a.Value, true
	}
	return nil, false
}

// mayBeIn says whether a file's bounds allow any of the places. Unknown bounds allow all.
func (p Places) mayBeIn(file iceberg.DataFile, partitionID, offsetID int) bool {
	partitions, offsets := boundsOf(file, partitionID), boundsOf(file, offsetID)
	for tp, set := range p {
		if partitions.excludes(int64(tp.Partition)) {
			continue
		}
		if !offsets.known {
			return true
		}
		it := set.Iterator()
		it.AdvanceIfNeeded(uint64(max(0, offsets.least)))
		if it.HasNext() && int64(it.PeekNext()) <= offsets.greatest {
			return true
		}
	}
	return false
}

// extent is the least and greatest value of a column in a file.
type extent struct {
	least, greatest int64
	known           bool
}

func (b extent) excludes(v int64) bool { return b.known && (v < b.least || v > b.greatest) }

// boundsOf decodes an int's or long's bounds (Iceberg spec, single-value serialization: 4 or 8 bytes, little-endian).
func boundsOf(file iceberg.DataFile, id int) extent {
	least, ok := wholeNumber(file.LowerBoundValues()[id])
	greatest, fine := wholeNumber(file.UpperBoundValues()[id])
	return extent{least, greatest, ok && fine}
}

func wholeNumber(b []byte) (int64, bool) {
	switch len(b) {
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}
