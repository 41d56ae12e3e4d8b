package verify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/offsets"
	"sluice/verify"
)

var orders0 = offsets.TopicPartition{Topic: "orders"}

func TestACleanTableIsProved(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100), reading("orders", 1, 50, 80))
	w.apply(ordersQuery, reading("orders", 0, 100, 140))
	w.apply(ordersQuery) // an empty batch is a batch
	r := w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if len(r.CannotProve) > 0 {
		t.Errorf("got limits %v, want none with checkpoint and Kafka at hand", r.CannotProve)
	}
	if r.Batches != 3 || r.Rows != 170 || r.Expected != 170 || r.Files != 2 {
		t.Errorf("got %d batches, %d of %d rows in %d files, want 3, 170 of 170 in 2", r.Batches, r.Rows, r.Expected, r.Files)
	}
	k := r.Partitions[0].Kafka
	if k == nil || *k != (verify.Kafka{From: 0, Until: 140, Records: 140}) {
		t.Errorf("got %+v of Kafka, want 140 records in [0,140), all of them rows", k)
	}
}

func TestHadoopCatalogAndOtherFormatVersionsAreProved(t *testing.T) {
	for _, c := range []struct {
		name       string
		hadoop     bool
		properties iceberg.Properties
	}{{"hadoop", true, nil}, {"v1", false, iceberg.Properties{"format-version": "1"}}, {"v3", false, iceberg.Properties{"format-version": "3"}}} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{t: t, columns: verify.RawColumns, queries: map[string]*query{}, kafka: newKafka()}
			w.catalog = sqliteCatalog(t)
			if c.hadoop {
				w.catalog = hadoopCatalog(t)
			}
			w.create(c.properties)
			w.apply(ordersQuery, reading("orders", 0, 0, 100))
			w.apply(ordersQuery, reading("orders", 0, 100, 200))
			wantVerdict(t, w.verify(w.whole()), verify.Proved)
			w.expire(1)
			wantVerdict(t, w.verify(w.whole()), verify.Proved)
			w.insert(nil, rowsOf("orders", 0, 7, 9)...)
			p := wantProblem(t, w.verify(w.whole()), verify.DuplicateRows)
			if p.Count != 2 {
				t.Errorf("got %d duplicates, want 2", p.Count)
			}
		})
	}
}

func TestDecodedColumnsAreFoundByThemselves(t *testing.T) {
	w := newWorldOf(t, verify.DecodedColumns, nil)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
}

func TestColumnsByOtherNames(t *testing.T) {
	columns := verify.Columns{Topic: "t", Partition: "p", Offset: "o"}
	w := newWorldOf(t, columns, nil)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	o := w.whole()
	o.Columns = columns
	wantVerdict(t, w.verify(o), verify.Proved)
	_, err := verify.Table(t.Context(), w.load, w.whole())
	if batch.ClassOf(err) != batch.NotSetUp || batch.HintOf(err) == "" {
		t.Errorf("got error %v, want one that says that the columns are not there", err)
	}
}

func TestColumnsOfOtherWidths(t *testing.T) {
	w := newWorld(t)
	w.table = w.typed(table.Identifier{"sales", "widths"}, iceberg.PrimitiveTypes.Int64, iceberg.PrimitiveTypes.Int32)
	w.apply(ordersQuery, reading("orders", 0, 0, 10), reading("orders", 1, 4, 9))
	w.insert(nil, row{"orders", 1 << 30, 3})
	load := func(ctx context.Context) (*table.Table, error) {
		return w.catalog.LoadTable(ctx, table.Identifier{"sales", "widths"})
	}
	r, err := verify.Table(t.Context(), load, w.whole())
	must(t, err)
	wantOnly(t, r, verify.UnexpectedRows)
	if p := wantProblem(t, r, verify.UnexpectedRows); *p.Partition != 1<<30 || r.Rows != 16 || len(p.Files) != 1 {
		t.Errorf("got partition %d unexpected of %d rows in %v, want the one odd row of 16", *p.Partition, r.Rows, p.Files)
	}
}

