package main_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layer is what one package may import. Its production files and the tests inside it obey; the tests beside it (package
// x_test) may import anything, for they are where an implementation meets the interface of another layer.
type layer struct {
	// imports lists the packages of sluice.
	imports []string
	// std says that everything else comes from the standard library.
	std bool
	// tests says that the package supports tests: only tests, and packages that do the same, may import it.
	tests bool
}

var vocabulary = []string{"offsets", "batch", "columns"}

// layers knows every package. Imports run downward only:
// main -> cmd -> {runner, verify} -> {kafkasrc, kafkasink, decode, lakesink, checkpoint, progress} -> objectstore -> {batch, columns} -> offsets.
// A new package gets its line here when it has been decided where it belongs.
var layers = map[string]layer{
	".":   {imports: []string{"cmd"}},
	"cmd": {imports: slices.Concat([]string{"runner", "verify", "job", "demo", "objectstore", "decode/ddl", "decode/malformed", "decode/registry"}, middle, vocabulary)},

	"runner": {imports: slices.Concat([]string{"progress"}, vocabulary)},
	"verify": {imports: vocabulary},
	"job":    {imports: slices.Concat([]string{"layout", "spelling"}, vocabulary)},
	"demo":   {},

	"kafkasrc":                    {imports: slices.Concat([]string{"kafkaauth", "spelling", "tlsfile"}, vocabulary)},
	"kafkaauth":                   {imports: []string{"batch", "spelling", "tlsfile"}},
	"kafkasink":                   {imports: vocabulary},
	"decode":                      {imports: slices.Concat([]string{"decode/avro", "decode/ddl", "decode/json", "decode/jsonschema", "decode/malformed", "decode/protobuf", "decode/registry"}, vocabulary)},
	"decode/avro":                 {imports: []string{"columns", "decode/malformed", "decode/mapkeys"}, std: true},
	"decode/ddl":                  {imports: []string{"columns", "spelling"}, std: true},
	"decode/json":                 {imports: []string{"columns", "decode/malformed", "decode/mapkeys"}, std: true},
	"decode/jsonschema":           {imports: []string{"columns"}, std: true},
	"decode/malformed":            {std: true},
	"decode/mapkeys":              {imports: []string{"columns"}, std: true},
	"decode/protobuf":             {imports: []string{"columns", "decode/malformed", "decode/mapkeys"}},
	"decode/registry":             {imports: []string{"batch", "decode/malformed", "spelling", "tlsfile"}}, // the one below decode that asks a server
	"lakesink":                    {imports: slices.Concat([]string{"lakesink/hivecatalog", "lakesink/hivecatalog/thrift", "lakesink/parquetfile", "lakesink/partition", "lakesink/restcatalog", "lakesink/spill", "layout", "objectstore", "objectstore/answer"}, vocabulary)},
	"lakesink/files":              {imports: slices.Concat([]string{"lakesink", "lakesink/parquetfile", "lakesink/partition", "layout", "objectstore"}, vocabulary)},
	"lakesink/maintain":           {imports: slices.Concat([]string{"layout", "lakesink", "lakesink/files", "lakesink/parquetfile", "lakesink/partition"}, vocabulary)},
	"lakesink/hivecatalog":        {imports: []string{"lakesink/hivecatalog/thrift"}},
	"lakesink/hivecatalog/thrift": {std: true},
	"lakesink/parquetfile":        {imports: vocabulary},
	"lakesink/partition":          {imports: []string{"columns", "layout"}},
	"lakesink/restcatalog":        {},
	"lakesink/spill":              {imports: []string{"columns"}},
	"checkpoint":                  {imports: slices.Concat([]string{"objectstore"}, vocabulary)},
	"progress":                    {imports: vocabulary},

	"objectstore":        {imports: []string{"batch", "objectstore/answer"}},
	"objectstore/answer": {},
	"spelling":           {std: true},
	"tlsfile":            {imports: []string{"spelling"}},

	"batch":   {imports: []string{"offsets", "columns"}, std: true},
	"columns": {std: true},
	"offsets": {std: true},
	"layout":  {std: true},

	"objectstore/storetest": {imports: []string{"objectstore"}, tests: true},
	"objectstore/s3test":    {std: true, tests: true},
	"lakesink/gluetest":     {std: true, tests: true},
	"lakesink/hivetest":     {imports: []string{"lakesink/hivecatalog/thrift"}, tests: true},
	"lakesink/laketest":     {imports: vocabulary, tests: true},
	"lakesink/resttest":     {tests: true},
	"lakesink/rowtest":      {imports: []string{"columns"}, tests: true},
	"rig":                   {tests: true},
	"rig/faultproxy":        {tests: true}, // and franz-go's messages, to tell clients of Kafka where it is itself
	"rig/produce":           {imports: []string{"demo"}, tests: true},
	"bench":                 {imports: slices.Concat([]string{"cmd", "runner", "verify", "job", "rig", "lakesink/parquetfile"}, middle, vocabulary), tests: true},
	"bench/contest":         {std: true, tests: true},
	"bench/weigh":           {std: true},
	"examples/cron":         {},
}

var middle = []string{"kafkasrc", "kafkasink", "decode", "lakesink", "lakesink/files", "lakesink/maintain", "checkpoint", "progress"}

// reasons says why an import is refused, by the layer that imports.
var reasons = map[string]string{
	".":           "main only calls cmd.Main",
	"cmd":         "cmd wires the packages and is at the top",
	"runner":      "runner owns the interfaces that it consumes; cmd hands it what satisfies them",
	"verify":      "verify is the judge: it reads tables itself and shares no code with what it judges",
	"job":         "job turns YAML into values; cmd turns those into each package's options",
	"kafkasrc":    "the middle row imports neither each other nor runner",
	"kafkasink":   "the middle row imports neither each other nor runner",
	"decode":      "the middle row imports neither each other nor runner",
	"lakesink":    "the middle row imports neither each other nor runner",
	"checkpoint":  "the middle row imports neither each other nor runner",
	"progress":    "the middle row imports neither each other nor runner",
	"objectstore": "stores know nothing of what is kept in them",
	"batch":       "the vocabulary is at the bottom",
	"columns":     "the vocabulary is at the bottom",
	"offsets":     "the vocabulary is at the bottom",
}

var banned = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// file is what the rules look at in one source file.
type file struct {
	name    string // below the module's root, with slashes
	clause  string // the name in its package clause
	imports []string
}

func (f file) pkg() string    { return path.Dir(f.name) }
func (f file) test() bool     { return strings.HasSuffix(f.name, "_test.go") }
func (f file) external() bool { return f.test() && strings.HasSuffix(f.clause, "_test") }

// broken lists the rules that the file breaks, in words for its author.
func (f file) broken() []string {
	rules, known := layers[f.pkg()]
	var complaints []string
	for _, name := range []string{path.Base(f.pkg()), f.clause} {
		if slices.Contains(banned, name) {
			complaints = append(complaints, fmt.Sprintf("%s: no package is called %s: name it after what it knows, or put the code where it is used", f.name, name))
			break
		}
	}
	if !known {
		return append(complaints, fmt.Sprintf("%s: package %s has no line in layers: decide where it belongs and add one", f.name, f.pkg()))
	}
	if f.external() {
		return complaints
	}
	for _, imported := range f.imports {
		if reason := f.refuses(rules, imported); reason != "" {
			complaints = append(complaints, fmt.Sprintf("%s imports %s: %s", f.name, imported, reason))
		}
	}
	return complaints
}

// refuses says why the file may not import the package; empty if it may.
func (f file) refuses(rules layer, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, "sluice/")
	switch {
	case !isOurs && rules.std && !f.test() && strings.Contains(strings.Split(imported, "/")[0], "."):
		return f.pkg() + " imports the standard library alone"
	case !isOurs:
		return ""
	case slices.Contains(rules.imports, ours):
		return ""
	case layers[ours].tests && (f.test() || rules.tests):
		return ""
	case layers[ours].tests:
		return ours + " is for tests"
	}
	allowed := "nothing"
	if len(rules.imports) > 0 {
		allowed = strings.Join(rules.imports, ", ")
	}
	why := reasons[strings.Split(f.pkg(), "/")[0]]
	return strings.TrimSuffix(fmt.Sprintf("of sluice, %s may import %s; %s", f.pkg(), allowed, why), "; ")
}

