//go:build integration && linux

package cmd_test

import (
	"context"
	"testing"

	"sluice/rig"
)

// Small batches are compacted between runs and beside them; verify proves every record once, before and after, and so it does when
// the table goes on.
func TestCompactedTablesAreProvedOnARealBroker(t *testing.T) {
	bucket := rig.S3(t)
	for name, place := range map[string]func(p *pipeline) *pipeline{
		"a folder": func(p *pipeline) *pipeline { return p }, "a bucket": func(p *pipeline) *pipeline { return p.inBucket(bucket, "lake") },
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 2)
			p := place(reading(t, k, topic)).with("--max-offsets-per-trigger", "10")
			k.fill(t, topic, 30, 0, 1)
			p.run(t)
			p.exact(t, 60)
			p.do(t, "maintain", "--compact").wants(0)
			p.exact(t, 60)
			if files, err := p.table(t).Scan().PlanFiles(context.Background()); err != nil || len(files) != 1 {
				t.Errorf("%d files are left, %v", len(files), err)
			}
			k.fill(t, topic, 30, 0, 1)
			beside := prepared(t, program(t, p.args("maintain", "--compact")...))
			run := prepared(t, program(t, p.args("run")...))
			run.start()
			beside.start()
			run.wait().wants(0)
			beside.wait().wants(0)
			p.exact(t, 120)
			p.do(t, "maintain", "--compact").wants(0)
			p.exact(t, 120)
			p.run(t).has("summary", "batches", 0)
		})
	}
}
