//go:build integration

package cmd_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// An embedded broker has no cleaner, and its markers are not those of a real one.
func TestPeekGoesBackOverTheGapsOfARealTopic(t *testing.T) {
	broker := rig.Kafka(t)
	compacted := broker.CreateTopic(t, 1, rig.Compacted())
	var updates []*kgo.Record
	for i := range 200 {
		updates = append(updates, &kgo.Record{Topic: compacted, Key: fmt.Append(nil, i/100), Value: fmt.Append(nil, i)})
	}
	broker.Produce(t, updates...)
	broker.Compact(t, compacted) // leaves 99 and 199, and a record of its own
	if got, want := places(peek(t, "--bootstrap-servers", broker.Addr, "--subscribe", compacted, "--limit", "3")), "0/99 0/199 0/200"; got != want {
		t.Errorf("compacted: got %s, want %s", got, want)
	}

	mixed := broker.CreateTopic(t, 1, nil)
	broker.Produce(t, &kgo.Record{Topic: mixed, Value: []byte("plain")})
	for i := range 30 {
		broker.Transact(t, i == 0, &kgo.Record{Topic: mixed, Value: fmt.Append(nil, i)}) // a record and a marker each
	}
	flags := []string{"--bootstrap-servers", broker.Addr, "--subscribe", mixed}
	if got, want := places(peek(t, flags...)), "0/0 0/1"; got != want {
		t.Errorf("mostly aborted: got %s, want %s", got, want)
	}
}
