package lakesink

import (
	"context"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

// rivalsFirst lets a rival commit before each of the first commits of ours.
func rivalsFirst(t testing.TB, c *laketest.Catalog, times int) (offers *int) {
	offers = new(int)
	c.BeforeCommit = func(table.Identifier) {
		if *offers++; *offers <= times {
			rival(t, c.Catalog, 1)
		}
	}
	return offers
}

// https://github.com/estuary/connectors/pull/4751: races that were lost used up the attempts that are there for refusals.
func TestRacesThatAreLostDoNotEndACommitAndRefusalsDo(t *testing.T) {
	_, c := newTable(t)
	wrapped := laketest.Wrap(c, &laketest.Script{})
	o := testOptions()
	o.Attempts = 1
	offers := rivalsFirst(t, wrapped, 5)
	if _, err := apply(New(wrapped, o), queryID, planN(0)); err != nil || *offers != 6 {
		t.Errorf("got %v after %d offers, want success with the sixth", err, *offers)
	}
	wantOffsets(t, c, 10, 5)

	offers = rivalsFirst(t, wrapped, 100)
	o.Races = 4
	_, err := apply(New(wrapped, o), queryID, planN(1))
	wantClass(t, err, batch.Failed, "not accepted in 4 attempts", "another writer was first 4 times")
	if *offers != 4 {
		t.Errorf("%d offers were made, want 4", *offers)
	}
	wantOffsets(t, c, 10, 9)
}

// What happens while a commit waits for its next try is seen before it: an offer that is made on what was read before the
// wait would be in vain.
func TestTheTableIsReadAgainAfterAWait(t *testing.T) {
	_, c := newTable(t)
	broken := breakCommit(c, laketest.NotApplied)
	offers := rivalsFirst(t, broken, 0)
	o := testOptions()
	o.Sleep = func(context.Context, time.Duration) error { rival(t, c, 1); return nil }
	if _, err := apply(New(broken, o), queryID, planN(0)); err != nil || *offers != 2 {
		t.Errorf("got %v after %d offers, want success with the second", err, *offers)
	}
	wantOffsets(t, c, 10, 1)
}

// The more are at it, the longer each offer takes, and the longer a loser keeps away.
func TestLosersKeepAwayInProportionToWhatAnOfferTakes(t *testing.T) {
	d := &deal{sink: New(nil, Options{Table: tableName, Backoff: func(int) time.Duration { return 2 * time.Second }})}
	for _, c := range []struct {
		races       int
		took        time.Duration
		least, most time.Duration
	}{
		{0, time.Hour, 2 * time.Second, 2 * time.Second},
		{1, 0, 2 * time.Second, 2 * time.Second},
		{1, time.Second, time.Second, 2 * time.Second},
		{3, 2 * time.Second, time.Second, 8 * time.Second},
		{50, time.Hour, time.Second, longestPause},
	} {
		d.races, d.took = c.races, c.took
		longest := time.Duration(0)
		for range 2000 {
			p := d.pause()
			if p < c.least || p > c.most {
				t.Fatalf("%+v: waits %s", c, p)
			}
			longest = max(longest, p)
		}
		if longest < c.most*4/5 && c.races != 1 {
			t.Errorf("%+v: waits %s at most", c, longest)
		}
	}
}
