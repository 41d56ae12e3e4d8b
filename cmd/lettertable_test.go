package cmd_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
)

func TestValidateLooksAtTheTableOfDeadLetters(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	p.untouched(t, "validate", func() {
		if got, want := p.checks(t, 0), all("deadLetters", "ok"); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	k.say(t, `{`)
	p.run(t).wants(0)
	if got, want := p.checks(t, 0), all("deadLetters", "ok"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.makes(t, "ops.other", iceberg.NestedField{ID: 1, Name: "x", Type: iceberg.PrimitiveTypes.Int64})
	other := p.into("ops.other")
	if got, want := other.checks(t, 13), all("deadLetters", "failed", "query", "skipped"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text := other.do(t, "validate").stdout; !strings.Contains(text, "ops.other") || !strings.Contains(text, "error_class") {
		t.Errorf("got %s", text)
	}
}

// makes makes a table with the given columns.
func (p *pipeline) makes(t testing.TB, name string, fields ...iceberg.NestedField) {
	t.Helper()
	if _, err := p.catalog(t).CreateTable(t.Context(), catalog.ToIdentifier(name), iceberg.NewSchema(0, fields...)); err != nil {
		t.Fatal(err)
	}
}

// Glue and Hive keep names in small letters, and so do many SQL databases behind a catalog.
func TestATableOfDeadLettersWhoseNameDiffersInCapitalsAloneIsTheTableOfTheRows(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT").into("SALES.Orders")
	for _, verb := range []string{"run", "validate", "plan", "status"} {
		p.do(t, verb).fails(64, "deadLetter.table", "differs from the table of the rows, sales.orders, in capitals alone")
	}
}

func TestStatusAndSummaryPointToTheDeadLetters(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	if o := typed(t, k, "a INT").do(t, "status").wants(0); o.last("status")["deadLetters"] != nil {
		t.Errorf("got %s", o.stdout)
	}
	p := lettered(t, k, "a INT")
	p.do(t, "status").has("status", "deadLetters.place", "ops.dead", "deadLetters.deadLetters", 0)
	k.say(t, `{"a":"1"}`, `{`, `{"a":2}`)
	text := p.text(t, "run").wants(0).stdout
	for _, want := range []string{"2 dead letters (see sluice deadletter ls)", "2 in ops.dead (syntax 1, type 1); see sluice deadletter ls"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
	p.with("--set", "value.json.numbersInText=true").letter(t, "replay").wants(0).has("replay", "rows", 1)
	o := p.into("ops.other").do(t, "status").has("status", "deadLetters.place", "ops.other", "deadLetters.deadLetters", 2, "deadLetters.replayed", 1)
	if before := fmt.Sprint(at(o.last("status"), "deadLetters.before")); before != "[ops.dead]" {
		t.Errorf("got %s", before)
	}
}
