package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sluice/lakesink"
	"sluice/progress"
)

// mostBatches bounds how many batches are listed.
const mostBatches = 20

// letterTally sums the dead letters that are listed.
type letterTally struct {
	topics, reasons counts[string]
	batches         counts[int64]
	newest          newestPlaces
}

func (t *letterTally) add(found *progress.DeadLetters, rows *letterRows, table string, letter *lakesink.Letter) {
	replayed := rows.has(letter)
	found.DeadLetters++
	if replayed {
		found.Replayed++
	}
	if rows.unfinished(letter) {
		found.Unfinished++
	}
	t.topics.add(letter.Topic, replayed)
	t.reasons.add(letter.Class, replayed)
	t.batches.add(letter.Batch, replayed)
	t.newest.add(rows.placeOf(table, letter))
}

// into puts the sums into what is shown.
func (t *letterTally) into(found *progress.DeadLetters) {
	found.ByTopic, found.ByReason = t.topics.frequent(), t.reasons.frequent()
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(t.batches))) {
		if found.ByBatch = append(found.ByBatch, t.batches[n]); len(found.ByBatch) == mostBatches {
			break
		}
	}
	found.Newest = append(found.Newest, t.newest.places...)
}

// counts are dead letters by something that they have in common.
type counts[K comparable] map[K]progress.DeadLetterCount

func (c counts[K]) add(of K, replayed bool) {
	n := c[of]
	n.Of = fmt.Sprint(of)
	n.DeadLetters++
	if replayed {
		n.Replayed++
	}
	c[of] = n
}

// frequent is the most frequent first.
func (c counts[K]) frequent() []progress.DeadLetterCount {
	all := append([]progress.DeadLetterCount{}, slices.Collect(maps.Values(c))...)
	slices.SortFunc(all, func(a, b progress.DeadLetterCount) int {
		return cmp.Or(cmp.Compare(b.DeadLetters, a.DeadLetters), cmp.Compare(a.Of, b.Of))
	})
	return all
}

// newestPlaces keeps the dead letters of the newest batches.
type newestPlaces struct {
	limit  int
	places []progress.DeadLetterPlace
}

func compareNewest(a, b progress.DeadLetterPlace) int {
	return cmp.Or(cmp.Compare(b.Batch, a.Batch), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(b.Offset, a.Offset))
}

// add takes a place in where it is among the newest, and reports whether it is.
func (n *newestPlaces) add(p progress.DeadLetterPlace) bool {
	at, _ := slices.BinarySearchFunc(n.places, p, compareNewest)
	if at == n.limit {
		return false
	}
	n.places = slices.Insert(n.places, at, p)
	n.places = n.places[:min(len(n.places), n.limit)]
	return true
}
