package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

// settled is a table with three batches of one query.
func settled(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100), reading("orders", 1, 0, 100))
	w.apply(ordersQuery, reading("orders", 0, 100, 200))
	w.apply(ordersQuery, reading("orders", 0, 200, 250), reading("orders", 1, 100, 120))
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
	return w
}

func account(change func(*batch.Account)) func(*batch.Ledger) {
	return func(l *batch.Ledger) {
		a := l.Accounts[orders0]
		change(&a)
		l.Accounts[orders0] = a
	}
}

func TestAForgedLedgerIsFoundWithoutACheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(*batch.Ledger)
		kinds []verify.Kind
	}{
		"batch too high":     {func(l *batch.Ledger) { l.Batch = 3 }, []verify.Kind{verify.LedgerSnapshot}},
		"batch too low":      {func(l *batch.Ledger) { l.Batch = 1 }, []verify.Kind{verify.LedgerSnapshot, verify.LedgerBehind}},
		"plan changed":       {func(l *batch.Ledger) { l.Plan = "another" }, []verify.Kind{verify.LedgerSnapshot}},
		"sequence changed":   {func(l *batch.Ledger) { l.Sequence++ }, []verify.Kind{verify.LedgerSnapshot}},
		"unknown snapshot":   {func(l *batch.Ledger) { l.Snapshot = 12345 }, []verify.Kind{verify.LedgerSnapshot}},
		"rows more":          {account(func(a *batch.Account) { a.Rows += 5 }), []verify.Kind{verify.MissingRows, verify.LedgerImpossible}},
		"rows fewer":         {account(func(a *batch.Account) { a.Rows -= 5 }), []verify.Kind{verify.UnexpectedRows}},
		"next further":       {account(func(a *batch.Account) { a.Next += 5; a.Rows += 5 }), []verify.Kind{verify.MissingRows}},
		"next nearer":        {account(func(a *batch.Account) { a.Next -= 5; a.Rows -= 5 }), []verify.Kind{verify.UnexpectedRows}},
		"first further":      {account(func(a *batch.Account) { a.First += 5; a.Rows -= 5 }), []verify.Kind{verify.UnexpectedRows}},
		"negative":           {account(func(a *batch.Account) { a.Dropped = -1 }), []verify.Kind{verify.LedgerImpossible}},
		"backwards":          {account(func(a *batch.Account) { a.First = a.Next + 1 }), []verify.Kind{verify.LedgerImpossible, verify.UnexpectedRows, verify.MissingRows}},
		"huge next":          {account(func(a *batch.Account) { a.Next = 1<<63 - 1; a.Rows += 7 }), []verify.Kind{verify.MissingRows}},
		"partition left out": {func(l *batch.Ledger) { delete(l.Accounts, orders0) }, []verify.Kind{verify.UnexpectedRows}},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t)
			w.forge(ordersQuery, c.forge)
			r := w.verify(verify.Options{})
			wantOnly(t, r, c.kinds...)
			for _, kind := range c.kinds {
				if p := wantProblem(t, r, kind); p.Query != "" && p.Query != ordersQuery {
					t.Errorf("got problem %s of query %s, want %s", p, p.Query, ordersQuery)
				}
			}
		})
	}
}

func TestAnOlderLedgerPutBackIsFound(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	old, err := w.query(ordersQuery).ledger.Properties()
	must(t, err)
	w.apply(ordersQuery, reading("orders", 0, 100, 200))
	w.setProperties(old)
	r := w.verify(verify.Options{})
	wantOnly(t, r, verify.LedgerBehind, verify.UnexpectedRows)
	wantProblem(t, r, verify.LedgerBehind)
	if p := wantProblem(t, r, verify.UnexpectedRows); p.Count != 100 {
		t.Errorf("got %d unexpected rows, want the 100 of the batch that the ledger does not know", p.Count)
	}
}

