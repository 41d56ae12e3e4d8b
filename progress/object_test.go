package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", golden, got, want)
	}
}

func text(t *testing.T, o Object) string {
	t.Helper()
	var b strings.Builder
	if err := o.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryObjectHasItsTextForm(t *testing.T) {
	for _, o := range samples() {
		got := text(t, o)
		compare(t, "testdata/"+o.Type()+".txt", got)
		for line := range strings.Lines(got) {
			if strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
				t.Errorf("%s: a line ends in spaces: %q", o.Type(), line)
			}
		}
		if strings.ContainsRune(got, 0x1b) {
			t.Errorf("%s: a control sequence from outside got through", o.Type())
		}
	}
}

func TestEveryObjectIsOneLineOfJSONThatBeginsWithItsType(t *testing.T) {
	for _, o := range samples() {
		var b bytes.Buffer
		if err := WriteJSON(&b, o); err != nil {
			t.Fatal(err)
		}
		line := b.String()
		if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, `{"type":"`+o.Type()+`",`) {
			t.Errorf("%s: got %s", o.Type(), line)
		}
		var fields map[string]any
		if err := json.Unmarshal(b.Bytes(), &fields); err != nil || fields["type"] != o.Type() {
			t.Errorf("%s: got %v, %v", o.Type(), fields, err)
		}
	}
}

type bare struct{ Bad func() }

func (bare) Type() string              { return "bare" }
func (bare) WriteText(io.Writer) error { return nil }

type empty struct{}

func (empty) Type() string              { return "empty" }
func (empty) WriteText(io.Writer) error { return errors.New("no text") }

