package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// tell lets a reporter see a short run.
func tell(r *Reporter) error {
	r.Planned(7, 1_000_000, 2_500_000, false)
	r.Advanced(999_998)
	r.Notice("table maintenance failed; it is tried again later, no row is affected", "batch", 7, "error", io.ErrUnexpectedEOF)
	r.Committed(sampleBatch())
	r.Notice("open transactions hold back records", "offsets", 12)
	return r.Finish(sampleSummary(), "SELECT * FROM iceberg_scan('/data/lake/sales/orders') LIMIT 10;")
}

func TestWhatAReporterWrites(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		log     LogOptions
	}{
		{"text", Options{}, LogOptions{}},
		{"stamped", Options{Stamped: true}, LogOptions{}},
		{"quiet", Options{Quiet: true}, LogOptions{}},
		{"json", Options{JSON: true, Quiet: true}, LogOptions{JSON: true}},
		{"debug", Options{}, LogOptions{Level: slog.LevelDebug}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log bytes.Buffer
			clock := newClock()
			c.log.Now, c.options.Now = clock.now, clock.now
			c.options.Out, c.options.Log = &out, NewLogger(&log, c.log)
			if err := tell(NewReporter(c.options)); err != nil {
				t.Fatal(err)
			}
			compare(t, "testdata/"+c.name+".run", "--- stdout\n"+out.String()+"--- stderr\n"+log.String())
		})
	}
}

func TestLogLinesAndTheBarShareATerminal(t *testing.T) {
	var terminal bytes.Buffer
	c := newClock()
	b := NewBar(BarOptions{Out: &terminal, Name: "orders", Now: c.now})
	r := NewReporter(Options{Out: b.Over(&terminal), Log: NewLogger(b.Over(&terminal), LogOptions{Now: c.now}), Bar: b, Now: c.now})
	r.Planned(7, 1_000_000, 0, false)
	r.Notice("one")
	c.tick(b, time.Second)
	r.Committed(sampleBatch())
	c.tick(b, time.Second)
	if err := r.Finish(sampleSummary(), ""); err != nil {
		t.Fatal(err)
	}
	line, above := screen(terminal.String())
	if line != "" || len(above) != 2+7 || !strings.HasSuffix(above[0], "msg=one") || !strings.HasPrefix(above[1], "batch 7: ") || !strings.HasPrefix(above[2], "orders: caught up") {
		t.Errorf("got %q above %q", above, line)
	}
}

func TestAResultThatCannotBeWrittenIsReportedInTheEnd(t *testing.T) {
	broken := errors.New("broken pipe")
	r := NewReporter(Options{Out: failing{broken}})
	if err := tell(r); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// A run with nothing new has one line, so that an hour of cron can be read at a glance.
func TestARunWithNothingToDoIsOneLine(t *testing.T) {
	var out bytes.Buffer
	r := NewReporter(Options{Out: &out})
	if err := r.Finish(&Summary{Query: "orders", FirstBatch: -1, LastBatch: -1, CaughtUp: true}, "SELECT 1;"); err != nil || out.String() != "orders: nothing new\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}

func TestReportsOfManyGoroutinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(BarOptions{Out: &out, Name: "orders"})
	r := NewReporter(Options{Out: b.Over(&out), JSON: true, Bar: b, Log: NewLogger(io.Discard, LogOptions{})})
	ticks := make(chan time.Time)
	var drawing, telling sync.WaitGroup
	drawing.Go(func() { b.Run(ticks) })
	for range 4 {
		telling.Go(func() {
			for range 50 {
				r.Planned(7, 100, 100, false)
				r.Advanced(10)
				r.Notice("notice", "a", 1)
				r.Committed(sampleBatch())
			}
		})
	}
	for range 20 {
		ticks <- time.Time{}
	}
	telling.Wait()
	close(ticks)
	drawing.Wait()
	if err := r.Finish(sampleSummary(), ""); err != nil {
		t.Fatal(err)
	}
	line, above := screen(out.String())
	if line != "" || len(above) != 201 {
		t.Fatalf("got %d lines and %q after them, want 201 and nothing", len(above), line)
	}
	for i, l := range above {
		var object struct{ Type string }
		if err := json.Unmarshal([]byte(l), &object); err != nil || object.Type == "" {
			t.Errorf("line %d: got %q, %v", i, l, err)
		}
	}
}

func TestLogsHideNothingAndStampInUTC(t *testing.T) {
	var out bytes.Buffer
	zone := time.FixedZone("", 3600)
	log := NewLogger(&out, LogOptions{Now: func() time.Time { return time.Date(2026, 11, 30, 5, 0, 0, 5e6, zone) }})
	log.With("run", "r1").WithGroup("g").Info("a message", "time", "kept", "n", 1)
	want := `time=2026-11-30T04:00:00.005Z level=INFO msg="a message" run=r1 g.time=kept g.n=1` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	out.Reset()
	log.Debug("unseen")
	if out.Len() > 0 {
		t.Errorf("got %s at debug level, want nothing", &out)
	}
}

func ExampleWriteJSON() {
	var b bytes.Buffer
	if err := WriteJSON(&b, &Version{Version: "0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", Libraries: map[string]string{}}); err != nil {
		fmt.Println(err)
	}
	fmt.Print(&b)
	// Output: {"type":"version","version":"0.1.0","commit":"","modified":false,"built":"","go":"go1.26.8","os":"linux","arch":"amd64","libraries":{}}
}
