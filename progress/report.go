// Package progress is what a run reports: the report of each batch in Spark's terms, the summary of a run, and the
// ways to show them (text, JSON lines, a bar on a terminal).
package progress

import (
	"encoding/json"
	"time"

	"sluice/offsets"
)

// Batch is the report of one committed batch. Its fields are those of Spark's StreamingQueryProgress, so that parsers
// and dashboards made for Spark go on working; what is ours alone is under "sluice". Rates are per second, rounded to
// one decimal. Durations are milliseconds.
type Batch struct {
	ID                     string            `json:"id"`
	RunID                  string            `json:"runId"`
	Name                   string            `json:"name"`
	Timestamp              Timestamp         `json:"timestamp"`
	BatchID                int64             `json:"batchId"`
	BatchDuration          int64             `json:"batchDuration"`
	NumInputRows           int64             `json:"numInputRows"`
	InputRowsPerSecond     float64           `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
	DurationMs             map[string]int64  `json:"durationMs"`
	StateOperators         []json.RawMessage `json:"stateOperators"`
	Sources                []SourceReport    `json:"sources"`
	Sink                   SinkReport        `json:"sink"`
	Sluice                 Extra             `json:"sluice"`
}

// SourceReport is one element of "sources". There is always exactly one.
type SourceReport struct {
	Description            string            `json:"description"`
	StartOffset            offsets.Offsets   `json:"startOffset"`
	EndOffset              offsets.Offsets   `json:"endOffset"`
	LatestOffset           offsets.Offsets   `json:"latestOffset"`
	NumInputRows           int64             `json:"numInputRows"`
	InputRowsPerSecond     float64           `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64           `json:"processedRowsPerSecond"`
	Metrics                map[string]string `json:"metrics"`
}

// SinkReport is "sink".
type SinkReport struct {
	Description   string `json:"description"`
	NumOutputRows int64  `json:"numOutputRows"`
}

// Extra is "sluice": what Spark has no field for.
type Extra struct {
	// Offsets is the number of offsets planned, at least the records read.
	Offsets int64 `json:"offsets"`
	// Rows, DeadLetters and Dropped say where the records went.
	Rows        int64 `json:"rows"`
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	// Nulled counts those of the rows whose record was malformed: their columns are null.
	Nulled int64 `json:"nulled"`
	// Reasons counts the records that are no rows of the schema by why; absent if there are none.
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// DeadLetterTable, DeadLetterTopic or DeadLetterPath is where the dead letters are, in DeadLetterFiles files, of a table
	// those of the snapshot DeadLetterSnapshot; absent if there are none.
	DeadLetterTable    string `json:"deadLetterTable,omitempty"`
	DeadLetterTopic    string `json:"deadLetterTopic,omitempty"`
	DeadLetterPath     string `json:"deadLetterPath,omitempty"`
	DeadLetterFiles    int64  `json:"deadLetterFiles,omitempty"`
	DeadLetterSnapshot int64  `json:"deadLetterSnapshot,omitempty"`
	// ReadBytes were fetched from Kafka, as sent; WrittenBytes is the size of the data files.
	ReadBytes int64 `json:"readBytes"`
	// RecordBytes is what the records of the batch take in Kafka, as sent, whatever was fetched for them; absent if unknown.
	RecordBytes  int64 `json:"recordBytes,omitempty"`
	WrittenBytes int64 `json:"writtenBytes"`
	// SpilledBytes went to temporary files, of rows that are sorted or of many partitions, and that memory did not hold; absent if none did.
	SpilledBytes int64 `json:"spilledBytes,omitempty"`
	Files        int64 `json:"files"`
	// Snapshot is the table's snapshot that holds the batch.
	Snapshot int64 `json:"snapshot"`
	// Replayed says that an earlier run had planned this batch.
	Replayed bool `json:"replayed"`
	// Blocked is the number of offsets between the last stable offset and the high watermark when the ends were
	// frozen: an open transaction holds them back.
	Blocked int64 `json:"blocked"`
	// Frozen is when the ends in latestOffset were asked for; nil in reports of before it was kept.
	Frozen *Timestamp `json:"frozen,omitempty"`
	// Lag is the number of offsets between the batch's end and the frozen ends.
	Lag int64 `json:"lag"`
	// Accepted is the decision about rows that the table lost which this batch carries out; nil for most.
	Accepted *Accepted `json:"accepted,omitempty"`
	// Lost counts the offsets of Losses, as far as they can be counted. Losses are the records that were gone from Kafka and
	// that the batch goes on without, by the job's policies; absent for most.
	Lost   int64  `json:"lost,omitempty"`
	Losses []Loss `json:"losses,omitempty"`
	// Altered says how the table was altered so that it takes the batch; absent for most.
	Altered []string `json:"altered,omitempty"`
	// PeakMemoryBytes is the process's largest resident set so far.
	PeakMemoryBytes int64 `json:"peakMemoryBytes"`
}

