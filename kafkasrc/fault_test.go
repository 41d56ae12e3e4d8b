package kafkasrc

import "testing"

func TestCountsHaveSeparators(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1048576: "1,048,576", -5: "-5", -100: "-100", -1234567: "-1,234,567"} {
		if got := counted(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
