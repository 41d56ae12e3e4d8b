package cmd

import (
	"context"
	"fmt"
	"time"

	"sluice/runner"
)

// mirror is the group that is shown where the query is, nil where the job names none.
func (p *pipeline) mirror() runner.Mirror {
	if p.source == nil || p.job.Source.ConsumerGroup == "" {
		return nil
	}
	return p.source.Mirror(p.job.Source.ConsumerGroup)
}

// groupWait is how long validate asks about a consumer group.
const groupWait = 10 * time.Second

// checkGroup asks what can be told of a group without committing to it.
func (l *pipeline) checkGroup(ctx context.Context, group string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, groupWait)
	defer cancel()
	return fmt.Sprintf("group %s has no members, and is shown the offsets of each batch", group), l.source.Mirror(group).Check(ctx)
}