func TestWritingAnObjectReportsWhatFails(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, bare{}); err == nil || !strings.Contains(err.Error(), "encode bare") || b.Len() > 0 {
		t.Errorf("got %v and %q, want an error and nothing written", err, &b)
	}
	if err := Write(&b, false, empty{}); err == nil || b.Len() > 0 {
		t.Errorf("got %v and %q, want an error and nothing written", err, &b)
	}
	if err := Write(&b, true, empty{}); err != nil || b.String() != `{"type":"empty"}`+"\n" {
		t.Errorf("got %v and %q", err, &b)
	}
	full := errors.New("disk full")
	for _, asJSON := range []bool{true, false} {
		if err := Write(failing{full}, asJSON, sampleVersion()); !errors.Is(err, full) {
			t.Errorf("got %v, want %v", err, full)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestAPeekWithTheWrongNumberOfValuesIsAnError(t *testing.T) {
	p := &Peek{Columns: []PeekColumn{{"a", "int"}}, Rows: [][]any{{1, 2}}}
	if err := WriteJSON(&bytes.Buffer{}, p); err == nil || !strings.Contains(err.Error(), "row 0 has 2 values for 1 columns") {
		t.Errorf("got %v", err)
	}
	none := &Peek{From: "table", Name: "sales.orders"}
	var b bytes.Buffer
	if err := WriteJSON(&b, none); err != nil || !strings.HasSuffix(b.String(), `"columns":null,"rows":[],"malformed":null}`+"\n") {
		t.Errorf("got %s, %v", &b, err)
	}
	if got := text(t, none); got != "table sales.orders: 0 rows\n" {
		t.Errorf("got %q", got)
	}
}

func TestHeadlinesSayHowARunEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *Summary)
		want   string
	}{
		{"caught up", func(*Summary) {}, "orders: caught up in 44.1 s"},
		{"nothing new", func(s *Summary) { s.Batches, s.FirstBatch, s.LastBatch = 0, -1, -1 }, "orders: nothing new"},
		{"nothing but open transactions", func(s *Summary) { s.Batches, s.Blocked = 0, 1200 }, "orders: nothing new, 1,200 held back by open transactions"},
		{"a limit of batches", func(s *Summary) { s.Stopped, s.CaughtUp, s.Lag = "max-batches", false, 2_500_000 }, "orders: stopped by --max-batches after 4 batches in 44.1 s, 2,500,000 left"},
		{"a limit of time, lag unknown", func(s *Summary) { s.Stopped, s.Batches, s.Lag = "max-duration", 1, -1 }, "orders: stopped by --max-duration after 1 batch in 44.1 s, unknown left"},
		{"a signal", func(s *Summary) { s.Stopped, s.Batches = "signal", 0 }, "orders: stopped by a signal in 44.1 s, 312 left"},
		{"a signal, lag unknown", func(s *Summary) { s.Stopped, s.Lag = "signal", -1 }, "orders: stopped by a signal after 4 batches in 44.1 s"},
		{"an error", func(s *Summary) { s.Stopped, s.ExitCode = "error", 1 }, "orders: failed after 4 batches in 44.1 s"},
	} {
		s := sampleSummary()
		c.change(s)
		got, _, _ := strings.Cut(text(t, s), "\n")
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestASummaryNamesTheGroupThatIsShownTheOffsets(t *testing.T) {
	for failures, want := range map[int64]string{0: "lag-orders\n", 1: "lag-orders, 1 failure\n"} {
		s := sampleSummary()
		s.ConsumerGroup = &ConsumerGroup{Name: "lag-orders", Commits: 4, Failures: failures}
		if got := text(t, s); !strings.Contains(got, "  group") || !strings.Contains(got, want) {
			t.Errorf("got %q, want it to say %q", got, want)
		}
	}
}

func TestALineOfABatchNamesWhatIsUnusual(t *testing.T) {
	b := sampleBatch()
	b.NumInputRows, b.BatchDuration, b.Sluice = 1, 0, Extra{Files: 1, WrittenBytes: 900, DeadLetters: 2, DeadLetterFiles: 1, Dropped: 3, Replayed: true}
	want := "batch 7, replayed: 1 record in 0 ms, 1,000/s, 2 files, 900 B, 2 dead letters (see sluice deadletter ls), 3 dropped\n"
	if got := text(t, b); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAStatusSaysWhereAQueryStands(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *Status)
		want   string
	}{
		{"never ran", func(s *Status) { s.QueryID = "" }, "never ran"},
		{"failed", func(*Status) {}, "the last run failed"},
		{"behind", func(s *Status) { s.LastRun = nil }, "3,500,000 behind"},
		{"caught up", func(s *Status) { s.LastRun.State, s.Lag = "done", 0 }, "caught up"},
		{"unknown", func(s *Status) { s.LastRun, s.Lag = nil, -1 }, "lag unknown"},
		{"cut short", func(s *Status) { s.LastRun.State = "running" }, "the last run was cut short"},
		{"at work", func(s *Status) { s.LastRun, s.Lease.Live = nil, true }, "running since 2026-11-30 04:00:00 UTC, by run 0b3f6a52-7a57-4b7e-a5ad-5f6c1e0f2d44, process 4711 on etl-1"},
		{"at work after a failure", func(s *Status) { s.Lease.Live = true }, "running since 2026-11-30 04:00:00 UTC, by run 0b3f6a52-7a57-4b7e-a5ad-5f6c1e0f2d44, process 4711 on etl-1; the run before failed"},
		{"at work, whatever else", func(s *Status) { s.LastRun, s.Lease.Live, s.Refusal, s.QueryID = nil, true, sampleRefusal(), "" }, "running since 2026-11-30 04:00:00 UTC, by run 0b3f6a52-7a57-4b7e-a5ad-5f6c1e0f2d44, process 4711 on etl-1"},
		{"stuck", func(s *Status) { s.Refusal = sampleRefusal() }, "the next run would stop (exit 13, inconsistent)"},
		{"stuck before it ever ran", func(s *Status) { s.Refusal, s.QueryID = sampleRefusal(), "" }, "the next run would stop (exit 13, inconsistent)"},
	} {
		s := sampleStatus()
		c.change(s)
		if got, _, _ := strings.Cut(text(t, s), "\n"); got != "orders: "+c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	running := sampleStatus()
	running.LastRun.State, running.LastRun.Finished, running.LastRun.ExitCode, running.LastRun.Error = "running", nil, nil, ""
	running.Lease.Released, running.Lease.Live, running.LastProgress = false, true, sampleBatch()
	for _, want := range []string{"last run      running, started 2026-11-30 04:00:00 UTC\n", "lease         held by run 0b3f6a52-7a57-4b7e-a5ad-5f6c1e0f2d44, process 4711 on etl-1 since 2026-11-30 04:00:00 UTC, last sign of life 2026-11-30 04:00:05 UTC\n", "last          batch 7: 999,998 records"} {
		if got := text(t, running); !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant a line %q", got, want)
		}
	}
}

