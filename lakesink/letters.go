package lakesink

import (
	"fmt"

	"sluice/batch"
)

// sameLetters compares what a batch that is in a table of dead letters put there with what this attempt would: nothing to
// compare in any other table.
func (d *deal) sameLetters(applied *batch.Applied) error {
	offered := d.commit.DeadLetters
	if offered == nil {
		return nil
	}
	var there batch.Letters
	if applied.Ledger != nil && applied.Ledger.Letters != nil {
		there = *applied.Ledger.Letters
	}
	if there == *offered {
		return nil
	}
	n, name := d.commit.Plan.Batch, d.sink.TableName()
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s has %d dead letters of batch %d, in snapshot %d, and this run has %d, which are not the same records: since that batch was cut short the job or the rows' table was changed, or Kafka has lost records",
			name, there.Count, n, applied.Snapshot, offered.Count),
		Hint: fmt.Sprintf("change it back and run again, so that the batch is finished as it was begun; or roll %s back to before snapshot %d and go on with another deadLetter.table", name, applied.Snapshot)}
}
