//go:build integration && linux

package cmd_test

import "testing"

func TestAConsumerGroupOfARealBrokerIsShownWhatTheQueryHasReached(t *testing.T) {
	t.Parallel()
	k, topic, _ := realTopics(t)
	wantShown(t, k, topic)
}
