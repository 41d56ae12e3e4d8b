// Package contest measures decoders of the same records beside each other: CPU time a row of the whole process, garbage
// collection included, and allocations a row. The decoders take turns, and the least and the middle of their rounds are
// printed, so that a busy machine harms all alike.
package contest

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Contender is one decoder.
type Contender struct {
	Name string
	// Decode decodes all rows once.
	Decode func(rows [][]byte) error

	costs  []float64 // ns a row, by round; sorted once they are all there
	allocs float64
}

// Demand is by how many times the first contender has to need less CPU than the fastest of some others.
type Demand struct {
	Times  float64
	Others []string
}

// Each decodes row by row.
func Each(decode func(row []byte) error) func(rows [][]byte) error {
	return func(rows [][]byte) error {
		for _, row := range rows {
			if err := decode(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// repeats is how often all rows are decoded in a round.
const repeats = 8

// Run lets all decode the rows in so many rounds and writes the table of what they cost, the first with ratio 1, then
// whether the demands are met, by the least costs. The error says that a decoder failed or which demand was missed.
func Run(w io.Writer, rows [][]byte, rounds int, all []*Contender, demands ...Demand) error {
	for range rounds {
		for _, c := range all {
			if err := c.round(rows); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
		}
	}
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	if _, err := fmt.Fprintf(w, "%d rows of %d bytes, %d rounds, %s, %s\n", len(rows), size/len(rows), rounds, runtime.Version(), runtime.GOARCH); err != nil {
		return err
	}
	return report(w, float64(size)/float64(len(rows)), all, demands)
}

func (c *Contender) round(rows [][]byte) error {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	from, err := cpu()
	for range repeats {
		if err == nil {
			err = c.Decode(rows)
		}
	}
	until, err2 := cpu()
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	c.costs = append(c.costs, float64((until-from).Nanoseconds())/float64(repeats*len(rows)))
	c.allocs = float64(after.Mallocs-before.Mallocs) / float64(repeats*len(rows))
	return err2
}

// cpu is the CPU time that the process has used.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

func report(w io.Writer, size float64, all []*Contender, demands []Demand) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %10s %10s %8s %8s %8s\n", "", "least", "middle", "MB/s", "allocs", "ratio")
	for _, c := range all {
		slices.Sort(c.costs)
		least := c.costs[0]
		fmt.Fprintf(&b, "%-34s %7.0f ns %7.0f ns %8.0f %8.3f %7.2fx\n", c.Name, least, c.costs[len(c.costs)/2], size/least*1e3, c.allocs, least/all[0].costs[0])
	}
	var missed []string
	for _, d := range demands {
		fastest, met := d.judge(all), "met"
		ratio := fastest.costs[0] / all[0].costs[0]
		if ratio < d.Times {
			met = "missed"
			missed = append(missed, fmt.Sprintf("%.2fx %s, want %.1fx", ratio, fastest.Name, d.Times))
		}
		fmt.Fprintf(&b, "%.1fx %s: %.2fx, %s\n", d.Times, fastest.Name, ratio, met)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(missed, "; "))
	}
	return nil
}

// judge is the fastest of the demand's contenders.
func (d Demand) judge(all []*Contender) *Contender {
	var fastest *Contender
	for _, c := range all {
		if slices.Contains(d.Others, c.Name) && (fastest == nil || c.costs[0] < fastest.costs[0]) {
			fastest = c
		}
	}
	if fastest == nil {
		panic(fmt.Sprintf("contest: there is no contender of %q", d.Others))
	}
	return fastest
}
