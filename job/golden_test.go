package job

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

const cases = "../testdata/job"

// checkClient knows less than the client does.
func checkClient(properties map[string]string) []PropertyProblem {
	var problems []PropertyProblem
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		switch {
		case name == "group.id":
			problems = append(problems, PropertyProblem{Name: name, Message: "cannot be set: there is no group"})
		case name == "bootstrap.server":
			problems = append(problems, PropertyProblem{Name: name, Message: "is unknown", Nearest: "bootstrap.servers"})
		case strings.HasSuffix(name, ".ms") && properties[name] != "500":
			problems = append(problems, PropertyProblem{Name: name, Value: true, Message: "want milliseconds"})
		}
	}
	return problems
}

// checkRegistry wants the address.
func checkRegistry(properties map[string]string) []PropertyProblem {
	if properties["url"] == "" {
		return []PropertyProblem{{Name: "url", Message: "is required"}}
	}
	return nil
}

// checkValue finds one misspelt type and one zone.
func checkValue(v *Value) []ValueProblem {
	var problems []ValueProblem
	for _, schema := range [][2]string{{schemaPath, v.Text()}, {keySchemaPath, v.Key.Text()}} {
		for i, text := range strings.Split(schema[1], "\n") {
			if at := strings.Index(text, "STRNG"); at >= 0 {
				problems = append(problems, ValueProblem{Key: schema[0], Message: "there is no type STRNG", Line: i + 1, Column: at + 1, Text: text})
			}
		}
	}
	if v.JSON.TimeZone == "Mars" {
		problems = append(problems, ValueProblem{Key: "value.json.timeZone", Message: "there is no time zone Mars"})
	}
	return problems
}

// caseInput reads the lines "#! word value" of a case: env, flag, set, needs, file and nofile.
func caseInput(t *testing.T, path string) Input {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{File: "/etc/sluice/" + filepath.Base(path), WorkDir: "/home/etl", Reserved: []string{"SLUICE_OWN"}, CheckClient: checkClient, CheckRegistry: checkRegistry, CheckValue: checkValue}
	in.ReadFile = func(name string) ([]byte, error) {
		rest, ok := strings.CutPrefix(name, "/etc/sluice/")
		if !ok {
			return nil, os.ErrPermission
		}
		return os.ReadFile(filepath.Join(cases, rest))
	}
	for line := range strings.Lines(string(content)) {
		directive, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#! ")
		if !ok {
			continue
		}
		word, value, _ := strings.Cut(directive, " ")
		name, argument, _ := strings.Cut(value, "=")
		switch word {
		case "env":
			in.Environ = append(in.Environ, value)
		case "flag":
			in.Flags = append(in.Flags, FlagValue{name, argument})
		case "set":
			in.Set = append(in.Set, value)
		case "needs":
			in.Needs = map[string]Part{"source": ForSource, "sink": ForSink, "checkpoint": ForCheckpoint}[value]
		case "file":
			in.File = "/etc/sluice/" + value
		case "nofile":
			in.File = ""
		default:
			t.Fatalf("%s: unknown directive %q", path, word)
		}
	}
	return in
}

func TestEveryCaseGivesItsConfigurationOrAllOfItsProblems(t *testing.T) {
	paths, err := filepath.Glob(cases + "/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			j, err := Load(caseInput(t, path))
			got := ""
			if err != nil {
				got = err.Error() + "\n"
			} else {
				got = j.String()
			}
			compare(t, strings.TrimSuffix(path, ".yaml")+".golden", got)
			if strings.Contains(got, "hunter2") {
				t.Errorf("a secret shows:\n%s", got)
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || !IsJobError(err)) {
				t.Errorf("got %T, want *Error", err)
			}
		})
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", golden, got, want)
	}
}
