package progress

// Interrupted is the state and the class of a run that a signal stopped.
const Interrupted = "interrupted"

// RunRecord is what the checkpoint keeps of a run under runs/<run-id>.json, also of an idle or a failed one. It is written
// when the run has begun (state "running") and again when it ends. Two kinds of run have none: one that found another at
// work, and one that was refused before the checkpoint had a query.
type RunRecord struct {
	Version int    `json:"version"`
	RunID   string `json:"runId"`
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	// State is "running", "done", "failed", or Interrupted for a run that a signal stopped. A record that stays "running"
	// is of a run that was killed.
	State    string     `json:"state"`
	Started  Timestamp  `json:"started"`
	Finished *Timestamp `json:"finished,omitempty"`
	Host     string     `json:"host"`
	PID      int        `json:"pid"`
	// Class is the class of the error, "interrupted" for a run that a signal stopped, empty if there is none.
	Class string `json:"errorClass,omitempty"`
	// Hint is what to do about the error; empty if it does not say.
	Hint string `json:"errorHint,omitempty"`
	// Summary is what the run did; nil while it is running.
	Summary *Summary `json:"summary,omitempty"`
}
