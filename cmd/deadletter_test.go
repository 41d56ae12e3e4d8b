package cmd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/checkpoint"
	"sluice/objectstore"
)

// lettered is a pipeline whose malformed records are dead letters.
func lettered(t testing.TB, k *kafka, ddl string) *pipeline {
	t.Helper()
	return typed(t, k, ddl).with("--set", "value.onMalformed=deadLetter").into("ops.dead")
}

// into is the pipeline with another table of dead letters.
func (p *pipeline) into(table string) *pipeline {
	other := *p
	other.environ = append(slices.Clone(p.environ), "SLUICE_DEADLETTER_TABLE="+table)
	return &other
}

// letters reads the table of dead letters whole, as texts by column.
func (p *pipeline) letters(t testing.TB, columns ...string) []string {
	t.Helper()
	tbl, err := p.catalog(t).LoadTable(t.Context(), catalog.ToIdentifier("ops.dead"))
	if err != nil {
		t.Fatal(err)
	}
	schema, batches, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rows.NumRows()) {
			var cells []string
			for _, c := range columns {
				cells = append(cells, rows.Column(schema.FieldIndices(c)[0]).ValueStr(i))
			}
			lines = append(lines, strings.Join(cells, " | "))
		}
		rows.Release()
	}
	return lines
}

func TestMalformedRecordsGoToTheTableOfDeadLettersWhole(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "order_id BIGINT NOT NULL, amount DECIMAL(18,2)")
	k.say(t, `{"order_id":1,"amount":1.5}`)
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte{0, 0xff}, Value: []byte(`{"order_id":"x"}`), Timestamp: millis(1_700_000_000_123),
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "trace", Value: nil}}})
	k.say(t, "", `{"order_id":2,"amount":1.555}`, `{"order_id":3}`)
	if tables := fmt.Sprint(p.do(t, "plan").wants(0).last("plan")["tables"]); !strings.Contains(tables, "name:ops.dead role:deadLetters") {
		t.Errorf("the plan's tables are %s", tables)
	}
	p.run(t).wants(0).has("summary", "rows", 2, "deadLetters", 3, "deadLetterTable", "ops.dead", "reasons.type", 1, "reasons.tombstone", 1, "reasons.lossy", 1).
		has("batch", "sluice.deadLetters", 3, "sluice.deadLetterFiles", 1)
	p.proves(t, "proved", 2).has("verify", "deadLetters", 3, "deadLettersFound", 3)
	got := p.letters(t, "kafka_partition", "kafka_offset", "kafka_key", "kafka_value", "kafka_headers", "kafka_timestamp", "error_class", "batch_id", "query_name")
	want := []string{
		`0 | 1 | AP8= | eyJvcmRlcl9pZCI6IngifQ== | [{"key":"trace","value":"YWJj"},{"key":"trace","value":null}] | 2023-11-14T22:13:20.123Z | type | 0 | sales.orders`,
		`0 | 2 | aw== | (null) | (null) | 2023-11-14T22:13:20Z | tombstone | 0 | sales.orders`,
		`0 | 3 | aw== | eyJvcmRlcl9pZCI6MiwiYW1vdW50IjoxLjU1NX0= | (null) | 2023-11-14T22:13:20Z | lossy | 0 | sales.orders`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, text := range p.letters(t, "error") {
		if part := []string{"order_id: ", "a tombstone", "1.555"}[i]; !strings.Contains(text, part) {
			t.Errorf("error %d is %q, want it to say %q", i, text, part)
		}
	}
	k.say(t, `{"order_id":4}`)
	p.run(t).wants(0).has("summary", "rows", 1, "deadLetters", 0)
	p.proves(t, "proved", 3)
}

func TestAJobWithDeadLettersAndNoPlaceForThemIsWrong(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := typed(t, k, "a INT").with("--set", "value.onMalformed=deadLetter")
	p.do(t, "run").fails(64, "value.onMalformed", "deadLetter.table")
	p.with("--set", "deadLetter.table=sales.orders").do(t, "run").fails(64, "deadLetter.table", "is the table of the rows")
	newPipeline(t, k).with("--set", "deadLetter.table=ops.dead").do(t, "run").fails(64, "deadLetter.table", "means nothing with value.format raw")
	typed(t, k, "a INT").with("--set", "value.maxBadRecords=5").do(t, "run").fails(64, "value.maxBadRecords", "onMalformed")
}

