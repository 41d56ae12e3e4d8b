package batch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"sluice/offsets"
)

// FormatVersion is the version of the JSON forms of Task and TaskResult. A reader refuses any other.
const FormatVersion = 1

// Task is one worker's share of a plan: pieces of its ranges, which no other task has.
type Task struct {
	Version int `json:"version"`
	// Query is the query's id, Batch its batch and Plan that batch's plan hash.
	Query string `json:"query"`
	Batch int64  `json:"batch"`
	Plan  string `json:"plan"`
	// Index numbers the tasks of a plan: 0, 1, 2, …
	Index int `json:"index"`
	// Pieces are in reading order.
	Pieces []Piece `json:"pieces"`
	// Isolation is the plan's.
	Isolation Isolation `json:"isolation"`
	// IncludeHeaders is the plan's, or the job's where the plan does not tell.
	IncludeHeaders bool `json:"includeHeaders"`
	// Value says how the records' values become columns: the plan's, or the job's.
	Value Value `json:"value,omitzero"`
	// SchemaID and SpecID are the table's schema and partition spec that the files are written for.
	SchemaID int `json:"schemaId"`
	SpecID   int `json:"specId"`
	// QueryName is the query's name, for its dead letters.
	QueryName string `json:"queryName,omitempty"`
	// DeadLetters is where records go that a policy of Value rejects; nil if there is no such policy.
	DeadLetters *DeadLetterOutput `json:"deadLetters,omitempty"`
	// Accepts are the causes of which losses are recorded instead of ending the task: the job's, whatever they were when the
	// plan was made.
	Accepts Causes `json:"accepts,omitempty"`
}

// Piece is a part of a planned range, with what tells whether the log is still the one that was planned.
type Piece struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	Until     int64  `json:"until"`
	// TopicID and LeaderEpoch are the plan's; empty and -1 if unknown.
	TopicID     string `json:"topicId,omitempty"`
	LeaderEpoch int32  `json:"leaderEpoch"`
}

// Range is the piece as a range.
func (p Piece) Range() offsets.Range {
	return offsets.Range{TopicPartition: offsets.TopicPartition{Topic: p.Topic, Partition: p.Partition}, From: p.From, Until: p.Until}
}

// PieceResult accounts for one piece: Delivered = Rows + DeadLetters + Dropped, and Position reached Until; what of it was
// found to be lost, and accepted, is in Lost.
type PieceResult struct {
	Piece
	// Position is where reading stood at the end: the last record batch's last offset + 1, also past markers,
	// aborted transactions and compacted gaps.
	Position int64 `json:"position"`
	// Delivered counts the records that the reader handed out.
	Delivered int64 `json:"delivered"`
	// Rows, DeadLetters and Dropped say where they went.
	Rows        int64 `json:"rows"`
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	// Nulled counts those of the rows whose record was malformed, so that its columns are null.
	Nulled int64 `json:"nulled,omitempty"`
	// Lost lists what could not be read any more, ascending and apart.
	Lost []Loss `json:"lost,omitempty"`
}

// TaskResult is what one attempt at a task wrote.
type TaskResult struct {
	Version int    `json:"version"`
	Query   string `json:"query"`
	Batch   int64  `json:"batch"`
	Plan    string `json:"plan"`
	Index   int    `json:"index"`
	// Attempt is in the name of every file, so that two attempts never share one.
	Attempt string        `json:"attempt"`
	Pieces  []PieceResult `json:"pieces"`
	Files   []DataFile    `json:"files"`
	// SchemaID and SpecID are the task's.
	SchemaID int `json:"schemaId"`
	SpecID   int `json:"specId"`
	// ReadBytes counts what was fetched from Kafka, as sent.
	ReadBytes int64 `json:"readBytes"`
	// RecordBytes counts the bytes of the record batches that the pieces are made of, as sent, whatever was fetched for them.
	RecordBytes int64 `json:"recordBytes,omitempty"`
	// UnknownFields are the fields that records have and the schema lacks, where they are to become columns. A result that
	// has some has no files: the task is carried out again with them.
	UnknownFields []Unknown `json:"unknownFields,omitempty"`
	// DeadLetters describes the dead letters; nil if there are none.
	DeadLetters *DeadLetters `json:"deadLetters,omitempty"`
	// Misfits says which records are no rows; nil if all are.
	Misfits *Misfits `json:"misfits,omitempty"`
	// Spilled says what of the rows went to temporary files meanwhile.
	Spilled Spilled `json:"spilled,omitzero"`
}

// Spilled says what rows that are sorted or of many partitions, and that memory did not hold, took of the folder for temporary
// files.
type Spilled struct {
	// Bytes were written there.
	Bytes int64 `json:"bytes,omitempty"`
	// Failure is why that was not possible, so that there are more and smaller files; empty if nothing failed.
	Failure string `json:"failure,omitempty"`
}

// DataFile is a file that was written for a table and is not yet part of it, with its statistics by field id.
type DataFile struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Records int64  `json:"records"`
	SpecID  int    `json:"specId"`
	// Partition maps the partition field's id to its value in the table format's JSON form.
	Partition map[int]json.RawMessage `json:"partition,omitempty"`
	// ColumnSizes are compressed bytes. ValueCounts include nulls.
	ColumnSizes map[int]int64  `json:"columnSizes,omitempty"`
	ValueCounts map[int]int64  `json:"valueCounts,omitempty"`
	NullCounts  map[int]int64  `json:"nullCounts,omitempty"`
	NaNCounts   map[int]int64  `json:"nanCounts,omitempty"`
	LowerBounds map[int][]byte `json:"lowerBounds,omitempty"`
	UpperBounds map[int][]byte `json:"upperBounds,omitempty"`
	// SplitOffsets are where the row groups begin.
	SplitOffsets []int64 `json:"splitOffsets,omitempty"`
	SortOrderID  int     `json:"sortOrderId,omitempty"`
}

