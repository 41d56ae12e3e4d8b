package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// pairs is what a person reads of the rates: how long until all is read, and what comes in meanwhile. Nothing where there is no
// query yet, or none that would read.
func (r *Rates) pairs() [][2]string {
	if r == nil || r.Backlog == nil {
		return nil
	}
	return [][2]string{{"to catch up", r.catchUp()}, {"coming in", r.comingIn()}}
}

// catchUp renders about 12 min at 48,000 records/s, 4 batches, about 201.4 MiB.
func (r *Rates) catchUp() string {
	var parts []string
	switch {
	case *r.Backlog == 0:
		return ""
	case r.DrainMs != nil && r.RecordsPerSecond != nil:
		parts = append(parts, "about "+roughTime(time.Duration(*r.DrainMs)*time.Millisecond)+" at "+rough(*r.RecordsPerSecond)+" records/s")
	}
	if r.BacklogBatches != nil && *r.BacklogBatches > 0 {
		parts = append(parts, plural(*r.BacklogBatches, "batch"))
	}
	if r.BacklogBytes != nil {
		parts = append(parts, "about "+size(*r.BacklogBytes)+" of Kafka's")
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// comingIn renders about 60,000 offsets/s over the last 55 min, and what that means where it is too much.
func (r *Rates) comingIn() string {
	if r.Input == nil {
		return ""
	}
	window := " over the last " + roughTime(time.Duration(*r.InputWindowMs)*time.Millisecond)
	switch {
	case *r.Input == 0:
		return "nothing" + window
	case r.FallingBehind != nil && *r.FallingBehind:
		return fmt.Sprintf("about %s offsets/s%s, and batches take %s/s: the query falls behind", rough(*r.Input), window, rough(*r.OffsetsPerSecond))
	}
	return "about " + rough(*r.Input) + " offsets/s" + window
}

// rough renders a rate with the two digits that an estimate has, 48,000 or 130; below 10 with one decimal.
func rough(rate float64) string {
	if rate < 9.95 {
		return fmt.Sprintf("%.1f", rate)
	}
	step := math.Pow(10, math.Floor(math.Log10(rate))-1)
	return count(int64(math.Round(rate/step) * step))
}

// roughTime renders 45 s, 12 min, 5 h, 12 days.
func roughTime(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", max(1, int64(math.Round(d.Seconds()))))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int64(math.Round(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int64(math.Round(d.Hours())))
	}
	return fmt.Sprintf("%d days", int64(math.Round(d.Hours()/24)))
}
