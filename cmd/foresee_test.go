package cmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"sluice/checkpoint"
)

// text is a verb as people see it.
func (p *pipeline) text(t testing.TB, verb string, more ...string) *outcome {
	t.Helper()
	return call(t, p.environ, slices.Concat([]string{"sluice", verb}, p.flags, more)...)
}

// forgotten is a pipeline whose checkpoint was lost after a run; id is what the query was.
func forgotten(t testing.TB) (p *pipeline, k *kafka, id string) {
	t.Helper()
	k = embedded(t, "orders")
	p = newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	id = p.run(t).last("summary")["queryId"].(string)
	if err := os.RemoveAll(p.checkpoint()); err != nil {
		t.Fatal(err)
	}
	k.fill(t, "orders", 2, 0)
	return p, k, id
}

// What a run would stop for is told once, with what to do, and nothing is said of what there is to read.
func TestAPlanOfARunThatWouldStopSaysWhyOnce(t *testing.T) {
	t.Parallel()
	p, _, id := forgotten(t)
	o := p.text(t, "plan").wants(13)
	for part, n := range map[string]int{"the checkpoint is empty": 1, "--adopt ID": 1, id: 1, "would stop (exit 13": 1, "none: the run would stop": 1, "nothing to read": 0} {
		if got := strings.Count(o.stdout+o.stderr, part); got != n {
			t.Errorf("got %q %d times, want %d, in\n%s%s", part, got, n, o.stdout, o.stderr)
		}
	}
	j := p.do(t, "plan").wants(13).has("plan", "action", "stop", "batch", -1, "refusal.exitCode", 13, "refusal.class", "inconsistent")
	if plan := j.last("plan"); len(plan["notes"].([]any)) > 0 || at(plan, "refusal.error") != j.last("error")["error"] || at(plan, "refusal.hint") != j.last("error")["hint"] {
		t.Errorf("got %v", plan)
	}
}

// plan takes the choices that run takes, and shows what each would do before anybody makes it.
func TestAPlanShowsWhatAChoiceWouldDo(t *testing.T) {
	t.Parallel()
	p, k, id := forgotten(t)
	p.untouched(t, "plan", func() {
		p.do(t, "plan", "--new-query").wants(0).has("plan", "action", "start", "batch", 0, "records", 12)
		p.do(t, "plan", "--adopt", "no-such-query").wants(13).has("plan", "action", "stop")
		p.do(t, "plan", "--adopt", id).wants(0).has("plan", "action", "rebuild", "batch", 1, "records", 2, "startOrigin", "the table's ledger")
	})
	p.run(t, "--adopt", id).has("summary", "firstBatch", 1, "records", 2)
	p.do(t, "plan", "--adopt", id, "--new-query").fails(64, "contradict")
	p.do(t, "plan", "--lost-rows", "some").fails(64, "reread or accept")

	p.change(t, func(tx *table.Transaction) error {
		return tx.RollbackToSnapshot(*p.table(t).CurrentSnapshot().ParentSnapshotID)
	})
	k.fill(t, "orders", 1, 1)
	p.do(t, "plan").wants(13).has("plan", "action", "stop")
	p.do(t, "plan", "--lost-rows", "accept").wants(0).has("plan", "action", "lost-rows", "batch", 2, "records", 1)
	p.do(t, "plan", "--lost-rows", "reread").wants(0).has("plan", "action", "lost-rows", "batch", 2, "records", 3)
	p.run(t, "--lost-rows", "reread").has("summary", "firstBatch", 2, "records", 3)
}

func TestAChoiceThatChangesNothingIsTold(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	for _, choice := range [][]string{{"--new-query"}, {"--adopt", "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10"}, {"--lost-rows", "accept"}} {
		want := choice[0] + " had no effect: "
		for _, verb := range []string{"plan", "run"} {
			o := p.text(t, verb, choice...).wants(0)
			if strings.Count(o.stdout+o.stderr, want) != 1 {
				t.Errorf("%s %v: got\n%s%s\nwant it to say once %q", verb, choice, o.stdout, o.stderr, want)
			}
		}
	}
}

