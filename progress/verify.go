package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Verify is what the judge found. Its fields are those of the judge's report.
type Verify struct {
	// OK says that no witness contradicts another. What was not checked is in CannotProve.
	OK bool `json:"ok"`
	// Verdict is proved, unproven or broken.
	Verdict string `json:"verdict"`
	// Source says that Kafka was asked. How far the partitions could be compared with it, each says.
	Source bool `json:"source"`
	// Table, TableUUID and Location identify the table, Snapshot is the one that was read; 0 if it has none.
	Table     string `json:"table"`
	TableUUID string `json:"tableUuid"`
	Location  string `json:"location"`
	Snapshot  int64  `json:"snapshot"`
	// Batches is how many batches the table says were applied, of all queries that were judged.
	Batches int64 `json:"batches"`
	// Rows counts rows of the topics that ledgers cover, Expected what the ledgers count.
	Rows     int64 `json:"rows"`
	Expected int64 `json:"expected"`
	// Duplicates, Missing, Unexpected, DeletedByOthers and ReadTwice are sums over the partitions. ReadTwice counts rows
	// beyond the first of each record that several queries have put into the table. Unaccounted counts missing rows
	// of which the evidence does not tell why. Unattributed counts rows that no ledger counts and Spark may have written.
	Duplicates      int64 `json:"duplicates"`
	Missing         int64 `json:"missing"`
	Unexpected      int64 `json:"unexpected"`
	DeletedByOthers int64 `json:"deletedByOthers"`
	ReadTwice       int64 `json:"readTwice"`
	Unaccounted     int64 `json:"unaccounted"`
	Unattributed    int64 `json:"unattributed"`
	// DeadLetters, Dropped and Lost are what the ledgers count.
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Lost        int64 `json:"lost"`
	// GivenUp says where and when what was Lost was; nil if nothing was, and nothing that cannot be counted.
	GivenUp *GivenUp `json:"givenUp,omitempty"`
	// DeadLettersFound counts the dead letters in LetterTables, Replayed those that are rows besides.
	DeadLettersFound int64 `json:"deadLettersFound"`
	Replayed         int64 `json:"replayed"`
	// ForeignRows counts rows of topics that no ledger covers. They are not judged.
	ForeignRows int64 `json:"foreignRows"`
	Files       int64 `json:"files"`
	Bytes       int64 `json:"bytes"`

	Queries []VerifyQuery `json:"queries"`
	// LetterTables are the tables of dead letters that were read.
	LetterTables []VerifyLetters `json:"letterTables,omitempty"`
	// LetterTopics are the topics of dead letters that were read.
	LetterTopics []VerifyLetterTopic `json:"letterTopics,omitempty"`
	Partitions   []VerifyPartition   `json:"partitions"`
	Foreign      map[string]int64    `json:"foreign,omitempty"`
	Problems     []Problem           `json:"problems"`
	CannotProve  []Limit             `json:"cannotProve"`
	Notes        []string            `json:"notes"`
}

// VerifyQuery is one ledger of the table.
type VerifyQuery struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Batch       int64  `json:"batch"`
	Snapshot    int64  `json:"snapshot"`
	Rows        int64  `json:"rows"`
	DeadLetters int64  `json:"deadLetters"`
	Dropped     int64  `json:"dropped"`
	Lost        int64  `json:"lost"`
}

// VerifyLetterTopic is a topic of dead letters.
type VerifyLetterTopic struct {
	Name string `json:"name"`
	// ID is empty if there is no such topic, or the brokers do not tell.
	ID string `json:"id"`
	// Records counts what it holds, Foreign those that are no dead letters, DeadLetters the records that dead letters of the
	// query's batches are of.
	Records     int64 `json:"records"`
	DeadLetters int64 `json:"deadLetters"`
	Foreign     int64 `json:"foreign"`
}

