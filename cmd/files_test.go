package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filed is a pipeline into a folder of Parquet files.
func filed(t testing.TB, k *kafka) *pipeline {
	t.Helper()
	p := newPipeline(t, k).without("--warehouse", "--table")
	return p.with("--parquet-path", p.dir)
}

func (p *pipeline) dataFiles(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryVerbWorksWithAFolderOfFiles(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k)
	k.fill(t, "orders", 5, 0, 1)
	if o := p.do(t, "validate").wants(0); !strings.Contains(o.stdout, "conditional writes work") {
		t.Errorf("validate said\n%s", o.stdout)
	}
	if left, err := os.ReadDir(p.dir); err == nil {
		for _, entry := range left {
			if !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "_sluice" {
				t.Errorf("validate left %s", entry.Name())
			}
		}
	}
	p.do(t, "plan").wants(0).has("plan", "batch", 0, "records", 10)
	p.run(t, "--max-offsets-per-trigger", "4").wants(0).has("summary", "rows", 10, "batches", 3, "tableMade", true)
	p.proves(t, "proved", 10)
	k.fill(t, "orders", 2, 0)
	p.run(t).wants(0).has("summary", "rows", 2, "batches", 1)
	p.run(t).wants(0).has("summary", "rows", 0)
	p.proves(t, "proved", 12)
	read := p.do(t, "status").wants(0).has("status", "lag", 0, "tableBatch", 3).last("status")["read"].(string)
	for _, file := range p.dataFiles(t) {
		if !strings.Contains(read, "'"+file+"'") {
			t.Errorf("%s is not in %s", file, read)
		}
	}
	shown := p.do(t, "peek", "--limit", "3").wants(0).last("peek")
	if rows := shown["rows"].([]any); len(rows) != 3 || shown["read"] != read {
		t.Errorf("peek shows %v and %v", shown["rows"], shown["read"])
	}
	if text := call(t, nil, append([]string{"sluice", "status"}, p.flags...)...).wants(0).stdout; !strings.Contains(text, "read_parquet(['") {
		t.Errorf("status says\n%s", text)
	}
}

func TestTwoQueriesInOneFolderDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders", "refunds")
	p := filed(t, k)
	other := p.with("--subscribe", "refunds", "--name", "refunds", "--checkpoint", filepath.Join(p.dir, "_checkpoints", "refunds"))
	k.fill(t, "orders", 3, 0)
	k.fill(t, "refunds", 4, 1)
	p.run(t).wants(0).has("summary", "rows", 3)
	other.run(t).wants(0).has("summary", "rows", 4)
	k.fill(t, "orders", 2, 0)
	p.run(t).wants(0).has("summary", "rows", 2)
	other.run(t).wants(0).has("summary", "rows", 0)
	p.proves(t, "proved", 9)
	other.proves(t, "proved", 9)
}

// A folder that was emptied and made again is not the one that the checkpoint's rows went to.
func TestAFolderThatIsGoneOrMadeAgainIsNoticed(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k)
	p = p.with("--checkpoint", filepath.Join(t.TempDir(), "cp"))
	k.fill(t, "orders", 3, 0)
	p.run(t).wants(0)
	if err := os.Rename(p.dir, p.dir+".old"); err != nil {
		t.Fatal(err)
	}
	k.fill(t, "orders", 2, 0)
	p.do(t, "run").fails(13, "is gone")
	again := p.with("--name", "again", "--checkpoint", filepath.Join(t.TempDir(), "cp"))
	again.run(t).wants(0).has("summary", "rows", 5)
	p.do(t, "run").fails(13, "is not the one this query wrote to")
	p.run(t, "--lost-rows", "reread").wants(0).has("summary", "rows", 5)
}

func TestAFolderThatMovedWithItsCheckpointGoesOn(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k)
	k.fill(t, "orders", 3, 0)
	p.run(t).wants(0)
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(p.dir, moved); err != nil {
		t.Fatal(err)
	}
	k.fill(t, "orders", 2, 0)
	there := p.with("--parquet-path", moved, "--checkpoint", filepath.Join(moved, "_checkpoints", "lake"), "--name", "lake")
	there.run(t).wants(0).has("summary", "rows", 2)
	there.proves(t, "proved", 5)
}

