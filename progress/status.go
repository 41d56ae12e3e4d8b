package progress

import (
	"fmt"
	"io"
	"strings"
)

// Status is where a query stands. Making it writes nothing.
type Status struct {
	Query string `json:"query"`
	// QueryID is empty while there is no checkpoint.
	QueryID    string `json:"queryId"`
	Checkpoint string `json:"checkpoint"`
	// LastPlan and LastCommit are the newest batches planned and marked as done in the checkpoint, TableBatch the newest
	// in the table; -1 for none.
	LastPlan   int64 `json:"lastPlan"`
	LastCommit int64 `json:"lastCommit"`
	TableBatch int64 `json:"tableBatch"`
	// Uncommitted is a batch that is planned and not marked as done: one in hand, or one that the next run settles.
	Uncommitted *StatusBatch `json:"uncommitted"`
	// Action is what the next run would begin with, as in Plan, and Refusal why it would stop; nil if it would not.
	Action  string   `json:"action"`
	Refusal *Refusal `json:"refusal"`
	Table   string   `json:"table"`
	// TableUUID and TableLocation are empty while the table is not there.
	TableUUID     string            `json:"tableUuid"`
	TableLocation string            `json:"tableLocation"`
	Partitions    []StatusPartition `json:"partitions"`
	// Lag sums the partitions but those that the job has gone on without (onDataLoss.missing); -1 if it is not known of each.
	Lag int64 `json:"lag"`
	// Blocked is the number of offsets that open transactions hold back.
	Blocked int64 `json:"blocked"`
	// LogLag is Lag with Blocked: up to the high watermarks. -1 where Lag is.
	LogLag int64 `json:"logLag"`
	// Rates are estimates by the newest reports.
	Rates *Rates `json:"rates"`
	// Losses are as in Plan.
	Losses []LossAhead `json:"losses,omitempty"`
	// Waiting and Bound are as in Plan; both are null where the next run would stop, or Kafka could not be asked.
	Waiting *Waiting `json:"waiting"`
	Bound   *Bound   `json:"bound"`
	// DeadLetters is nil where the job sends none anywhere and the query has none.
	DeadLetters *StatusLetters `json:"deadLetters"`
	// GivenUp is what earlier batches went on without, by the table; nil for nothing.
	GivenUp *GivenUp `json:"givenUp"`
	// Lease is nil if there never was one.
	Lease *StatusLease `json:"lease"`
	// LastRun is the newest run that was recorded, but for the one that holds the lease now; nil for none.
	LastRun *StatusRun `json:"lastRun"`
	// LastProgress is the report of the newest batch that has one; nil for none.
	LastProgress *Batch   `json:"lastProgress"`
	Notes        []string `json:"notes"`
	// Read is a statement for DuckDB that reads exactly the rows of a folder of files; absent for a table.
	Read string `json:"read,omitempty"`
}

// StatusBatch is a planned batch.
type StatusBatch struct {
	Batch   int64     `json:"batch"`
	Planned Timestamp `json:"planned"`
	Offsets int64     `json:"offsets"`
}

// StatusPartition is where the query is in one partition.
type StatusPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Next is the next offset to read, after the newest batch in the table; -1 for a partition that was not read yet, and
	// where neither table nor checkpoint can tell.
	Next int64 `json:"next"`
	// End is the live end of the partition, Lag the offsets up to it; -1 if Kafka could not be asked. Lag is also -1 where
	// Next cannot be told, or Kafka does not have what comes after it any more: records deleted unread, a log truncated,
	// a topic gone or created again.
	End int64 `json:"end"`
	Lag int64 `json:"lag"`
	// Blocked is the number of offsets beyond End that open transactions hold back; 0 if Kafka could not be asked.
	Blocked int64 `json:"blocked"`
	// LogEnd is the high watermark, where the log ends for everybody but readers of committed records, and LogLag the offsets up
	// to it; -1 where End and Lag are.
	LogEnd int64 `json:"logEnd"`
	LogLag int64 `json:"logLag"`
	// State is one of the constants below.
	State string `json:"state"`
}

// What a status says of a partition.
const (
	// PartitionRead: the query reads it, up to its end.
	PartitionRead = "read"
	// PartitionHeld: an open transaction holds back what is beyond End.
	PartitionHeld = "heldBack"
	// PartitionNew: the query has read nothing of it yet.
	PartitionNew = "new"
	// PartitionGone: Kafka does not have it any more.
	PartitionGone = "gone"
	// PartitionLost: Kafka does not have what comes after Next any more.
	PartitionLost = "lost"
	// PartitionUnknown: Kafka could not be asked, or where the query is cannot be told.
	PartitionUnknown = "unknown"
)

