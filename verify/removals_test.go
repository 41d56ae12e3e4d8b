package verify_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/verify"
)

// deletions are the ways in which others delete the rows of offsets 40 to 49.
var deletions = map[string]struct {
	properties iceberg.Properties
	delete     func(w *world)
	// beside says that the rows stay in their file, with a delete file beside it.
	beside func(table.FileScanTask) int
}{
	"copy on write":    {nil, func(w *world) { w.deleteOffsets(40, 50) }, nil},
	"position deletes": {iceberg.Properties{"write.delete.mode": "merge-on-read"}, func(w *world) { w.deleteOffsets(40, 50) }, func(f table.FileScanTask) int { return len(f.DeleteFiles) }},
	"deletion vectors": {iceberg.Properties{"write.delete.mode": "merge-on-read", "format-version": "3"}, func(w *world) { w.deleteOffsets(40, 50) }, func(f table.FileScanTask) int { return len(f.DeletionVectorFiles) }},
	"equality deletes": {nil, func(w *world) { w.deleteEqual(40, 50) }, func(f table.FileScanTask) int { return len(f.EqualityDeleteFiles) }},
}

// deleteEqual deletes offsets by an equality delete file.
func (w *world) deleteEqual(from, until int64) {
	w.t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: w.columns.Offset, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for o := from; o < until; o++ {
		b.Field(0).(*array.Int64Builder).Append(o)
	}
	rows := b.NewRecordBatch()
	id := []int{4}
	w.change(func(tx *table.Transaction) error {
		files, err := tx.WriteEqualityDeletes(w.t.Context(), id, func(yield func(arrow.RecordBatch, error) bool) { yield(rows, nil) })
		if err != nil {
			return err
		}
		return tx.NewRowDelta(nil).AddDeletes(files...).Commit(w.t.Context())
	})
}

func TestRowsDeletedByOthersAreReportedApart(t *testing.T) {
	for name, c := range deletions {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, verify.RawColumns, c.properties)
			w.apply(ordersQuery, reading("orders", 0, 0, 100))
			c.delete(w)
			if tasks, err := w.table.Scan().PlanFiles(t.Context()); err != nil || len(tasks) != 1 || (c.beside != nil && c.beside(tasks[0]) != 1) {
				t.Fatalf("got tasks %+v and error %v, want one file with the kind of delete file that this is about", tasks, err)
			}
			w.apply(ordersQuery, reading("orders", 0, 100, 150))
			check := func(when string) {
				t.Helper()
				r := w.verify(w.whole())
				if r.DeletedByOthers != 10 || r.Rows != 140 || r.Verdict != verify.Proved {
					t.Errorf("%s: got %d deleted by others, %d rows, %s, problems %v, limits %v, want 10, 140, proved", when, r.DeletedByOthers, r.Rows, r.Verdict, r.Problems, r.CannotProve)
				}
			}
			check("after the deletion")
			w.compact()
			check("after a compaction")
			w.deleteOffsets(0, 150) // all that is left
			if r := w.verify(w.whole()); r.DeletedByOthers != 150 || r.Rows != 0 || r.Verdict != verify.Proved {
				t.Errorf("got %d deleted by others, %d rows, problems %v, want 150 and none", r.DeletedByOthers, r.Rows, r.Problems)
			}
		})
	}
}

func TestADeletionDoesNotHideOtherFaults(t *testing.T) {
	for name, c := range deletions {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, verify.RawColumns, c.properties)
			w.apply(ordersQuery, reading("orders", 0, 0, 100))
			w.apply(ordersQuery, reading("orders", 0, 100, 150))
			c.delete(w)
			w.forge(ordersQuery, account(func(a *batch.Account) { a.Rows -= 10 })) // as if they had never been
			if p := wantProblem(t, w.verify(verify.Options{}), verify.UnexpectedRows); p.Count != 10 {
				t.Errorf("got %d unexpected, want the 10 that were there before they were deleted", p.Count)
			}
			w.forge(ordersQuery, account(func(a *batch.Account) { a.Next += 5; a.Rows += 5 }))
			r := w.verify(verify.Options{})
			if p := wantProblem(t, r, verify.MissingRows); p.Count != 5 || r.DeletedByOthers != 10 {
				t.Errorf("got %d missing and %d deleted, want 5 and 10", p.Count, r.DeletedByOthers)
			}
		})
	}
}

func TestADeletionThatNoHistoryExplainsIsALoss(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.deleteOffsets(0, 100)
	w.apply(ordersQuery, reading("orders", 0, 100, 150))
	w.expire(1)
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantOnly(t, r, verify.MissingRows)
	if p := wantProblem(t, r, verify.MissingRows); p.Count != 100 || !slices.Equal(p.Offsets, []verify.Span{{From: 0, Until: 100}}) || p.Among {
		t.Errorf("got %d missing at %v, want 100 at 0-99", p.Count, p.Offsets)
	}
}

