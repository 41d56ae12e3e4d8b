package kafkasrc

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"sluice/rig/faultproxy"
)

// A question that is not answered, for a broker hangs or packets are lost, is over after
// request.timeout.ms and is asked again, whatever it is about. franz-go adds half a minute to that for offsets, unless told otherwise
// (KIP-1075), which took all the time that there was.
func TestABrokerThatHangsIsAskedAgain(t *testing.T) {
	for _, verb := range []string{"ListOffsets", "Metadata", "Fetch", "ApiVersions"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, kfake.SeedTopics(2, "orders"))
			b.produce(t, "orders", 0, 10)
			proxy, err := faultproxy.NewKafka(b.ListenAddrs()[0])
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			proxy.Follow(faultproxy.Nth(1, faultproxy.Silence(false).Of(verb)))
			options := b.options(topics("orders"))
			options.Client["bootstrap.servers"] = proxy.Addr
			options.Client["request.timeout.ms"] = "100"
			s := mustOpen(t, options)
			wantOffsets(t, mustDrain(t, read(t, s, pieceNow(t, s, "orders"))), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			if len(proxy.Dealt()) != 1 {
				t.Errorf("dealt %v, want one silence", proxy.Dealt())
			}
		})
	}
}

// A cluster of which one broker hangs is opened, and asked about its topics, by way of the others.
func TestABrokerThatHangsIsNotWaitedForWhileOthersAnswer(t *testing.T) {
	var asked atomic.Int32
	got, err := hedged(t.Context(), 3, time.Millisecond, func(ctx context.Context) (int32, error) {
		n := asked.Add(1)
		if n < 3 {
			<-ctx.Done() // hangs
		}
		return n, ctx.Err()
	})
	if got != 3 || err != nil {
		t.Errorf("got %d, %v, want the third answer", got, err)
	}
}

// What one broker refuses the others are not asked, unless they were already: then the first answer counts.
func TestAQuickNoIsFinalAndALateOneIsNot(t *testing.T) {
	no := errors.New("no")
	var asked atomic.Int32
	_, err := hedged(t.Context(), 3, time.Hour, func(context.Context) (int32, error) { return asked.Add(1), no })
	if !errors.Is(err, no) || asked.Load() != 1 {
		t.Errorf("got %v of %d brokers, want a no of one", err, asked.Load())
	}
	begun := make(chan struct{})
	asked.Store(0)
	got, err := hedged(t.Context(), 2, time.Millisecond, func(context.Context) (int32, error) {
		if n := asked.Add(1); n == 2 {
			close(begun)
			return n, nil
		}
		<-begun
		return 1, no
	})
	if got != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", got, err)
	}
}
