package job

import (
	"testing"
	"testing/quick"
	"time"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1_000": 1000, "12B": 12, "64KB": 64_000, "64KiB": 65_536, "256MiB": 256 << 20, "256 mib": 256 << 20,
		"3GB": 3e9, "3GiB": 3 << 30, "1TB": 1e12, "1TiB": 1 << 40, "8388607TiB": 8388607 << 40, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1.5GiB", "1e6", "0x10", "MiB", "1  MiB", " 1", "1 ", "1K", "1M", "1MiBs", "_1", "1_", "1__0",
		"8388608TiB", "9223372036854775808", "1000000000000000000000TB"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestSizesAreReadBackAsWritten(t *testing.T) {
	same := func(n int64) bool {
		n = max(n, -n-1) // not negative
		got, err := parseSize(formatSize(n))
		return err == nil && got == n
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	for n, want := range map[int64]string{1: "1", 1000: "1000", 1024: "1KiB", 256 << 20: "256MiB", 1 << 30: "1GiB", 3 << 40: "3TiB", 1<<20 + 1: "1048577"} {
		if got := formatSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "007": 7, "-5": -5, "500_000": 500000, "9223372036854775807": 1<<63 - 1} {
		if got, err := parseCount(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "+5", "1.0", "1e3", "0x1", "5 ", "_5", "5_", "5__5", "9223372036854775808", "٣"} {
		if got, err := parseCount(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "30s": 30 * time.Second, "15m": 15 * time.Minute, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"30": "has no unit", "-1s": "is negative", "1d": "is no duration", "": "is no duration", "15 minutes": "is no duration"} {
		if _, err := parseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	same := func(n int64) bool {
		d := time.Duration(max(n, -n-1))
		got, err := parseDuration(formatDuration(d))
		return err == nil && got == d
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	for d, want := range map[time.Duration]string{0: "0s", time.Minute: "1m", time.Hour: "1h", 10 * time.Minute: "10m", 20 * time.Hour: "20h", 61 * time.Second: "1m1s", time.Hour + time.Second: "1h0m1s"} {
		if got := formatDuration(d); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
