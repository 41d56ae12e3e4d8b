package lakesink

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/columns"
	"sluice/lakesink/partition"
	"sluice/lakesink/rowtest"
	"sluice/lakesink/spill"
	"sluice/layout"
)

// Keys that begin alike, that others begin with, that are equal, empty or null, and that differ within their first bytes alone.
func TestRowsAreSortedByWholeKeysAndStayAsTheyCameWhereTheseAreEqual(t *testing.T) {
	text := columns.Type{Kind: columns.String}
	for name, value := range map[string]func(rng *rand.Rand) any{
		"begin alike": func(rng *rand.Rand) any { return fmt.Sprintf("customer-of-the-shop-%d", rng.IntN(500)) },
		"differ far behind": func(rng *rand.Rand) any {
			return fmt.Sprintf("%d%s%d", rng.IntN(2), strings.Repeat("x", 30), rng.IntN(50))
		},
		"begin each other": func(rng *rand.Rand) any {
			return strings.Repeat("\x00a", rng.IntN(9)) + strings.Repeat("\x00", rng.IntN(3))
		},
		"equal":         func(*rand.Rand) any { return "the same" },
		"nothing alike": func(rng *rand.Rand) any { return fmt.Sprintf("%x", rng.Uint64()) },
		"null or empty": func(rng *rand.Rand) any { return []any{nil, "", "a"}[rng.IntN(3)] },
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		values := make([]any, 2000)
		rows := make([]int32, len(values))
		for i := range values {
			values[i], rows[i] = value(rng), int32(i)
		}
		order, err := partition.NewOrder([]partition.OrderField{{Field: partition.Field{Transform: layout.Identity, Path: []int{0}, Source: text, From: text}}})
		if err != nil {
			t.Fatal(err)
		}
		shown := func(row int32) string { // null before the empty one
			if values[row] == nil {
				return ""
			}
			return "+" + values[row].(string)
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(shown(a), shown(b)) })
		keys := spill.KeyColumn
		b := &columns.Batch{Rows: len(values), Columns: []columns.Array{rowtest.Array(text, values)}}
		for row := range values {
			keys.AppendBytes(order.AppendKey(nil, b, row))
		}
		var s sorter
		if got := s.sort(&keys, nil); !slices.Equal(got, want) {
			t.Errorf("%s: got %v…, want %v…", name, got[:8], want[:8])
		}
		if got := s.sort(&columns.Array{Kind: columns.Binary}, nil); len(got) != 0 {
			t.Errorf("%s: got %v of no rows", name, got)
		}
	}
}
