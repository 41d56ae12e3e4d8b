package cmd

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/offsets"
	"sluice/runner"
)

// bound is where the job's runs end at the latest, nil where the topics do.
func (p *pipeline) bound() runner.Bound {
	if s := &p.job.Source; p.source == nil || s.EndingOffsets == nil && s.EndingTimestamp.IsZero() && s.EndingOffsetsByTimestamp == nil {
		return nil
	}
	return func(ctx context.Context, isolation batch.Isolation, view *offsets.View, known offsets.Offsets) (offsets.Offsets, error) {
		return p.source.Bound(ctx, isolation, view, known, time.Now())
	}
}
