package mapkeys_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/columns"
	"sluice/decode/mapkeys"
)

// kinds are the kinds of keys that a map can have, each with how a number becomes a key: equal ones become equal keys.
var kinds = map[string]func(a *columns.Array, n int){
	"string":       func(a *columns.Array, n int) { a.AppendBytes(fmt.Append(nil, n)) },
	"binary":       func(a *columns.Array, n int) { a.AppendBytes(make([]byte, n)) },
	"int":          func(a *columns.Array, n int) { a.AppendInt32(int32(n)) },
	"long":         func(a *columns.Array, n int) { a.AppendInt64(int64(n) << 40) },
	"uuid":         func(a *columns.Array, n int) { a.AppendFixed(fmt.Appendf(nil, "%016d", n)) },
	"fixed":        func(a *columns.Array, n int) { a.AppendFixed([]byte{byte(n >> 8), 1, byte(n)}) },
	"decimal":      func(a *columns.Array, n int) { a.AppendInt64(int64(-n)) },
	"wide decimal": func(a *columns.Array, n int) { a.AppendInt128(int64(-n), 1<<63) },
}

var kindOf = map[string]columns.Kind{"string": columns.String, "binary": columns.Binary, "int": columns.Int32, "long": columns.Int64,
	"uuid": columns.UUID, "fixed": columns.Fixed, "decimal": columns.Decimal, "wide decimal": columns.Decimal}

// Maps of every size around where keys begin to be hashed and where the table of hashes grows, one after the other in one
// column, beside a map of Go.
func TestRepeatedKeysAreFoundAsAMapOfGoFindsThem(t *testing.T) {
	for kind, add := range kinds {
		random := rand.New(rand.NewPCG(1, 2))
		s, whole := mapkeys.New(), mapkeys.New()
		keys := columns.Array{Kind: kindOf[kind]}
		for round := range 400 {
			from, last, repeats := keys.Len, map[int]int{}, false
			count := 1 + random.IntN(60)
			numbers := make([]int, count)
			for i := range numbers {
				numbers[i] = random.IntN(1 + random.IntN(40*count))
				_, want := last[numbers[i]]
				add(&keys, numbers[i])
				last[numbers[i]] = i
				if repeats { // the map would have been left
					continue
				}
				if got := s.Repeated(&keys, from); got != want {
					t.Fatalf("%s, round %d: key %d of %v is repeated: got %v, want %v", kind, round, i, numbers, got, want)
				}
				repeats = want
			}
			if got := whole.Repeats(&keys, from); got != repeats {
				t.Fatalf("%s, round %d: %v has a key twice: got %v, want %v", kind, round, numbers, got, repeats)
			}
			for i, n := range numbers {
				if got, want := whole.Last(&keys, from, from+i), last[n] == i; got != want {
					t.Fatalf("%s, round %d: key %d of %v is the last of its kind: got %v, want %v", kind, round, i, numbers, got, want)
				}
			}
		}
	}
}

func TestBooleanKeysAreToldApart(t *testing.T) {
	keys := columns.Array{Kind: columns.Bool}
	s := mapkeys.New()
	for i, c := range []struct{ key, want bool }{{true, false}, {false, false}, {false, true}} {
		keys.AppendBool(c.key)
		if got := s.Repeated(&keys, 0); got != c.want {
			t.Errorf("key %d is repeated: got %v, want %v", i, got, c.want)
		}
	}
}

func TestASetThatHasGrownAllocatesNothing(t *testing.T) {
	keys := columns.Array{Kind: columns.Int64}
	s := mapkeys.New()
	read := func() {
		keys.Reset()
		for i := range 5000 {
			keys.AppendInt64(int64(i))
			if s.Repeated(&keys, 0) {
				t.Fatalf("key %d is taken for repeated", i)
			}
		}
	}
	read()
	if got := testing.AllocsPerRun(3, read); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
