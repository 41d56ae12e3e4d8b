package verify

import (
	"fmt"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
)

const (
	// maxFindings is how many problems, or limits, of one kind are told one by one; maxSpans how many runs of offsets
	// and maxFiles how many files each names.
	maxFindings = 20
	maxSpans    = 5
	maxFiles    = 5
)

// court is one reading of the evidence.
type court struct {
	Options
	report  *Report
	table   *table.Table
	reader  *reader
	history *history
	// log is the checkpoint, nil if there is none.
	log     *batch.LogState
	ledgers []*batch.Ledger
	// blind says that a ledger could not be read: then nothing that is there too often can be held against anybody.
	blind bool
	// claims and coverage are what the ledgers, and the checkpoint for Spark's part, say was read; spark is that part.
	claims   map[offsets.TopicPartition][]claim
	spark    map[offsets.TopicPartition][]reading
	coverage map[offsets.TopicPartition]coverage

	// letters are the tables of dead letters that could be read.
	letters []*letterTable
	// topics are those of dead letters that were read, unreadTopics the names of the others.
	topics       []*letterTopic
	unreadTopics []string

	files []dataFile
	// rows are in the table; masked are in its files and hidden by delete files; removed were deleted by others.
	rows, masked, removed *rowSet
	// unresolved is the most rows that deletions may have removed beyond removed; unreadRows are in files that were
	// not read. rowsUnread says that the files are not known at all.
	unresolved int64
	unreadRows int64
	rowsUnread bool

	problems map[Kind]int64
	limits   map[Kind]int64
}

// problem adds a finding.
func (c *court) problem(p Problem) {
	if c.problems[p.Kind]++; c.problems[p.Kind] <= maxFindings {
		c.report.Problems = append(c.report.Problems, p)
	}
}

// limit adds something that was not proven.
func (c *court) limit(l Limit) {
	if c.limits[l.Kind]++; c.limits[l.Kind] <= maxFindings {
		c.report.CannotProve = append(c.report.CannotProve, l)
	}
}

func (c *court) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}