// What needs a person is followed by what to do, unless a run is at work on it.
func TestAStatusSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *Status)
		want   string // empty: nothing
	}{
		{"failed", func(*Status) {}, "  to do         see whether the brokers are up, then run again\n"},
		{"stuck", func(s *Status) { s.Refusal = sampleRefusal() }, "  why           the checkpoint is empty\n  to do         point it at the folder that was used before\n"},
		{"cut short", func(s *Status) { s.LastRun.State = "running" }, "  to do         nothing: the next run goes on where it was\n"},
		{"at work", func(s *Status) { s.Lease.Live, s.Refusal = true, sampleRefusal() }, ""},
		{"done", func(s *Status) { s.LastRun.State, s.LastRun.Hint = "done", "" }, ""},
	} {
		s := sampleStatus()
		c.change(s)
		got := text(t, s)
		if c.want == "" && (strings.Contains(got, "to do") || strings.Contains(got, "why")) || !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwant %q", c.name, got, c.want)
		}
	}
}

func sampleRefusal() *Refusal {
	return &Refusal{ExitCode: 13, Class: "inconsistent", Error: "the checkpoint is empty", Hint: "point it at the folder that was used before"}
}

func TestAPlanOfARunThatWouldStopSaysWhyAndNothingOfWhatToRead(t *testing.T) {
	p := &Plan{Query: "orders", Action: ActionStop, Refusal: sampleRefusal(), Batch: -1, EstimatedBytes: -1, EstimatedFiles: -1, Isolation: "read_committed"}
	want := "orders: the next run would stop (exit 13, inconsistent)\n" +
		"  why         the checkpoint is empty\n  to do       point it at the folder that was used before\n" +
		"  isolation   read_committed\n  limit       none\n  next batch  none: the run would stop before it reads anything\n"
	if got := text(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAPlanWithNothingToReadSaysSo(t *testing.T) {
	p := &Plan{Query: "orders", Action: ActionContinue, Batch: -1, EstimatedBytes: -1, EstimatedFiles: -1, Isolation: "read_committed", StartOrigin: "plan 6 of the checkpoint"}
	want := "orders: the next run would continue where the last batch ended\n" +
		"  start from  plan 6 of the checkpoint\n  isolation   read_committed\n  limit       none\n  next batch  none: there is nothing to read\n"
	if got := text(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.Action = "a new word"
	if got := text(t, p); !strings.HasPrefix(got, "orders: the next run would a new word\n") {
		t.Errorf("got %s", got)
	}
}

func TestVerifySaysWhatItIsSureOf(t *testing.T) {
	for _, c := range []struct {
		verdict string
		ok      bool
		source  bool
		want    string
	}{{"proved", true, false, "ok, every row is there once"}, {"unproven", true, false, "ok, as far as could be proven"}, {"broken", false, false, "not ok, 1 problem"},
		{"proved", true, true, "ok, every row is there once; 1 of 2 partitions not wholly compared with Kafka"},
		{"unproven", true, true, "ok, as far as could be proven; 1 of 2 partitions not wholly compared with Kafka"}, {"broken", false, true, "not ok, 1 problem"}} {
		v := sampleVerify()
		v.OK, v.Verdict, v.Source, v.GivenUp = c.ok, c.verdict, c.source, nil
		if got, _, _ := strings.Cut(text(t, v), "\n"); got != "sales.orders: "+c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestVerifySaysHowMuchKafkaVouchesFor(t *testing.T) {
	v := sampleVerify()
	v.ReadTwice, v.Partitions[1].Compared = 1943, 0
	for _, want := range []string{"2,000,000 of 3,000,000  broken\n", "          no  proved\n", "\n  read twice    1,943\n"} {
		if got := text(t, v); !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant it to say %q", got, want)
		}
	}
	v.Partitions[0].Compared, v.Partitions[1].Compared = v.Partitions[0].Read, v.Partitions[1].Read
	v.OK, v.Verdict, v.GivenUp = true, "proved", nil
	if got := text(t, v); !strings.HasPrefix(got, "sales.orders: ok, every row is there once\n") || !strings.Contains(got, "all  proved\n") {
		t.Errorf("got\n%s\nwant nothing left out", got)
	}
	if v.Source = false; strings.Contains(text(t, v), "compared") {
		t.Errorf("got\n%s\nwant no word of Kafka, which was not asked", text(t, v))
	}
}
