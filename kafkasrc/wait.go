package kafkasrc

import (
	"time"

	"sluice/offsets"
)

// Wait is a partition that a Reader gets nothing more of, and asks again for.
type Wait struct {
	offsets.TopicPartition
	// Offset is the position.
	Offset int64
	// Waited is for how long nothing has come, Patience for how long it is asked in all; then reading fails.
	Waited, Patience time.Duration
	// Err is what the last answer was, or why there was none.
	Err error
}

// OnWait has tell called, by the goroutine that reads ahead, whenever nothing has come for Limits.Telling, and then each time as much
// has passed again: else a run that waits for a broker looks like one that hangs. It is to be called before the first Next.
func (r *Reader) OnWait(tell func(Wait)) { r.fetcher.tell = tell }

// waits tells of what is waited for, if that has been for long enough.
func (f *fetcher) waits(try *attempt, waited time.Duration, err error) {
	limits := &f.source.limits
	if f.tell == nil || waited-try.told < limits.Telling {
		return
	}
	try.told = waited
	f.tell(Wait{TopicPartition: try.tp, Offset: try.offset, Waited: waited, Patience: limits.NoProgress, Err: f.source.unanswered(err)})
}
