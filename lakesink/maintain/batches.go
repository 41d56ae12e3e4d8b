package maintain

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// dataName is the name of a data file of ours: query, batch, task, attempt and a number.
var dataName = regexp.MustCompile(`^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d+)-\d+-[A-Za-z0-9_-]+-\d+\.parquet$`)

// openBatches says of a file's name whether it is of a batch that may yet be committed: one that the table has not reached. A
// batch at or below the newest one of its query never will be, whoever wakes up with its files: the commit is conditional on the
// batch before it being the newest. own is the id of a query that may have no ledger yet.
func openBatches(tbl *table.Table, own string, abandoned []string) (func(name string) bool, error) {
	newest := map[string]int64{}
	if own != "" {
		newest[own] = batch.None
	}
	names, err := batch.LedgerQueries(tbl.Properties())
	if err != nil {
		return nil, unreadableLedger(err)
	}
	for id := range names {
		ledger, err := batch.ParseLedger(tbl.Properties(), id)
		if err != nil {
			return nil, unreadableLedger(err)
		}
		newest[id] = batch.None
		if ledger != nil {
			newest[id] = ledger.Batch
		}
	}
	return func(name string) bool {
		m := dataName.FindStringSubmatch(name)
		if m == nil || slices.Contains(abandoned, m[1]) {
			return false
		}
		n, err := strconv.ParseInt(m[2], 10, 64)
		applied, known := newest[m[1]]
		return known && (err != nil || n > applied)
	}, nil
}
