package runner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestApportionKeepsTheLimitAndSharesInProportion(t *testing.T) {
	for _, tc := range []struct {
		name     string
		backlogs []int64
		limit    int64
		want     []int64
	}{
		{"backlogs that ended", []int64{0, 40, 0}, 10, []int64{0, 10, 0}},
		{"nothing to share", []int64{0, 0}, 10, []int64{0, 0}},
		// https://github.com/apache/hudi/issues/10869
		{"skewed lag", []int64{1000000, 1, 1}, 100, []int64{98, 1, 1}},
		{"near the end of int64", []int64{math.MaxInt64 / 2, math.MaxInt64 / 2}, math.MaxInt64 / 2, []int64{math.MaxInt64/4 + 1, math.MaxInt64 / 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := apportion(tc.backlogs, tc.limit, 0); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestApportionInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		backlogs := make([]int64, 1+random.IntN(12))
		var total, waiting int64
		for i := range backlogs {
			if random.IntN(4) > 0 {
				backlogs[i] = random.Int64N(1 << random.IntN(40))
			}
			total += backlogs[i]
			waiting += min(1, backlogs[i])
		}
		limit, turn := 1+random.Int64N(1<<random.IntN(40)), random.Int64N(1000)
		var sum int64
		for i, share := range apportion(backlogs, limit, turn) {
			sum += share
			if share < 0 || share > backlogs[i] || backlogs[i] > 0 && share == 0 && limit >= waiting {
				t.Fatalf("apportion(%v, %d, %d)[%d] = %d", backlogs, limit, turn, i, share)
			}
		}
		if want := min(total, limit); sum != want {
			t.Fatalf("apportion(%v, %d, %d) sums to %d, want %d", backlogs, limit, turn, sum, want)
		}
	}
}

func TestApportionServesEveryPartitionInTurn(t *testing.T) {
	backlogs := []int64{10, 10, 10, 10, 10}
	served := make([]int64, len(backlogs))
	for turn := range int64(10) {
		for i, share := range apportion(backlogs, 2, turn) {
			served[i] += share
		}
	}
	if want := []int64{4, 4, 4, 4, 4}; !slices.Equal(served, want) {
		t.Errorf("after ten turns of two got %v, want %v", served, want)
	}
}
