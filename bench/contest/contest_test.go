package contest

import (
	"errors"
	"strings"
	"testing"
)

func TestTheTableTellsCostsRatiosAndWhatWasDemanded(t *testing.T) {
	all := []*Contender{
		{Name: "ours", costs: []float64{300, 100, 200}},
		{Name: "slow", costs: []float64{900, 700, 800}, allocs: 3},
		{Name: "slower", costs: []float64{1000, 2000, 3000}},
	}
	var b strings.Builder
	err := report(&b, 50, all, []Demand{{5, []string{"slow", "slower"}}, {20, []string{"slower"}}})
	if err == nil || err.Error() != "missed: 10.00x slower, want 20.0x" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"\nours                                   100 ns     200 ns      500    0.000    1.00x\n",
		"\nslow                                   700 ns     800 ns       71    3.000    7.00x\n",
		"\n5.0x slow: 7.00x, met\n", "\n20.0x slower: 10.00x, missed\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant %q", b.String(), want)
		}
	}
}

func TestEveryoneDecodesEveryRowInEachRound(t *testing.T) {
	rows, turns := [][]byte{[]byte("a"), []byte("bcd")}, ""
	player := func(name string) *Contender {
		return &Contender{Name: name, Decode: Each(func(row []byte) error {
			turns += name + string(row)
			return nil
		})}
	}
	var b strings.Builder
	if err := Run(&b, rows, 2, []*Contender{player("x"), player("y")}); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(strings.Repeat("xaxbcd", repeats)+strings.Repeat("yaybcd", repeats), 2); turns != want {
		t.Errorf("got %s, want %s", turns, want)
	}
	if !strings.HasPrefix(b.String(), "2 rows of 2 bytes, 2 rounds, go") {
		t.Errorf("got %s", b.String())
	}
}

func TestADecoderThatFailsEndsTheContest(t *testing.T) {
	broken := errors.New("broken")
	err := Run(&strings.Builder{}, [][]byte{nil}, 1, []*Contender{{Name: "x", Decode: func([][]byte) error { return broken }}})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "x: ") {
		t.Errorf("got %v", err)
	}
}
