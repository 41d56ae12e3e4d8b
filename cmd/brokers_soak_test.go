//go:build integration && soak && linux

package cmd_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// These are the tests of `make brokers`: three brokers that die, hang, move and hold back in the middle of a run. They take minutes,
// for what is to be seen is what a run does when a broker is gone for one.

// spread is the topic of a test: partitions on all brokers, preferably led by each in turn.
func spread(t *testing.T, c rig.Cluster, partitions int) string {
	t.Helper()
	var replicas [][]int32
	for i := range int32(partitions) {
		replicas = append(replicas, []int32{i%3 + 1, (i+1)%3 + 1, (i+2)%3 + 1})
	}
	return c.Assigned(t, nil, replicas...)
}

// filled puts n records into each partition, in batches of a few: each is a Fetch of its own for small ones.
func (k *kafka) filled(t *testing.T, topic string, n int, partitions int) {
	t.Helper()
	for range n / 20 {
		var records []*kgo.Record
		for i := range 20 * partitions {
			records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Key: fmt.Append(nil, "k", i%50), Value: fmt.Appendf(nil, "%0200d", i)})
		}
		k.produce(t, records...)
	}
}

// during is a run of the program in many small batches. When it has told of its second one, something happens; the run goes on
// meanwhile.
func during(t *testing.T, p *pipeline, patience time.Duration, do func()) *outcome {
	t.Helper()
	p = p.with("--max-offsets-per-trigger", "200", "--set", "source.kafka.fetch.max.bytes=2000")
	r := prepared(t, program(t, p.args("run")...))
	r.cmd.Env = append(os.Environ(), p.environ...)
	r.cmd.Stdout = nil
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.start()
	shot := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() }) // it may have ended just now
	defer shot.Stop()
	done, batches := make(chan struct{}), 0
	var longest, last time.Duration
	lines := bufio.NewScanner(out)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		r.out.WriteString(lines.Text() + "\n")
		if !strings.HasPrefix(lines.Text(), `{"type":"batch"`) {
			continue
		}
		longest, last = max(longest, time.Since(began)-last), time.Since(began)
		if batches++; batches == 2 {
			go func() { defer close(done); do() }()
		}
	}
	o := r.wait()
	if batches < 2 {
		t.Fatalf("the run ended before anything happened: exit code %d\n%s", o.code, o.stderr)
	}
	<-done
	t.Logf("%d batches in %v, the longest took %v", batches, time.Since(began).Round(time.Millisecond), longest.Round(time.Millisecond))
	return o
}

// wantKafkas fails the test unless the table has what Kafka's own consumer reads, each record once.
func (p *pipeline) wantKafkas(t *testing.T, c rig.Cluster, topics ...string) {
	t.Helper()
	want := c.Consume(t, true, topics...)
	p.exact(t, len(want))
	wantRows(t, p.table(t), want, false)
}

// Whatever becomes of a broker, or of who leads, in the middle of a run: it goes on, and everything is there once.
func TestBrokersThatDieHangMoveOrHoldBackDelayARunAndNoMore(t *testing.T) {
	c := rig.NewCluster(t, 3)
	const minute = time.Minute
	for name, do := range map[string]func(t *testing.T, topic string){
		"a leader is killed":  func(t *testing.T, topic string) { c.Kill(t, c.Leader(t, topic, 0)) },
		"a leader hangs":      func(t *testing.T, topic string) { c.Pause(t, c.Leader(t, topic, 0)) },
		"a leader hands over": func(t *testing.T, topic string) { c.Restart(t, c.Leader(t, topic, 1)) },
		"partitions move": func(t *testing.T, topic string) {
			c.Move(t, topic, 0, 2, 3)
			c.Move(t, topic, 1, 3, 1)
			c.Move(t, topic, 0, 3, 1, 2)
		},
		"all restart, one by one":  func(t *testing.T, topic string) { c.Restart(t, 1); c.Restart(t, 2); c.Restart(t, 3) },
		"two are killed and start": func(t *testing.T, topic string) { c.Kill(t, 2); c.Kill(t, 3); c.Start(t, 2); c.Start(t, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			topic := spread(t, c, 6)
			k := connected(t, c.Addr)
			k.filled(t, topic, 600, 6)
			p := reading(t, k, topic)
			during(t, p, 4*minute, func() { do(t, topic) }).wants(0).has("summary", "caughtUp", true, "rows", 3600)
			for id := 1; id <= 3; id++ {
				c.Resume(t, id)
				c.Start(t, id)
			}
			k.connect(t)
			k.filled(t, topic, 20, 6)
			p.run(t).has("summary", "rows", 120)
			p.wantKafkas(t, c, topic)
		})
	}
}

