package verify

import (
	"fmt"
	"strings"

	"sluice/offsets"
)

// Verdict is what the judge says of a partition, or of the whole.
type Verdict string

// The verdicts, from best to worst.
const (
	// Proved: every row that the ledgers count is there once, or was seen to be deleted by others. That is the table's own
	// evidence. Where Kafka was asked nothing that it holds contradicts, but how much it still holds does not count here:
	// Partition.Compared says that.
	Proved Verdict = "proved"
	// Unproven: nothing contradicts, but something could not be checked; CannotProve says what.
	Unproven Verdict = "unproven"
	// Broken: witnesses contradict each other; Problems say which.
	Broken Verdict = "broken"
)

// Report is what Table found. Its JSON form only ever gains fields.
type Report struct {
	// OK says that no witness contradicts another: there are no Problems. What was not checked is in CannotProve.
	OK      bool    `json:"ok"`
	Verdict Verdict `json:"verdict"`
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
	// Duplicates, Missing, Unexpected and DeletedByOthers are sums over the partitions.
	Duplicates      int64 `json:"duplicates"`
	Missing         int64 `json:"missing"`
	Unexpected      int64 `json:"unexpected"`
	DeletedByOthers int64 `json:"deletedByOthers"`
	// ReadTwice counts rows beyond the first of each record that several queries have put into the table.
	ReadTwice int64 `json:"readTwice"`
	// Unaccounted counts missing rows that may have been deleted by others, or lost with somebody's consent: what is
	// left of the evidence does not tell.
	Unaccounted int64 `json:"unaccounted"`
	// Unattributed counts rows that Spark has, or may have, written under a query's id: no ledger counts them.
	Unattributed int64 `json:"unattributed"`
	// DeadLetters, Dropped and Lost are what the ledgers count.
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Lost        int64 `json:"lost"`
	// GivenUp says where and when what was Lost was; nil if nothing was, and nothing that cannot be counted.
	GivenUp *GivenUp `json:"givenUp,omitempty"`
	// DeadLettersFound counts the dead letters in LetterTables, Replayed those that are rows besides, since they were decoded
	// again.
	DeadLettersFound int64 `json:"deadLettersFound"`
	Replayed         int64 `json:"replayed"`
	// ForeignRows counts rows of topics that no ledger covers, and rows without a position. They are not judged.
	ForeignRows int64 `json:"foreignRows"`
	// Files and Bytes are the table's data files.
	Files   int64   `json:"files"`
	Bytes   int64   `json:"bytes"`
	Queries []Query `json:"queries"`
	// LetterTables are the tables of dead letters that were read.
	LetterTables []LetterTable `json:"letterTables,omitempty"`
	// LetterTopics are the topics of dead letters that were read.
	LetterTopics []LetterTopic `json:"letterTopics,omitempty"`
	Partitions   []Partition   `json:"partitions"`
	// Foreign counts the rows of each topic that no ledger covers.
	Foreign map[string]int64 `json:"foreign,omitempty"`
	// Problems are contradictions. After the first few of a kind the rest is counted in one more.
	Problems []Problem `json:"problems"`
	// CannotProve lists what was not checked, and why.
	CannotProve []Limit `json:"cannotProve"`
	// Notes are worth knowing and no fault: a batch that the next run will finish, for instance.
	Notes []string `json:"notes"`
}

// LetterTable is a table of dead letters.
type LetterTable struct {
	Name     string `json:"name"`
	UUID     string `json:"uuid"`
	Location string `json:"location"`
	// Snapshot is the one that was read; 0 if it has none. Batch is the newest batch in it, DeadLetters counts those of the
	// query's batches that are in the table of the rows.
	Snapshot    int64 `json:"snapshot"`
	Batch       int64 `json:"batch"`
	DeadLetters int64 `json:"deadLetters"`
}

// LetterTopic is a topic of dead letters.
type LetterTopic struct {
	Name string `json:"name"`
	// ID is empty if there is no such topic, or the brokers do not tell.
	ID string `json:"id"`
	// Records counts what it holds, Foreign those that are no dead letters. DeadLetters counts the records that dead letters
	// of the query's batches are of, each once however often it is there.
	Records     int64 `json:"records"`
	DeadLetters int64 `json:"deadLetters"`
	Foreign     int64 `json:"foreign"`
}

// Query is one ledger of the table.
type Query struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Batch is the newest batch applied, Snapshot the snapshot that applied it.
	Batch    int64 `json:"batch"`
	Snapshot int64 `json:"snapshot"`
	// Rows, DeadLetters, Dropped and Lost are its totals.
	Rows        int64 `json:"rows"`
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Lost        int64 `json:"lost"`
}

