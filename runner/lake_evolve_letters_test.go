package runner_test

import (
	"context"
	"fmt"
	"testing"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// Records that bring fields, beside dead letters: some are none until their fields are columns, a name that comes twice and
// a number beyond a DOUBLE. However a run is struck, at the update of the schema or between the two tables, each record is
// in one of them once, and the same ones are dead letters.
func TestDeadLettersOfATableThatGrowsAreThereOnceHoweverARunIsStruck(t *testing.T) {
	t.Parallel()
	lettingGrow := batch.Value{Format: "json", Schema: "p INT", OnMalformed: "deadLetter", OnTombstone: "keep", OnUnknownField: "addColumn", DeadLetters: "ops.dead"}
	struck := map[string]bool{}
	for i := 0; ; i++ {
		s := laketest.BreakAt(i, laketest.Modes()[i%len(laketest.Modes())])
		w := newLakeWorld(t)
		w.value = func(partition int32, offset int64) []byte {
			switch offset % 4 {
			case 1:
				return []byte(`{"p":`)
			case 2:
				return []byte(`{"p":2,"x":1,"x":2}`)
			case 3:
				return []byte(`{"p":3,"y":1e400}`)
			}
			return fmt.Appendf(nil, `{"p":%d,"x":%d,"y":0.5}`, partition, offset)
		}
		w.mutate = valued(lettingGrow)
		met, err := w.fail(context.Background(), s)
		if !met {
			if err != nil {
				t.Error(err)
			}
			break
		}
		struck[s.Effects()[i]] = true
		w.arrive()
		if err := w.recovers(context.Background()); err != nil {
			t.Errorf("%q: %v", s.Effects()[i], err)
			continue
		}
		dead := int64(0)
		for _, offsets := range w.kafka.records {
			for _, o := range offsets {
				if o%4 != 0 {
					dead++
				}
			}
		}
		if got := w.lettersIn(t, "ops.dead"); got != dead {
			t.Errorf("%q: got %d dead letters, want %d", s.Effects()[i], got, dead)
		}
	}
	for _, effect := range []string{"commit db.orders schema", "commit ops.dead snapshot", "commit db.orders snapshot"} {
		if !struck[effect] {
			t.Errorf("no run was struck at %q", effect)
		}
	}
}
