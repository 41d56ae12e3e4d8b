package lakesink

import "context"

// place finds where the dead letters are that the ledger counts: those of batches which are not in the table of the rows
// yet belong to a run.
func (r *replay) place(ctx context.Context, newest int64) error {
	r.all, r.exact, r.newest = Places{}, Places{}, newest
	err := r.inTables(ctx, LetterPlaces, func(l *Letter) error {
		r.all.Add(l.TopicPartition, l.Offset)
		r.exact.Add(l.TopicPartition, l.Offset)
		return nil
	})
	if err != nil {
		return err
	}
	return r.elsewhere(ctx, func(l *Letter) error {
		r.all.Add(l.TopicPartition, l.Offset)
		return nil
	})
}

// each visits the query's dead letters, wherever they are.
func (r *replay) each(ctx context.Context, parts LetterParts, visit func(*Letter) error) error {
	if err := r.inTables(ctx, parts, visit); err != nil {
		return err
	}
	return r.elsewhere(ctx, visit)
}

// elsewhere visits those that are in no table.
func (r *replay) elsewhere(ctx context.Context, visit func(*Letter) error) error {
	if r.options.Others == nil {
		return nil
	}
	return r.options.Others(ctx, func(l *Letter) error {
		if l.Query != r.options.Query || l.Batch > r.newest {
			return nil
		}
		return visit(l)
	})
}

// inTables visits the query's dead letters in all tables.
func (r *replay) inTables(ctx context.Context, parts LetterParts, visit func(*Letter) error) error {
	for _, from := range r.from {
		t, err := from.Load(ctx)
		if isMissing(err) {
			continue // a run that needs it says so; what is gone cannot be replayed
		}
		if err != nil {
			return err
		}
		if err := sameTable(r.options.UUIDs[from.TableName()], from.TableName(), t); err != nil {
			return err
		}
		err = lettersOf(ctx, from.TableName(), t, parts, func(l *Letter) (bool, error) {
			if l.Query != r.options.Query || l.Batch > r.newest {
				return true, nil
			}
			return true, visit(l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