// Partition is what was found of one partition of a topic that ledgers cover. Without Kafka's word,
//
//	Rows + DeletedByOthers + Missing + Unaccounted = Expected + Duplicates + Unexpected + Unattributed.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From and Until are what the ledgers say was read, together; both 0 if none did.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	// Read counts the offsets that queries read, each once for every query, and Compared those of them that were held
	// against what Kafka has: all, if they are the same.
	Read     int64 `json:"read"`
	Compared int64 `json:"compared"`
	// Queries are the ids of the queries that read it.
	Queries []string `json:"queries"`
	// Rows counts its rows in the table, Expected those that the ledgers count.
	Rows     int64 `json:"rows"`
	Expected int64 `json:"expected"`
	// Duplicates counts rows beyond one for each query that read the offset. Unexpected counts rows at offsets that no
	// query has read, and rows beyond the ledgers' count. Missing counts rows that should be there.
	Duplicates      int64 `json:"duplicates"`
	Missing         int64 `json:"missing"`
	Unexpected      int64 `json:"unexpected"`
	DeletedByOthers int64 `json:"deletedByOthers"`
	// ReadTwice counts rows beyond the first of each record that several queries have put into the table.
	ReadTwice    int64 `json:"readTwice"`
	Unaccounted  int64 `json:"unaccounted"`
	Unattributed int64 `json:"unattributed"`
	// DeadLetters, Dropped and Lost are what the ledgers count.
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Lost        int64 `json:"lost"`
	// DeadLettersFound counts its dead letters that are in their tables, Replayed those that are rows besides.
	DeadLettersFound int64 `json:"deadLettersFound"`
	Replayed         int64 `json:"replayed"`
	// Kafka is what Kafka was asked; nil if it was not or could not be.
	Kafka   *Kafka  `json:"kafka,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// Kafka is the comparison of a partition with what Kafka still holds.
type Kafka struct {
	// From and Until are the first and last offsets compared. What lies between them and no query has read was not.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
	// Records counts what Kafka holds there, Absent those of them that have no row and that nobody was seen to delete.
	// NotThere counts rows at offsets where Kafka has no record: compacted, or read with another isolation level.
	Records  int64 `json:"records"`
	Absent   int64 `json:"absent"`
	NotThere int64 `json:"notThere"`
}

// Kind names a kind of problem or limit. The names are stable.
type Kind string

// The kinds of problems.
const (
	// DuplicateRows: an offset is there more often than queries have read it.
	DuplicateRows Kind = "duplicate-rows"
	// ReadTwice: several queries have put the same records into the table, each once. As a limit: they may have.
	ReadTwice Kind = "read-twice"
	// MissingRows: rows that were counted, or records that Kafka holds, are not there.
	MissingRows Kind = "missing-rows"
	// UnexpectedRows: rows at offsets that no query has read, or more rows than were counted.
	UnexpectedRows Kind = "unexpected-rows"
	// FileGone and FileUnreadable: a data file, or a delete file that applies to it, is gone or damaged.
	FileGone       Kind = "file-gone"
	FileUnreadable Kind = "file-unreadable"
	// FileSize, FileRows and FileBounds: a file is not what its manifest entry says.
	FileSize   Kind = "file-size"
	FileRows   Kind = "file-rows"
	FileBounds Kind = "file-bounds"
	// FileTwice: the manifests list a path more than once.
	FileTwice Kind = "file-twice"
	// ManifestGone and ManifestUnreadable: nothing can be said of the rows.
	ManifestGone       Kind = "manifest-gone"
	ManifestUnreadable Kind = "manifest-unreadable"
	// ManifestContradicts: what a folder's manifest says of a batch does not add up. FolderMixed: objects of two folders
	// lie in one.
	ManifestContradicts Kind = "manifest-contradicts"
	FolderMixed         Kind = "folder-mixed"
	// SparkMetadata: what Spark's readers are told of a folder is not what its manifests say.
	SparkMetadata Kind = "spark-metadata"
	// LedgerUnreadable: the property is no ledger, or parts of it are missing.
	LedgerUnreadable Kind = "ledger-unreadable"
	// LedgerImpossible: it contradicts itself.
	LedgerImpossible Kind = "ledger-impossible"
	// LedgerMissing: the checkpoint says that batches were applied, the table has no ledger.
	LedgerMissing Kind = "ledger-missing"
	// LedgerSnapshot: it names a snapshot that is not in the history, or that holds another batch.
	LedgerSnapshot Kind = "ledger-snapshot"
	// LedgerBehind: the history has newer batches of the query.
	LedgerBehind Kind = "ledger-behind"
	// BatchTwice: two snapshots hold the same batch.
	BatchTwice Kind = "batch-twice"
	// CheckpointBehind, CheckpointAhead and CheckpointDiffers: checkpoint and ledger do not fit.
	CheckpointBehind  Kind = "checkpoint-behind"
	CheckpointAhead   Kind = "checkpoint-ahead"
	CheckpointDiffers Kind = "checkpoint-differs"
	// TableReplaced: the table has another UUID than plan or identity name.
	TableReplaced Kind = "table-replaced"
	// DeadLettersMissing, DeadLettersUnexpected and DeadLettersTwice: a table of dead letters has fewer than were counted, some
	// that nobody counted, or a record more than once.
	DeadLettersMissing    Kind = "dead-letters-missing"
	DeadLettersUnexpected Kind = "dead-letters-unexpected"
	DeadLettersTwice      Kind = "dead-letters-twice"
	// DeadLetterTableGone: a table of dead letters is gone or another one.
	DeadLetterTableGone Kind = "dead-letter-table-gone"
	// RowAndDeadLetter: records are rows and dead letters, and nobody has replayed them.
	RowAndDeadLetter Kind = "row-and-dead-letter"
)

// The kinds of limits.
const (
	// NoSource, NoCheckpoint and NoLedger: a witness was not there to be heard.
	NoSource     Kind = "no-source"
	NoCheckpoint Kind = "no-checkpoint"
	NoLedger     Kind = "no-ledger"
	// LedgerUnconfirmed: nothing is left to compare a ledger's batch and plan with.
	LedgerUnconfirmed Kind = "ledger-unconfirmed"
	// Expired, Recreated and NotInKafka: Kafka no longer holds what was read.
	Expired    Kind = "expired"
	Recreated  Kind = "recreated"
	NotInKafka Kind = "not-in-kafka"
	// DeadLettersOnly: records without a row were compared by their number alone.
	DeadLettersOnly Kind = "dead-letters"
	// DeletionsUnread: somebody deleted rows, and it cannot be seen which.
	DeletionsUnread Kind = "deletions-unread"
	// LossAccepted: somebody decided to go on without rows, and the counts include them.
	LossAccepted Kind = "loss-accepted"
	// WrittenBySpark: rows that no ledger counts, which Spark or an unreadable ledger's query may have written.
	WrittenBySpark Kind = "written-by-spark"
	// WrittenBefore: rows before the offsets that were imported from another system, which that one may have written.
	WrittenBefore Kind = "written-before"
	// SharedPartitions: several queries read the same partitions.
	SharedPartitions Kind = "shared-partitions"
	// FilesUnread and RowsUnread: files in other formats than Parquet, or all of them, were not read.
	FilesUnread Kind = "files-unread"
	RowsUnread  Kind = "rows-unread"
	// RunActive: checkpoint and table changed too fast to be compared.
	RunActive Kind = "run-active"
)

// Problem is a contradiction between two witnesses.
type Problem struct {
	Kind Kind `json:"kind"`
	// What says what is wrong, Evidence who contradicts whom, and Todo what to do about it.
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Todo     string `json:"todo"`
	// Query is the id of the query that it is about; empty if it cannot be told.
	Query string `json:"query,omitempty"`
	// Topic and Partition say where, nil if it is about no single partition.
	Topic     string `json:"topic,omitempty"`
	Partition *int32 `json:"partition,omitempty"`
	// Offsets are the first few, ascending. Among says that Count of these and of what follows them are meant, not all.
	Offsets []Span `json:"offsets,omitempty"`
	Among   bool   `json:"among,omitempty"`
	// Count is the number of rows, or of further problems of the same kind.
	Count int64 `json:"count,omitempty"`
	// Files are the paths of the files concerned, the first few.
	Files []string `json:"files,omitempty"`
}

// String is the problem on one line.
func (p Problem) String() string { return sentence(p.What, p.Evidence, p.Todo) }

// Limit is something that was not proven.
type Limit struct {
	Kind Kind `json:"kind"`
	// What says what was not checked, Why the reason, Todo how it could be; Todo may be empty.
	What string `json:"what"`
	Why  string `json:"why"`
	Todo string `json:"todo,omitempty"`
}

// String is the limit on one line.
func (l Limit) String() string { return sentence(l.What, l.Why, l.Todo) }

func sentence(what, why, todo string) string {
	s := what
	if why != "" {
		s += ": " + why
	}
	if todo != "" {
		s += "; " + todo
	}
	return s
}

// Span is the offsets [From, Until).
type Span struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// String renders 17 or 20-25, both ends included.
func (s Span) String() string {
	if s.Until == s.From+1 {
		return fmt.Sprint(s.From)
	}
	return fmt.Sprintf("%d-%d", s.From, s.Until-1)
}

// count renders 1 row, 2 rows.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func spansText(spans []Span) string {
	parts := make([]string, len(spans))
	for i, s := range spans {
		parts[i] = s.String()
	}
	return strings.Join(parts, ", ")
}

// at fills in where a problem is.
func (p Problem) at(tp offsets.TopicPartition) Problem {
	p.Topic, p.Partition = tp.Topic, &tp.Partition
	return p
}