func TestMoreBadRecordsThanTheJobBearsEndItWithExamples(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{"a":1}`, `{`, `{"a":"x"}`, `{"a":2}`)
	strict := p.with("--set", "value.maxBadRatio=0.25")
	strict.do(t, "run").fails(14, "2 malformed records among 4", "value.maxBadRatio is 0.25", "syntax 1, type 1", "orders-0 at offset 1", "orders-0 at offset 2", "raise the limit")
	if got := p.letters(t, "kafka_offset"); len(got) != 0 {
		t.Errorf("got %v in the table of dead letters", got)
	}
	p.run(t).wants(0).has("summary", "rows", 2, "deadLetters", 2)
	p.proves(t, "proved", 2)
}

func TestDeadLettersMayGoToAnotherTableFromTheNextBatch(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`, `{"a":1}`)
	p.run(t).wants(0)
	k.say(t, `{`, `{"a":2}`)
	p.into("ops.other").run(t).wants(0).has("summary", "deadLetterTable", "ops.other")
	p.proves(t, "proved", 2).has("verify", "deadLetters", 2, "deadLettersFound", 2)
}

// Nobody should take what is left for all dead letters that there were.
func TestATableOfDeadLettersThatIsGoneIsNamedBesideWhatIsLeft(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`)
	p.run(t).wants(0)
	p = p.into("ops.other")
	k.say(t, `{"a":"x"}`)
	p.run(t).wants(0)
	if o := p.letter(t, "ls").wants(0); strings.Contains(o.stderr, "gone") {
		t.Errorf("got %s before one was dropped", o.stderr)
	}
	if err := p.catalog(t).DropTable(t.Context(), catalog.ToIdentifier("ops.dead")); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"ls", "show", "replay"} {
		if o := p.letter(t, verb).wants(0); !strings.Contains(o.stderr, "ops.dead is gone") {
			t.Errorf("%s: got %q", verb, o.stderr)
		}
	}
	p.letter(t, "ls").has("deadletters", "deadLetters", 1)
}

// letter is the line of a verb of deadletter with the flags of the pipeline.
func (p *pipeline) letter(t testing.TB, verb string, more ...string) *outcome {
	t.Helper()
	return call(t, p.environ, slices.Concat([]string{"sluice", "deadletter", verb, "--output", "json"}, p.flags, more)...)
}

func TestDeadLettersAreListedShownAndReplayed(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{"a":1}`, `{"a":"2"}`, "{\x1b[31m", `{"a":"x"}`)
	p.run(t)
	k.say(t, `{"a":"4"}`)
	p.run(t).has("summary", "deadLetters", 1)
	listed := p.letter(t, "ls", "--limit", "2").wants(0).last("deadletters")
	newest := listed["newest"].([]any)
	if got, want := fmt.Sprint(listed["deadLetters"], listed["byTopic"], listed["byReason"], listed["byBatch"]),
		"4 [map[deadLetters:4 of:orders replayed:0]] [map[deadLetters:3 of:type replayed:0] map[deadLetters:1 of:syntax replayed:0]] [map[deadLetters:1 of:1 replayed:0] map[deadLetters:3 of:0 replayed:0]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if first, second := at(newest[0], "offset"), at(newest[1], "offset"); len(newest) != 2 || first != 4.0 || second != 3.0 || at(newest[1], "table") != "ops.dead" || at(newest[1], "batch") != 0.0 {
		t.Errorf("got %v", newest)
	}

	o := p.letter(t, "show", "--record", "orders-0@2", "--record", "orders-0@1").wants(0)
	if shown := o.objects("deadletter"); len(shown) != 2 || shown[0]["offset"] != 1.0 || shown[0]["value"] != `{"a":"2"}` || shown[0]["key"] != "k" || shown[1]["reason"] != "syntax" {
		t.Errorf("got %s", o.stdout)
	}
	text := call(t, p.environ, slices.Concat([]string{"sluice", "deadletter", "show"}, p.flags, []string{"--record", "orders-0@2"})...).wants(0).stdout
	if !strings.Contains(text, `{\x1b[31m`) || strings.Contains(text, "\x1b") || !strings.Contains(text, "orders-0 at offset 2") {
		t.Errorf("got %q", text)
	}
	if newest := p.letter(t, "show").wants(0).objects("deadletter"); len(newest) != 1 || newest[0]["offset"] != 4.0 {
		t.Errorf("got %v", newest)
	}
	if all := p.letter(t, "show", "--batch", "0").wants(0).objects("deadletter"); len(all) != 3 || all[0]["batch"] != 0.0 {
		t.Errorf("got %v of batch 0, want all of its dead letters", all)
	}
	p.letter(t, "show", "--batch", "7").fails(10, "batch 7 of query", "has no dead letters", "deadletter ls")
	p.letter(t, "show", "--batch", "0", "--limit", "2").fails(64, "--batch shows a whole batch")
	p.letter(t, "show", "--record", "orders-0@0").fails(10, "no dead letters", "orders-0@0")
	for _, wrong := range []string{"orders", "orders@1", "orders-x@1", "orders-0@-1", "-0@1", "@"} {
		p.letter(t, "show", "--record", wrong).fails(64, "is no record")
	}

	p.letter(t, "replay").wants(0).has("replay", "deadLetters", 4, "rows", 0, "before", 0, "still", 4, "reasons.type", 3)
	mended := p.with("--set", "value.json.numbersInText=true")
	mended.letter(t, "replay", "--dry-run").wants(0).has("replay", "dryRun", true, "deadLetters", 4, "rows", 2, "before", 0, "still", 2, "reasons.syntax", 1, "snapshot", 0)
	p.proves(t, "proved", 1)
	p.letter(t, "ls").wants(0).has("deadletters", "replayed", 0, "unfinished", 0)
	mended.letter(t, "replay").wants(0).has("replay", "dryRun", false, "deadLetters", 4, "rows", 2, "before", 0, "still", 2, "reasons.syntax", 1, "reasons.format", 1, "table", tableOfTests)
	mended.letter(t, "replay").wants(0).has("replay", "rows", 0, "before", 2, "still", 2)
	p.proves(t, "proved", 3).has("verify", "replayed", 2, "deadLetters", 4, "deadLettersFound", 4)
	p.wantsShown(t, []string{"a", "kafka_offset"}, "1 0", "2 1", "4 4")
	listed = p.letter(t, "ls").wants(0).last("deadletters")
	newest = listed["newest"].([]any)
	if got, want := fmt.Sprint(listed["replayed"], listed["byTopic"], listed["byReason"], listed["byBatch"]),
		"2 [map[deadLetters:4 of:orders replayed:2]] [map[deadLetters:3 of:type replayed:2] map[deadLetters:1 of:syntax replayed:0]] [map[deadLetters:1 of:1 replayed:1] map[deadLetters:3 of:0 replayed:1]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at(newest[0], "replayed") != true || at(newest[1], "replayed") != false || at(newest[3], "replayed") != true {
		t.Errorf("got %v", newest)
	}
	p.letter(t, "show", "--record", "orders-0@1").wants(0).has("deadletter", "replayed", true)
	p.letter(t, "show", "--record", "orders-0@2").wants(0).has("deadletter", "replayed", false)
	k.say(t, `{"a":5}`)
	p.run(t)
	p.proves(t, "proved", 4)
}