// Covers checks that results hold exactly one complete result for every task, and that together they read the plan:
// every planned offset in exactly one piece, every piece read to its end, every record accounted for. It returns the
// first fault it finds.
func Covers(plan *Plan, tasks []Task, results []TaskResult) error {
	byIndex := map[int]*TaskResult{}
	for i := range results {
		r := &results[i]
		if r.Version != FormatVersion {
			return fmt.Errorf("task %d: result has format version %d, this program knows %d", r.Index, r.Version, FormatVersion)
		}
		if r.Batch != plan.Batch || r.Plan != plan.Hash {
			return fmt.Errorf("task %d: result is for batch %d plan %.12s, want batch %d plan %.12s", r.Index, r.Batch, r.Plan, plan.Batch, plan.Hash)
		}
		if byIndex[r.Index] != nil {
			return fmt.Errorf("task %d has two results", r.Index)
		}
		byIndex[r.Index] = r
	}
	var pieces []PieceResult
	for i := range tasks {
		r := byIndex[tasks[i].Index]
		if r == nil {
			return fmt.Errorf("task %d has no result", tasks[i].Index)
		}
		if err := r.fits(&tasks[i]); err != nil {
			return err
		}
		pieces = append(pieces, r.Pieces...)
	}
	if len(byIndex) != len(tasks) {
		return fmt.Errorf("%d results for %d tasks", len(byIndex), len(tasks))
	}
	return partitioned(plan.Ranges(), pieces)
}

func (r *TaskResult) fits(t *Task) error {
	if r.SchemaID != t.SchemaID || r.SpecID != t.SpecID {
		return fmt.Errorf("task %d: files have schema %d and spec %d, want %d and %d", r.Index, r.SchemaID, r.SpecID, t.SchemaID, t.SpecID)
	}
	if len(r.Pieces) != len(t.Pieces) {
		return fmt.Errorf("task %d: read %d pieces of %d", r.Index, len(r.Pieces), len(t.Pieces))
	}
	var rows, letters, records int64
	for i, p := range r.Pieces {
		if p.Piece != t.Pieces[i] {
			return fmt.Errorf("task %d: read %s where %s was asked", r.Index, p.Range(), t.Pieces[i].Range())
		}
		if p.Position < p.Until {
			return fmt.Errorf("%s was read to %d only", p.Range(), p.Position)
		}
		if p.Rows+p.DeadLetters+p.Dropped != p.Delivered {
			return fmt.Errorf("%s delivered %d records, but %d rows, %d dead letters and %d dropped are accounted for",
				p.Range(), p.Delivered, p.Rows, p.DeadLetters, p.Dropped)
		}
		if err := p.lostWithin(t.Accepts); err != nil {
			return fmt.Errorf("task %d: %w", r.Index, err)
		}
		rows += p.Rows
		letters += p.DeadLetters
	}
	if err := r.DeadLetters.fits(t, letters); err != nil {
		return fmt.Errorf("task %d: %w", r.Index, err)
	}
	for _, f := range r.Files {
		records += f.Records
	}
	if rows != records {
		return fmt.Errorf("task %d: %d rows, but its files hold %d", r.Index, rows, records)
	}
	return nil
}

// lostWithin checks that what is said to be lost is of the piece, counted once, accepted, and leaves room for what was
// delivered.
func (p *PieceResult) lostWithin(accepted Causes) error {
	at := p.From
	for _, l := range p.Lost {
		if l.at() != p.Range().TopicPartition || l.From < at || l.Until <= l.From || l.Until > p.Until {
			return fmt.Errorf("%s is said to have lost %s", p.Range(), l)
		}
		if !accepted.Accept(l.Cause) {
			return fmt.Errorf("%s has lost %s, and nobody has accepted that", p.Range(), l)
		}
		at = l.Until
	}
	if lost := LostOffsets(p.Lost); lost > 0 && p.Delivered+lost > p.Range().Len() {
		return fmt.Errorf("%s delivered %d records and lost %d offsets", p.Range(), p.Delivered, lost)
	}
	return nil
}

// partitioned checks that the pieces tile the ranges: no offset missing, none twice.
func partitioned(ranges []offsets.Range, pieces []PieceResult) error {
	pieces = slices.Clone(pieces)
	slices.SortFunc(pieces, func(a, b PieceResult) int {
		return cmp.Or(offsets.Compare(a.Range().TopicPartition, b.Range().TopicPartition), cmp.Compare(a.From, b.From))
	})
	next := 0
	for _, r := range ranges {
		at := r.From
		for at < r.Until {
			if next == len(pieces) || pieces[next].Range().TopicPartition != r.TopicPartition || pieces[next].From != at {
				return fmt.Errorf("no task read %s from %d", r, at)
			}
			at = pieces[next].Until
			next++
		}
		if at > r.Until {
			return fmt.Errorf("%s was read to %d, beyond its end", r, at)
		}
	}
	if next != len(pieces) {
		return fmt.Errorf("%s was read and is not planned", pieces[next].Range())
	}
	return nil
}
