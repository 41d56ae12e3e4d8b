package lakesink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go/table"
)

// contest is a batch's competition with the table's other writers, those to other branches among them: sequence numbers are the
// table's. A race that was lost is no reason to give up: the
// one who won it is done, and every loser is one race nearer. What is refused while nobody else commits is another matter.
type contest struct {
	// races and refusals count the offers that were in vain: somebody else had committed, or nobody.
	races, refusals int
	// counted is how many offers have been looked at for that.
	counted int
	// took is how long the last offer took, from staging to the answer.
	took time.Duration
	// tired says that an offer was in vain since the last rest.
	tired bool
}

// moved counts the last offer, which was in vain, by what a reading after it shows.
func (d *deal) moved(t *table.Table) {
	if d.counted == len(d.offers) {
		return
	}
	d.counted = len(d.offers)
	if d.offers[d.counted-1].base != t.MetadataLocation() {
		d.races++
	} else {
		d.refusals++
	}
}

func (d *deal) gaveUp() bool {
	return d.refusals >= d.sink.options.Attempts || d.races >= d.sink.options.Races
}

// rest waits, and reads the table again: what was read before is old by then, and an offer that is made on it in vain.
func (d *deal) rest(ctx context.Context) (*table.Table, error) {
	d.tired = false
	if err := d.sink.options.Sleep(ctx, d.pause()); err != nil {
		return nil, errors.Join(d.giveUp(), err)
	}
	return d.reload(ctx)
}

// pause is how long to wait: as the sink does at this attempt, and where others are in the way some times as long as an offer
// takes. It takes long where many are at it on one host or one catalog, and these need the longer to get out of each other's
// way.
func (d *deal) pause() time.Duration {
	wait := d.sink.options.Backoff(len(d.offers))
	if spread := min(longestPause, d.took<<min(max(d.races, 1)-1, 4)); d.races > 0 && spread > 0 {
		wait = max(wait/2, rand.N(spread))
	}
	return wait
}

// longestPause bounds a wait however long offers take.
const longestPause = 30 * time.Second