// VerifyLetters is a table of dead letters: the newest batch in it, and how many it has of the query's.
type VerifyLetters struct {
	Name        string `json:"name"`
	UUID        string `json:"uuid"`
	Location    string `json:"location"`
	Snapshot    int64  `json:"snapshot"`
	Batch       int64  `json:"batch"`
	DeadLetters int64  `json:"deadLetters"`
}

// VerifyPartition is what was found of one partition.
type VerifyPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From and Until are what the ledgers say was read.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	// Read counts the offsets that queries read, each once for every query, and Compared those of them that were held
	// against what Kafka has.
	Read            int64    `json:"read"`
	Compared        int64    `json:"compared"`
	Queries         []string `json:"queries"`
	Rows            int64    `json:"rows"`
	Expected        int64    `json:"expected"`
	Duplicates      int64    `json:"duplicates"`
	Missing         int64    `json:"missing"`
	Unexpected      int64    `json:"unexpected"`
	DeletedByOthers int64    `json:"deletedByOthers"`
	ReadTwice       int64    `json:"readTwice"`
	Unaccounted     int64    `json:"unaccounted"`
	Unattributed    int64    `json:"unattributed"`
	DeadLetters     int64    `json:"deadLetters"`
	Dropped         int64    `json:"dropped"`
	Lost            int64    `json:"lost"`
	// DeadLettersFound counts its dead letters that are in their tables, Replayed those that are rows besides.
	DeadLettersFound int64 `json:"deadLettersFound"`
	Replayed         int64 `json:"replayed"`
	// Kafka is the comparison with what Kafka still holds; nil if it was not asked.
	Kafka   *VerifyKafka `json:"kafka,omitempty"`
	Verdict string       `json:"verdict"`
}

// VerifyKafka compares the offsets [From, Until) of a partition with Kafka: the records it holds there, those of them
// that are no rows, and rows at offsets where it has no record.
type VerifyKafka struct {
	From     int64 `json:"from"`
	Until    int64 `json:"until"`
	Records  int64 `json:"records"`
	Absent   int64 `json:"absent"`
	NotThere int64 `json:"notThere"`
}

// Problem is a contradiction between two witnesses.
type Problem struct {
	// Kind is one of a fixed set of names, such as duplicate-rows.
	Kind string `json:"kind"`
	// What says what is wrong, Evidence who contradicts whom, Todo what to do about it.
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Todo     string `json:"todo"`
	Query    string `json:"query,omitempty"`
	// Topic and Partition say where; Partition is nil if it is about no single one.
	Topic     string `json:"topic,omitempty"`
	Partition *int32 `json:"partition,omitempty"`
	// Offsets are the first few. Among says that Count of these and what follows are meant, not all.
	Offsets []Span `json:"offsets,omitempty"`
	Among   bool   `json:"among,omitempty"`
	Count   int64  `json:"count,omitempty"`
	// Files are the first few of the files concerned.
	Files []string `json:"files,omitempty"`
}

// Limit is something that was not proven.
type Limit struct {
	// Kind is one of a fixed set of names, such as no-source.
	Kind string `json:"kind"`
	What string `json:"what"`
	Why  string `json:"why"`
	Todo string `json:"todo,omitempty"`
}

// Span is the offsets [From, Until).
type Span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// Type is "verify".
func (v *Verify) Type() string { return "verify" }

