package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -1000: "-1,000", -9223372036854775808: "-9,223,372,036,854,775,808"} {
		if got := count(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1,023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 88_300_000: "84.2 MiB", 1 << 40: "1.0 TiB", 1<<63 - 1: "8.0 EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.0 s", 12345 * time.Millisecond: "12.3 s", 59949 * time.Millisecond: "59.9 s",
		59950 * time.Millisecond: "1m 0s", 192 * time.Second: "3m 12s", time.Hour - time.Millisecond: "1h 0m", 125 * time.Minute: "2h 5m", 100 * time.Hour: "100h 0m"} {
		if got := took(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	for want, got := range map[string]string{"1 file": plural(1, "file"), "0 files": plural(0, "file"), "2 batches": plural(2, "batch"), "1,000 records": plural(1000, "record"),
		"1,000/s": rate(500, 500*time.Millisecond), "5,000/s": rate(5, 0), "unknown": known(-1), "never": stamp(time.Time{})} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTextFromOutsideIsHarmlessToATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, Grüße, 日本": "plain, Grüße, 日本", "a\nb\tc": `a\nb\tc`, "\x1b[2J": `\x1b[2J`, "\xff\xfe": `\xff\xfe`, "é\u0301": "é\u0301",
		"\u202e": `\u202e`, "\ufffd": "\ufffd", "": "", "'": "'", "it's\x00": `it's\x00`, "\u2028": `\u2028`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestClippedTextFitsItsWidth(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 3, "äö…"}, {"abc", 1, "…"}, {"abc", 0, "…"}} {
		if got := clip(c.text, c.width); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestThePeakIsAtLeastWhatIsInUse(t *testing.T) {
	if got := PeakMemory(); got < 1<<20 {
		t.Errorf("got %d bytes, want more than a mebibyte", got)
	}
	if got := peakUsage(); got < 1<<20 {
		t.Errorf("got %d bytes, want more than a mebibyte", got)
	}
}

// A run that a signal stopped did not fail, and how much is left is told where it is known.
func TestARunThatASignalStoppedDidNotFail(t *testing.T) {
	s := sampleStatus()
	s.LastRun = &StatusRun{ID: sampleRun, State: Interrupted, Started: s.LastRun.Started, Finished: s.LastRun.Finished, ExitCode: pointer(130)}
	var out bytes.Buffer
	if err := s.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"orders: the last run was stopped by a signal, 3,500,000 behind\n", "nothing: the next run goes on", "stopped by a signal, exit 130, finished "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("got\n%s\nwant it to say %q", &out, part)
		}
	}
	if strings.Contains(out.String(), "failed") {
		t.Errorf("got\n%s\nwant it to say nothing of a failure", &out)
	}
}