// parse reads the package clause and imports; src is nil to read the file.
func parse(name string, src any) (file, error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), src, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	f := file{name: name, clause: syntax.Name.Name}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// sources parses every Go file of the module, whatever its build tags.
func sources() ([]file, error) {
	var files []file
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || name == "tools" || name == "third_party") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(filepath.ToSlash(name), nil)
		files = append(files, f)
		return err
	})
	return files, err
}

func TestLayersImportsRunDownwardOnly(t *testing.T) {
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("got no source files")
	}
	for _, f := range files {
		for _, complaint := range f.broken() {
			t.Error(complaint)
		}
	}
}

func TestLayersFormNoCycle(t *testing.T) {
	var visit func(pkg string, above []string)
	visit = func(pkg string, above []string) {
		if slices.Contains(above, pkg) {
			t.Fatalf("layers allows a cycle: %s", strings.Join(append(above, pkg), " -> "))
		}
		rules, known := layers[pkg]
		if !known {
			t.Fatalf("layers lets %s import %s, which it does not know", above[len(above)-1], pkg)
		}
		for _, imported := range rules.imports {
			visit(imported, append(slices.Clone(above), pkg))
		}
	}
	for pkg := range layers {
		visit(pkg, nil)
	}
}

func TestLayersComplainsOfEachForbiddenImport(t *testing.T) {
	for _, c := range []struct {
		name, clause, imported string
		want                   string // part of the complaint, empty if there is none
	}{
		{"lakesink/sink.go", "lakesink", "sluice/batch", ""},
		{"lakesink/sink.go", "lakesink", "github.com/apache/iceberg-go", ""},
		{"lakesink/sink.go", "lakesink", "sluice/lakesink/parquetfile", ""},
		{"lakesink/sink.go", "lakesink", "sluice/runner", "the middle row imports neither each other nor runner"},
		{"lakesink/sink.go", "lakesink", "sluice/checkpoint", "lakesink may import lakesink/hivecatalog, lakesink/hivecatalog/thrift, lakesink/parquetfile, lakesink/partition, lakesink/restcatalog, lakesink/spill, layout, objectstore, objectstore/answer, offsets"},
		{"lakesink/parquetfile/file.go", "parquetfile", "sluice/lakesink", "the middle row"},
		{"lakesink/sink_test.go", "lakesink", "sluice/runner", "the middle row"},
		{"lakesink/sink_test.go", "lakesink_test", "sluice/runner", ""},
		{"lakesink/sink_test.go", "lakesink", "sluice/rig", ""},
		{"lakesink/sink.go", "lakesink", "sluice/rig", "rig is for tests"},
		{"objectstore/open.go", "objectstore", "sluice/objectstore/storetest", "is for tests"},
		{"objectstore/open.go", "objectstore", "sluice/checkpoint", "objectstore may import batch, objectstore/answer; stores know nothing of what is kept in them"},
		{"runner/run.go", "runner", "sluice/progress", ""},
		{"runner/run.go", "runner", "sluice/kafkasrc", "owns the interfaces"},
		{"runner/run.go", "runner", "sluice/job", "runner may import progress, offsets"},
		{"verify/judge.go", "verify", "sluice/lakesink", "the judge"},
		{"cmd/run.go", "cmd", "sluice/job", ""},
		{"cmd/run.go", "cmd", "sluice/rig", "rig is for tests"},
		{"main.go", "main", "sluice/cmd", ""},
		{"main.go", "main", "sluice/runner", "main only calls cmd.Main"},
		{"batch/plan.go", "batch", "sluice/progress", "at the bottom"},
		{"batch/plan.go", "batch", "github.com/google/uuid", "standard library alone"},
		{"columns/set.go", "columns", "github.com/apache/arrow-go/v18/arrow", "standard library alone"},
		{"columns/set.go", "columns", "encoding/binary", ""},
		{"columns/set.go", "columns", "sluice/offsets", "may import nothing"},
		{"offsets/json.go", "offsets", "golang.org/x/exp/maps", "standard library alone"},
		{"util/strings.go", "util", "strings", "no package is called util"},
		{"progress/helper.go", "helper", "strings", "no package is called helper"},
		{"windows/join.go", "windows", "strings", "has no line in layers"},
		{"bench/main.go", "main", "sluice/rig", ""},
		{"rig/rig.go", "rig", "sluice/kafkasrc", "rig may import nothing"},
	} {
		f, err := parse(c.name, fmt.Sprintf("package %s\nimport _ %q\n", c.clause, c.imported))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(f.broken(), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s (package %s) importing %s: got %q, want %q", c.name, c.clause, c.imported, got, c.want)
		}
	}
}
