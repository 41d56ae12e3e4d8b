package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestOrdersAreDistinctValidJSONOfTheSizePromisedAndAlwaysTheSame(t *testing.T) {
	seen := map[string]bool{}
	total := 0
	var last time.Time
	for i := range 5000 {
		o := OrderOf(i)
		var fields struct {
			ID       string      `json:"order_id"`
			Customer string      `json:"customer_id"`
			Amount   json.Number `json:"amount"`
			Time     time.Time   `json:"event_time"`
			Address  struct{ City, Zip string }
			Items    []struct {
				SKU string
				Qty int
			}
		}
		if err := json.Unmarshal(o.Value, &fields); err != nil {
			t.Fatalf("order %d: %v: %s", i, err, o.Value)
		}
		if seen[fields.ID] || fields.Customer != o.Customer || !fields.Time.Equal(o.Time) || fields.Address.Zip == "" || len(fields.Items) == 0 || fields.Items[0].Qty == 0 {
			t.Fatalf("order %d: got %s", i, o.Value)
		}
		if amount, err := fields.Amount.Float64(); err != nil || amount <= 0 {
			t.Fatalf("order %d: got amount %s", i, fields.Amount)
		}
		if o.Time.Before(last) {
			t.Fatalf("order %d is from %s, before the one before it (%s)", i, o.Time, last)
		}
		if !bytes.Equal(OrderOf(i).Value, o.Value) {
			t.Fatalf("order %d is not the same twice", i)
		}
		seen[fields.ID], last = true, o.Time
		total += len(o.Value)
	}
	if mean := total / 5000; mean < 200 || mean > 300 {
		t.Errorf("got orders of %d bytes on average, want about 250", mean)
	}
}

func TestOrdersWithAMistakeOrAFieldMoreAreOtherwiseTheSame(t *testing.T) {
	wrong := 0
	for i := range 3000 {
		is, careless, channel := fields(t, OrderOf(i)), fields(t, Careless(i)), fields(t, WithChannel(i))
		if text, ok := careless["amount"].(string); ok {
			wrong++
			if text != strconv.FormatFloat(is["amount"].(float64), 'f', 2, 64) {
				t.Errorf("order %d: got amount %q, want %v", i, text, is["amount"])
			}
			careless["amount"] = is["amount"]
		}
		if channel["channel"] == "" || channel["channel"] == nil {
			t.Errorf("order %d has no channel", i)
		}
		delete(channel, "channel")
		if !reflect.DeepEqual(careless, is) || !reflect.DeepEqual(channel, is) {
			t.Fatalf("order %d: got %v and %v, want %v", i, careless, channel, is)
		}
	}
	if wrong != 2 {
		t.Errorf("got %d orders with a mistake, want 2", wrong)
	}
}

func fields(t *testing.T, o Order) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal(o.Value, &fields); err != nil {
		t.Fatalf("%v: %s", err, o.Value)
	}
	return fields
}

func TestTheBrokerHoldsTheOrdersThatArrivedInEveryPartition(t *testing.T) {
	b := started(t)
	for _, n := range []int{200, 100} {
		if err := b.Arrive(t.Context(), n, OrderOf); err != nil {
			t.Fatal(err)
		}
	}
	got, partitions := map[string]bool{}, map[int32]bool{}
	for _, r := range consume(t, b, 300) {
		got[string(r.Value)], partitions[r.Partition] = true, true
	}
	for i := range 300 {
		if !got[string(OrderOf(i).Value)] {
			t.Errorf("order %d is missing", i)
		}
	}
	if len(got) != 300 || len(partitions) != Partitions || b.Arrived() != 300 {
		t.Errorf("got %d orders in %d partitions, %d arrived, want 300, %d, 300", len(got), len(partitions), b.Arrived(), Partitions)
	}
}

func TestTheBrokerListensOnLoopbackOnly(t *testing.T) {
	host, _, err := net.SplitHostPort(started(t).Addr())
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		t.Errorf("got host %s, %v, want a loopback address", host, err)
	}
}

func TestOnFetchSeesRequestsUntilItHasSeenEnough(t *testing.T) {
	b := started(t)
	if err := b.Arrive(t.Context(), 10, OrderOf); err != nil {
		t.Fatal(err)
	}
	seen := 0
	b.OnFetch(func() bool { seen++; return seen < 2 })
	consume(t, b, 10)
	if err := b.Arrive(t.Context(), 10, OrderOf); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each client fetches at least once
		consume(t, b, 20)
	}
	b.Close() // the broker's goroutine, which counts, has ended
	if seen != 2 {
		t.Errorf("got %d calls, want 2", seen)
	}
}

func started(t *testing.T) *Broker {
	t.Helper()
	b, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// consume reads n records with a client of its own.
func consume(t *testing.T, b *Broker, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.Addr(), ",")...), kgo.ConsumeTopics(Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(records), n, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}