// remark is what the text says of a partition that is not like the others.
func (p *StatusPartition) remark() string {
	switch p.State {
	case PartitionNew:
		return "new"
	case PartitionGone:
		return "gone from Kafka"
	case PartitionLost:
		return "lost what comes next"
	}
	return ""
}

// StatusLetters is what is known of a query's dead letters without reading them.
type StatusLetters struct {
	// Place is where the next ones go, as the job says: the name of a table, or with a word before it "topic NAME" or "path
	// URL"; empty if the job sends none anywhere. Before are the other places that the query has put some into.
	Place  string   `json:"place"`
	Before []string `json:"before"`
	// DeadLetters counts those of the batches in the table, Replayed those of them that are rows besides.
	DeadLetters int64 `json:"deadLetters"`
	Replayed    int64 `json:"replayed"`
}

func (l *StatusLetters) text() string {
	switch {
	case l == nil, l.DeadLetters == 0 && l.Place == "":
		return ""
	case l.DeadLetters == 0:
		return "none so far; they go to " + printable(l.Place)
	}
	var places []string
	for _, place := range append([]string{l.Place}, l.Before...) {
		if place != "" {
			places = append(places, printable(place))
		}
	}
	text := count(l.DeadLetters)
	if l.Replayed > 0 {
		text += fmt.Sprintf(", of which %s are rows now", count(l.Replayed))
	}
	if len(places) > 0 {
		text += ", in " + strings.Join(places, ", ")
	}
	return text + "; see " + listLetters
}

// StatusLease is the lease as it was found.
type StatusLease struct {
	Owner string    `json:"owner"`
	Since Timestamp `json:"since"`
	// Heartbeat is the owner's last sign of life, by its clock.
	Heartbeat Timestamp `json:"heartbeat"`
	// Released is false while a run holds it, and after one that was killed.
	Released bool `json:"released"`
	// Live says that a run is at work: it has not released the lease, and renewed it within its time to live by the
	// clock of who asks.
	Live bool `json:"live"`
}

// StatusRun is how a run ended.
type StatusRun struct {
	ID string `json:"id"`
	// State is running, done, failed, or interrupted for one that a signal stopped. A run that was killed stays running.
	State   string    `json:"state"`
	Started Timestamp `json:"started"`
	// Finished and ExitCode are null while it is running.
	Finished *Timestamp `json:"finished"`
	ExitCode *int       `json:"exitCode"`
	// Error is what it ended with, Hint what to do then; empty if there is nothing to do.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Type is "status".
func (s *Status) Type() string { return "status" }

// WriteText writes the query, its partitions, and how the last run went.
func (s *Status) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: %s", s.Query, s.headline())
	pairs := [][2]string{
		{"why", s.why()},
		{"to do", printable(s.toDo())},
		{"query id", s.QueryID},
		{"checkpoint", s.Checkpoint},
		{sinkWord(s.Table), place(s.Table, s.TableLocation)},
		{"newest batch", fmt.Sprintf("planned %s, committed %s, in the %s %s", batchOrNone(s.LastPlan), batchOrNone(s.LastCommit), sinkWord(s.Table), batchOrNone(s.TableBatch))},
	}
	if u := s.Uncommitted; u != nil {
		pairs = append(pairs, [2]string{"unfinished", fmt.Sprintf("batch %d, %s, planned %s", u.Batch, plural(u.Offsets, "offset"), stamp(u.Planned.Time))})
	}
	pairs = append(pairs, [2]string{"lag", known(s.Lag)}, [2]string{"waiting", s.Waiting.text()}, [2]string{"end", s.Bound.text()}, [2]string{"held back", heldBack(s.Blocked)})
	pairs = append(pairs, s.Rates.pairs()...)
	pairs = append(pairs, [2]string{"dead letters", s.DeadLetters.text()})
	pairs = append(pairs, [2]string{"lost", s.GivenUp.line()})
	if l := s.Lease; l != nil {
		pairs = append(pairs, [2]string{"lease", l.text()})
	}
	if r := s.LastRun; r != nil {
		pairs = append(pairs, [2]string{"last run", r.text()})
	}
	if s.LastProgress != nil {
		pairs = append(pairs, [2]string{"last", s.LastProgress.line()})
	}
	pairs = append(pairs, [2]string{"read with", briefly(s.Read)})
	out.pairs("  ", pairs)
	partitions := &table{headings: []string{"topic", ">partition", ">next", ">end", ">lag", ">held back", "remark"}}
	for _, p := range s.Partitions {
		partitions.add(printable(p.Topic), number(int64(p.Partition)), dashed(p.Next, number), dashed(p.End, number), dashed(p.Lag, count), nonzero(p.Blocked), p.remark())
	}
	out.section("", "  ", partitions.trimmed().trimmed())
	out.section("gone from Kafka", "  ", lossesAhead(s.Losses))
	s.GivenUp.write(&out)
	out.notes(s.Notes)
	return out.to(w)
}

