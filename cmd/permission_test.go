package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A right that is missing is for a human to grant: the code says so, the error names the topic and what it takes, and once
// it is granted the next run does what this one could not.
func TestAMissingRightIsForAHuman(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		asked kmsg.Key
		err   *kerr.Error
		// whole says that the broker refuses the request and not a partition of it.
		whole bool
		parts []string
	}{
		{kmsg.Metadata, kerr.TopicAuthorizationFailed, false, []string{"Describe", "topic orders"}},
		{kmsg.ListOffsets, kerr.TopicAuthorizationFailed, false, []string{"Describe", "topic orders"}},
		{kmsg.Fetch, kerr.TopicAuthorizationFailed, false, []string{"Read", "topic orders"}},
		{kmsg.ListOffsets, kerr.ClusterAuthorizationFailed, false, []string{"orders"}},
		{kmsg.Fetch, kerr.ClusterAuthorizationFailed, false, []string{"orders"}},
		{kmsg.Fetch, kerr.ClusterAuthorizationFailed, true, []string{"orders"}},
		{kmsg.Fetch, kerr.GroupAuthorizationFailed, false, []string{"orders"}},
	} {
		t.Run(fmt.Sprintf("%s %s %v", tc.asked.Name(), tc.err.Message, tc.whole), func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := newPipeline(t, k)
			k.fill(t, "orders", 10, 0, 1)
			f := kfake.Fault{Keys: []kmsg.Key{tc.asked}, Err: tc.err, Count: -1, TopLevel: tc.whole}
			if !tc.whole {
				f.Topic = "orders"
			}
			fault := k.cluster.Fault(f)
			verbs := [][]string{{"run"}, {"peek", "--topic"}}
			if tc.asked != kmsg.Fetch { // which neither asks for
				verbs = append(verbs, []string{"plan"}, []string{"validate"})
			}
			for _, verb := range verbs {
				p.do(t, verb[0], verb[1:]...).wantsRight(tc.parts...)
			}
			if fault.Hits() == 0 {
				t.Fatal("nothing was refused")
			}
			fault.Remove()
			p.run(t).has("summary", "firstBatch", 0, "records", 20, "caughtUp", true)
			p.wantAll(t, "orders")
		})
	}
}

// wantsRight fails the test unless the command ended because a right is missing, and said which.
func (o *outcome) wantsRight(parts ...string) {
	o.t.Helper()
	o.wants(10)
	for _, part := range parts {
		if !strings.Contains(o.stdout, part) {
			o.t.Errorf("%s\ngot %s\nwant it to name %q", o.line, o.stdout, part)
		}
	}
}

// As brokers judge by access control lists: who may not Describe a topic is told so where he names it, and who may not
// Read it learns it when he reads.
func TestWhatTheListsOfABrokerAllow(t *testing.T) {
	t.Parallel()
	on := func(operation kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
	}
	for name, tc := range map[string]struct {
		granted []kfake.ACL
		code    int
		part    string
	}{
		"nothing":  {nil, 10, "topic orders"},
		"Describe": {[]kfake.ACL{on(kmsg.ACLOperationWrite), on(kmsg.ACLOperationDescribe)}, 10, "the ACL Read on topic orders is missing"},
		"Read":     {[]kfake.ACL{on(kmsg.ACLOperationWrite), on(kmsg.ACLOperationRead)}, 0, ""},
	} {
		// Who does not log in is ANONYMOUS to a broker.
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.EnableACLs(), kfake.User("PLAIN", "ANONYMOUS", "", tc.granted...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		k := connected(t, cluster.ListenAddrs()[0])
		if len(tc.granted) > 0 {
			k.fill(t, "orders", 5, 0, 1)
		}
		p := newPipeline(t, k)
		if tc.code == 0 {
			p.run(t).has("summary", "records", 10)
			continue
		}
		p.do(t, "run").fails(tc.code, tc.part)
		if name == "nothing" {
			p.leftNothing(t, name)
			p.do(t, "validate").wantsRight(tc.part)
			p.without("--subscribe").with("--subscribe-pattern", "^ord").do(t, "run").fails(tc.code, "^ord")
		}
	}
}
