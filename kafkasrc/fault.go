package kafkasrc

import (
	"fmt"
	"strconv"

	"sluice/batch"
	"sluice/offsets"
)

// Cause says how records were lost.
type Cause = batch.Cause

// The causes, by their short names.
const (
	Retention = batch.Retention
	Recreated = batch.Recreated
	Diverged  = batch.Diverged
	Missing   = batch.Missing
)

// Loss says which offsets of a partition can no longer be read. It is the Err of every DataLoss fault of this package.
type Loss struct {
	offsets.Range
	Cause Cause
}

// Error names the range and the cause.
func (l *Loss) Error() string {
	return fmt.Sprintf("%s: offsets %d to %d are gone (%s)", l.TopicPartition, l.From, l.Until-1, l.Cause)
}

// lost is the fault of records that are gone. The hint says what became of them; what accepts it follows.
func lost(r offsets.Range, cause Cause, message, hint string) error {
	return &batch.Fault{Class: batch.DataLoss, Message: message, Hint: hint + " " + cause.Option() + " goes on without them.", Err: &Loss{Range: r, Cause: cause}}
}

func notSetUp(hint, format string, args ...any) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// corrupt is a batch that cannot be what a producer sent. The reader adds topic and partition.
type corrupt struct {
	base   int64
	reason string
	// inTransit says that the checksum does not fit, which fetching again may cure.
	inTransit bool
}

func (c *corrupt) Error() string {
	return fmt.Sprintf("record batch at offset %d: %s", c.base, c.reason)
}

func corruptf(base int64, format string, args ...any) error {
	return &corrupt{base: base, reason: fmt.Sprintf(format, args...)}
}

// tooLarge is a batch that needs more memory than is allowed.
type tooLarge struct {
	base  int64
	limit int
}

func (t *tooLarge) Error() string {
	return fmt.Sprintf("record batch at offset %d: it needs more than the %s bytes allowed", t.base, counted(t.limit))
}

// counted renders 1,234,567: a count that is there to be read. Offsets, and what belongs into a setting, are there to be
// copied and stay as they are.
func counted(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
