package cmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Brokers before Kafka 2.8 know no ids of topics (KIP-516), and those before 2.3 tell none but brokers where a leader epoch ends (KIP-320):
// a run that cannot be told says so, once. https://github.com/open-telemetry/opentelemetry-collector-contrib/issues/42226
func TestWhatBrokersAreTooOldToTellIsSaidOnce(t *testing.T) {
	t.Parallel()
	const ids, epochs = "too old to tell topics by an id (KIP-516)", "too old to tell where a leader epoch ends (KIP-320)"
	for name, c := range map[string]struct {
		version *kversion.Versions
		says    []string
	}{
		"2.7":      {kversion.V2_7_0(), []string{ids}},
		"2.2":      {kversion.V2_2_0(), []string{ids, epochs}},
		"of today": {kversion.Stable(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.MaxVersions(c.version))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			k := connected(t, cluster.ListenAddrs()[0])
			p := newPipeline(t, k)
			k.fill(t, "orders", 20, 0, 1)
			p.run(t)
			for n := range 2 { // no more often than once a run, however many batches that has
				k.fill(t, "orders", 20, 0, 1)
				cluster.ShufflePartitionLeaders() // begins an epoch
				k.connect(t)
				o := p.run(t, "--max-offsets-per-trigger", "10").has("summary", "batches", 4)
				for _, notice := range []string{ids, epochs} {
					want := 0
					if slices.Contains(c.says, notice) {
						want = 1
					}
					if got := strings.Count(o.stderr, notice); got != want {
						t.Errorf("run %d: got %q %d times, want %d\n%s", n, notice, got, want, o.stderr)
					}
				}
			}
		})
	}
}
