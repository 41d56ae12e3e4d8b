package runner

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// apportion shares limit among backlogs in proportion to their size: the largest-remainder method on whole numbers.
// The shares sum to the smaller of limit and the total; none exceeds its backlog; every backlog that is not empty gets
// at least 1 while the limit allows. turn (the batch number) rotates who is served first where there is not enough to
// go round, so that no partition starves. Nothing overflows: products are taken in 128 bits.
func apportion(backlogs []int64, limit, turn int64) []int64 {
	shares := make([]int64, len(backlogs))
	var waiting []int
	var total uint64
	for i, b := range backlogs {
		if b > 0 {
			waiting = append(waiting, i)
			total += uint64(b)
		}
	}
	switch n := int64(len(waiting)); {
	case total <= uint64(limit):
		copy(shares, backlogs)
		return shares
	case limit < n:
		for k := range limit {
			shares[waiting[(turn%n*limit+k)%n]] = 1
		}
		return shares
	}
	// One each, then the rest in proportion to what is left of each backlog.
	rest, left := uint64(limit)-uint64(len(waiting)), total-uint64(len(waiting))
	remainders := make([]uint64, len(backlogs))
	given := uint64(0)
	for _, i := range waiting {
		high, low := bits.Mul64(rest, uint64(backlogs[i]-1))
		quotient, remainder := bits.Div64(high, low, left)
		shares[i], remainders[i] = 1+int64(quotient), remainder
		given += quotient
	}
	first := int(turn % int64(len(waiting)))
	rotated := slices.Concat(waiting[first:], waiting[:first])
	slices.SortStableFunc(rotated, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range rotated[:rest-given] {
		shares[i]++
	}
	return shares
}

// scaled is floor(n*by/of) of numbers that are not negative, of above 0; what is too large for 64 bits is the largest number.
func scaled(n, by, of int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(by))
	if high >= uint64(of) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(of))
	return int64(min(quotient, math.MaxInt64))
}
