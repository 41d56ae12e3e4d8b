package verify_test

import (
	"testing"

	"sluice/lakesink/laketest"
	"sluice/verify"
)

// orphan leaves the current snapshot without history or parent, as PyIceberg's expire_snapshots does.
func (w *world) orphan() {
	w.t.Helper()
	t, err := w.load(w.t.Context())
	must(w.t, err)
	must(w.t, laketest.Orphan(t))
	w.table, err = w.load(w.t.Context())
	must(w.t, err)
}

func TestExpiryThatTakesTheParentIsNoFault(t *testing.T) {
	w := settled(t)
	w.insert(nil, row{"elsewhere", 0, 0})
	w.orphan()
	r := w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
}