func TestALedgerThatCannotBeRead(t *testing.T) {
	key := batch.LedgerPrefix + ordersQuery
	for name, damage := range map[string]func(w *world){
		"no JSON":       func(w *world) { w.setProperties(map[string]string{key: "{"}) },
		"other version": func(w *world) { w.setProperties(map[string]string{key: `{"v":99}`}) },
		"head missing": func(w *world) {
			w.change(func(tx *table.Transaction) error { return tx.RemoveProperties([]string{key}) })
		},
		"part missing": func(w *world) {
			w.change(func(tx *table.Transaction) error { return tx.RemoveProperties([]string{key + ".1"}) })
		},
		"part no JSON": func(w *world) { w.setProperties(map[string]string{key + ".0": "[{"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var parts []part
			for p := range int32(200) {
				parts = append(parts, reading(fmt.Sprintf("a-topic-with-a-rather-long-name-%03d", p), p, 0, 1))
			}
			w.apply(ordersQuery, parts...)
			w.apply(backfill, reading("orders", 0, 0, 10))
			wantVerdict(t, w.verify(w.whole()), verify.Proved)
			damage(w)
			r := w.verify(w.whole())
			wantOnly(t, r, verify.LedgerUnreadable)
			if p := wantProblem(t, r, verify.LedgerUnreadable); p.Query != ordersQuery {
				t.Errorf("got query %s, want %s", p.Query, ordersQuery)
			}
			if r.ForeignRows != 200 || r.Rows != 10 {
				t.Errorf("got %d foreign rows and %d rows, want 200 that nobody can judge and 10 of the other query", r.ForeignRows, r.Rows)
			}
		})
	}
}

func TestNothingIsUnexpectedWhileALedgerCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.apply(backfill, reading("orders", 0, 5, 20))
	w.setProperties(map[string]string{batch.LedgerPrefix + backfill: "?"})
	r := w.verify(verify.Options{})
	wantOnly(t, r, verify.LedgerUnreadable)
	if p := r.Partitions[0]; p.Verdict != verify.Unproven || p.Duplicates != 5 || p.Unattributed != 10 {
		t.Errorf("got %+v, want 5 second copies and 10 rows that cannot be held against anybody", p)
	}
}

func TestTheLedgerRemovedAltogether(t *testing.T) {
	w := settled(t)
	w.change(func(tx *table.Transaction) error {
		return tx.RemoveProperties([]string{batch.LedgerPrefix + ordersQuery})
	})
	r := w.verify(w.whole())
	wantOnly(t, r, verify.LedgerMissing)
	wantProblem(t, r, verify.LedgerMissing)
	r = w.verify(verify.Options{})
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
}

// The snapshot with the committed offsets is rolled back: https://github.com/apache/iceberg/issues/5846.
func TestARollbackIsFoundWithAndWithoutHistory(t *testing.T) {
	w := settled(t)
	w.rollback(*w.table.CurrentSnapshot().ParentSnapshotID)
	for range 2 {
		r := w.verify(w.withCheckpoint(ordersQuery))
		wantOnly(t, r, verify.LedgerSnapshot, verify.MissingRows)
		wantProblem(t, r, verify.LedgerSnapshot)
		if r.Missing != 70 {
			t.Errorf("got %d missing, want the 70 of the batch that was rolled back", r.Missing)
		}
		w.insert(nil, row{"elsewhere", 0, 0})
		w.expire(2)
	}
}

// Maintenance must not look like loss: https://github.com/apache/iceberg/issues/5846.
func TestCompactionAndExpiryAreNoProblem(t *testing.T) {
	w := settled(t)
	w.insert(nil, row{"elsewhere", 0, 0})
	w.compact()
	w.expire(1)
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if r.Files != 1 || r.Rows != 370 {
		t.Errorf("got %d rows in %d files, want 370 in one", r.Rows, r.Files)
	}
	r = w.verify(verify.Options{})
	wantVerdict(t, r, verify.Proved)
	wantLimit(t, r, verify.LedgerUnconfirmed)
}

func TestForgeriesAreFoundAfterExpiry(t *testing.T) {
	for name, forge := range map[string]func(*batch.Ledger){
		"batch too low":   func(l *batch.Ledger) { l.Batch-- },
		"batch too high":  func(l *batch.Ledger) { l.Batch++ },
		"plan":            func(l *batch.Ledger) { l.Plan = "another" },
		"rows":            account(func(a *batch.Account) { a.Rows-- }),
		"next":            account(func(a *batch.Account) { a.Next-- }),
		"future snapshot": func(l *batch.Ledger) { l.Snapshot, l.Sequence = 7, l.Sequence+100 },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t)
			w.insert(nil, row{"elsewhere", 0, 0})
			w.expire(1)
			w.forge(ordersQuery, forge)
			if r := w.verify(w.withCheckpoint(ordersQuery)); r.OK {
				t.Errorf("got ok, limits %v", r.CannotProve)
			}
		})
	}
}

