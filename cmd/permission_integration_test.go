//go:build integration && linux

package cmd_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/rig"
)

// grant makes access control lists for who does not log in: on the topic they then have these rights and no other.
func grant(t *testing.T, b rig.Broker, topic string, rights ...kadm.ACLOperation) {
	t.Helper()
	lists := kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).Allow("User:ANONYMOUS").AllowHosts("*").Operations(rights...)
	answers, err := kadm.NewClient(b.Client(t)).CreateACLs(t.Context(), lists)
	if err == nil {
		for _, a := range answers {
			if a.Err != nil {
				err = a.Err
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ungrant removes the lists of a topic, which everybody may do everything with then.
func ungrant(t *testing.T, b rig.Broker, topic string) {
	lists := kadm.NewACLs().Topics(topic).ResourcePatternType(kadm.ACLPatternLiteral).Allow("User:ANONYMOUS").AllowHosts("*").Operations(kadm.OpAny)
	if _, err := kadm.NewClient(b.Client(t)).DeleteACLs(context.Background(), lists); err != nil {
		t.Error(err)
	}
}

// As a real broker judges: a topic that may not be described looks missing or is forbidden, one that may not be read is
// planned and then refused, and what is granted later is read, once.
func TestRightsOfARealBroker(t *testing.T) {
	cluster := rig.NewCluster(t, 1)
	cluster.Restart(t, 1) // one that ran before may have been started without lists
	topic := cluster.CreateTopic(t, 2, nil)
	k := connected(t, cluster.Addr)
	k.fill(t, topic, 10, 0, 1)
	p := newPipeline(t, k).with("--subscribe", topic)

	t.Cleanup(func() { ungrant(t, cluster.Broker, topic) })
	grant(t, cluster.Broker, topic, kadm.OpAlterConfigs) // which describes nothing
	for _, verb := range []string{"run", "plan", "validate"} {
		p.do(t, verb).wantsRight(topic)
	}
	p.leftNothing(t, "a run that may not describe")

	grant(t, cluster.Broker, topic, kadm.OpDescribe)
	p.do(t, "plan").wants(0).has("plan", "records", 20)
	p.do(t, "run").fails(10, "the ACL Read on topic "+topic+" is missing", "Grant")
	p.do(t, "peek", "--topic").fails(10, "the ACL Read on topic "+topic)

	grant(t, cluster.Broker, topic, kadm.OpRead)
	p.run(t).has("summary", "records", 20, "firstBatch", 0, "caughtUp", true)
	p.wantAll(t, topic)
}
