package kafkasrc

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// asked counts the questions about topics.
func (b broker) asked() *atomic.Int64 {
	count := &atomic.Int64{}
	b.watch(kmsg.Metadata, func(kmsg.Request) { count.Add(1) })
	return count
}

func wantMissing(t *testing.T, s *Source, p batch.Piece) {
	t.Helper()
	rows, lost, err := accepting(t, s, batch.Causes{Missing}, p)
	if err != nil || len(rows) > 0 {
		t.Errorf("%s: got rows at %v, %v, want none", p.Range(), offsetsOf(rows), err)
	}
	wantLost(t, lost[0], batch.Loss{Topic: p.Topic, Partition: p.Partition, From: p.From, Until: p.Until, Cause: Missing})
}

func impatient(b broker, names ...string) Options {
	options := b.options(topics(names...))
	options.Limits.NoProgress = 20 * time.Millisecond
	return options
}

// A replay of many small pieces has a reader for each few of them.
func TestWhatIsGoneIsWaitedForByOneReaderOfARun(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, impatient(b, "orders"))
	piece, none := b.piece(t, "orders", 0, 0, 4), b.piece(t, "orders", 0, 0, 4)
	none.Partition = 7 // of a topic that is there
	wantMissing(t, s, none)
	asked := b.asked()
	wantMissing(t, s, none)
	if n := asked.Load(); n != 1 {
		t.Errorf("got %d questions by the second reader of a partition that is gone, want 1", n)
	}
	if _, err := b.admin.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, s, piece)
	for n := range int32(12) {
		piece.Partition = n
		before := asked.Load()
		wantMissing(t, s, piece)
		if n := asked.Load() - before; n != 1 {
			t.Errorf("got %d questions about %s, want 1", n, piece.Range())
		}
	}
}

func TestATopicThatWasTakenForGoneAndIsThereAgainIsJudgedAsEver(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, impatient(b, "orders"))
	piece := b.piece(t, "orders", 0, 3, 10)
	if _, err := b.admin.DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, s, piece)
	b.create(t, "orders", 1)
	_, lost, err := accepting(t, s, all, piece)
	if err != nil {
		t.Fatal(err)
	}
	wantLost(t, lost[0], orders(3, 10, Recreated))
}

func TestTopicsThatAreGoneAreWaitedForTogether(t *testing.T) {
	b := tenOrders(t)
	b.create(t, "refunds", 1)
	s := mustOpen(t, impatient(b, "orders", "refunds"))
	first, second := b.piece(t, "orders", 0, 0, 4), b.piece(t, "refunds", 0, 0, 4)
	for _, name := range []string{"orders", "refunds"} {
		if _, err := b.admin.DeleteTopic(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	mustView(t, s, offsets.Offsets{tp("orders", 0): 0, tp("refunds", 0): 0})
	wantMissing(t, s, first)
	asked := b.asked()
	wantMissing(t, s, second)
	if n := asked.Load(); n != 1 {
		t.Errorf("got %d questions about the second topic, want 1", n)
	}
}

// Brokers that have just started lack topics, and may do so several times in a run.
func TestOnlyAnAbsenceWithoutABreakIsTakenForGood(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	there := &topic{partitions: map[int32]leader{0: {}}}
	lacking := &topic{err: kerr.UnknownTopicOrPartition}
	for name, c := range map[string]struct {
		looks []*topic
		every time.Duration
		gone  bool
	}{
		"lacking all the time":   {slices.Repeat([]*topic{lacking}, 13), 10 * time.Second, true},
		"not yet":                {slices.Repeat([]*topic{lacking}, 12), 10 * time.Second, false},
		"there in between":       {slices.Concat(slices.Repeat([]*topic{lacking}, 6), []*topic{there}, slices.Repeat([]*topic{lacking}, 12)), 10 * time.Second, false},
		"long not looked for":    {slices.Repeat([]*topic{lacking}, 5), 10 * time.Minute, false},
		"there after it was not": {append(slices.Repeat([]*topic{lacking}, 20), there, lacking), 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := &cluster{absences: newAbsences(Limits{NoProgress: 2 * time.Minute, Telling: 15 * time.Second})}
			for i, look := range c.looks {
				c1.absences.see("orders", look, began.Add(time.Duration(i)*c.every))
			}
			if got := c1.overdue(tp("orders", wholeTopic)); got != c.gone {
				t.Errorf("got %v, want %v", got, c.gone)
			}
		})
	}
}
