package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A catalog's database that is gone is no table that is gone: the table's files are there, and a second table in their
// folder would be the damage.
func TestACatalogWhoseDatabaseIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0)
	p := newPipeline(t, k)
	const notYet = "catalog.db does not exist yet; the first run makes it"
	if text := fmt.Sprint(p.do(t, "validate").wants(0).last("validate")); !strings.Contains(text, notYet) {
		t.Errorf("got %s, want it to say %q", text, notYet)
	}
	p.do(t, "run").wants(0)
	database := filepath.Join(p.dir, "catalog.db")
	for _, path := range filesIn(t, p.dir, "catalog.db*") {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for verb, code := range map[string]int{"run": 13, "plan": 13, "verify": 10, "peek": 10, "validate": 13} {
		o := p.do(t, verb).wants(code)
		if text := fmt.Sprint(o); !strings.Contains(text, "the catalog's database "+database+" does not exist") || !strings.Contains(text, "mounted") || strings.Contains(text, "--lost-rows") {
			t.Errorf("%s: got %s, want it to name the database, and no way to a second table", verb, text)
		}
	}
}
