package cmd_test

import (
	"strings"
	"testing"
)

// Write, audit: what a person sees of a branch, and of main meanwhile.
func TestABranchIsShownAndMainStaysAsItIs(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 3, 0, 1)
	main := newPipeline(t, k)
	audit := main.with("--branch", "audit")
	const name = tableOfTests + ".branch_audit"
	audit.do(t, "validate").wants(0)
	audit.run(t)
	if rows := rowsOf(audit.do(t, "peek").wants(0)); len(rows) != 6 {
		t.Errorf("peek shows %d rows of the branch, want 6", len(rows))
	}
	if rows := rowsOf(main.do(t, "peek").wants(0)); len(rows) != 0 {
		t.Errorf("peek shows %d rows of main, want none", len(rows))
	}
	for verb, key := range map[string]string{"status": "table", "peek": "name", "verify": "table"} {
		if got := audit.do(t, verb).wants(0).last(verb)[key]; got != name {
			t.Errorf("%s calls it %v, want %s", verb, got, name)
		}
	}
	k.fill(t, "orders", 2, 0)
	audit.run(t)
	if got := audit.do(t, "verify").wants(0).last("verify"); got["ok"] != true || got["rows"] != 8.0 {
		t.Errorf("verify says %v", got)
	}
}

// Another branch is another query.
func TestAQueryDoesNotChangeItsBranch(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 2, 0)
	p := newPipeline(t, k)
	p.run(t)
	for _, was := range []string{"main", "audit"} {
		is := "audit"
		if was == "audit" {
			p, is = newPipeline(t, k).with("--branch", was), "main"
			p.run(t)
		}
		o := p.with("--branch", is).do(t, "run").wants(13)
		if !strings.Contains(o.stderr, "sink.iceberg.branch was "+was+" and is "+is) {
			t.Errorf("got %s", o.stderr)
		}
	}
	p.with("--branch", "no such").do(t, "run").wants(64)
}