func TestDeleteFilesSpeakAfterTheirSnapshotExpired(t *testing.T) {
	w := newWorldOf(t, verify.RawColumns, iceberg.Properties{"write.delete.mode": "merge-on-read"})
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.deleteOffsets(40, 50)
	w.apply(ordersQuery, reading("orders", 0, 100, 150))
	w.expire(1)
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if r.DeletedByOthers != 10 {
		t.Errorf("got %d deleted by others, want 10", r.DeletedByOthers)
	}
}

func TestADeletionWhoseFilesExpiredIsUnproven(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.apply(ordersQuery, reading("orders", 0, 100, 150))
	w.deleteOffsets(0, 100)
	w.expire(1) // the deletion is left, what it deleted is not
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	if l := wantLimit(t, r, verify.DeletionsUnread); !strings.Contains(l.Why, "at most 100") {
		t.Errorf("got limit %s, want it to give the number of rows", l)
	}
	if r.Unaccounted != 100 || r.DeletedByOthers != 0 || r.Missing != 0 {
		t.Errorf("got %d unaccounted, %d deleted, %d missing, want 100, 0, 0", r.Unaccounted, r.DeletedByOthers, r.Missing)
	}

	w.forge(ordersQuery, account(func(a *batch.Account) { a.Next++; a.Rows++ })) // one more than it can have deleted
	wantProblem(t, w.verify(verify.Options{}), verify.MissingRows)
}

func TestADeletionWhoseParentsFileIsGoneIsUnproven(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	old := w.paths()[0]
	w.deleteOffsets(40, 50)
	must(t, os.Remove(local(old)))
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	if r.Unaccounted != 10 {
		t.Errorf("got %d unaccounted, want 10", r.Unaccounted)
	}
}

func TestRowsDeletedAndPutBackAreNoDuplicates(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.deleteOffsets(40, 50)
	w.insert(nil, rowsOf("orders", 0, 40, 50)...)
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if r.DeletedByOthers != 0 || r.Duplicates != 0 {
		t.Errorf("got %d deleted, %d duplicates, want none", r.DeletedByOthers, r.Duplicates)
	}
}

func TestARewriteThatLosesRowsIsALoss(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	tasks, err := w.table.Scan().PlanFiles(t.Context())
	must(t, err)
	old := tasks[0].File
	w.apply(ordersQuery, reading("orders", 0, 10, 20))
	w.change(func(tx *table.Transaction) error { // operation replace: it says that it keeps the rows
		return tx.NewRewrite(nil).DeleteFile(old).AddDataFile(w.written(rowsOf("orders", 0, 0, 9)...)).Commit(t.Context())
	})
	if p := wantProblem(t, w.verify(w.whole()), verify.MissingRows); p.Count != 1 || !slices.Equal(p.Offsets, []verify.Span{{From: 9, Until: 10}}) {
		t.Errorf("got %d missing at %v, want offset 9", p.Count, p.Offsets)
	}
}

// written writes a data file and adds it to nothing.
func (w *world) written(rows ...row) iceberg.DataFile {
	w.t.Helper()
	reader := w.reader(rows)
	for file, err := range table.WriteRecords(w.t.Context(), w.table, reader.Schema(), array.IterFromReader(reader)) {
		must(w.t, err)
		return file
	}
	w.t.Fatal("got no file")
	return nil
}

func TestADeletionExcusesNothingWhereAFileIsGone(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.deleteOffsets(40, 50)
	must(t, os.Remove(local(w.paths()[0]))) // the file that the deletion wrote
	r := w.verify(w.withCheckpoint(ordersQuery))
	wantProblem(t, r, verify.FileGone)
	wantProblem(t, r, verify.MissingRows)
	if r.Unaccounted != 0 || r.Missing != 100 {
		t.Errorf("got %d unaccounted, %d missing, want all 100 missing", r.Unaccounted, r.Missing)
	}
}

func TestForeignRowsAreCountedBesideDeleteFiles(t *testing.T) {
	w := newWorldOf(t, verify.RawColumns, iceberg.Properties{"write.delete.mode": "merge-on-read"})
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.insert(nil, append(rowsOf("elsewhere", 0, 0, 5), rowsOf("elsewhere", 1, 7, 9)...)...)
	w.deleteOffsets(3, 5)
	if r := w.verify(w.whole()); r.ForeignRows != 5 || r.Rows != 8 || r.DeletedByOthers != 2 {
		t.Errorf("got %d foreign rows, %d rows, %d deleted, want 5, 8, 2", r.ForeignRows, r.Rows, r.DeletedByOthers)
	}
}

func TestADeleteFileGoneFromTheStore(t *testing.T) {
	w := newWorldOf(t, verify.RawColumns, iceberg.Properties{"write.delete.mode": "merge-on-read"})
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.deleteOffsets(40, 50)
	tasks, err := w.table.Scan().PlanFiles(t.Context())
	must(t, err)
	gone := tasks[0].DeleteFiles[0].FilePath()
	must(t, os.Remove(local(gone)))
	if p := wantProblem(t, w.verify(w.whole()), verify.FileGone); !strings.Contains(p.Evidence, local(gone)) {
		t.Errorf("got evidence %q, want the delete file named", p.Evidence)
	}
}