func TestATableWithoutSnapshotOrLedger(t *testing.T) {
	w := newWorld(t)
	r := w.verify(verify.Options{})
	wantOK(t, r)
	wantVerdict(t, r, verify.Unproven)
	wantLimit(t, r, verify.NoLedger)
	w.query(ordersQuery)
	r = w.verify(w.whole())
	wantOK(t, r)
	if r.Batches != 0 || len(r.Notes) != 1 {
		t.Errorf("got %d batches and notes %v, want none and a note", r.Batches, r.Notes)
	}
	w.insert(nil, rowsOf("orders", 0, 0, 10)...)
	r = w.verify(w.whole())
	wantVerdict(t, r, verify.Unproven)
	if r.ForeignRows != 10 || r.Foreign["orders"] != 10 {
		t.Errorf("got %d foreign rows, want 10", r.ForeignRows)
	}
}

func TestTheSameFileAddedTwiceIsADuplicate(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.change(func(tx *table.Transaction) error {
		return tx.AddFiles(t.Context(), w.paths(), nil, true)
	})
	r := w.verify(w.whole())
	wantOnly(t, r, verify.FileTwice, verify.DuplicateRows)
	if p := wantProblem(t, r, verify.FileTwice); p.Count != 100 || len(p.Files) != 1 {
		t.Errorf("got %+v, want the one file with its 100 rows", p)
	}
	if p := wantProblem(t, r, verify.DuplicateRows); p.Count != 100 || !slices.Equal(p.Offsets, []verify.Span{{From: 0, Until: 100}}) {
		t.Errorf("got %d duplicates at %v, want 100 at 0-99", p.Count, p.Offsets)
	}
	if r.Duplicates != 100 || r.Missing != 0 || r.Unexpected != 0 || r.Rows != 200 {
		t.Errorf("got %d duplicates, %d missing, %d unexpected of %d rows, want 100, 0, 0 of 200", r.Duplicates, r.Missing, r.Unexpected, r.Rows)
	}
}

func TestTheSameOffsetsInTwoFilesAreDuplicatesWithBothFilesNamed(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.insert(iceberg.Properties{"sluice.query-id": ordersQuery, "sluice.batch-id": "0", "sluice.plan": "another"}, rowsOf("orders", 0, 40, 43)...)
	r := w.verify(w.whole())
	p := wantProblem(t, r, verify.DuplicateRows)
	if p.Count != 3 || !slices.Equal(p.Offsets, []verify.Span{{From: 40, Until: 43}}) {
		t.Errorf("got %d duplicates at %v, want 3 at 40-42", p.Count, p.Offsets)
	}
	if slices.Sort(p.Files); !slices.Equal(p.Files, w.paths()) {
		t.Errorf("got files %v, want %v", p.Files, w.paths())
	}
	wantProblem(t, r, verify.BatchTwice)
}

func TestManyCopiesOfARowAreAllCounted(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	for range 5 {
		w.insert(nil, row{"orders", 0, 3}, row{"orders", 0, 3})
	}
	if r := w.verify(w.whole()); r.Duplicates != 10 || r.Rows != 20 {
		t.Errorf("got %d duplicates of %d rows, want 10 of 20", r.Duplicates, r.Rows)
	}
}

func TestRowsOutsideTheLedgersRangesAreUnexpected(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 10, 100))
	w.insert(nil, row{"orders", 0, 9}, row{"orders", 0, 100}, row{"orders", 0, 101}, row{"orders", 0, -3}, row{"orders", 7, 55})
	r := w.verify(w.whole())
	wantOnly(t, r, verify.UnexpectedRows)
	p := wantProblem(t, r, verify.UnexpectedRows)
	if p.Count != 4 || !slices.Equal(p.Offsets, []verify.Span{{From: 9, Until: 10}, {From: 100, Until: 102}, {From: -3, Until: -2}}) {
		t.Errorf("got %d unexpected rows at %v, want 4 at 9, 100-101 and -3", p.Count, p.Offsets)
	}
	if len(p.Files) != 1 || !strings.Contains(p.Evidence, "(append") {
		t.Errorf("got files %v and evidence %q, want the file and the snapshot that added it", p.Files, p.Evidence)
	}
	if r.Unexpected != 5 || r.Missing != 0 || len(r.Partitions) != 2 {
		t.Errorf("got %d unexpected, %d missing in %d partitions, want 5, 0 in 2", r.Unexpected, r.Missing, len(r.Partitions))
	}
}

