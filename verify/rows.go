package verify

import (
	"sync"

	"sluice/offsets"
)

const (
	// chunkOffsets is how many offsets of a partition are gathered before they go into its bitmaps: a roaring
	// container's worth. heldOffsets bounds what one file's reader gathers over all partitions (8 MiB).
	chunkOffsets = 1 << 16
	heldOffsets  = 1 << 20
	// maxForeign bounds how many foreign topics are told apart.
	maxForeign = 1000
	// otherTopics stands for the foreign topics beyond that.
	otherTopics = "(other topics)"
)

// rowSet counts the rows of a set of files. It is safe for concurrent use.
type rowSet struct {
	// covered are the topics to count offset by offset; rows of others are only counted.
	covered map[string]bool
	// depth says how many times an offset of a partition must be told apart.
	depth func(offsets.TopicPartition) int

	mu         sync.Mutex
	partitions map[offsets.TopicPartition]*lockedTally
	foreign    map[string]int64
	// nowhere counts rows without topic, partition or offset.
	nowhere int64
}

type lockedTally struct {
	sync.Mutex
	*tally
}

func newRowSet(covered map[string]bool, depth func(offsets.TopicPartition) int) *rowSet {
	return &rowSet{covered: covered, depth: depth, partitions: map[offsets.TopicPartition]*lockedTally{}, foreign: map[string]int64{}}
}

// like is an empty set for rows of the same topics.
func (s *rowSet) like() *rowSet { return newRowSet(s.covered, s.depth) }

func (s *rowSet) of(tp offsets.TopicPartition) *lockedTally {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.partitions[tp]
	if t == nil {
		t = &lockedTally{tally: newTally(s.depth(tp))}
		s.partitions[tp] = t
	}
	return t
}

func (s *rowSet) strangers(topic string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.foreign[topic]; !known && len(s.foreign) >= maxForeign {
		topic = otherTopics
	}
	s.foreign[topic] += n
}

func (s *rowSet) unplaced(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowhere += n
}

// each visits every partition.
func (s *rowSet) each(visit func(offsets.TopicPartition, *tally)) {
	for tp, t := range s.partitions {
		visit(tp, t.tally)
	}
}

// total counts the rows of covered topics.
func (s *rowSet) total() int64 {
	var n int64
	s.each(func(_ offsets.TopicPartition, t *tally) { n += t.rows })
	return n
}

// addAll counts everything that other counts, which nobody else may use meanwhile.
func (s *rowSet) addAll(other *rowSet) {
	other.each(func(tp offsets.TopicPartition, t *tally) {
		mine := s.of(tp)
		mine.Lock()
		defer mine.Unlock()
		mine.addAll(t)
	})
	for topic, n := range other.foreign {
		s.strangers(topic, n)
	}
	s.unplaced(other.nowhere)
}

// minus is what s counts beyond other, of the covered topics. Nobody may use the two meanwhile; so with atLeast.
func (s *rowSet) minus(other *rowSet) *rowSet {
	rest := s.like()
	s.each(func(tp offsets.TopicPartition, t *tally) {
		if d := t.minus(other.of(tp).tally); d.rows > 0 {
			rest.partitions[tp] = &lockedTally{tally: d}
		}
	})
	return rest
}

// atLeast raises every offset's count to that of other.
func (s *rowSet) atLeast(other *rowSet) {
	other.each(func(tp offsets.TopicPartition, t *tally) { s.of(tp).atLeast(t) })
}

// gatherer collects the rows of one file for a rowSet. It is used by one goroutine.
type gatherer struct {
	into   *rowSet
	chunks map[offsets.TopicPartition][]int64
	held   int
	// rows counts all, also foreign ones.
	rows int64
	// partition and offset are the least and greatest seen, for comparison with the manifest's bounds.
	partition, offset extent
}

func gather(into *rowSet) *gatherer {
	return &gatherer{into: into, chunks: map[offsets.TopicPartition][]int64{}}
}

// run adds consecutive rows of one partition.
func (g *gatherer) run(tp offsets.TopicPartition, found []int64) {
	g.rows += int64(len(found))
	g.partition.add(int64(tp.Partition))
	for _, o := range found {
		g.offset.add(o)
	}
	if !g.into.covered[tp.Topic] {
		g.into.strangers(tp.Topic, int64(len(found)))
		return
	}
	g.chunks[tp] = append(g.chunks[tp], found...)
	g.held += len(found)
	if len(g.chunks[tp]) >= chunkOffsets {
		g.flush(tp)
	} else if g.held >= heldOffsets {
		g.close()
	}
}

func (g *gatherer) unplaced(n int64) {
	g.rows += n
	g.into.unplaced(n)
}

func (g *gatherer) flush(tp offsets.TopicPartition) {
	chunk := g.chunks[tp]
	t := g.into.of(tp)
	t.Lock()
	t.add(chunk)
	t.Unlock()
	g.held -= len(chunk)
	g.chunks[tp] = chunk[:0]
}

// close hands over what is left.
func (g *gatherer) close() {
	for tp := range g.chunks {
		g.flush(tp)
	}
	if len(g.chunks) > heldOffsets/chunkOffsets { // thousands of partitions: do not keep a chunk's memory for each
		clear(g.chunks)
	}
}

// extent is the least and the greatest of what was added.
type extent struct {
	min, max int64
	any      bool
}

func (e *extent) add(v int64) {
	if !e.any {
		*e = extent{v, v, true}
		return
	}
	e.min, e.max = min(e.min, v), max(e.max, v)
}