// A partition that nobody leads for a minute, for its only replica hangs or is dead: a run waits. When it comes back within two
// minutes the run goes on; when it does not, the run ends, to be run again.
func TestBrokersThatAreGoneForAMinuteAreWaitedForButNotForEver(t *testing.T) {
	c := rig.NewCluster(t, 3)
	for name, x := range map[string]struct {
		gone, back func(t *testing.T, id int)
		away       time.Duration
	}{
		"killed for a minute": {func(t *testing.T, id int) { c.Kill(t, id) }, func(t *testing.T, id int) { c.Start(t, id) }, time.Minute},
		"hung for a minute":   {func(t *testing.T, id int) { c.Pause(t, id) }, func(t *testing.T, id int) { c.Resume(t, id) }, time.Minute},
		"killed for good":     {func(t *testing.T, id int) { c.Kill(t, id) }, func(t *testing.T, id int) { c.Start(t, id) }, 0},
		"hung for good":       {func(t *testing.T, id int) { c.Pause(t, id) }, func(t *testing.T, id int) { c.Resume(t, id) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			topic := c.Assigned(t, map[string]string{"min.insync.replicas": "1"}, []int32{2}, []int32{3})
			k := connected(t, c.Addr)
			k.filled(t, topic, 1000, 2)
			p := reading(t, k, topic)
			o := during(t, p, 5*time.Minute, func() {
				x.gone(t, 2)
				if x.away > 0 {
					timer := time.NewTimer(x.away) // how long it is gone is what is tested
					<-timer.C
					x.back(t, 2)
				}
			})
			if x.away > 0 {
				o.wants(0).has("summary", "caughtUp", true, "rows", 2000)
			} else {
				o.fails(1)
				p.do(t, "run").fails(1) // and one that begins so ends as well
				x.back(t, 2)
				c.Start(t, 2)
				p.patient().run(t, "--wait", "1m").has("summary", "caughtUp", true)
			}
			p.wantKafkas(t, c, topic)
		})
	}
}

// A run begins while one broker hangs whose partitions others lead by then: whichever of the brokers it comes upon first.
func TestBrokersThatHangDoNotKeepARunFromBeginning(t *testing.T) {
	c := rig.NewCluster(t, 3)
	topic := spread(t, c, 6)
	k := connected(t, c.Addr)
	k.filled(t, topic, 20, 6)
	c.Pause(t, 2)
	defer c.Resume(t, 2)
	for c.Leader(t, topic, 1) == 2 { // until the cluster has noticed
	}
	for i := range 6 {
		p := reading(t, k, topic).with("--bootstrap-servers", strings.Join(append(k.seeds()[i%3:], k.seeds()[:i%3]...), ","))
		began := time.Now()
		p.run(t).has("summary", "rows", 120, "caughtUp", true)
		t.Logf("a run took %v", time.Since(began).Round(time.Millisecond))
	}
}

// A quota makes a run slow, and no more than that.
func TestBrokersThatHoldClientsBackAreObeyed(t *testing.T) {
	c := rig.NewCluster(t, 3)
	topic := spread(t, c, 3)
	k := connected(t, c.Addr)
	k.filled(t, topic, 2000, 3)
	p := reading(t, k, topic).with("--set", "source.kafka.client.id="+topic)
	c.Throttle(t, topic, 50_000)
	began := time.Now()
	during(t, p.with("--max-offsets-per-trigger", "1000"), 4*time.Minute, func() {}).wants(0).has("summary", "caughtUp", true, "rows", 6000)
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("more than a megabyte took %v: the quota was not in force", took)
	}
	p.wantKafkas(t, c, topic)
}

// A broker that was not in sync is elected: what it lacks is gone, and other records take its place. That is a loss, named
// exactly, and gone on from by choice, exactly. https://github.com/tulios/kafkajs/issues/818
func TestBrokersElectedUncleanlyAreFoundOut(t *testing.T) {
	c := rig.NewCluster(t, 3)
	for name, after := range map[string]int{"and the log is shorter": 5, "and the log has grown past what was read": 40} {
		t.Run(name, func(t *testing.T) {
			topic := c.Assigned(t, map[string]string{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}, []int32{1, 2})
			k := connected(t, c.Addr)
			k.fill(t, topic, 100, 0)
			p := reading(t, k, topic)
			p.run(t).has("summary", "rows", 100)
			c.Kill(t, 2)
			k.connect(t)
			k.fill(t, topic, 20, 0)
			p.run(t).has("summary", "rows", 20)
			c.Kill(t, 1)
			c.Start(t, 2) // two of three are a quorum, and the one that was behind is all there is
			k.connect(t)
			k.fill(t, topic, after, 0)
			c.Start(t, 1)

			p.do(t, "plan").wants(12)
			p.do(t, "run").fails(12, topic+"-0", "offset 100", "offset 120", "--on-data-loss-diverged continue")
			p.do(t, "status").wants(0).has("status", "refusal.exitCode", 12)
			o := p.run(t, "--on-data-loss-diverged", "continue").has("summary", "rows", after, "caughtUp", true)
			if losses := o.last("batch")["sluice"].(map[string]any)["losses"]; losses == nil {
				t.Errorf("got no losses in %v", o.last("batch"))
			}
			k.fill(t, topic, 10, 0)
			p.run(t).has("summary", "rows", 10)
			p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "rows", 120+after+10)
			// The first hundred, the twenty that are gone, and from 100 on what Kafka's own consumer reads now.
			now := slices.DeleteFunc(c.Consume(t, true, topic), func(r *kgo.Record) bool { return r.Offset < 100 })
			was := k.of(func(r *kgo.Record) bool { return true })[:120]
			wantRows(t, p.table(t), slices.Concat(was, now), false)
		})
	}
}
