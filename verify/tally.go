package verify

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// tally counts how often each offset of one partition was seen. Level i holds the offsets seen more than i times, so
// that a partition without duplicates costs one bitmap. Offsets are kept as they are, negative ones included: they only
// sort last.
type tally struct {
	levels []*roaring64.Bitmap
	// depth is the most levels kept; what is seen more often is only counted, in beyond.
	depth  int
	beyond int64
	rows   int64
}

func newTally(depth int) *tally { return &tally{depth: depth} }

// add counts offsets, which it reorders.
func (t *tally) add(offsets []int64) {
	t.rows += int64(len(offsets))
	if !slices.IsSorted(offsets) {
		slices.Sort(offsets)
	}
	for len(offsets) > 0 {
		var once []uint64
		var again []int64
		for i, o := range offsets {
			if i > 0 && o == offsets[i-1] {
				again = append(again, o)
			} else {
				once = append(once, uint64(o))
			}
		}
		b := roaring64.New()
		b.AddMany(once)
		b.RunOptimize()
		t.push(b)
		offsets = again
	}
}

// push counts every offset of b once more. It keeps b.
func (t *tally) push(b *roaring64.Bitmap) {
	for i := 0; !b.IsEmpty(); i++ {
		if i == t.depth {
			t.beyond += int64(b.GetCardinality())
			return
		}
		if i == len(t.levels) {
			t.levels = append(t.levels, b)
			return
		}
		again := roaring64.And(t.levels[i], b)
		t.levels[i].Or(b)
		b = again
	}
}

// addAll counts everything that other counts.
func (t *tally) addAll(other *tally) {
	for _, level := range other.levels {
		t.push(level.Clone())
	}
	t.rows += other.rows
	t.beyond += other.beyond
}

func (t *tally) clone() *tally {
	c := newTally(t.depth)
	c.addAll(t)
	return c
}

// minus is what t counts beyond other: per offset the difference, at least 0.
func (t *tally) minus(other *tally) *tally {
	rest := newTally(t.depth)
	for i, level := range t.levels {
		rest.push(roaring64.AndNot(level, other.level(i)))
	}
	rest.recount()
	return rest
}

// atLeast raises every offset's count to that of other.
func (t *tally) atLeast(other *tally) {
	for i, level := range other.levels {
		if i == len(t.levels) {
			t.levels = append(t.levels, level.Clone())
		} else {
			t.levels[i].Or(level)
		}
	}
	t.recount()
}

func (t *tally) recount() {
	t.rows = t.beyond
	for _, level := range t.levels {
		t.rows += int64(level.GetCardinality())
	}
}

var nothing = roaring64.New()

// level is the offsets seen more than i times.
func (t *tally) level(i int) *roaring64.Bitmap {
	if i < len(t.levels) {
		return t.levels[i]
	}
	return nothing
}

// within counts the offsets of b in [from, until).
func within(b *roaring64.Bitmap, from, until int64) int64 {
	if from >= until {
		return 0
	}
	n := b.Rank(uint64(until - 1))
	if from > 0 {
		n -= b.Rank(uint64(from - 1))
	}
	return int64(n)
}

// spans lists the first n runs of b that lie in [from, until).
func spans(b *roaring64.Bitmap, from, until int64, n int) []Span {
	var found []Span
	for from < until && len(found) < n {
		start := firstPresent(b, from, until)
		if start == until {
			break
		}
		end := firstAbsent(b, start, until)
		found = append(found, Span{start, end})
		from = end
	}
	return found
}

// gaps lists the first n runs of offsets in [from, until) that b lacks.
func gaps(b *roaring64.Bitmap, from, until int64, n int) []Span {
	var found []Span
	for from < until && len(found) < n {
		start := firstAbsent(b, from, until)
		if start == until {
			break
		}
		end := firstPresent(b, start, until)
		found = append(found, Span{start, end})
		from = end
	}
	return found
}

// firstPresent is the first offset of b in [from, until), until if there is none.
func firstPresent(b *roaring64.Bitmap, from, until int64) int64 {
	it := b.Iterator()
	it.AdvanceIfNeeded(uint64(from))
	if it.HasNext() {
		if next := it.PeekNext(); next < uint64(until) {
			return int64(next)
		}
	}
	return until
}

// firstAbsent is the first offset in [from, until) that b lacks, until if there is none. It bisects, for a run may be
// as long as the partition.
func firstAbsent(b *roaring64.Bitmap, from, until int64) int64 {
	lo, hi := from, until
	for lo < hi {
		mid := lo + (hi-lo)/2
		if within(b, from, mid+1) == mid+1-from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
