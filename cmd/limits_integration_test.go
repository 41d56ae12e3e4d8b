//go:build integration && linux

package cmd_test

import "testing"

func TestRunsAndBatchesOfARealBrokerKeepTheirLimits(t *testing.T) {
	t.Parallel()
	k, topic, _ := realTopics(t)
	wantLimits(t, k, topic)
}