// What a run would refuse, status shows, with what to do, also while Kafka is away.
func TestStatusSaysThatTheNextRunWouldStop(t *testing.T) {
	t.Parallel()
	p, _, id := forgotten(t)
	for name, q := range map[string]*pipeline{"with Kafka": p, "without": p.with("--bootstrap-servers", refusing(t))} {
		var o *outcome
		q.untouched(t, "status", func() {
			o = q.do(t, "status").wants(0).has("status", "queryId", "", "action", "stop", "refusal.exitCode", 13, "lease", nil)
		})
		if hint, _ := at(o.last("status"), "refusal.hint").(string); !strings.Contains(hint, "--adopt") {
			t.Errorf("%s: got %v", name, o.last("status"))
		}
	}
	o := p.text(t, "status").wants(0)
	for _, part := range []string{"the next run would stop (exit 13, inconsistent)", "to do ", "--new-query", id} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("got\n%s\nwant it to say %q", o.stdout, part)
		}
	}
}

// Whoever looks while a run is at work is told of that first, and that the one before failed.
func TestStatusTellsARunAtWorkBeforeTheOneThatFailed(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	p.with("--subscribe", "orders,refunds").do(t, "run").wants(10)
	if o := p.text(t, "status").wants(0); !strings.Contains(o.stdout, "the last run failed\n  to do ") {
		t.Errorf("got\n%s\nwant it to say what failed, and what to do", o.stdout)
	}
	k.fill(t, "orders", 5, 0)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	ended := make(chan *outcome)
	go func() { ended <- p.do(t, "run") }()
	<-held
	o := p.do(t, "status").wants(0).has("status", "lease.live", true, "lease.released", false, "lastRun.state", "failed", "lastRun.exitCode", 10, "uncommitted.batch", 1)
	if at(o.last("status"), "lastRun.hint") == nil {
		t.Errorf("got %v", o.last("status"))
	}
	if o := p.text(t, "status").wants(0); !strings.Contains(o.stdout, ": running since ") || !strings.Contains(o.stdout, "; the run before failed\n") {
		t.Errorf("got\n%s\nwant it to say first what is at work", o.stdout)
	}
	close(release)
	(<-ended).wants(0)
	p.do(t, "status").wants(0).has("status", "lease.live", false, "lastRun.state", "done", "lag", 0)
}

// leaseOf puts a lease into the checkpoint whose owner gave the last sign of life at a time.
func (p *pipeline) leaseOf(t testing.TB, seen time.Time) {
	t.Helper()
	text, err := json.Marshal(checkpoint.Holder{Format: 1, Run: "killed", Host: "elsewhere", PID: 7, Epoch: 9, Acquired: seen, Heartbeat: seen, TTLMs: 15000})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.checkpoint(), "lock/lease.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A lease that nobody renews is of a run that was killed.
func TestALeaseThatIsNotRenewedIsNoRunAtWork(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	p.leaseOf(t, time.Now().Add(-time.Hour))
	p.do(t, "status").wants(0).has("status", "lease.live", false, "lease.released", false)
	if o := p.text(t, "status").wants(0); !strings.Contains(o.stdout, "sales.orders: caught up\n") || !strings.Contains(o.stdout, "on elsewhere since ") || !strings.Contains(o.stdout, "not renewed") {
		t.Errorf("got\n%s", o.stdout)
	}
	p.leaseOf(t, time.Now())
	o := p.do(t, "run", "--wait", "3s").fails(11, "is in use by run killed on host elsewhere")
	if strings.Count(o.stderr, "waiting for another run") != 1 {
		t.Errorf("got\n%s\nwant it to say once what it waits for", o.stderr)
	}
}

// A first run that could not make its table, and the same job once that is cured: nobody is asked anything.
func TestAFirstRunThatIsCuredIsAFirstRun(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	bad := warehouseAt(store(t, 403, "AccessDenied"))(t, p)
	r := prepared(t, child(bad.args("run")...)) // the S3 client looks for its keys in the process's environment
	r.cmd.Env = append(r.cmd.Env, bad.environ...)
	r.start()
	r.wait().wants(10)
	p.leftNoBatch(t, "a run without permission")
	p.do(t, "status").wants(0).has("status", "queryId", "", "action", "start", "lastRun", nil, "refusal", nil)
	o := p.text(t, "run").wants(0)
	if strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, "a new query begins") || !strings.Contains(o.stderr, "the table was not there and was made") {
		t.Errorf("the cured run said\n%s", o.stderr)
	}
	p.do(t, "status").wants(0).has("status", "lastCommit", 0, "lag", 0)
}
