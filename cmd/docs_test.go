package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	documented = regexp.MustCompile("(?s)<!-- sample -->\n```json\n(.*?)```\n(.*?)(?:\n## |$)")
	inTable    = regexp.MustCompile("`([^`]+)`")
)

// documentation is what docs/json.md shows of each type: the sample, and the fields of the sample and of its table.
func documentation(t *testing.T) (samples map[string]map[string]any, fields map[string]map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	samples, fields = map[string]map[string]any{}, map[string]map[string]bool{}
	for _, part := range strings.SplitAfter(string(text), "\n## ") {
		m := documented.FindStringSubmatch(part)
		if m == nil {
			continue
		}
		var sample map[string]any
		if err := json.Unmarshal([]byte(m[1]), &sample); err != nil {
			t.Fatal(err)
		}
		kind := fmt.Sprint(sample["type"])
		samples[kind], fields[kind] = sample, map[string]bool{}
		paths(sample, "", fields[kind])
		for line := range strings.Lines(m[2]) {
			if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(cell, "`") {
				for _, name := range inTable.FindAllStringSubmatch(cell, -1) {
					fields[kind][name[1]] = true
				}
			}
		}
	}
	return samples, fields
}

// named are maps whose entries are called after something of the user's, or of the records.
var named = []string{"columnFormats", "startOffset", "endOffset", "began", "latestOffset", "foreign", "libraries", "rows", "reasons"}

// paths collects the paths of all fields below v, those of a list's elements under name[].
func paths(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			full := strings.TrimPrefix(path+"."+name, ".")
			into[full] = true
			if !slices.Contains(named, name) {
				paths(field, full, into)
			}
		}
	case []any:
		for _, item := range v {
			paths(item, path+"[]", into)
		}
	}
}

// every object that the verbs print, by type.
func printed(t *testing.T) map[string][]map[string]any {
	t.Helper()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	k.produce(t, &kgo.Record{Topic: "orders", Key: []byte("k"), Value: []byte{0xff}, Headers: []kgo.RecordHeader{{Key: "h", Value: nil}}})
	p := newPipeline(t, k).with("--set", "source.includeHeaders=true")
	objects := map[string][]map[string]any{}
	add := func(o *outcome) {
		for line := range strings.Lines(o.stdout) {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			kind := fmt.Sprint(object["type"])
			objects[kind] = append(objects[kind], object)
		}
	}
	for _, verb := range []string{"validate", "plan", "status", "run", "plan", "status", "verify", "peek", "validate"} {
		add(p.do(t, verb))
	}
	add(p.do(t, "verify", "--source").wants(0))
	add(p.do(t, "maintain").wants(0))
	add(p.do(t, "maintain", "--orphans").wants(0))
	k.committed(t, "loader", "orders", map[int32]int64{0: 3})
	for _, more := range [][]string{nil, {"--table", "sales.other", "--checkpoint", p.dir + "/other", "--name", "other"}} {
		add(p.with(more...).do(t, "import", ofGroup...))
	}
	add(p.do(t, "peek", "--topic").wants(0))
	add(p.do(t, "run", "--set", "source.maxOffsetPerTrigger=1").wants(64))
	add(p.with("--subscribe", "nothing-there").do(t, "run"))
	add(p.with("--subscribe", "nothing-there").do(t, "validate"))
	add(call(t, nil, "sluice", "version", "--output", "json").wants(0))
	letters := embedded(t, "orders")
	letters.say(t, `{"a":1}`, `{"a":"2"}`, `{`)
	l := lettered(t, letters, "a INT")
	for _, o := range []*outcome{l.run(t), l.do(t, "verify"), l.do(t, "plan"), l.letter(t, "ls"), l.letter(t, "show"), l.with("--set", "value.json.numbersInText=true").letter(t, "replay")} {
		add(o.wants(0))
	}
	add(letters.infer(t, "--output", "json").wants(0))
	return objects
}

// The samples of the documentation are made by hand, so that they can show everything. What the program prints must be
// in them, or in the table below them, down to the names of phases and checks.
func TestWhatIsPrintedIsInTheDocumentation(t *testing.T) {
	t.Parallel()
	samples, fields := documentation(t)
	all := printed(t)
	for _, kind := range slices.Sorted(maps.Keys(samples)) {
		if kind == "demo" { // its test is that of the demo
			continue
		}
		if len(all[kind]) == 0 {
			t.Errorf("no %s was printed", kind)
		}
		for _, object := range all[kind] {
			got := map[string]bool{}
			paths(object, "", got)
			for _, path := range slices.Sorted(maps.Keys(got)) {
				if !fields[kind][path] && path != "type" && !strings.HasPrefix(path, "lastProgress.") {
					t.Errorf("%s: %s is not in the documentation", kind, path)
				}
			}
		}
	}
	for _, object := range all["batch"] {
		if got, want := keysOf(object["durationMs"]), keysOf(samples["batch"]["durationMs"]); !slices.Equal(got, want) {
			t.Errorf("durationMs: got %q, the sample has %q", got, want)
		}
	}
	for _, object := range all["validate"] {
		if got, want := namesOf(object["checks"]), namesOf(samples["validate"]["checks"]); !slices.Equal(got, want) {
			t.Errorf("checks: got %q, the sample has %q", got, want)
		}
	}
}

func keysOf(object any) []string {
	fields, _ := object.(map[string]any)
	return slices.Sorted(maps.Keys(fields))
}

func namesOf(list any) []string {
	var names []string
	items, _ := list.([]any)
	for _, item := range items {
		names = append(names, fmt.Sprint(item.(map[string]any)["name"]))
	}
	return names
}
