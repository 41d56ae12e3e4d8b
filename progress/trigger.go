package progress

// StoppedWaiting is why a run ended that found too little to begin with.
const StoppedWaiting = "waiting"

// Waiting is why a run does nothing: fewer offsets are there than it takes to begin, and the newest batch is young.
type Waiting struct {
	// Offsets are there, MinOffsets have to be.
	Offsets    int64 `json:"offsets"`
	MinOffsets int64 `json:"minOffsets"`
	// Since is when the newest batch was done; from Until on a run begins whatever is there.
	Since Timestamp `json:"since"`
	Until Timestamp `json:"until"`
}

func (w *Waiting) text() string {
	if w == nil {
		return ""
	}
	return count(w.Offsets) + " of " + plural(w.MinOffsets, "offset") + " are there; a run begins with that many, or from " + stamp(w.Until.Time) + " on"
}

// Bound is how a query stands to where its runs end (endingOffsets and the like).
type Bound struct {
	// Reached says that all up to it was read, Ahead in how many partitions it lies beyond what was read.
	Reached bool `json:"reached"`
	Ahead   int  `json:"ahead"`
}

func (b *Bound) text() string {
	switch {
	case b == nil:
		return ""
	case b.Reached:
		return "reached: nothing is left to read for this job"
	case b.Ahead == 0: // and what has no bound is not read yet
		return "reached, where there is one"
	}
	return "ahead in " + plural(int64(b.Ahead), "partition")
}
