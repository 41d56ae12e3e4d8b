package progress

import (
	"fmt"
	"io"
)

// What the next run would begin with.
const (
	// ActionStart: nothing was planned yet.
	ActionStart = "start"
	// ActionContinue: checkpoint and table agree; read on.
	ActionContinue = "continue"
	// ActionReplay: a batch was planned and is not in the table; read it again as planned.
	ActionReplay = "replay"
	// ActionMark: a batch is in the table and its marker is missing; write the marker, then read on.
	ActionMark = "mark"
	// ActionRebuild: the table is ahead of the checkpoint; rebuild its entries from the table, then read on.
	ActionRebuild = "rebuild"
	// ActionLostRows: the table lost rows; go on as --lost-rows says.
	ActionLostRows = "lost-rows"
	// ActionStop: the run would stop, and Refusal says why.
	ActionStop = "stop"
)

// Plan is what the next run would do, if it began now. Making it writes nothing.
type Plan struct {
	Query string `json:"query"`
	// QueryID is empty while there is no checkpoint.
	QueryID string `json:"queryId"`
	// Action is what the run would begin with: one of the constants above.
	Action string `json:"action"`
	// Refusal is why the run would stop; nil if it would not.
	Refusal *Refusal `json:"refusal"`
	// Batch is the next batch to be read, -1 if there is nothing to read.
	Batch int64 `json:"batch"`
	// Records is how many offsets Batch has, Remaining how many later batches of the run would read. Transactions and compaction
	// leave offsets without a record: they are upper bounds on the records.
	Records   int64 `json:"records"`
	Remaining int64 `json:"remaining"`
	// Batches is how many batches the run would make.
	Batches int64 `json:"batches"`
	// Ranges are what Batch reads.
	Ranges []PlanRange `json:"ranges"`
	// EstimatedBytes and EstimatedFiles are what Batch would write; -1 if there is nothing to estimate from.
	EstimatedBytes int64 `json:"estimatedBytes"`
	EstimatedFiles int64 `json:"estimatedFiles"`
	// Isolation is read_committed or read_uncommitted.
	Isolation string `json:"isolation"`
	// MaxOffsets is the limit of a batch, 0 for none.
	MaxOffsets int64 `json:"maxOffsets"`
	// MaxBytes is the target for a batch in bytes of Kafka, 0 for none; Limit the number of offsets that a batch may have by
	// both, 0 for any.
	MaxBytes int64 `json:"maxBytes"`
	Limit    int64 `json:"limit"`
	// KafkaBytes is what Batch takes in Kafka, by what the newest batches took; -1 if there is nothing to estimate from.
	KafkaBytes int64 `json:"kafkaBytes"`
	// Waiting says that the run would do nothing, since too little is there; null if it would.
	Waiting *Waiting `json:"waiting"`
	// Bound says how the query stands to where its runs end; null where they end where the topics do.
	Bound *Bound `json:"bound"`
	// StartOrigin says where the starting offsets come from: the last plan, the pinned start, a key of the job, or a
	// choice; empty if the run would stop.
	StartOrigin string `json:"startOrigin"`
	// Blocked is the number of offsets that open transactions hold back.
	Blocked int64 `json:"blocked"`
	// Rates are estimates by the newest reports.
	Rates *Rates `json:"rates"`
	// Losses are the records that are gone from Kafka before they were read; absent if there are none.
	Losses []LossAhead `json:"losses,omitempty"`
	Tables []PlanTable `json:"tables"`
	// Format is how values become columns, Columns what the rows of the job have.
	Format  string       `json:"format"`
	Columns []PlanColumn `json:"columns"`
	// Differences are what keeps the table from taking such rows.
	Differences []string `json:"differences"`
	// Changes are how the run would alter the table for columns of the schema, as far as that can be known before the
	// records are read; absent where it would not.
	Changes []string `json:"changes,omitempty"`
	// Notes are what a person should know.
	Notes []string `json:"notes"`
}

// Refusal is why a run would stop before it reads anything, and what to do about it.
type Refusal struct {
	// ExitCode is what the run would end with, Class the word for it.
	ExitCode int    `json:"exitCode"`
	Class    string `json:"class"`
	// Error says what does not fit, Hint what to do next.
	Error string `json:"error"`
	Hint  string `json:"hint"`
}

// pairs says why, and what to do.
func (r *Refusal) pairs() [][2]string {
	if r == nil {
		return nil
	}
	return [][2]string{{"why", printable(r.Error)}, {"to do", printable(r.Hint)}}
}

// PlanRange is what a batch reads of one partition: [From, Until).
type PlanRange struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	Until     int64  `json:"until"`
	// Records is Until - From, an upper bound.
	Records int64 `json:"records"`
	// Blocked is the number of offsets in the partition that open transactions hold back.
	Blocked int64 `json:"blocked"`
}

// PlanTable is an output.
type PlanTable struct {
	// Role is main.
	Role string `json:"role"`
	Name string `json:"name"`
	// Exists is false for a table that the run would create; it has no UUID and location yet.
	Exists   bool   `json:"exists"`
	UUID     string `json:"uuid"`
	Location string `json:"location"`
}

// PlanColumn is a column of the rows.
type PlanColumn struct {
	Name string `json:"name"`
	// SQLType is in Spark's words.
	SQLType  string `json:"sqlType"`
	Required bool   `json:"required"`
}