// headline is where the query stands: a run that is at work before anything else, then what needs a person.
func (s *Status) headline() string {
	switch {
	case s.live():
		text := fmt.Sprintf("running since %s, by %s", stamp(s.Lease.Since.Time), printable(s.Lease.Owner))
		if s.failed() {
			text += "; the run before failed"
		}
		return text
	case s.Refusal != nil:
		return fmt.Sprintf("the next run would stop (exit %d, %s)", s.Refusal.ExitCode, s.Refusal.Class)
	case s.QueryID == "":
		return "never ran"
	case s.failed():
		return "the last run failed"
	case s.interrupted():
		return "the last run was stopped by a signal" + s.behind(", ")
	case s.killed():
		return "the last run was cut short"
	case s.Bound != nil && s.Bound.Reached:
		return "done: the end that the job gives is reached" + s.beyond()
	case s.Waiting != nil:
		return "waiting for more to read" + s.behind(", ")
	case s.Lag < 0:
		return "lag unknown"
	case s.Lag == 0:
		return "caught up"
	}
	return s.behind("")
}

// beyond says how much there is that the job does not ask for.
func (s *Status) beyond() string {
	if s.Lag <= 0 {
		return ""
	}
	return "; " + plural(s.Lag, "offset") + " beyond it"
}

// behind says how far the query is behind, after other words; empty where it is not, or nobody knows.
func (s *Status) behind(before string) string {
	if s.Lag <= 0 {
		return ""
	}
	return before + count(s.Lag) + " behind"
}

func (s *Status) live() bool   { return s.Lease != nil && s.Lease.Live }
func (s *Status) failed() bool { return s.LastRun != nil && s.LastRun.State == "failed" }

// interrupted says that a signal stopped the last run. It failed in nothing, and the next one goes on.
func (s *Status) interrupted() bool { return s.LastRun != nil && s.LastRun.State == Interrupted }

// killed says that the last run never wrote how it ended, and is not at work.
func (s *Status) killed() bool {
	return s.LastRun != nil && s.LastRun.State == "running" && !s.live()
}

// why is what the next run would stop for. While a run is at work, it may be about to change.
func (s *Status) why() string {
	if s.Refusal == nil || s.live() {
		return ""
	}
	return printable(s.Refusal.Error)
}

// toDo is what a person should do next, empty for nothing.
func (s *Status) toDo() string {
	switch {
	case s.live():
		return ""
	case s.Refusal != nil:
		return s.Refusal.Hint
	case s.failed():
		return s.LastRun.Hint
	case s.killed(), s.interrupted():
		return "nothing: the next run goes on where it was"
	}
	return ""
}

func batchOrNone(n int64) string {
	if n < 0 {
		return "none"
	}
	return number(n)
}

// dashed renders -1, which is unknown, as a dash.
func dashed(n int64, render func(int64) string) string {
	if n < 0 {
		return "-"
	}
	return render(n)
}

func (l *StatusLease) text() string {
	if l.Released {
		return "free, last held by " + printable(l.Owner)
	}
	text := "held by " + printable(l.Owner) + " since " + stamp(l.Since.Time) + ", last sign of life " + stamp(l.Heartbeat.Time)
	if !l.Live {
		text += ", and not renewed: it was killed, or cannot reach the checkpoint"
	}
	return text
}

func (r *StatusRun) text() string {
	text := r.State
	if r.State == Interrupted {
		text = "stopped by a signal"
	}
	if r.ExitCode != nil {
		text += fmt.Sprintf(", exit %d", *r.ExitCode)
	}
	if r.Finished != nil {
		text += ", finished " + stamp(r.Finished.Time)
	} else {
		text += ", started " + stamp(r.Started.Time)
	}
	if r.Error != "" {
		text += ": " + printable(r.Error)
	}
	return text
}
