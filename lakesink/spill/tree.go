package spill

import "bytes"

// tree is a tournament of losers (Knuth, The Art of Computer Programming 3, 5.4.1): after the winner's source has moved on, only
// the matches on its way to the top are played again.
type tree struct {
	sources []*source
	// losers are those of the matches 1, 2, …, of which match k is followed by k/2; losers[0] is the winner of all.
	losers []int
}

func newTree(sources []*source) tree {
	t := tree{sources: sources, losers: make([]int, max(1, len(sources)))}
	if len(sources) == 0 {
		t.losers[0] = -1
		return t
	}
	t.losers[0] = t.play(1)
	return t
}

// play plays match k and those before it, and returns the winner. Sources stand behind the matches.
func (t *tree) play(k int) int {
	if k >= len(t.sources) {
		return k - len(t.sources)
	}
	a, b := t.play(2*k), t.play(2*k+1)
	if t.before(b, a) {
		a, b = b, a
	}
	t.losers[k] = b
	return a
}

// replay finds the winner again after source w, the last one, has moved on.
func (t *tree) replay(w int) {
	for k := (w + len(t.sources)) / 2; k > 0; k /= 2 {
		if t.before(t.losers[k], w) {
			w, t.losers[k] = t.losers[k], w
		}
	}
	t.losers[0] = w
}

// winner is the source whose row comes first, -1 if no rows are left.
func (t *tree) winner() int {
	if w := t.losers[0]; w >= 0 && !t.sources[w].done {
		return w
	}
	return -1
}

// before says whether the row of source a comes before that of b.
func (t *tree) before(a, b int) bool {
	x, y := t.sources[a], t.sources[b]
	switch {
	case x.done || y.done:
		return !x.done
	case x.word != y.word:
		return x.word < y.word
	}
	if c := bytes.Compare(x.key, y.key); c != 0 {
		return c < 0
	}
	return a < b
}
