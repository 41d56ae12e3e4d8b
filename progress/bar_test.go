package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// clock is a time that stands still until it is moved.
type clock struct{ t time.Time }

func newClock() *clock                        { return &clock{time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)} }
func (c *clock) now() time.Time               { return c.t }
func (c *clock) sleep(d time.Duration)        { c.t = c.t.Add(d) }
func (c *clock) tick(b *Bar, d time.Duration) { c.sleep(d); b.draw() }

// screen is a terminal of one line: what stands there, and the lines above it.
func screen(output string) (line string, above []string) {
	for output != "" {
		switch {
		case strings.HasPrefix(output, clearRight):
			output = output[len(clearRight):]
		case output[0] == '\r':
			line, output = "", output[1:]
		case output[0] == '\n':
			above, line, output = append(above, line), "", output[1:]
		default:
			line, output = line+output[:1], output[1:]
		}
	}
	return line, above
}

func TestTheBarShowsHowFarARunIs(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	b := NewBar(BarOptions{Out: &out, Name: "orders", Width: func() int { return 120 }, Now: c.now})
	c.tick(b, time.Second)
	if out.Len() > 0 {
		t.Errorf("got %q before any batch, want nothing", &out)
	}
	b.begin(7, 1_000_000, 1_500_000)
	b.advance(200_000)
	c.tick(b, 2*time.Second)
	b.advance(50_000)
	c.tick(b, 50*time.Millisecond) // too early to draw
	c.tick(b, time.Second)
	b.finish()
	b.begin(8, 1_000_000, 500_000)
	b.advance(1_000_000)
	c.tick(b, 2*time.Second)
	b.finish()
	b.begin(9, 0, 0) // the log ended early
	c.tick(b, time.Second)
	b.Close()
	want := "\r" + "orders  batch 7  [                                      ]    0%  0/2,500,000  0/s" + "\x1b[K" +
		"\r" + "orders  batch 7  [==>                                   ]    8%  200,000/2,500,000  100,000/s  23.0 s left" + "\x1b[K" +
		"\r" + "orders  batch 7  [==>                                   ]   10%  250,000/2,500,000  81,967/s  27.4 s left" + "\x1b[K" +
		"\r" + "orders  batch 8  [=============================>        ]   80%  2,000,000/2,500,000  396,039/s  1.3 s left" + "\x1b[K" +
		"\r" + "orders  batch 9  [======================================]  100%  2,000,000/2,000,000  330,578/s" + "\x1b[K" +
		"\r\x1b[K"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, "\r", "\n"), strings.ReplaceAll(want, "\r", "\n"))
	}
}

func TestTheBarLeavesNothingBehind(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	b := NewBar(BarOptions{Out: &out, Name: "orders", Now: c.now})
	log := b.Over(&out)
	b.begin(7, 100, 0)
	fmt.Fprintln(log, "first")
	c.tick(b, time.Millisecond) // back at once after a log line
	fmt.Fprintln(log, "second")
	fmt.Fprint(log, "half a ")
	c.tick(b, time.Second) // must not overwrite half a line
	fmt.Fprintln(log, "line")
	c.tick(b, time.Second)
	b.Close()
	b.Close()
	c.tick(b, time.Second)
	b.begin(8, 1, 0)
	line, above := screen(out.String())
	if line != "" || strings.Join(above, "|") != "first|second|half a line" {
		t.Errorf("got %q above %q in %q", above, line, &out)
	}
	if got := strings.Count(out.String(), "batch 7"); got != 3 {
		t.Errorf("got %d drawings, want 3", got)
	}
}

func TestTheBarFitsEveryWidth(t *testing.T) {
	for width := 1; width <= 200; width++ {
		var out bytes.Buffer
		c := newClock()
		b := NewBar(BarOptions{Out: &out, Name: "a-query-with-a-long-name", Width: func() int { return width }, Now: c.now})
		b.begin(123, 10_000_000, 90_000_000)
		b.advance(1_234_567)
		c.tick(b, time.Second)
		line, _ := screen(out.String())
		if got := utf8.RuneCountInString(line); got >= width {
			t.Errorf("width %d: got %d characters: %s", width, got, line)
		}
		if width > 5 && !strings.Contains(line, "1%") {
			t.Errorf("width %d: got %q, want a percentage at least", width, line)
		}
	}
}

func TestANarrowTerminalGetsTheMostImportant(t *testing.T) {
	var got []string
	for _, width := range []int{100, 70, 60, 45, 30, 20, 6, 4} {
		var out bytes.Buffer
		c := newClock()
		b := NewBar(BarOptions{Out: &out, Name: "orders", Width: func() int { return width }, Now: c.now})
		b.begin(7, 1_000_000, 1_000_000)
		b.advance(500_000)
		c.tick(b, 5*time.Second)
		line, _ := screen(out.String())
		got = append(got, line)
	}
	compare(t, "testdata/narrow.bar", strings.Join(got, "\n")+"\n")
}

func TestColourIsOnlyThereIfAskedFor(t *testing.T) {
	for _, color := range []bool{true, false} {
		var out bytes.Buffer
		c := newClock()
		b := NewBar(BarOptions{Out: &out, Name: "orders", Color: color, Now: c.now})
		b.begin(7, 100, 0)
		b.advance(50)
		c.tick(b, time.Second)
		if got := strings.Contains(out.String(), green) && strings.Contains(out.String(), normal); got != color {
			t.Errorf("got colour %v, want %v: %q", got, color, &out)
		}
	}
}

func TestTheRateIsThatOfTheLastSeconds(t *testing.T) {
	b := NewBar(BarOptions{})
	start := newClock().t
	position := int64(0)
	for i := range 60 {
		speed := int64(1000)
		if i >= 40 {
			speed = 10
		}
		position += speed
		b.rate(start.Add(time.Duration(i)*time.Second), position)
	}
	if got := b.rate(start.Add(60*time.Second), position+10); got != 10 {
		t.Errorf("got %v, want 10", got)
	}
	if len(b.samples) > 12 {
		t.Errorf("got %d samples, want no more than those of ten seconds", len(b.samples))
	}
}

func TestNoBarIsABarToo(t *testing.T) {
	var b *Bar
	var out bytes.Buffer
	b.begin(1, 2, 3)
	b.advance(1)
	b.finish()
	b.Close()
	b.Run(nil) // returns at once
	if b.Over(&out) != &out {
		t.Errorf("a nil bar wraps")
	}
}

func TestTheBarRunsUntilItIsClosed(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	b := NewBar(BarOptions{Out: &out, Name: "orders", Now: c.now})
	b.begin(7, 100, 0)
	c.sleep(time.Second)
	ticks := make(chan time.Time)
	done := make(chan struct{})
	go func() { b.Run(ticks); close(done) }()
	ticks <- time.Time{}
	ticks <- time.Time{} // the first was drawn before this one was taken
	b.Close()
	<-done
	if got := strings.Count(out.String(), "batch 7"); got != 2 {
		t.Errorf("got %d drawings, want 2", got)
	}
	if line, _ := screen(out.String()); line != "" {
		t.Errorf("got %q left behind", line)
	}
}

func TestOnlyATerminalThatCanDrawGetsABar(t *testing.T) {
	if TerminalBar(&bytes.Buffer{}, "orders", func(string) string { return "xterm" }) != nil || IsTerminal(&bytes.Buffer{}) {
		t.Errorf("a buffer is taken for a terminal")
	}
	for term, want := range map[string]bool{"": false, "dumb": false, "xterm-256color": true} {
		if got := canDraw(term); got != want {
			t.Errorf("%q: got %v, want %v", term, got, want)
		}
	}
}
