package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/batch"
	"sluice/runner"
)

const years = 365 * 24 * time.Hour

// off is a clock that is wrong by so much.
func off(by time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(by) }
}

// A run dies anywhere between its plan and its marker, and the next one, on a host whose clock says another year, finishes
// its batch: no record is in another table for it, or in two.
func TestClocksThatDisagreeMoveNoDeadLetter(t *testing.T) {
	t.Parallel()
	for _, effect := range []string{"create data", "commit ops.dead snapshot", "commit db.orders snapshot", "create commits/3"} {
		for _, clocks := range [][2]time.Duration{{0, 10 * years}, {10 * years, 0}, {-10 * years, 10 * years}} {
			t.Run(fmt.Sprintf("%s, %v then %v", effect, clocks[0], clocks[1]), func(t *testing.T) {
				t.Parallel()
				w := newTypedWorld(t)
				w.mutate = valued(letting)
				w.drain(t, nil)
				w.kafka.produce(0, 8)
				at := func(by time.Duration) {
					w.clock, w.mutate = off(max(0, by)), func(q *runner.Query) { valued(letting)(q); q.Now = off(by) }
				}
				at(clocks[0])
				w.dieBefore(t, effect)
				w.arrive()
				at(clocks[1])
				if err := w.recovers(context.Background()); err != nil {
					t.Fatal(err)
				}
				if rows, letters := w.rows(t), w.lettersIn(t, "ops.dead"); letters == 0 || rows+letters != w.produced() {
					t.Errorf("%d rows and %d dead letters; want %d", rows, letters, w.produced())
				}
			})
		}
	}
}

// A clock that is behind both tables is found before the dead letters of a batch are committed: those would be there without
// their rows for as long as nobody sets it.
func TestAClockThatIsBehindCommitsNoDeadLetters(t *testing.T) {
	w := newTypedWorld(t)
	w.mutate = valued(letting)
	w.drain(t, nil)
	w.kafka.produce(0, 8)
	before := w.lettersIn(t, "ops.dead")
	w.clock = off(-time.Hour)
	w.refuses(t, batch.Failed, nil, "ahead of this host's clock", "set the clock")
	if after := w.lettersIn(t, "ops.dead"); after != before {
		t.Errorf("got %d dead letters, want %d", after, before)
	}
	w.clock = nil
	if err := w.recovers(context.Background()); err != nil {
		t.Fatal(err)
	}
	if rows, letters := w.rows(t), w.lettersIn(t, "ops.dead"); letters <= before || rows+letters != w.produced() {
		t.Errorf("%d rows and %d dead letters; want %d", rows, letters, w.produced())
	}
}
