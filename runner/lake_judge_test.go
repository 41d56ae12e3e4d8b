package runner_test

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/lakesink"
	"sluice/offsets"
	"sluice/verify"
)

// verify asks the judge, with the checkpoint and Kafka as witnesses.
func (w *lakeWorld) verify(ctx context.Context) (*verify.Report, error) {
	log := checkpoint.NewLog(w.store)
	id, err := log.Query(ctx)
	if err != nil {
		return nil, err
	}
	identity, err := log.Identity(ctx)
	if err != nil {
		return nil, err
	}
	letters := w.letterTables(identity)
	if err := deadTables(ctx, w.dead, identity, letters); err != nil {
		return nil, err
	}
	return verify.Table(ctx, lakesink.New(w.catalog, lakesink.Options{Table: "db.orders", Branch: w.branch}).Load,
		verify.Options{Query: id, Branch: w.branch, Checkpoint: log.Last, Identity: identity, Source: witness{w.kafka}, DeadLetters: letters})
}

// judge asks verify, and compares the count with what was produced.
func (w *lakeWorld) judge(ctx context.Context) error {
	report, err := w.verify(ctx)
	if err != nil {
		return err
	}
	if !report.OK {
		return fmt.Errorf("verify: %v", report.Problems)
	}
	produced := int64(0)
	for _, records := range w.kafka.records {
		produced += int64(len(records))
	}
	if report.Rows+report.Dropped+report.DeadLettersFound != produced+report.Replayed {
		return fmt.Errorf("the table has %d rows (%d of them replayed), %d records were dropped, %d are dead letters, %d were produced", report.Rows, report.Replayed, report.Dropped, report.DeadLettersFound, produced)
	}
	if report.DeadLettersFound > 0 && report.Verdict != verify.Proved {
		return fmt.Errorf("verify: %s: %v", report.Verdict, report.CannotProve)
	}
	return nil
}

func (w *lakeWorld) letterTables(identity *batch.Identity) map[string]func(context.Context) (*table.Table, error) {
	tables := map[string]func(context.Context) (*table.Table, error){}
	for _, name := range verify.LetterTables(identity) {
		tables[name] = func(ctx context.Context) (*table.Table, error) {
			return w.catalog.LoadTable(ctx, catalog.ToIdentifier(name))
		}
	}
	return tables
}

// witness is the fake Kafka as the judge asks it.
type witness struct{ *kafka }

func (w witness) View(context.Context, []offsets.TopicPartition) (*offsets.View, error) {
	return w.view(), nil
}

func (w witness) Offsets(_ context.Context, r offsets.Range, found func([]int64) error) error {
	for _, o := range w.records[r.Partition] {
		if o >= max(r.From, w.start[r.Partition]) && o < r.Until {
			if err := found([]int64{o}); err != nil {
				return err
			}
		}
	}
	return nil
}