func TestNewFieldsBecomeColumnsOfAFolderAndTypesNeverChange(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k).with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onUnknownField=addColumn")
	k.say(t, `{"a":1}`)
	p.run(t).wants(0).has("summary", "rows", 1)
	k.say(t, `{"a":2,"b":"x","c":{"d":1}}`, `{"a":3}`)
	p.run(t).wants(0).has("summary", "rows", 2)
	k.say(t, `{"a":4,"c":{"d":2,"e":true}}`)
	p.run(t).wants(0).has("summary", "rows", 1)
	p.proves(t, "proved", 4)
	if got, want := fmt.Sprint(p.shows(t, "a", "b", "c")), `[1 null null 2 "x" {"d":1,"e":null} 3 null null 4 null {"d":2,"e":true}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	k.say(t, `{"a":5}`)
	p.with("--value-schema", "a BIGINT").do(t, "run").fails(13, "column a is int in the folder and long in the rows")
	p.run(t).wants(0).has("summary", "rows", 1)
}

func TestDeadLettersInAFolderAreListedShownAndReplayedOnce(t *testing.T) {
	t.Parallel()
	for _, rows := range []string{"table", "folder"} {
		t.Run("rows in a "+rows, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := newPipeline(t, k)
			if rows == "folder" {
				p = filed(t, k)
			}
			dead := filepath.Join(t.TempDir(), "dead")
			p = p.with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.path="+dead)
			k.say(t, `{"a":1}`, `{"a":"7"}`, `{"a":2}`, `nothing`)
			p.run(t).wants(0).has("summary", "rows", 2, "deadLetters", 2).has("batch", "sluice.deadLetterPath", dead)
			p.proves(t, "proved", 2).has("verify", "deadLetters", 2, "deadLettersFound", 2)
			if tables := fmt.Sprint(p.do(t, "plan").wants(0).last("plan")["tables"]); !strings.Contains(tables, "path "+dead) {
				t.Errorf("the plan's tables are %s", tables)
			}
			listed := p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2, "replayed", 0).last("deadletters")
			if got := fmt.Sprint(listed["tables"]); got != "[path "+dead+"]" {
				t.Errorf("got tables %s", got)
			}
			if o := p.letter(t, "show", "--record", "orders-0@3").wants(0); o.last("deadletter")["value"] != "nothing" {
				t.Errorf("show: %s", o.stdout)
			}
			p.letter(t, "replay").wants(0).has("replay", "deadLetters", 2, "rows", 0, "still", 2)
			lenient := p.with("--set", "value.json.numbersInText=true")
			lenient.letter(t, "replay", "--dry-run").wants(0).has("replay", "rows", 1, "still", 1)
			p.proves(t, "proved", 2)
			lenient.letter(t, "replay").wants(0).has("replay", "rows", 1, "still", 1)
			lenient.letter(t, "replay").wants(0).has("replay", "rows", 0, "before", 1, "still", 1)
			p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2, "replayed", 1)
			p.letter(t, "show", "--record", "orders-0@1").wants(0).has("deadletter", "replayed", true)
			p.proves(t, "proved", 3).has("verify", "deadLettersFound", 2, "replayed", 1)
			k.say(t, `{"a":8}`, `x`)
			p.run(t).wants(0).has("summary", "rows", 1, "deadLetters", 1)
			p.proves(t, "proved", 4).has("verify", "deadLettersFound", 3, "replayed", 1)
		})
	}
}

// Where a manifest is gone, the files of all batches up to it cannot be told. Nothing shows the rest as if it were all.
func TestAFolderThatLacksAManifestIsNotShownAsWhole(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	dead := filepath.Join(t.TempDir(), "dead")
	p := filed(t, k)
	p = p.with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.path="+dead, "--max-offsets-per-trigger", "2")
	k.say(t, `{"a":1}`, `x`, `{"a":2}`, `y`, `{"a":3}`, `z`)
	p.run(t).wants(0).has("summary", "rows", 3, "deadLetters", 3, "batches", 3)
	p.do(t, "peek").wants(0)
	damage := func(folder, name string, damage func(string) error) func() {
		found, err := filepath.Glob(filepath.Join(folder, "_sluice", name))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		kept, err := os.ReadFile(found[0])
		if err == nil {
			err = damage(found[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(found[0], kept, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	half := func(name string) error { return os.Truncate(name, 20) }
	for how, f := range map[string]func(string) error{"gone": os.Remove, "half": half} {
		restore := damage(p.dir, "*-*/1.json", f)
		status := p.do(t, "status").wants(0).last("status")
		if text := fmt.Sprint(status["notes"]); status["read"] != nil || !strings.Contains(text, "manifest of batch 1") {
			t.Errorf("%s: status reads with %v and notes %s", how, status["read"], text)
		}
		p.do(t, "peek").wants(13)
		p.letter(t, "replay").wants(13)
		p.do(t, "verify").wants(13)
		restore()

		restore = damage(dead, "*-*/1.json", f)
		for _, verb := range []string{"ls", "replay"} {
			if o := p.letter(t, verb).wants(13); !strings.Contains(o.stderr, "manifest of batch 1") {
				t.Errorf("%s, %s: got\n%s", how, verb, o.stderr)
			}
		}
		p.letter(t, "show", "--record", "orders-0@1").wants(13)
		p.do(t, "verify").wants(13)
		restore()
	}
	restore := damage(p.dir, "folder.json", half)
	for _, verb := range []string{"run", "verify", "peek"} {
		p.do(t, verb).wants(13)
	}
	restore()
	p.proves(t, "proved", 3)
}
