package runner_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/runner"
)

// drift makes random records whose fields have one type for each path, in any order, at any depth, and may be missing or
// null anywhere. With mixed, numbers of one path have a fraction in some records.
type drift struct {
	seed  uint64
	mixed bool
}

func (d *drift) record(partition int32, offset int64) []byte {
	random := rand.New(rand.NewPCG(d.seed, uint64(partition)<<32|uint64(offset)))
	return []byte(d.object(random, "", 0))
}

func (d *drift) object(random *rand.Rand, path string, depth int) string {
	var fields []string
	for _, name := range random.Perm(5) {
		if random.IntN(3) > 0 {
			fields = append(fields, fmt.Sprintf(`"f%d":%s`, name, d.value(random, fmt.Sprintf("%s.f%d", path, name), depth+1)))
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func (d *drift) value(random *rand.Rand, path string, depth int) string {
	if random.IntN(5) == 0 {
		return "null"
	}
	h := fnv.New64a()
	fmt.Fprint(h, d.seed, path)
	switch kind := h.Sum64() % 7; {
	case kind == 0:
		return fmt.Sprint(random.IntN(2) == 0)
	case kind == 1 && d.mixed && random.IntN(2) == 0, kind == 2:
		return fmt.Sprintf("%d.%d", random.Int32(), random.IntN(4)*25)
	case kind == 1:
		return fmt.Sprint(random.Int64() >> 20)
	case kind == 3 || depth >= 4:
		return fmt.Sprintf("%q", strings.Repeat("ä", random.IntN(4)))
	case kind == 4:
		var elements []string
		for range random.IntN(4) {
			elements = append(elements, d.value(random, path+"[]", depth+1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	return d.object(random, path, depth)
}

// Whatever records bring, in one batch cut into many tasks or in several batches, all of it is in the table: the oracle is
// the records themselves.
func TestRandomRecordsThatDriftAreAllInTheTable(t *testing.T) {
	t.Parallel()
	seeds := 12
	if *full {
		seeds = 200
	}
	columns := 0
	for seed := range seeds {
		w := newLakeWorld(t)
		d := &drift{seed: uint64(seed), mixed: seed%2 == 0}
		w.value = d.record
		narrow := growing
		narrow.Schema, narrow.OnMalformed = "other STRING", "null"
		for _, more := range []int{0, 3, 9} {
			w.kafka.produce(0, more)
			w.kafka.produce(1, 2*more)
			_, _, err := w.run(w.clean(), func(q *runner.Query) {
				q.Value, q.MinPartitions, q.MaxOffsetsPerTrigger = narrow, 5, 11
				if d.mixed {
					q.MaxOffsetsPerTrigger = 0
				}
			})
			if err == nil {
				err = w.judge(t.Context())
			}
			if err == nil {
				err = w.judgeContent()
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d.mixed {
				break // a column of integers takes no fraction later
			}
		}
		columns += len(w.columnNames(t))
	}
	if columns < 4*seeds {
		t.Errorf("all tables together have %d columns", columns)
	}
}
