package kafkasrc_test

import (
	"context"

	"sluice/batch"
	"sluice/kafkasrc"
	"sluice/runner"
)

// source is how cmd makes a runner.Source of a Source.
type source struct{ *kafkasrc.Source }

func (s source) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	return s.Source.Read(ctx, task)
}

var (
	_ runner.Source = source{}
	_ runner.Reader = (*kafkasrc.Reader)(nil)
)
