//go:build integration

package kafkasrc

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
	"sluice/offsets"
	"sluice/rig"
)

// What a principal may do to a group decides what it is told: nothing at all, Describe alone, or Read.
func TestARealRightToTheMirrorsGroupThatIsMissingIsNamed(t *testing.T) {
	b := rig.SecuredKafka(t)
	owner, name := kadm.NewClient(b.Client(t)), uuid.NewString()
	barred, seen, open := name+"-barred", name+"-seen", name+"-open"
	allowGroup(t, owner, seen, kadm.OpDescribe)
	allowGroup(t, owner, open, kadm.OpRead)
	topic, _ := securedOrders(t, b) // once a broker knows the topic, it goes by what was allowed before
	to := kadm.Offsets{}
	to.Add(kadm.Offset{Topic: topic, At: 1, LeaderEpoch: -1})
	if answer, err := owner.CommitOffsets(t.Context(), seen, to); err != nil || answer.Error() != nil {
		t.Fatal(err, answer.Error())
	}
	options := realOptions(b.Broker, topics(topic))
	options.Client = map[string]string{"bootstrap.servers": b.SASL, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": rig.Reader, "sasl.password": rig.ReaderPassword}
	s, at := mustOpen(t, options), map[offsets.TopicPartition]offsets.Committed{tp(topic, 0): {Next: 3, Epoch: 0, Note: "sluice batch 0 of query 1"}}

	_, err := s.Mirror(barred).Shown(t.Context())
	wantFault(t, err, batch.NotSetUp, barred+" is missing")
	if shown := mustShow(t, s.Mirror(seen)); shown[tp(topic, 0)].Next != 1 {
		t.Errorf("got %v, want what was committed", shown)
	}
	for _, group := range []string{barred, seen} {
		wantFault(t, s.Mirror(group).Show(t.Context(), at), batch.NotSetUp, "the ACL Read on group "+group+" is missing")
		wantFault(t, s.Mirror(group).Check(t.Context()), batch.NotSetUp, "the ACL Read on group "+group+" is missing")
	}
	m := s.Mirror(open)
	if err := m.Show(t.Context(), at); err != nil {
		t.Error(err)
	}
	if shown := mustShow(t, m); shown[tp(topic, 0)] != at[tp(topic, 0)] {
		t.Errorf("got %v, want %v", shown, at)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// allowGroup lets the reader do an operation on a group until the test ends.
func allowGroup(t *testing.T, admin *kadm.Client, group string, operation kadm.ACLOperation) {
	t.Helper()
	right := func() *kadm.ACLBuilder {
		return kadm.NewACLs().Allow("User:" + rig.Reader).AllowHosts("*").Groups(group).ResourcePatternType(kadm.ACLPatternLiteral).Operations(operation)
	}
	results, err := admin.CreateACLs(t.Context(), right())
	if err != nil || len(results) != 1 || results[0].Err != nil {
		t.Fatalf("allow %s on group %s: %+v, %v", operation, group, results, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := admin.DeleteACLs(ctx, right()); err != nil {
			t.Errorf("take the right on group %s: %v", group, err)
		}
	})
}
