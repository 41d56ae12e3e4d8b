package columns

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// What was appended comes back, whatever the order of values and nulls, also after a reset.
func TestAppendedValuesComeBack(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var a Array
	for range 300 {
		a.Reset()
		var want [][]byte
		nulls := 0
		for range random.IntN(40) {
			switch random.IntN(3) {
			case 0:
				a.AppendNullBytes()
				want = append(want, nil)
				nulls++
			case 1:
				a.AppendBytes(nil)
				want = append(want, []byte{})
			default:
				v := bytes.Repeat([]byte{byte(random.IntN(256))}, random.IntN(9))
				a.AppendBytes(v)
				want = append(want, append([]byte{}, v...))
			}
		}
		if a.Len != len(want) || a.Nulls != nulls {
			t.Fatalf("got %d rows and %d nulls, want %d and %d", a.Len, a.Nulls, len(want), nulls)
		}
		for i, v := range want {
			if got := a.Bytes(i); !bytes.Equal(got, v) || (got == nil) != (v == nil) || a.Valid(i) != (v != nil) {
				t.Fatalf("row %d: got %v, want %v", i, got, v)
			}
		}
	}
}

func TestARepeatedValueStandsForEveryRow(t *testing.T) {
	topic := Array{Kind: String, Len: 1000, Repeat: true, Offsets: []int32{0, 6}, Data: []byte("orders")}
	for _, i := range []int{0, 1, 999} {
		if got := topic.Bytes(i); string(got) != "orders" {
			t.Errorf("row %d: got %q", i, got)
		}
	}
	absent := Array{Kind: String, Len: 3, Repeat: true, Nulls: 3, Validity: []byte{0}, Offsets: []int32{0, 0}}
	if absent.Valid(2) || absent.Bytes(2) != nil {
		t.Error("a repeated null is null in every row")
	}
}

func TestListsSpanTheirElements(t *testing.T) {
	list := Array{Kind: List, Children: []Array{{Kind: Binary}}}
	list.Children[0].AppendBytes([]byte("a"))
	list.Children[0].AppendNullBytes()
	list.AppendSpan()
	list.AppendNullSpan()
	list.AppendSpan()
	list.Children[0].AppendBytes([]byte("b"))
	list.AppendSpan()
	for i, want := range [][2]int{{0, 2}, {2, 2}, {2, 2}, {2, 3}} {
		if from, until := list.Span(i); from != want[0] || until != want[1] {
			t.Errorf("row %d: got [%d,%d), want %v", i, from, until, want)
		}
	}
	if list.Valid(1) || !list.Valid(2) || list.Len != 4 || list.Nulls != 1 {
		t.Errorf("a null list and an empty one differ: %+v", list)
	}
	list.Reset()
	if list.Len != 0 || list.Children[0].Len != 0 || len(list.Validity) != 0 {
		t.Errorf("after a reset: %+v", list)
	}
}

func TestAppendingAllocatesNothingOnceGrown(t *testing.T) {
	var a Array
	fill := func() {
		a.Reset()
		for range 100 {
			a.AppendBytes([]byte("value"))
			a.AppendNullBytes()
		}
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