func TestAReplayWaitsForTheRunThatIsActive(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{`)
	p.run(t)
	store, err := objectstore.Open(t.Context(), p.checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	lease := checkpoint.NewLease(store, "another")
	if _, _, err := lease.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.letter(t, "replay", "--wait", "0s").fails(11, "another run")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.letter(t, "replay").wants(0)
}

func TestDeadLettersOfNoQueryAreAskedAbout(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	p.letter(t, "ls").fails(10, "no query")
	plain := typed(t, k, "a INT")
	plain.run(t)
	plain.letter(t, "ls").fails(10, "no place of dead letters", "deadLetter.table", "deadLetter.path")
	for args, wanted := range map[string][]string{
		"deadletter nothing":      {`unknown command "deadletter nothing"`, "ls, show or replay"},
		"deadletter ls --recrd x": {"there is no flag --recrd", "sluice deadletter ls --help"},
		"deadletter replay now":   {"takes no arguments", "sluice deadletter replay --help"},
	} {
		o := call(t, nil, append([]string{"sluice"}, strings.Fields(args)...)...).wants(64)
		for _, want := range wanted {
			if !strings.Contains(o.stderr, want) {
				t.Errorf("%s: got %q, want %q", args, o.stderr, want)
			}
		}
	}
	help := call(t, nil, "sluice", "deadletter").wants(0).stdout
	for _, want := range []string{"ls", "show", "replay", "decode the dead letters again"} {
		if !strings.Contains(help, want) {
			t.Errorf("got\n%s\nwant %s", help, want)
		}
	}
}

// A table that grew since has columns that the job does not name; a field that has none yet is a run's to add.
func TestAReplayFillsTheColumnsThatTheTableWasGiven(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT").with("--set", "value.onUnknownField=addColumn")
	k.say(t, `{"a":1}`, `{"a":"2","b":7}`, `{"a":"3","c":true}`)
	p.run(t).has("summary", "rows", 1, "deadLetters", 2)
	k.say(t, `{"a":4,"b":8}`)
	p.run(t)
	p.with("--set", "value.json.numbersInText=true").letter(t, "replay").wants(0).has("replay", "deadLetters", 2, "rows", 1, "still", 1, "reasons.unknown", 1)
	p.wantsShown(t, []string{"a", "b", "kafka_offset"}, "1 null 0", "2 7 1", "4 8 3")
	p.proves(t, "proved", 3).has("verify", "replayed", 1)
}

func TestToShowNoDeadLettersSaysSo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := lettered(t, k, "a INT")
	k.say(t, `{"a":1}`)
	p.run(t).wants(0)
	if o := call(t, p.environ, slices.Concat([]string{"sluice", "deadletter", "show"}, p.flags)...).wants(0); o.stdout != "0 dead letters\n" {
		t.Errorf("got %q, want %q", o.stdout, "0 dead letters\n")
	}
	if o := p.letter(t, "show").wants(0); o.stdout != "" {
		t.Errorf("got %q, want no object", o.stdout)
	}
}