// WriteText writes the verdict, the partitions, every problem with its evidence, and what was not proven.
func (v *Verify) WriteText(w io.Writer) error {
	var out page
	out.linef("%s: %s", v.Table, v.headline())
	out.pairs("  ", [][2]string{
		{"batches", count(v.Batches)},
		{"rows", count(v.Rows) + " of " + count(v.Expected) + " expected"},
		{"duplicates", count(v.Duplicates)},
		{"read twice", nonzero(v.ReadTwice)},
		{"missing", count(v.Missing)},
		{"unexpected", count(v.Unexpected)},
		{"deleted by others", nonzero(v.DeletedByOthers)},
		{"unaccounted", nonzero(v.Unaccounted)},
		{"unattributed", nonzero(v.Unattributed)},
		{"dead letters", v.letters()},
		{"replayed", nonzero(v.Replayed)},
		{"dropped", nonzero(v.Dropped)},
		{"lost", v.GivenUp.line()},
		{"foreign rows", nonzero(v.ForeignRows)},
		{"files", count(v.Files) + ", " + size(v.Bytes)},
		{"location", v.Location},
	})
	out.section("", "  ", v.partitions())
	v.GivenUp.write(&out)
	for _, problem := range v.Problems {
		out.linef("\nproblem (%s): %s", problem.Kind, printable(problem.What))
		out.pairs("  ", [][2]string{{"evidence", printable(problem.Evidence)}, {"to do", printable(problem.Todo)}})
	}
	for i, limit := range v.CannotProve {
		if i == 0 {
			out.linef("\nNot proven:")
		}
		out.linef("  %s: %s", printable(limit.What), printable(limit.Why))
		if limit.Todo != "" {
			out.linef("    to do: %s", printable(limit.Todo))
		}
	}
	out.notes(v.Notes)
	return out.to(w)
}

// letters is how many dead letters there are, and where.
func (v *Verify) letters() string {
	if v.DeadLetters == 0 && v.DeadLettersFound == 0 || len(v.LetterTables)+len(v.LetterTopics) == 0 {
		return nonzero(v.DeadLetters)
	}
	var names []string
	for _, t := range v.LetterTopics {
		names = append(names, "topic "+printable(t.Name))
	}
	for _, t := range v.LetterTables {
		names = append(names, printable(t.Name))
	}
	return fmt.Sprintf("%s of %s expected, in %s", count(v.DeadLettersFound), count(v.DeadLetters), strings.Join(names, ", "))
}

func (v *Verify) headline() string {
	switch {
	case !v.OK:
		return fmt.Sprintf("not ok, %s", plural(int64(len(v.Problems)), "problem"))
	case v.Verdict == "proved":
		return "ok, every row is there once" + v.without() + v.uncompared()
	}
	return "ok, as far as could be proven" + v.without() + v.uncompared()
}

// without says that records are no rows since somebody accepted that they were lost; empty if none are.
func (v *Verify) without() string {
	if v.GivenUp == nil {
		return ""
	}
	return "; without " + v.GivenUp.text() + " lost in Kafka, as accepted"
}

// uncompared says how many partitions Kafka could not vouch for whole; empty if it was not asked or could.
func (v *Verify) uncompared() string {
	var n int64
	for _, p := range v.Partitions {
		if p.Compared < p.Read {
			n++
		}
	}
	if !v.Source || n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of %s not wholly compared with Kafka", count(n), plural(int64(len(v.Partitions)), "partition"))
}

// partitions is a row for each. Where Kafka was asked, the last column but one says how much of what was read it could
// still be held against.
func (v *Verify) partitions() *table {
	t := &table{headings: []string{"topic", ">partition", ">from", ">until", ">rows", ">duplicates", ">missing", ">unexpected", ">compared", "verdict"}}
	if !v.Source {
		t.headings = slices.Delete(t.headings, 8, 9)
	}
	for _, p := range v.Partitions {
		cells := []string{printable(p.Topic), number(int64(p.Partition)), number(p.From), number(p.Until), count(p.Rows), count(p.Duplicates), count(p.Missing), count(p.Unexpected)}
		if v.Source {
			cells = append(cells, p.compared())
		}
		t.add(append(cells, p.Verdict)...)
	}
	return t
}

// compared is how much of what was read was held against Kafka: all, a part, or no.
func (p *VerifyPartition) compared() string {
	switch {
	case p.Read == 0:
		return ""
	case p.Compared == p.Read:
		return "all"
	case p.Compared == 0:
		return "no"
	}
	return fmt.Sprintf("%s of %s", count(p.Compared), count(p.Read))
}
