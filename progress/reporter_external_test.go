package progress_test

import (
	"sluice/progress"
	"sluice/runner"
)

var _ runner.Reporter = (*progress.Reporter)(nil)
