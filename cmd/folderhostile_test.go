package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// only is the one path that fits a pattern.
func only(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v for %s, want one", found, err, pattern)
	}
	return found[0]
}

// changed puts other bytes into a file and returns what puts it back; nil removes it.
func changed(t testing.TB, name string, other func(was []byte) []byte) (restore func()) {
	t.Helper()
	was, err := os.ReadFile(name)
	if err == nil {
		if is := other(was); is == nil {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, is, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(name, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func removed([]byte) []byte { return nil }

// What somebody may do to a folder with partitions: a run stops with words, or goes on where that harms nothing, and verify names
// what is wrong. Once it is put back, all is proved.
func TestWhatWasDoneToAPartitionedFolderIsNamedOrHarmless(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k).with("--value-format", "json", "--value-schema", "a INT, s STRING", "--set", "sink.parquet.partitionBy=s", "--max-offsets-per-trigger", "2")
	k.say(t, `{"a":1,"s":"x"}`, `{"a":2,"s":"y"}`, `{"a":3,"s":"x"}`, `{"a":4,"s":"z"}`, `{"a":5,"s":"x"}`, `{"a":6,"s":"y"}`)
	p.run(t).wants(0).has("summary", "rows", 6, "batches", 3)
	p.proves(t, "proved", 6)
	books := filepath.Join(p.dir, "_sluice")
	half := func(was []byte) []byte { return was[:len(was)/2] }
	other := func(was []byte) []byte { return []byte(strings.Repeat("x", len(was))) }
	swap := func(old, new string) func([]byte) []byte {
		return func(was []byte) []byte { return []byte(strings.ReplaceAll(string(was), old, new)) }
	}
	query := filepath.Base(filepath.Dir(only(t, filepath.Join(books, "*-*", "0.json"))))
	for _, c := range []struct {
		what, name  string
		change      func([]byte) []byte
		run, verify int
		says        string
	}{
		{"the newest manifest is cut short", "_sluice/*-*/2.json", half, 13, 13, "2.json"},
		{"the newest manifest is garbage", "_sluice/*-*/2.json", other, 13, 13, "2.json"},
		{"the newest manifest is another query's", "_sluice/*-*/2.json", swap(query, "11111111-2222-4333-8444-555555555555"), 13, 13, "11111111-2222"},
		{"the newest manifest is gone", "_sluice/*-*/2.json", removed, 13, 13, "behind the checkpoint"},
		{"an older manifest is gone", "_sluice/*-*/1.json", removed, 13, 13, "the manifest of batch 1 of query"},
		{"the oldest manifest is gone", "_sluice/*-*/0.json", removed, 13, 13, "the manifest of batch 0 of query"},
		{"an older manifest is garbage", "_sluice/*-*/1.json", other, 0, 13, ""}, // runs do not read it
		{"a data file is gone", "s=z/part-*.parquet", removed, 0, 13, ""},
		{"a data file is another of its size", "s=z/part-*.parquet", other, 0, 13, ""},
		{"folder.json is of a later version", "_sluice/folder.json", swap(`"v":2`, `"v":3`), 13, 13, "newer sluice"},
		{"folder.json is garbage", "_sluice/folder.json", other, 13, 13, "folder.json"},
	} {
		restore := changed(t, only(t, filepath.Join(p.dir, filepath.FromSlash(c.name))), c.change)
		for verb, code := range map[string]int{"run": c.run, "plan": c.run, "verify": c.verify} {
			o := p.do(t, verb)
			if said := o.stdout + o.stderr; o.code != code || verb == "run" && !strings.Contains(said, c.says) {
				t.Errorf("%s: %s ended with %d, want %d and %q:\n%s", c.what, verb, o.code, code, c.says, said)
			}
		}
		restore()
	}
	claim := filepath.Join(books, "spark.json")
	for what, text := range map[string]string{"of another query": `{"v":1,"query":"11111111-2222-4333-8444-555555555555"}`, "of a later version": `{"v":2,"query":"x"}`, "garbage": "x"} {
		if err := os.WriteFile(claim, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"run", "plan", "verify"} {
			if o := p.do(t, verb); o.code != 13 || !strings.Contains(o.stdout+o.stderr, "spark.json") {
				t.Errorf("spark.json %s: %s ended with %d, want 13:\n%s%s", what, verb, o.code, o.stdout, o.stderr)
			}
		}
	}
	if err := os.Remove(claim); err != nil {
		t.Fatal(err)
	}
	p.proves(t, "proved", 6)
	for _, name := range []string{"README", ".DS_Store", "x/y/z.json", "schema/first.json", query + "/notes.txt", query + "/007.json", query + "/-1.json", query + "/replays/x.json", query + "/1.json.bak"} {
		name = filepath.Join(books, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k.say(t, `{"a":7,"s":"x"}`)
	p.run(t).wants(0).has("summary", "rows", 1)
	p.proves(t, "proved", 7)
}

// A folder whose newest batches somebody has taken away is asked about as a table that was rolled back.
func TestAFolderThatLostAnOldManifestGoesOnAfterAChoice(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := filed(t, k)
	k.fill(t, "orders", 8, 0)
	p.run(t, "--max-offsets-per-trigger", "2").wants(0).has("summary", "rows", 8, "batches", 4)
	manifest := func(n int) string { return only(t, filepath.Join(p.dir, "_sluice", "*-*", fmt.Sprint(n, ".json"))) }
	for _, n := range []int{1} {
		if err := os.Remove(manifest(n)); err != nil {
			t.Fatal(err)
		}
	}
	if o := p.do(t, "run").fails(13, "the manifest of batch 1 of query"); !strings.Contains(o.stdout+o.stderr, "higher numbers") {
		t.Errorf("it does not say what to do:\n%s%s", o.stdout, o.stderr)
	}
	p.do(t, "run", "--lost-rows", "accept").fails(13, "the manifest of batch 1 of query")
	p.do(t, "status").wants(0).has("status", "action", "stop")
	for _, n := range []int{2, 3} {
		if err := os.Remove(manifest(n)); err != nil {
			t.Fatal(err)
		}
	}
	p.do(t, "run").fails(13, "--lost-rows")
	p.run(t, "--lost-rows", "reread").wants(0).has("summary", "rows", 6)
	k.fill(t, "orders", 1, 0)
	p.run(t).wants(0).has("summary", "rows", 1)
	p.do(t, "verify").wants(0)
}

// A folder of dead letters whose newest manifest is gone has lost them, as a table that was rolled back has.
func TestDeadLettersThatAFolderLostStopARunUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	dead := filepath.Join(t.TempDir(), "dead")
	p := newPipeline(t, k).with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.path="+dead, "--max-offsets-per-trigger", "2")
	k.say(t, `{"a":1}`, `x`, `{"a":2}`, `y`, `{"a":3}`, `{"a":4}`, `z`)
	p.run(t).wants(0).has("summary", "rows", 4, "deadLetters", 3, "batches", 4)
	manifest := func(n int) string { return only(t, filepath.Join(dead, "_sluice", "*-*", fmt.Sprint(n, ".json"))) }
	restore := changed(t, manifest(1), removed) // which no number tells: batch 2 has no dead letters, and so no manifest
	p.do(t, "run", "--lost-dead-letters", "accept").fails(13, "the manifest of batch 1 of query")
	p.do(t, "verify").wants(13)
	restore()
	p.run(t).wants(0)
	for i, batch := range []int{3, 4} {
		restore = changed(t, manifest(batch), removed)
		for _, verb := range []string{"run", "plan"} {
			if o := p.do(t, verb).fails(13, "lacks dead letters: the ledger of the rows counts"); !strings.Contains(o.stdout+o.stderr, "--lost-dead-letters accept") {
				t.Errorf("%s does not say what to do:\n%s%s", verb, o.stdout, o.stderr)
			}
		}
		p.letter(t, "ls").fails(13, "lacks dead letters")
		restore()
		p.run(t).wants(0)
		if err := os.Remove(manifest(batch)); err != nil {
			t.Fatal(err)
		}
		p.run(t, "--lost-dead-letters", "accept").wants(0)
		k.say(t, `w`, fmt.Sprintf(`{"a":%d}`, 10+i))
		p.run(t).wants(0).has("summary", "rows", 1, "deadLetters", 1)
		p.run(t).wants(0)
		p.do(t, "verify").wants(0)
	}
}
