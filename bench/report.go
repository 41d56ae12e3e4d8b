package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// number is one result. Of several measurements it is the median, and Low and High are the extremes.
type number struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Unit    string  `json:"unit"`
	// Target is the most that Value should be; 0 where there is no target.
	Target float64 `json:"target,omitempty"`
	// Pass says whether the target is reached; nil without one.
	Pass *bool `json:"pass,omitempty"`
}

// of makes a number of measurements.
func of(name, unit string, values ...float64) number {
	if len(values) == 0 {
		return number{Name: name, Unit: unit}
	}
	return number{Name: name, Unit: unit, Value: median(values), Low: slices.Min(values), High: slices.Max(values)}
}

// atMost gives the number a target.
func (n number) atMost(target float64) number {
	pass := n.Value <= target
	n.Target, n.Pass = target, &pass
	return n
}

// atLeast gives it one that it is to reach.
func (n number) atLeast(target float64) number {
	pass := n.Value >= target
	n.Target, n.Pass = target, &pass
	return n
}

func (n number) verdict() string {
	switch {
	case n.Pass == nil:
		return ""
	case *n.Pass:
		return fmt.Sprintf("target %s  PASS", short(n.Target))
	}
	return fmt.Sprintf("target %s  over target", short(n.Target))
}

// median is the middle value, of an even count the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// each maps measurements to numbers.
func each[T any](all []T, value func(T) float64) []float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = value(one)
	}
	return values
}

// short writes three digits or so, with commas between thousands.
func short(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case a >= 1000:
		return thousands(int64(math.Round(v)))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1 || v == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// report prints results as they come: a table for people, or one JSON object a line.
type report struct {
	out     io.Writer
	json    bool
	section string
}

// begin starts a section; what says in a line what is measured.
func (r *report) begin(section, what string) {
	r.section = section
	if r.json {
		r.object(map[string]string{"type": "section", "section": section, "what": what})
		return
	}
	fmt.Fprintf(r.out, "\n%s: %s\n", section, what)
}

func (r *report) add(numbers ...number) {
	for _, n := range numbers {
		n.Section = r.section
		if r.json {
			r.object(struct {
				Type string `json:"type"`
				number
			}{"number", n})
			continue
		}
		spread := ""
		if n.Low != n.High {
			spread = fmt.Sprintf("(%s to %s)", short(n.Low), short(n.High))
		}
		line := fmt.Sprintf("  %-46s %10s %-12s %-22s %s", n.Name, short(n.Value), n.Unit, spread, n.verdict())
		fmt.Fprintln(r.out, strings.TrimRight(line, " "))
	}
}

// say prints what is not a number.
func (r *report) say(name, text string) {
	if r.json {
		r.object(map[string]string{"type": "fact", "section": r.section, "name": name, "text": text})
		return
	}
	fmt.Fprintf(r.out, "  %-46s %s\n", name, text)
}

func (r *report) object(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Appendf(nil, `{"type":"error","error":%q}`, err) // a NaN: nothing was measured
	}
	fmt.Fprintf(r.out, "%s\n", text)
}
