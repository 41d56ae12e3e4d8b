//go:build integration && linux

package cmd_test

import (
	"syscall"
	"testing"

	"sluice/rig"
)

// everywhere carries a test out against each kind of store, on a real broker with a topic of its own.
func everywhere(t *testing.T, do func(t *testing.T, k *kafka, topic string, p *pipeline)) {
	bucket := rig.S3(t)
	for name, place := range map[string]func(p *pipeline) *pipeline{
		"a folder":       func(p *pipeline) *pipeline { return p },
		"hadoop catalog": func(p *pipeline) *pipeline { return p.with("--catalog-type", "hadoop") },
		"a bucket":       func(p *pipeline) *pipeline { return p.inBucket(bucket, "lake") },
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 2)
			do(t, k, topic, place(reading(t, k, topic)))
		})
	}
}

// exact fails the test unless everything that was produced is in the table once.
func (p *pipeline) exact(t *testing.T, rows int) {
	t.Helper()
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", rows, "duplicates", 0, "missing", 0, "unexpected", 0)
}

func TestTenProcessesAtOnceOnARealBroker(t *testing.T) {
	everywhere(t, func(t *testing.T, k *kafka, topic string, p *pipeline) {
		for round := range 2 {
			k.fill(t, topic, 50, 0, 1)
			together(t, func() *outcome {
				r := prepared(t, program(t, p.args("run", "--max-offsets-per-trigger", "25", "--wait", "1s")...))
				r.start()
				return r.wait()
			})
			p.run(t)
			p.exact(t, 100*(round+1))
		}
	})
}

func TestWhileOneRunIsStoppedTheOthersStandBackOnARealBroker(t *testing.T) {
	everywhere(t, func(t *testing.T, k *kafka, topic string, p *pipeline) {
		k.fill(t, topic, 10, 0, 1)
		p.standBack(t)
		p.exact(t, 20)
	})
}

// A run that sleeps for longer than its lease lives is overtaken. When it wakes up it finds that out and harms nothing
// (https://github.com/slatedb/slatedb/issues/352).
func TestARunThatSleptIsOvertakenAndHarmsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, k *kafka, topic string, p *pipeline) {
		p = p.brief().with("--retain", "2", "--max-offsets-per-trigger", "2")
		k.fill(t, topic, 20, 0, 1)
		sleeper := p.asleep(t)
		p.patient().run(t).has("summary", "caughtUp", true) // and purges the sleeper's batch
		k.fill(t, topic, 5, 0, 1)
		p.patient().run(t).has("summary", "records", 10)
		sleeper.signal(syscall.SIGCONT)
		if o := sleeper.wait(); o.code != 11 {
			t.Errorf("got exit code %d, want 11\n%s%s", o.code, o.stdout, o.stderr)
		}
		p.run(t).has("summary", "batches", 0, "caughtUp", true)
		p.exact(t, 50)
	})
}
