package lakesink

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// again repeats its bytes for ever.
type again []byte

func (a again) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], a)
	}
	return len(p), nil
}

// withRandom does something while random numbers are these; the library makes the ids of snapshots of them.
func withRandom(t *testing.T, r io.Reader, do func()) {
	t.Helper()
	uuid.SetRand(r)
	defer uuid.SetRand(nil)
	do()
}

// random is what the random numbers have to be for a snapshot's id: the library takes both halves of a UUID together, in which
// six bits are fixed.
func random(id int64) again {
	r := make(again, 16)
	binary.LittleEndian.PutUint64(r, uint64(id))
	r[0], r[8] = r[0]^0x80, 0x80
	r[6], r[14] = 0x40, r[6]^0x40
	return r
}

// https://github.com/apache/iceberg/issues/12631, /4204 and https://github.com/apache/iceberg-go/issues/369: through a float this id is
// …1056, and there is no such snapshot.
func TestASnapshotWhoseIdNoFloatHolds(t *testing.T) {
	const id = 3510441037372461004
	s, c := newTable(t)
	withRandom(t, random(id), func() { mustApply(t, s, queryID, planN(0)) })
	if got := load(t, c).CurrentSnapshot().SnapshotID; got != id {
		t.Fatalf("got %d, want %d", got, int64(id))
	}
	a, err := s.Table(t.Context(), queryID)
	if err != nil || a.Applied.Ledger.Snapshot != id {
		t.Errorf("got %+v, %v, want %d", a, err, int64(id))
	}
	mustApply(t, s, queryID, planN(1))
	tbl := load(t, c)
	if parent := tbl.CurrentSnapshot().ParentSnapshotID; parent == nil || *parent != id {
		t.Errorf("got the parent %v, want %d", parent, int64(id))
	}
	if got := scan(t, tbl, table.WithSnapshotID(id)); len(got) != 20 {
		t.Errorf("time travel: got %d rows, want 20", len(got))
	}
}

// https://github.com/apache/iceberg-python/issues/37: whatever the random numbers are, ids have 63 bits and are not 0.
func TestSnapshotIdsArePositive(t *testing.T) {
	for _, r := range []again{bytes.Repeat([]byte{0xff}, 16), make(again, 16), random(math.MaxInt64)} {
		s, c := newTable(t)
		withRandom(t, r, func() { mustApply(t, s, queryID, planN(0)) })
		first := load(t, c).CurrentSnapshot().SnapshotID
		mustApply(t, s, queryID, planN(1))
		if second := load(t, c).CurrentSnapshot().SnapshotID; first <= 0 || second <= 0 || second == first {
			t.Errorf("%x: got %d and %d", []byte(r), first, second)
		}
	}
}
