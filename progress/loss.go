package progress

import "fmt"

// Loss is what Kafka did not have any more when it was to be read.
type Loss struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Cause is retention, recreated, diverged or missing.
	Cause string `json:"cause"`
	// From and Until are the offsets [From, Until), Offsets how many; Until is From, and Offsets -1, where nobody can tell how
	// many records there were from From on.
	From    int64 `json:"from"`
	Until   int64 `json:"until"`
	Offsets int64 `json:"offsets"`
}

// MostLosses is how many losses a summary names; it counts all.
const MostLosses = 100

// LossAhead is a loss that the next run would come upon.
type LossAhead struct {
	Loss
	// Accepted says that the run would go on without, and record it; else it stops.
	Accepted bool `json:"accepted"`
	// Option is the setting that accepts it.
	Option string `json:"option"`
}

// span is the offsets for people.
func (l *Loss) span() string {
	if l.Offsets < 0 {
		return fmt.Sprintf("from %d on", l.From)
	}
	return fmt.Sprintf("%d to %d", l.From, l.Until-1)
}

// lossesAhead is a table of them, none where there are none.
func lossesAhead(losses []LossAhead) *table {
	shown := &table{headings: []string{"topic", ">partition", "lost", ">offsets", "cause", "the run"}}
	for i := range losses {
		l := &losses[i]
		then := "stops; accepted with " + l.Option
		if l.Accepted {
			then = "goes on without"
		}
		shown.add(printable(l.Topic), number(int64(l.Partition)), l.span(), dashed(l.Offsets, count), l.Cause, then)
	}
	return shown
}

// lost is how many offsets were lost, and in how many places; empty if none.
func lost(offsets int64, losses []Loss) string {
	if len(losses) == 0 {
		return ""
	}
	text := plural(offsets, "offset")
	for i := range losses {
		if losses[i].Offsets < 0 {
			if offsets == 0 {
				return "what came after that which was read"
			}
			return text + " at least, and what came after that which was read"
		}
	}
	return text
}
