package kafkasrc

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

func TestAReaderTellsWhatItWaitsFor(t *testing.T) {
	b := tenOrders(t)
	options := b.options(topics("orders"))
	options.Limits.NoProgress, options.Limits.Telling = 20*time.Millisecond, time.Nanosecond
	s := mustOpen(t, options)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.NotLeaderForPartition, Count: -1})
	r := read(t, s, b.piece(t, "orders", 0, 5, 10))
	var told []Wait
	r.OnWait(func(w Wait) { told = append(told, w) })
	_, err := drain(r)
	wantFault(t, err, batch.Failed, "no progress reading orders-0")
	if len(told) == 0 {
		t.Fatal("nobody was told")
	}
	for i, w := range told {
		if w.TopicPartition.String() != "orders-0" || w.Offset != 5 || w.Patience != 20*time.Millisecond || !errors.Is(w.Err, kerr.NotLeaderForPartition) {
			t.Errorf("got %+v", w)
		}
		if i > 0 && w.Waited <= told[i-1].Waited {
			t.Errorf("got %v after %v", w.Waited, told[i-1].Waited)
		}
	}
}

func TestAReaderThatGetsOnTellsNobody(t *testing.T) {
	b := tenOrders(t)
	s := mustOpen(t, b.options(topics("orders")))
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.NotLeaderForPartition, Count: 3})
	r := read(t, s, b.piece(t, "orders", 0, 5, 10))
	r.OnWait(func(w Wait) { t.Errorf("told of %+v", w) })
	if _, err := drain(r); err != nil {
		t.Error(err)
	}
}
