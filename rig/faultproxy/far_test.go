package faultproxy

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// No answer comes before a round trip is over, however many are asked for at once, and every broker is as far away.
func TestAFarKafkaAnswersAfterARoundTrip(t *testing.T) {
	const away = 20 * time.Millisecond
	k, client := behindOne(t, func(target string) (*Kafka, error) { return NewFarKafka(target, away) })
	for partition := range int32(4) {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var asking errgroup.Group
	for range 20 {
		asking.Go(func() error {
			began := time.Now()
			got, err := ends(t, t.Context(), client)
			if took := time.Since(began); err == nil && (!slices.Equal(got, []int64{1, 1, 1, 1}) || took < 4*away) {
				t.Errorf("got %v after %s, want one record each after four round trips", got, took)
			}
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(k.doors) != 2 {
		t.Errorf("%d brokers were reached through the proxy, want 2", len(k.doors))
	}
}