// Type is "plan".
func (p *Plan) Type() string { return "plan" }

var actions = map[string]string{
	ActionStart:    "start: nothing was planned yet",
	ActionContinue: "continue where the last batch ended",
	ActionReplay:   "replay a batch that was planned and is not in the table",
	ActionMark:     "mark a batch as done that is in the table already",
	ActionRebuild:  "rebuild the checkpoint's newest entries from the table, which is ahead",
	ActionLostRows: "go on after the table lost rows, as chosen with --lost-rows",
	ActionStop:     "stop",
}

// WriteText writes what comes first, what would be read, and where to.
func (p *Plan) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: the next run would %s", p.Query, p.headline())
	pairs := append(p.Refusal.pairs(), [][2]string{{"query id", p.QueryID}, {"start from", p.StartOrigin}, {"isolation", p.Isolation}, {"limit", p.limits()}, {"end", p.Bound.text()}}...)
	switch {
	case p.Waiting != nil:
		pairs = append(pairs, [2]string{"next batch", "none, the run would wait: " + p.Waiting.text()})
	case p.Batch >= 0:
		pairs = append(pairs, [2]string{"next batch", number(p.Batch) + ", " + plural(p.Records, "offset") + ", at most as many records"}, [2]string{"after it", p.after()})
	case p.Action == ActionStop:
		pairs = append(pairs, [2]string{"next batch", "none: the run would stop before it reads anything"})
	default:
		pairs = append(pairs, [2]string{"next batch", "none: there is nothing to read"})
	}
	if p.KafkaBytes > 0 && p.Batch >= 0 {
		pairs = append(pairs, [2]string{"would read", "about " + size(p.KafkaBytes)})
	}
	if p.EstimatedBytes >= 0 && p.EstimatedFiles >= 0 && p.Batch >= 0 {
		pairs = append(pairs, [2]string{"would write", "about " + size(p.EstimatedBytes) + " in " + plural(p.EstimatedFiles, "file")})
	}
	pairs = append(pairs, [2]string{"held back", heldBack(p.Blocked)})
	pairs = append(pairs, p.Rates.pairs()...)
	for _, t := range p.Tables {
		text := place(t.Name, t.Location)
		if !t.Exists {
			text += " (to be created)"
		}
		name := sinkWord(t.Name)
		if t.Role != "main" {
			name = "dead letters"
		}
		pairs = append(pairs, [2]string{name, text})
	}
	out.pairs("  ", pairs)
	ranges := &table{headings: []string{"topic", ">partition", ">from", ">until", ">offsets", ">held back"}}
	for _, r := range p.Ranges {
		ranges.add(printable(r.Topic), number(int64(r.Partition)), number(r.From), number(r.Until), count(r.Records), nonzero(r.Blocked))
	}
	out.section("", "  ", ranges.trimmed())
	out.section("gone from Kafka", "  ", lossesAhead(p.Losses))
	out.section(p.Format+" rows", "  ", p.columns())
	if len(p.Changes) > 0 {
		out.linef("\nThe %s is altered first:", p.sink())
	}
	for _, c := range p.Changes {
		out.linef("  %s", printable(c))
	}
	if len(p.Differences) > 0 {
		out.linef("\nThe %s does not take them:", p.sink())
	}
	for _, d := range p.Differences {
		out.linef("  %s", printable(d))
	}
	out.notes(p.Notes)
	return out.to(w)
}

// after is what later batches of the run would read.
func (p *Plan) after() string {
	if p.Remaining == 0 {
		return "nothing is left to read"
	}
	return plural(max(1, p.Batches-1), "more batch") + ", " + plural(p.Remaining, "offset")
}

// limits is what bounds a batch.
func (p *Plan) limits() string {
	text := "none"
	if p.MaxOffsets > 0 {
		text = count(p.MaxOffsets) + " offsets a batch"
	}
	if p.MaxBytes > 0 {
		if p.MaxOffsets > 0 {
			text += " and "
		} else {
			text = ""
		}
		text += "about " + size(p.MaxBytes) + " of Kafka's"
		if p.Limit > 0 {
			text += ", which comes to " + plural(p.Limit, "offset") + " now"
		}
		if p.KafkaBytes < 0 && p.Batch >= 0 && p.Action != ActionReplay {
			text += " (no batch was measured yet: an offset counts for 64 KiB)"
		}
	}
	return text
}

// columns are shown where somebody chose them: those of raw are always the same.
func (p *Plan) columns() *table {
	shown := &table{headings: []string{"column", "type", "null"}}
	for _, c := range p.Columns {
		required := "may be"
		if c.Required {
			required = "never"
		}
		if p.Format != "raw" {
			shown.add(printable(c.Name), printable(c.SQLType), required)
		}
	}
	return shown
}

// headline is what the run would begin with.
func (p *Plan) headline() string {
	words, ok := actions[p.Action]
	switch {
	case !ok:
		return p.Action
	case p.Refusal != nil:
		return fmt.Sprintf("%s (exit %d, %s)", words, p.Refusal.ExitCode, p.Refusal.Class)
	}
	return words
}

// sink is what the text calls where rows go.
func (p *Plan) sink() string {
	for _, t := range p.Tables {
		if t.Role == "main" {
			return sinkWord(t.Name)
		}
	}
	return "table"
}
