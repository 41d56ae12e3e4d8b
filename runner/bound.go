package runner

import (
	"context"
	"fmt"
	"maps"

	"sluice/batch"
	"sluice/offsets"
	"sluice/progress"
)

// Bound says where runs end at the latest, nil if nothing does: the first offset that is not read, by partition. One that is
// missing in it ends where its log does. view is what the partitions hold now, known where the query stands.
type Bound func(ctx context.Context, isolation batch.Isolation, view *offsets.View, known offsets.Offsets) (offsets.Offsets, error)

// within is the view of a run that ends at bound: what comes after it is not there, neither as backlog nor as loss. Where the
// query has read beyond it already, that is where it ends.
func within(view *offsets.View, bound, reached offsets.Offsets) *offsets.View {
	if len(bound) == 0 {
		return view
	}
	inside := *view
	inside.Partitions = maps.Clone(view.Partitions)
	for tp, b := range inside.Partitions {
		until, bounded := bound[tp]
		if !bounded {
			continue
		}
		until = max(until, reached[tp])
		b.Start, b.End, b.HighWatermark = min(b.Start, until), min(b.End, until), min(b.HighWatermark, until)
		inside.Partitions[tp] = b
	}
	return &inside
}

// confine makes inside what there is of the view up to the bound, or up to reached where that is beyond it.
func (r *run) confine(ctx context.Context, reached offsets.Offsets) (err error) {
	r.inside = r.view
	if r.Bound != nil && r.bound == nil {
		r.bound, err = r.Bound(ctx, r.Isolation, r.view, reached)
	}
	if err == nil {
		r.inside = within(r.view, r.bound, reached)
	}
	return err
}

// checkBound refuses to begin a partition behind where reading is to end: nothing of it would ever be read. Where the query has
// read beyond it already, a person has set it later, or lower, and is told.
func (r *run) checkBound(reached offsets.Offsets, begins bool) error {
	var behind, beyond []string
	start, _ := positions(reached, r.view)
	for _, tp := range start.Partitions() {
		until, bounded := r.bound[tp]
		if !bounded || start[tp] <= until {
			continue
		}
		text := fmt.Sprintf("%s is at %d, the end at %d", tp, start[tp], until)
		if _, known := reached[tp]; begins || !known {
			behind = append(behind, text)
		} else {
			beyond = append(beyond, text)
		}
	}
	if len(behind) > 0 {
		return &batch.Fault{Class: batch.NotSetUp, Message: "reading would begin after its end: " + list(behind),
			Hint: "correct source.endingOffsets (or endingTimestamp, endingOffsetsByTimestamp), or where the query begins; nothing was read or changed"}
	}
	if len(beyond) > 0 {
		r.Reporter.Warning("the query has read beyond the end that the job gives; nothing more is read there, and what was read stays", "partitions", list(beyond))
	}
	return nil
}

// mayBegin looks at the bound of a query that has read nothing, before anything is written.
func (r *run) mayBegin(ctx context.Context) (err error) {
	if r.Bound == nil {
		return nil
	}
	if r.view, err = r.Source.View(ctx, r.Isolation, nil); err != nil {
		return err
	}
	if err := r.confine(ctx, r.start); err != nil {
		return err
	}
	err = r.checkBound(r.start, true)
	r.view, r.bound = nil, nil
	return err
}

// atBound says how the run stands to its bound; nil if it has none.
func (r *run) atBound(reached offsets.Offsets) *progress.Bound {
	if r.Bound == nil || r.bound == nil {
		return nil
	}
	at := &progress.Bound{}
	for _, tp := range r.bound.Partitions() {
		if reached[tp] < r.bound[tp] {
			at.Ahead++
		}
	}
	at.Reached = at.Ahead == 0 && lag(reached, r.inside) == 0
	return at
}
