//go:build integration && linux

package cmd_test

import (
	"testing"

	"sluice/rig"
)

// realTopics is a real broker with two topics of the test's own.
func realTopics(t testing.TB) (k *kafka, topic, other string) {
	t.Helper()
	b := rig.Kafka(t)
	k = connected(t, b.Addr)
	k.dropTopic = func(t testing.TB, topic string) { t.Helper(); b.DeleteTopic(t, topic) }
	k.makeTopic = func(t testing.TB, topic string, partitions int) {
		t.Helper()
		b.CreateNamedTopic(t, topic, partitions, nil)
	}
	return k, b.CreateTopic(t, 2, nil), b.CreateTopic(t, 2, nil)
}

// What a real broker may have lost, and its ids of topics.
func TestALossOfARealBrokerStopsARunUnlessTheJobAllowsIt(t *testing.T) {
	t.Parallel()
	wantMatrix(t, lossMatrix, realTopics)
}
