package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/offsets"
)

// simple counts as a tally does, one offset at a time.
type simple map[int64]int

func (s simple) atMost(depth int) (kept simple, beyond int64) {
	kept = simple{}
	for o, n := range s {
		kept[o] = min(n, depth)
		beyond += int64(max(0, n-depth))
	}
	return kept, beyond
}

func wantTally(t *testing.T, got *tally, want simple) {
	t.Helper()
	want, beyond := want.atMost(got.depth)
	have := simple{}
	for _, level := range got.levels {
		it := level.Iterator()
		for it.HasNext() {
			have[int64(it.Next())]++
		}
	}
	for o, n := range want {
		if have[o] != n {
			t.Fatalf("got offset %d %d times, want %d", o, have[o], n)
		}
	}
	if len(have) != len(want) || got.beyond != beyond {
		t.Fatalf("got %d offsets and %d beyond, want %d and %d", len(have), got.beyond, len(want), beyond)
	}
}

// someOffsets are offsets in little room, so that they repeat, some far off and some negative.
func someOffsets(random *rand.Rand) []int64 {
	found := make([]int64, random.IntN(200))
	for i := range found {
		found[i] = random.Int64N(150)
		switch random.IntN(30) {
		case 0:
			found[i] += 1 << 40
		case 1:
			found[i] = -1 - random.Int64N(3)
		}
	}
	if random.IntN(2) == 0 {
		slices.Sort(found)
	}
	return found
}

func TestATallyCountsLikeAMap(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		depth := 2 + random.IntN(4)
		got, want := newTally(depth), simple{}
		for range random.IntN(6) {
			some := someOffsets(random)
			for _, o := range some {
				want[o]++
			}
			got.add(some)
		}
		wantTally(t, got, want)
		wantTally(t, got.clone(), want)
	}
}

func TestTalliesAddSubtractAndRaiseLikeMaps(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		a, b, left, right := newTally(300), newTally(300), simple{}, simple{}
		for _, o := range someOffsets(random) {
			a.add([]int64{o})
			left[o]++
		}
		for _, o := range someOffsets(random) {
			b.add([]int64{o})
			right[o]++
		}
		sum, difference, raised := simple{}, simple{}, simple{}
		for o, n := range left {
			sum[o] += n
			raised[o] = max(n, right[o])
			if n > right[o] {
				difference[o] = n - right[o]
			}
		}
		for o, n := range right {
			sum[o] += n
			raised[o] = max(n, left[o])
		}
		rest := a.minus(b)
		wantTally(t, rest, difference)
		c := a.clone()
		c.atLeast(b)
		wantTally(t, c, raised)
		a.addAll(b)
		wantTally(t, a, sum)
		for _, x := range []*tally{a, rest, c} {
			rows := x.rows
			if x.recount(); x.rows != rows {
				t.Errorf("seed %d: got %d rows, want %d", seed, rows, x.rows)
			}
		}
	}
}

func TestACoverageSortsEveryRowIntoOneKind(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		var readings []reading
		for range random.IntN(4) {
			from := random.Int64N(120)
			readings = append(readings, reading{from: from, until: from + random.Int64N(60), counted: random.IntN(3) > 0})
		}
		c := cover(readings)
		got, want := newTally(max(2, c.depth()+1)), counts{}
		copies := simple{}
		for range 3 {
			some := someOffsets(random)
			for _, o := range some {
				counted, uncounted := 0, 0
				for _, r := range readings {
					if r.from <= o && o < r.until {
						counted += map[bool]int{true: 1}[r.counted]
						uncounted += map[bool]int{false: 1}[r.counted]
					}
				}
				switch n := copies[o]; {
				case n < counted:
					want.counted++
				case n < counted+uncounted:
					want.uncounted++
				case n == 0:
					want.outside++
				default:
					want.duplicates++
				}
				copies[o]++
			}
			got.add(some)
		}
		if n := c.sort(got); n != want {
			t.Fatalf("seed %d: got %+v of %+v, want %+v", seed, n, c, want)
		}
		total := func(spans []Span) (n int64) {
			for _, s := range spans {
				n += s.Until - s.From
			}
			return n
		}
		if n := total(c.outside(got, math.MaxInt)); n != want.outside {
			t.Errorf("seed %d: got %d offsets outside, want %d", seed, n, want.outside)
		}
		listed, n := c.lacking(got, math.MaxInt)
		if c.depth() <= 1 && total(listed) != n {
			t.Errorf("seed %d: got gaps %v of %d offsets together, want %d", seed, listed, total(listed), n)
		}
	}
}

func TestSpansAndGaps(t *testing.T) {
	c := newTally(2)
	c.add([]int64{3, 4, 5, 9, 20, 21, 1 << 40})
	b := c.level(0)
	for _, test := range []struct {
		name string
		got  []Span
		want []Span
	}{
		{"runs", spans(b, 0, maxOffset, 9), []Span{{3, 6}, {9, 10}, {20, 22}, {1 << 40, 1<<40 + 1}}},
		{"the first two runs", spans(b, 0, maxOffset, 2), []Span{{3, 6}, {9, 10}}},
		{"runs cut at both ends", spans(b, 4, 21, 9), []Span{{4, 6}, {9, 10}, {20, 21}}},
		{"no room", spans(b, 5, 5, 9), nil},
		{"gaps", gaps(b, 0, 22, 9), []Span{{0, 3}, {6, 9}, {10, 20}}},
		{"the first gap", gaps(b, 0, 22, 1), []Span{{0, 3}}},
		{"no gap", gaps(b, 3, 6, 9), nil},
		{"a gap without end", gaps(b, 1<<40, maxOffset, 9), []Span{{1<<40 + 1, maxOffset}}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
	if s := spansText([]Span{{17, 18}, {20, 26}}); s != "17, 20-25" {
		t.Errorf("got %q, want 17, 20-25", s)
	}
}

func TestARowSetToldApartOnlyWhatIsCovered(t *testing.T) {
	s := newRowSet(map[string]bool{"a": true}, func(offsets.TopicPartition) int { return 2 })
	g := gather(s)
	for partition := range int32(40) { // more than are held at once
		some := make([]int64, chunkOffsets-1)
		for i := range some {
			some[i] = int64(len(some) - i)
		}
		g.run(offsets.TopicPartition{Topic: "a", Partition: partition}, some)
	}
	for i := range maxForeign + 10 {
		g.run(offsets.TopicPartition{Topic: string(rune('b' + i))}, []int64{1})
	}
	g.unplaced(3)
	g.close()
	var rows int64
	s.each(func(_ offsets.TopicPartition, t *tally) { rows += t.rows })
	if want := int64(40 * (chunkOffsets - 1)); rows != want || g.rows != want+maxForeign+10+3 {
		t.Errorf("got %d rows counted of %d, want %d of %d", rows, g.rows, want, want+maxForeign+13)
	}
	if s.foreign[otherTopics] != 10 || s.nowhere != 3 {
		t.Errorf("got %d rows of topics beyond the first %d and %d nowhere, want 10 and 3", s.foreign[otherTopics], maxForeign, s.nowhere)
	}
}
