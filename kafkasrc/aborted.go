package kafkasrc

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// abortedTxn is a transaction that ended in an abort: the producer, and its first offset in this partition.
type abortedTxn = kmsg.FetchResponseTopicPartitionAbortedTransaction

// abortFilter knows which batches of an answer belong to aborted transactions. As the Java consumer does, it opens each
// listed transaction when the batches reach its first offset and closes it at the producer's abort marker. Not every
// broker lists them in the order of their offsets, so they are sorted first.
type abortFilter struct {
	ahead []abortedTxn
	open  []int64
}

func (f *abortFilter) reset(listed []abortedTxn) {
	slices.SortFunc(listed, func(a, b abortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	f.ahead, f.open = listed, f.open[:0]
}

// reach opens the transactions that begin up to the offset last.
func (f *abortFilter) reach(last int64) {
	for len(f.ahead) > 0 && f.ahead[0].FirstOffset <= last {
		if pid := f.ahead[0].ProducerID; !slices.Contains(f.open, pid) {
			f.open = append(f.open, pid)
		}
		f.ahead = f.ahead[1:]
	}
}

// hides reports whether the records of a transactional batch are aborted ones.
func (f *abortFilter) hides(producer int64) bool { return slices.Contains(f.open, producer) }

// close ends the producer's aborted transaction.
func (f *abortFilter) close(producer int64) {
	if i := slices.Index(f.open, producer); i >= 0 {
		f.open = slices.Delete(f.open, i, i+1)
	}
}