func TestRowsOfForeignTopicsAreReportedApart(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.insert(nil, rowsOf("payments", 0, 0, 4)...)
	w.insert(nil, rowsOf("payments", 0, 0, 4)...)
	r := w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	if r.ForeignRows != 8 || r.Foreign["payments"] != 8 || r.Rows != 10 {
		t.Errorf("got %d foreign rows (%v) and %d rows, want 8 of payments and 10", r.ForeignRows, r.Foreign, r.Rows)
	}
}

func TestARowMissingInTheMiddle(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, part{Range: reading("orders", 0, 0, 100).Range, gaps: []int64{17}})
	wantVerdict(t, w.verify(w.whole()), verify.Proved) // a gap of Kafka's is no fault
	w.kafka.add(orders0, 17)

	// Kafka has the record and the ledger never counted it: the source alone tells.
	alone := w.verify(w.withCheckpoint(ordersQuery))
	wantOK(t, alone)
	wantLimit(t, alone, verify.NoSource)
	p := wantProblem(t, w.verify(w.whole()), verify.MissingRows)
	if p.Count != 1 || p.Among || !slices.Equal(p.Offsets, []verify.Span{{From: 17, Until: 18}}) {
		t.Errorf("got %d missing at %v (among: %v), want exactly offset 17", p.Count, p.Offsets, p.Among)
	}
}

func TestARowMissingThatTheLedgerCounted(t *testing.T) {
	w := newWorld(t)
	plan := w.plan(ordersQuery, reading("orders", 0, 0, 100))
	piece := batch.PieceResult{Piece: batch.Piece{Topic: "orders", Until: 100}, Rows: 98}
	rows := append(rowsOf("orders", 0, 0, 20), rowsOf("orders", 0, 23, 100)...) // 97: one of 20, 21 and 22 is lost
	w.commit(ordersQuery, plan, rows, batch.TaskResult{Pieces: []batch.PieceResult{piece}})
	w.query(ordersQuery).log.Commit = 0
	p := wantProblem(t, w.verify(w.withCheckpoint(ordersQuery)), verify.MissingRows)
	if p.Count != 1 || !p.Among || !slices.Equal(p.Offsets, []verify.Span{{From: 20, Until: 23}}) {
		t.Errorf("got %d missing among %v (among: %v), want 1 among 20-22", p.Count, p.Offsets, p.Among)
	}
	for o := range int64(100) {
		if o != 20 && o != 22 {
			w.kafka.add(orders0, o)
		}
	}
	p = wantProblem(t, w.verify(w.whole()), verify.MissingRows)
	if p.Count != 1 || p.Among || !slices.Equal(p.Offsets, []verify.Span{{From: 21, Until: 22}}) {
		t.Errorf("got %d missing at %v (among: %v), want exactly 21", p.Count, p.Offsets, p.Among)
	}
}

func TestDeadLettersAreAllowedByCountAlone(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, part{Range: reading("orders", 0, 0, 50).Range, dead: []int64{5, 6}})
	r := w.verify(w.whole())
	wantOK(t, r)
	wantVerdict(t, r, verify.Proved)
	wantLimit(t, r, verify.DeadLettersOnly)
	if r.DeadLetters != 2 || r.Partitions[0].Kafka.Absent != 2 {
		t.Errorf("got %d dead letters and %d records absent, want 2 and 2", r.DeadLetters, r.Partitions[0].Kafka.Absent)
	}
	w.forge(ordersQuery, func(l *batch.Ledger) { // a dead letter fewer is a record more that is lost
		a := l.Accounts[orders0]
		a.DeadLetters = 1
		l.Accounts[orders0] = a
	})
	p := wantProblem(t, w.verify(w.whole()), verify.MissingRows)
	if p.Count != 1 || !p.Among {
		t.Errorf("got %d missing (among: %v), want 1 among the two records without a row", p.Count, p.Among)
	}
}