func TestTheSameBatchAppliedTwice(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	q := w.query(ordersQuery)
	plan := *q.log.Plan
	w.commit(ordersQuery, &plan, rowsOf("orders", 0, 0, 100), batch.TaskResult{Pieces: []batch.PieceResult{{Piece: batch.Piece{Topic: "orders", Until: 100}, Rows: 100}}})
	r := w.verify(w.whole())
	wantProblem(t, r, verify.BatchTwice)
	if p := wantProblem(t, r, verify.DuplicateRows); p.Count != 100 || len(p.Files) != 2 {
		t.Errorf("got %d duplicates in %v, want 100 in two files", p.Count, p.Files)
	}
}

func TestRowsBeforeADecisionAboutLossAreUnproven(t *testing.T) {
	w := settled(t)
	w.forge(ordersQuery, func(l *batch.Ledger) {
		l.Uncounted = 1
		a := l.Accounts[orders0]
		a.Rows += 30 // rolled back, and read again
		l.Accounts[orders0] = a
	})
	r := w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	if l := wantLimit(t, r, verify.LossAccepted); !strings.Contains(l.Why, "batch 1 of query orders-1") || !strings.Contains(l.Why, "does not say") || l.Todo == "" {
		t.Errorf("got limit %s, want the batch that carried the decision out and that its snapshot does not say more", l)
	}
	if r.Unaccounted != 30 || r.Missing != 0 {
		t.Errorf("got %d unaccounted, %d missing, want 30 and 0", r.Unaccounted, r.Missing)
	}
	w.insert(nil, row{"orders", 0, 3})
	wantProblem(t, w.verify(w.whole()), verify.DuplicateRows)
}

func TestRowsOfSpark(t *testing.T) {
	spark := func(epoch string) iceberg.Properties {
		return iceberg.Properties{"spark.sql.streaming.queryId": ordersQuery, "spark.sql.streaming.epochId": epoch}
	}
	w := newWorld(t)
	q := w.query(ordersQuery)
	q.log.Start[orders0] = 0
	w.insert(spark("0"), rowsOf("orders", 0, 0, 40)...)
	q.log.Commit = 0
	q.log.Plan = &batch.Plan{Batch: 0, Start: offsets.Offsets{orders0: 0}, End: offsets.Offsets{orders0: 40}, Foreign: true, Hash: "spark 0"}
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	if r.Batches != 1 || r.Unattributed != 40 {
		t.Errorf("got %d batches and %d rows unattributed, want Spark's one and 40", r.Batches, r.Unattributed)
	}

	// sluice takes over, then Spark goes on after it.
	w.apply(ordersQuery, reading("orders", 0, 40, 70))
	r = w.verify(w.withCheckpoint(ordersQuery))
	wantOK(t, r)
	wantLimit(t, r, verify.WrittenBySpark)
	if r.Unattributed != 40 || r.Expected != 30 {
		t.Errorf("got %d unattributed beside %d expected, want 40 and 30", r.Unattributed, r.Expected)
	}
	wantOK(t, w.verify(verify.Options{}))
	w.insert(spark("2"), rowsOf("orders", 0, 70, 90)...)
	q.log.Commit = 2
	q.log.Plan = &batch.Plan{Batch: 2, Start: offsets.Offsets{orders0: 70}, End: offsets.Offsets{orders0: 90}, Foreign: true, Hash: "spark 2"}
	for range 2 {
		r = w.verify(w.withCheckpoint(ordersQuery))
		wantOK(t, r)
		if r.Unattributed != 60 {
			t.Errorf("got %d unattributed, want Spark's 60", r.Unattributed)
		}
		w.insert(nil, row{"elsewhere", 0, 0})
		w.expire(1)
	}

	// What Spark may have written is still there once only, and nowhere else.
	w.insert(nil, row{"orders", 0, 10}, row{"orders", 0, 500})
	r = w.verify(w.withCheckpoint(ordersQuery))
	if p := wantProblem(t, r, verify.DuplicateRows); p.Count != 1 {
		t.Errorf("got %d duplicates, want 1", p.Count)
	}
	if p := wantProblem(t, r, verify.UnexpectedRows); p.Count != 1 || !strings.Contains(p.Evidence, "500") {
		t.Errorf("got %s, want offset 500 unexpected", p)
	}
}

func TestSparksRowsBeforeTheLedgerWithoutCheckpointOrHistory(t *testing.T) {
	w := newWorld(t)
	w.insert(nil, rowsOf("orders", 0, 0, 40)...)
	w.query(ordersQuery).log.Commit = 0
	w.apply(ordersQuery, reading("orders", 0, 40, 70))
	wantProblem(t, w.verify(verify.Options{}), verify.UnexpectedRows) // the history shows who wrote them, and it was not Spark
	w.expire(1)
	r := w.verify(verify.Options{})
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	wantLimit(t, r, verify.WrittenBySpark)
}
