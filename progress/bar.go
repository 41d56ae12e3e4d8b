package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// BarOptions say where and how a Bar draws.
type BarOptions struct {
	// Out is the terminal.
	Out io.Writer
	// Name is the query's.
	Name string
	// Width is asked at each drawing; 0 or less counts as 80.
	Width func() int
	// Color lets the bar use a colour.
	Color bool
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Bar is the line at the bottom of a terminal that shows how far a run has come. It takes the line away before
// anything else is written through Over, and for good when it is closed. A nil Bar draws nothing, so that nobody needs
// to ask whether there is one. It may be used by several goroutines.
type Bar struct {
	options BarOptions
	records atomic.Int64  // of the batch in hand
	gone    chan struct{} // closed with the Bar

	mu      sync.Mutex
	drawn   bool
	closed  bool
	midline bool // something else has written half a line
	last    time.Time
	batch   int64
	planned int64 // offsets of the batch in hand
	done    int64 // offsets of the batches before it
	left    int64 // offsets after it
	any     bool
	samples []sample
}

// sample is how far the run was at a moment.
type sample struct {
	at       time.Time
	position int64
}

const (
	// drawEvery bounds how often the line is drawn.
	drawEvery = 100 * time.Millisecond
	// rateOver is the time that the rate is an average over.
	rateOver = 10 * time.Second
)

// NewBar makes a Bar, which draws nothing until a batch is planned.
func NewBar(options BarOptions) *Bar {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Bar{options: options, gone: make(chan struct{})}
}

// Run draws at every tick until the Bar is closed or ticks is; between ticks only a new batch is drawn.
func (b *Bar) Run(ticks <-chan time.Time) {
	for b != nil {
		select {
		case <-b.gone:
			return
		case _, more := <-ticks:
			if !more {
				return
			}
			b.draw()
		}
	}
}

// draw shows the line anew, unless it was drawn a moment ago.
func (b *Bar) draw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.options.Now()
	if b.closed || !b.any || b.midline || !b.last.IsZero() && now.Sub(b.last) < drawEvery {
		return
	}
	b.last = now
	line := b.line(now)
	if line == "" {
		b.erase()
		return
	}
	b.drawn = true
	io.WriteString(b.options.Out, "\r"+line+clearRight) //nolint:errcheck // a terminal that is gone is no reason to fail
}

// Control sequences: clear to the end of the line, green, and back to normal.
const (
	clearRight = "\x1b[K"
	green      = "\x1b[32m"
	normal     = "\x1b[0m"
)

// erase takes the line away.
func (b *Bar) erase() {
	if b.drawn {
		io.WriteString(b.options.Out, "\r"+clearRight) //nolint:errcheck // as above
		b.drawn = false
	}
}

// Close takes the line away for good. It is safe to call twice.
func (b *Bar) Close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	if !b.closed {
		b.closed = true
		close(b.gone)
	}
}

// Over is a writer to the same terminal: the line is taken away before each write, and comes back with the next tick.
func (b *Bar) Over(w io.Writer) io.Writer {
	if b == nil {
		return w
	}
	return over{b, w}
}

type over struct {
	bar *Bar
	w   io.Writer
}

func (o over) Write(p []byte) (int, error) {
	o.bar.mu.Lock()
	defer o.bar.mu.Unlock()
	o.bar.erase()
	o.bar.last = time.Time{} // the next tick may draw at once
	o.bar.midline = len(p) > 0 && p[len(p)-1] != '\n'
	return o.w.Write(p)
}

func (b *Bar) begin(batch, offsets, left int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.batch, b.planned, b.left, b.any = batch, offsets, left, true
	b.records.Store(0)
	b.mu.Unlock()
	b.draw()
}

func (b *Bar) advance(records int64) {
	if b != nil {
		b.records.Add(records)
	}
}

// finish counts the batch in hand as done, with all of its offsets: gaps between records are offsets too.
func (b *Bar) finish() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.done += b.planned
	b.planned = 0
	b.records.Store(0)
	b.mu.Unlock()
}

// barMark stands for the bar among the parts of the line.
const barMark = "\x00"

// line renders what fits the terminal; empty if nothing does.
func (b *Bar) line(now time.Time) string {
	position := b.done + min(b.records.Load(), b.planned)
	total := b.done + b.planned + b.left
	share := 100
	if total > 0 {
		share = int(float64(position) / float64(total) * 100)
	}
	perSecond := b.rate(now, position)
	percent := fmt.Sprintf("%3d%%", share)
	batch := fmt.Sprintf("batch %d", b.batch)
	counts := count(position) + "/" + count(total)
	speed := count(int64(perSecond)) + "/s"
	left := ""
	if perSecond > 0 && total > position {
		left = took(time.Duration(float64(total-position)/perSecond*float64(time.Second))) + " left"
	}
	width := b.width()
	for _, parts := range [][]string{ // from everything to the least
		{b.options.Name, batch, barMark, percent, counts, speed, left},
		{b.options.Name, batch, barMark, percent, speed, left},
		{batch, barMark, percent, speed, left},
		{barMark, percent, speed, left},
		{percent, speed, left},
		{percent, left},
		{percent},
	} {
		if line, ok := b.fit(parts, float64(share)/100, width); ok {
			return line
		}
	}
	return ""
}

func (b *Bar) width() int {
	width := 0
	if b.options.Width != nil {
		width = b.options.Width()
	}
	if width <= 0 {
		width = 80
	}
	return width - 1 // a full line would wrap on some terminals
}

// fit joins the parts, the bar taking what is left of the width, between 10 and 40 characters.
func (b *Bar) fit(parts []string, share float64, width int) (string, bool) {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	line := strings.Join(parts, "  ")
	room := width - utf8.RuneCountInString(line)
	if !strings.Contains(line, barMark) {
		return line, room >= 0
	}
	cells := min(40, room+1) // the mark makes way
	if cells < 10 {
		return "", false
	}
	return strings.Replace(line, barMark, b.drawing(share, cells), 1), true
}

// drawing is the bar itself: [=====>    ].
func (b *Bar) drawing(share float64, cells int) string {
	inner := cells - 2
	full := int(share * float64(inner))
	done := strings.Repeat("=", full)
	if full > 0 && full < inner {
		done = done[1:] + ">"
	}
	rest := strings.Repeat(" ", inner-full)
	if b.options.Color {
		done = green + done + normal
	}
	return "[" + done + rest + "]"
}

// rate is the speed over the last seconds, in offsets a second.
func (b *Bar) rate(now time.Time, position int64) float64 {
	b.samples = append(b.samples, sample{now, position})
	for len(b.samples) > 2 && now.Sub(b.samples[1].at) >= rateOver {
		b.samples = b.samples[1:]
	}
	first := b.samples[0]
	if elapsed := now.Sub(first.at).Seconds(); elapsed > 0 {
		return max(0, float64(position-first.position)/elapsed)
	}
	return 0
}