func TestWhatExpiredInKafkaIsSaidNotGuessed(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.kafka.retain(orders0, 60)
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if l := wantLimit(t, r, verify.Expired); !strings.Contains(l.What, "[0,60)") {
		t.Errorf("got limit %s, want it to name [0,60)", l)
	}
	if k := r.Partitions[0].Kafka; k.From != 60 || k.Records != 40 {
		t.Errorf("got %+v of Kafka, want 40 records from 60 on", k)
	}
	wantCompared(t, r, orders0, 40, 100)
	w.kafka.view.Partitions[orders0] = offsets.Bounds{Start: 60, End: 90, HighWatermark: 90}
	wantLimit(t, w.verify(w.whole()), verify.NotInKafka)
	w.kafka.view.TopicIDs["orders"] = "created again"
	wantLimit(t, w.verify(w.whole()), verify.Recreated)
	delete(w.kafka.view.Partitions, orders0)
	r = w.verify(w.whole())
	wantOK(t, r)
	wantLimit(t, r, verify.Expired)
	wantCompared(t, r, orders0, 0, 100)
}

func TestCompactedRecordsAreNoProblem(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	delete(w.kafka.records[orders0], 4)
	r := w.verify(w.whole())
	wantOK(t, r)
	wantLimit(t, r, verify.NotInKafka)
	if n := r.Partitions[0].Kafka.NotThere; n != 1 {
		t.Errorf("got %d rows without a record, want 1", n)
	}
}

func TestTwoQueriesInOneTable(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 50))
	w.apply(ordersQuery, reading("orders", 0, 50, 100))
	w.apply(backfill, reading("orders", 0, 100, 120), reading("orders", 1, 0, 10))
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Proved)
	if hasLimit(r, verify.SharedPartitions) {
		t.Errorf("got limits %v, want none of shared offsets: the second query began where the first had ended", r.CannotProve)
	}
	if len(r.Queries) != 2 || r.Batches != 3 || r.Rows != 130 {
		t.Errorf("got %d queries, %d batches of both, %d rows, want 2, 3, 130", len(r.Queries), r.Batches, r.Rows)
	}
	w.insert(nil, row{"orders", 0, 10}, row{"orders", 0, 110})
	p := wantProblem(t, w.verify(w.whole()), verify.DuplicateRows)
	if p.Count != 2 || !slices.Equal(p.Offsets, []verify.Span{{From: 10, Until: 11}, {From: 110, Until: 111}}) {
		t.Errorf("got %d duplicates at %v, want 10 and 110 a second time", p.Count, p.Offsets)
	}
}

// Each query is right by itself, and whoever reads the table sees records twice.
func TestRecordsThatTwoQueriesReadIntoOneTableAreTold(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	w.apply(backfill, reading("orders", 0, 50, 80), reading("orders", 1, 0, 10))
	r := w.verify(w.whole())
	wantVerdict(t, r, verify.Broken)
	wantOnly(t, r, verify.ReadTwice)
	p := wantProblem(t, r, verify.ReadTwice)
	if p.Count != 30 || *p.Partition != 0 || !slices.Equal(p.Offsets, []verify.Span{{From: 50, Until: 80}}) {
		t.Errorf("got %d rows at %v of partition %d, want 50 to 79 of partition 0", p.Count, p.Offsets, *p.Partition)
	}
	for _, part := range []string{ordersQuery, backfill, "orders-1", "orders-2", "[0,100)", "[50,80)"} {
		if !strings.Contains(p.Evidence, part) {
			t.Errorf("the evidence does not name %s: %s", part, p.Evidence)
		}
	}
	if l := wantLimit(t, r, verify.SharedPartitions); !strings.Contains(l.Why, "1 partition, the first orders-0") {
		t.Errorf("got limit %s, want the one partition whose offsets both have read", l)
	}
	if r.ReadTwice != 30 || r.Partitions[0].ReadTwice != 30 || r.Partitions[1].ReadTwice != 0 {
		t.Errorf("got %d rows read twice, %d and %d of the partitions, want 30 of the first", r.ReadTwice, r.Partitions[0].ReadTwice, r.Partitions[1].ReadTwice)
	}
	if r.Duplicates != 0 || r.Batches != 2 || r.Partitions[0].Verdict != verify.Broken || r.Partitions[1].Verdict != verify.Proved {
		t.Errorf("got %d duplicates, %d batches, verdicts %s and %s, want 0, 2, broken, proved", r.Duplicates, r.Batches, r.Partitions[0].Verdict, r.Partitions[1].Verdict)
	}
	w.insert(nil, row{"orders", 0, 60})
	r = w.verify(w.whole())
	if p := wantProblem(t, r, verify.ReadTwice); p.Count != 30 {
		t.Errorf("got %d rows, want the 30 that queries account for", p.Count)
	}
	if p := wantProblem(t, r, verify.DuplicateRows); p.Count != 1 {
		t.Errorf("got %d duplicates, want the one that nobody accounts for", p.Count)
	}
	w.deleteOffsets(50, 80) // somebody cleans up: all copies of these
	wantOnly(t, w.verify(w.whole()))
}