// Accepted is what somebody decided about rows that the table had lost.
type Accepted struct {
	// Choice is reread or accept.
	Choice string `json:"choice"`
	// Batch and Snapshot are what the table's bookkeeping said when it was decided: -1 and 0 if it had none.
	Batch    int64 `json:"batch"`
	Snapshot int64 `json:"snapshot"`
}

// Summary is the last object of a run.
type Summary struct {
	Query   string `json:"query"`
	QueryID string `json:"queryId"`
	RunID   string `json:"runId"`
	// FirstBatch and LastBatch are what this run committed, -1 if nothing.
	FirstBatch  int64 `json:"firstBatch"`
	LastBatch   int64 `json:"lastBatch"`
	Batches     int64 `json:"batches"`
	Records     int64 `json:"records"`
	Rows        int64 `json:"rows"`
	DeadLetters int64 `json:"deadLetters"`
	Dropped     int64 `json:"dropped"`
	Nulled      int64 `json:"nulled"`
	// Reasons, DeadLetterTable, DeadLetterTopic and DeadLetterPath are as in Extra.
	Reasons         map[string]int64 `json:"reasons,omitempty"`
	DeadLetterTable string           `json:"deadLetterTable,omitempty"`
	DeadLetterTopic string           `json:"deadLetterTopic,omitempty"`
	DeadLetterPath  string           `json:"deadLetterPath,omitempty"`
	// Bytes is the size of the data files written, Files their number.
	Bytes int64 `json:"bytes"`
	Files int64 `json:"files"`
	// SpilledBytes is as in Extra.
	SpilledBytes int64 `json:"spilledBytes,omitempty"`
	// CaughtUp says that the ends frozen at the start were reached.
	CaughtUp bool `json:"caughtUp"`
	// Lag is the number of offsets between where the query is and the live ends, for a run that a signal stopped the
	// ends frozen at its start; -1 if it is not known.
	Lag        int64 `json:"lag"`
	DurationMs int64 `json:"durationMs"`
	ExitCode   int   `json:"exitCode"`
	// Stopped says why a run that did not catch up ended: "max-batches", "max-duration", StoppedWaiting, "signal", or "error".
	Stopped string `json:"stopped,omitempty"`
	// Waiting says what a run waited for that did nothing; nil for others.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Bound says how the query stands to where its runs end; nil where they end where the topics do, and for a run that failed.
	Bound *Bound `json:"bound,omitempty"`
	// Blocked is as in Extra.
	Blocked int64 `json:"blocked,omitempty"`
	// ConsumerGroup says what became of the offsets that are committed to a group for others to see; nil where none is named.
	ConsumerGroup *ConsumerGroup `json:"consumerGroup,omitempty"`
	// Lost and Losses are as in Extra, of all batches; of Losses the first MostLosses.
	Lost   int64  `json:"lost,omitempty"`
	Losses []Loss `json:"losses,omitempty"`
	// Table is the table's name and TableLocation where it lives, for whoever wants to look.
	Table         string `json:"table"`
	TableLocation string `json:"tableLocation"`
	// TableMade says that the table was not there and was made by this run.
	TableMade bool `json:"tableMade,omitempty"`
	// Began is where a query that is new begins; absent for one that had begun before.
	Began offsets.Offsets `json:"began,omitempty"`
	Error string          `json:"error,omitempty"`
}

// ConsumerGroup is what a run did to a consumer group.
type ConsumerGroup struct {
	Name string `json:"name"`
	// Commits counts the commits to it, Failures the batches whose offsets were not committed when they were done.
	Commits  int64 `json:"commits"`
	Failures int64 `json:"failures"`
}

// Timestamp renders as Spark does: yyyy-MM-dd'T'HH:mm:ss.SSS'Z'.
type Timestamp struct{ time.Time }

const timestampForm = "2006-01-02T15:04:05.000Z"

// MarshalJSON renders the time in UTC with milliseconds.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timestampForm + `"`)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Timestamp) UnmarshalJSON(text []byte) (err error) {
	t.Time, err = time.Parse(`"`+timestampForm+`"`, string(text))
	return err
}
