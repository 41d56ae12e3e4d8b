package cmd

import (
	"context"
	"fmt"

	"sluice/batch"
	"sluice/lakesink"
	"sluice/progress"
)

// letterRows says which dead letters are rows now. Its zero value knows of none.
type letterRows struct {
	// known says that the table of the rows was asked, and newest is its newest batch of the query.
	known  bool
	newest int64
	there  lakesink.Places
}

func (r *letterRows) has(l *lakesink.Letter) bool { return r.there.Has(l.TopicPartition, l.Offset) }

// unfinished says that the batch of a dead letter is not in the table of the rows yet.
func (r *letterRows) unfinished(l *lakesink.Letter) bool { return r.known && l.Batch > r.newest }

func (r *letterRows) placeOf(table string, l *lakesink.Letter) progress.DeadLetterPlace {
	at := progress.DeadLetterPlace{Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, Reason: l.Class, Error: l.Error, Batch: l.Batch, Table: table}
	if r.known {
		replayed := r.has(l)
		at.Replayed = &replayed
	}
	return at
}

// letterRows finds which of the dead letters that among gives are rows. The table's ledger says of which partitions any
// are, so that most queries search nothing. A table that does not tell is no error: the dead letters themselves are worth
// having, and stderr says what is not known.
func (p *process) letterRows(ctx context.Context, line *pipeline, of *letterSet, among func() (lakesink.Places, error)) (*letterRows, error) {
	rows := &letterRows{}
	t, err := line.sink.Table(ctx, of.shown.QueryID)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err == nil && t.Applied.Ledger == nil:
		err = fmt.Errorf("table %s has no batch of this query", line.sink.TableName())
	case err == nil:
		rows.known, rows.newest = true, t.Applied.Batch
		if !replayedAny(t.Applied.Ledger) {
			return rows, nil
		}
		var wanted lakesink.Places
		if wanted, err = among(); err != nil {
			return nil, err
		}
		rows.there, err = line.sink.Replayed(ctx, of.shown.QueryID, wanted)
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "sluice: which of the dead letters are rows now cannot be told: %v\n", err)
		return &letterRows{}, nil
	}
	return rows, nil
}

func replayedAny(ledger *batch.Ledger) bool {
	for _, a := range ledger.Accounts {
		if a.Replayed > 0 {
			return true
		}
	}
	return false
}