func TestTopicsOfOneNameInTwoClustersAreNotTheSameRecords(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.apply(backfill, reading("orders", 0, 0, 10))
	w.query(backfill).ledger.TopicIDs = map[string]string{"orders": "id in another cluster"}
	w.forge(backfill, func(*batch.Ledger) {})
	wantOnly(t, w.verify(w.withCheckpoint(ordersQuery)))
	w.query(backfill).ledger.TopicIDs = map[string]string{} // a broker without topic ids
	w.forge(backfill, func(*batch.Ledger) {})
	wantProblem(t, w.verify(w.withCheckpoint(ordersQuery)), verify.ReadTwice)
}

func TestARowThatOnlyOneOfTwoQueriesWroteIsMissing(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	plan := w.plan(backfill, reading("orders", 0, 0, 10))
	piece := batch.PieceResult{Piece: batch.Piece{Topic: "orders", Until: 10}, Rows: 10}
	w.commit(backfill, plan, rowsOf("orders", 0, 0, 9), batch.TaskResult{Pieces: []batch.PieceResult{piece}})
	p := wantProblem(t, w.verify(w.whole()), verify.MissingRows)
	if p.Count != 1 || p.Query != "" || !slices.Equal(p.Offsets, []verify.Span{{From: 9, Until: 10}}) {
		t.Errorf("got %d missing of query %q at %v, want the second copy of 9, of a query that cannot be told", p.Count, p.Query, p.Offsets)
	}
}

func TestRowsWithoutAPlaceAreNotJudged(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	w.change(func(tx *table.Transaction) error {
		return tx.UpdateSchema(true, false).RenameColumn([]string{"topic"}, "old_topic").AddColumn([]string{"topic"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit()
	})
	r := w.verify(w.whole())
	if r.ForeignRows != 10 || len(r.Notes) == 0 {
		t.Errorf("got %d foreign rows and notes %v, want 10 rows without a topic and a note", r.ForeignRows, r.Notes)
	}
	wantProblem(t, r, verify.MissingRows)
}

func TestErrorsOfWitnessesAreErrors(t *testing.T) {
	w := newWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 10))
	broken := errors.New("no answer")
	o := w.whole()
	o.Checkpoint = func(context.Context) (*batch.LogState, error) { return nil, broken }
	if _, err := verify.Table(t.Context(), w.load, o); !errors.Is(err, broken) {
		t.Errorf("got error %v of a checkpoint that does not answer, want %v", err, broken)
	}
	o = w.whole()
	o.Source = silent{broken}
	if _, err := verify.Table(t.Context(), w.load, o); !errors.Is(err, broken) {
		t.Errorf("got error %v of a Kafka that does not answer, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o = w.withCheckpoint(ordersQuery)
	o.Advanced = func(_, _ int64) { cancel() }
	if _, err := verify.Table(ctx, w.load, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want the cancellation", err)
	}
}

type silent struct{ err error }

func (s silent) View(context.Context, []offsets.TopicPartition) (*offsets.View, error) {
	return nil, s.err
}
func (s silent) Offsets(context.Context, offsets.Range, func([]int64) error) error { return s.err }
