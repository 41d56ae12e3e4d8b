package cmd_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Too few descriptors are no missing permission, whoever runs out of them: the store, the catalog, or the client.
func TestTooFewDescriptorsAreSaidToBe(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 5, 0, 1)
	p.run(t)
	failed := 0
	for n := 8; n <= 14; n++ {
		c := child(p.args("run")...)
		limited := exec.Command("sh", slices.Concat([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, n), c.Path}, c.Args[1:])...)
		limited.Env = c.Env
		o := started(t, limited).wait()
		switch {
		case o.code == 0:
			continue
		case o.code != 1 || !strings.Contains(o.stderr, "ulimit -n"):
			t.Errorf("with %d descriptors: got exit code %d, want 1\n%s", n, o.code, o.stderr)
		}
		failed++
	}
	if failed == 0 {
		t.Error("no run had too few descriptors")
	}
}
