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

// drops drops a table, for good.
func (p *pipeline) drops(t testing.TB, name string) {
	t.Helper()
	if err := p.catalog(t).DropTable(t.Context(), catalog.ToIdentifier(name)); err != nil {
		t.Fatal(err)
	}
}

// Where a run would stop over the table that the job names, the verbs of deadletter do: ls and show with what is left.
func TestATableOfDeadLettersThatIsGoneIsAskedAboutOnceAndAcceptedOnce(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{"a":1}`, `{"a":"x"}`, `{"a":"2"}`)
	p.run(t).wants(0)
	mended := p.with("--set", "value.json.numbersInText=true")
	mended.letter(t, "replay").wants(0).has("replay", "rows", 1)
	p.proves(t, "proved", 2)
	p.drops(t, "ops.dead")
	for _, verb := range []string{"run", "plan"} {
		p.do(t, verb).fails(13, "ops.dead is gone", "bring it back", "another deadLetter.table", "--lost-dead-letters accept")
	}
	for _, verb := range []string{"ls", "replay"} {
		p.letter(t, verb).fails(13, "ops.dead is gone", "--lost-dead-letters accept")
	}
	p.letter(t, "ls").has("deadletters", "deadLetters", 0)
	p.do(t, "verify").wants(13)
	p.do(t, "run", "--lost-dead-letters", "reread").fails(64, "no choice", "use accept")

	o := p.do(t, "plan", "--lost-dead-letters", "accept").wants(0)
	if notes := fmt.Sprint(o.last("plan")["notes"]); !strings.Contains(notes, "ops.dead is gone") {
		t.Errorf("got %s", notes)
	}
	p.do(t, "run").wants(13) // a plan decides nothing
	k.say(t, `{"a":3}`, `{"a":"4"}`)
	if o := p.do(t, "run", "--lost-dead-letters", "accept").wants(0); !strings.Contains(o.stderr, "going on without the dead letters that were lost") {
		t.Errorf("got %s", o.stderr)
	}
	p.do(t, "run").wants(0)
	accepted := p.do(t, "verify").wants(0).has("verify", "ok", true, "verdict", "unproven", "deadLetters", 3, "deadLettersFound", 1, "replayed", 1)
	if limits := fmt.Sprint(accepted.last("verify")["cannotProve"]); !strings.Contains(limits, "loss-accepted") || !strings.Contains(limits, "2 dead letters of orders-0") || !strings.Contains(limits, "ops.dead is gone") {
		t.Errorf("got %s", limits)
	}
	p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 1)

	// What was replayed and is gone is a row for good, whatever is replayed later.
	mended.letter(t, "replay").wants(0).has("replay", "deadLetters", 1, "rows", 1)
	p.do(t, "verify").wants(0).has("verify", "ok", true, "replayed", 2, "rows", 4, "expected", 4)
	if o := p.do(t, "run", "--lost-dead-letters", "accept").wants(0); !strings.Contains(o.stderr, "had no effect") {
		t.Errorf("got %s", o.stderr)
	}
}

func TestATableOfDeadLettersThatWasReplacedIsAcceptedUnderAnotherNameToo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`, `{"a":1}`)
	p.run(t).wants(0)
	p.drops(t, "ops.dead")
	p.makes(t, "ops.dead", iceberg.NestedField{ID: 1, Name: "x", Type: iceberg.PrimitiveTypes.Int64})
	other := p.into("ops.other")
	k.say(t, `{`)
	other.run(t).wants(0)
	if o := other.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 1); !strings.Contains(o.stderr, "ops.dead is not the one") {
		t.Errorf("got %s", o.stderr)
	}
	other.letter(t, "replay").wants(0).has("replay", "deadLetters", 1, "still", 1)
	other.do(t, "verify").wants(13)
	other.do(t, "run", "--lost-dead-letters", "accept").wants(0)
	other.do(t, "verify").wants(0).has("verify", "ok", true, "deadLettersFound", 1, "deadLetters", 2)
	if o := other.letter(t, "ls").wants(0); strings.Contains(o.stderr, "ops.dead") {
		t.Errorf("got %s after it was accepted", o.stderr)
	}
}

func TestATableOfDeadLettersThatWasRolledBackIsAcceptedAndGoesOn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`, `{"a":1}`)
	p.run(t).wants(0)
	k.say(t, `{`)
	p.run(t).wants(0)
	p.rollsBack(t, "ops.dead")
	p.do(t, "run").fails(13, "ops.dead was rolled back", "--lost-dead-letters accept")
	p.letter(t, "ls").fails(13, "ops.dead was rolled back").has("deadletters", "deadLetters", 1)
	p.letter(t, "show").fails(13, "ops.dead was rolled back").has("deadletter", "offset", 0)
	p.letter(t, "replay").fails(13, "ops.dead was rolled back")
	p.do(t, "verify").wants(13)
	k.say(t, `{"a":"x"}`)
	p.do(t, "run", "--lost-dead-letters", "accept").wants(0).has("summary", "deadLetters", 1)
	p.do(t, "verify").wants(0).has("verify", "ok", true, "deadLetters", 3, "deadLettersFound", 2)
	p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2)
	p.rollsBack(t, "ops.dead")
	p.do(t, "run").fails(13, "ops.dead was rolled back") // a decision is about one state
}

// rollsBack lets a table go back to the snapshot before its newest.
func (p *pipeline) rollsBack(t testing.TB, name string) {
	t.Helper()
	tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier(name))
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	if err := tx.RollbackToSnapshot(*tbl.CurrentSnapshot().ParentSnapshotID); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
