package lakesink

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// After the end of the grace the table is asked once more, and no longer waited for.
func TestTheEndOfTheGraceEndsTheAsking(t *testing.T) {
	for name, c := range map[string]struct {
		cancelled bool
		asked     int
	}{"while it lasts": {false, reloads}, "at its end": {true, 1}} {
		_, catalog := newTable(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		broken, asked := breakCommit(catalog, laketest.AnswerLost), 0
		broken.FailLoad = func() error {
			if !broken.Script.Broke() {
				return nil
			}
			if asked++; c.cancelled {
				cancel()
			}
			return errors.New("the catalog is gone")
		}
		s := newSink(broken)
		results, err := execute(ctx, s, queryID, planN(0))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Commit(ctx, commitOf(newSink(catalog), queryID, planN(0), results))
		wantClass(t, err, batch.UnknownOutcome, "may or may not be")
		if asked != c.asked {
			t.Errorf("%s: the table was asked for %d times after the offer, want %d", name, asked, c.asked)
		}
	}
}

// refusing is a catalog that another writer is always faster at.
type refusing struct{ catalog.Catalog }

var errMoved = fmt.Errorf("%w: main has moved to snapshot 17", table.ErrCommitFailed)

func (r refusing) CommitTable(context.Context, table.Identifier, []table.Requirement, []table.Update) (table.Metadata, string, error) {
	return nil, "", errMoved
}

// Where the table asks for retries, the library says only that it may not try again; what the catalog said is what somebody has to know.
func TestARefusedCommitTellsTheCatalogsOwnAnswer(t *testing.T) {
	_, c := newTable(t)
	change(t, c, setProperties(map[string]string{"commit.retry.num-retries": "2", "commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "1"}))
	o := testOptions()
	o.Attempts = 2
	_, err := apply(New(refusing{c}, o), queryID, planN(0))
	wantClass(t, err, batch.Failed, "not accepted in 2 attempts", "main has moved to snapshot 17")
	if !errors.Is(err, errMoved) || errors.Is(err, errNoReplay) {
		t.Errorf("got %v, want the catalog's answer and not the fence's", err)
	}
}
