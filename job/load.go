package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Input is everything that a job is made of.
type Input struct {
	// File is the path of the job file; empty for a job of flags and variables alone.
	File string
	// Environ is the environment as os.Environ gives it. Empty variables count as absent.
	Environ []string
	// Flags are the flags of keys that were given, Set the arguments of --set.
	Flags []FlagValue
	Set   []string
	// Needs is what the verb cannot do without; 0 is ForAll.
	Needs Part
	// Reserved lists SLUICE_… variables that are the caller's own and no keys.
	Reserved []string
	// WorkDir is what relative paths outside of the file are relative to.
	WorkDir string
	// WorkDirError is why there is no working directory: paths that need one are then reported.
	WorkDirError error
	// ReadFile reads the job file and the files that it refers to; the package's ReadFile, which no context ends, if nil.
	ReadFile func(path string) ([]byte, error)
	// CheckClient finds what is wrong with properties of the Kafka client: it knows them, a job does not. Nothing is checked
	// if it is nil.
	CheckClient func(properties map[string]string) []PropertyProblem
	// CheckRegistry is CheckClient for the client of a schema registry.
	CheckRegistry func(properties map[string]string) []PropertyProblem
	// CheckValue finds what is wrong with settings of the format of values, for the same reason.
	CheckValue func(v *Value) []ValueProblem
}

// ValueProblem is one thing that is wrong with how values become columns.
type ValueProblem struct {
	// Key is the key's path.
	Key string
	// Message says what is wrong.
	Message string
	// Line and Column are where in the text of a schema, counting from 1, and Text is that line; Line is 0 elsewhere.
	Line, Column int
	Text         string
}

// PropertyProblem is one thing that is wrong with a client property.
type PropertyProblem struct {
	// Name is the property's.
	Name string
	// Value says that Message is about the value, which is then shown before it unless it is secret.
	Value bool
	// Message says what is wrong and what is allowed, without the value.
	Message string
	// Nearest is the property that was probably meant, empty if none is near.
	Nearest string
}

// FlagValue is one flag of a key as it was given: its name without dashes, and its value.
type FlagValue struct {
	Flag, Value string
}

// Load makes a Job. The error is an *Error with everything that is wrong; nothing but files is touched.
func Load(in Input) (*Job, error) {
	l := newLoading(in)
	l.readDefaults()
	if in.File != "" {
		l.readFile()
	}
	l.readEnvironment()
	l.readFlags()
	if !l.broken {
		l.derive()
		l.check()
	}
	if len(l.problems) > 0 {
		return nil, &Error{Problems: ordered(l.problems)}
	}
	return l.job, nil
}

// loading is a Job in the making.
type loading struct {
	in       Input
	env      map[string]string
	expand   interpolator
	job      *Job
	problems []Problem
	// touched says who last set a path, rightly or wrongly; sections where the file's sections begin.
	touched  map[string]Origin
	sections map[string]Origin
	// text is the job file, line by line; blocks holds the paths whose text begins a line below their place.
	text   []string
	blocks map[string]bool
	// broken says that the file cannot be read as one, so that nothing can be said of keys that are missing.
	broken bool
}

func newLoading(in Input) *loading {
	if in.ReadFile == nil {
		in.ReadFile = func(path string) ([]byte, error) { return ReadFile(context.Background(), path) }
	}
	if in.Needs == 0 {
		in.Needs = ForAll
	}
	l := &loading{in: in, env: map[string]string{}, touched: map[string]Origin{}, sections: map[string]Origin{}, blocks: map[string]bool{},
		job: &Job{origins: map[string]Origin{}, secret: map[string]bool{}}}
	for _, pair := range in.Environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			l.env[name] = value
		}
	}
	lookup := func(name string) (string, bool) { v, ok := l.env[name]; return v, ok }
	l.expand = interpolator{lookup: lookup, read: in.ReadFile, dir: filepath.Dir(in.File)}
	return l
}

func (l *loading) report(at Origin, key, message string) {
	l.problems = append(l.problems, Problem{At: at, Key: key, Message: message})
}

func (l *loading) readDefaults() {
	for _, k := range keys {
		l.readDefault(k)
	}
}

func (l *loading) readDefault(k *Key) {
	if k.Default == "" {
		return
	}
	at := Origin{Layer: Default}
	if faults := k.set(l.job, textTerm(at, k.Default)); faults != nil {
		panic("job: default of " + k.Path + " " + faults[0].message)
	}
	l.job.origins[k.Path] = at
}

// assign sets a key from a term, and remembers where it came from.
func (l *loading) assign(k *Key, t term) {
	if t.form == badForm { // reported already
		return
	}
	l.touched[k.Path] = t.at
	if t.form == emptyForm && slices.Contains(k.Allowed, t.text) { // the word null is nothing to YAML
		t.form, t.word = scalarForm, true
	}
	if t.form == emptyForm {
		if k.put == nil { // a map may have all of its entries commented out
			l.report(t.at, k.Path, "has no value: want "+k.Want)
		}
		return
	}
	if k.put != nil {
		l.assignEntries(k, t)
		return
	}
	t.secret = t.secret || SecretName(k.Path)
	l.blocks[k.Path] = t.below
	l.done(k.Path, t, k.set(l.job, t))
}

func (l *loading) done(path string, t term, faults []fault) {
	for _, f := range faults {
		l.report(f.at, path, f.message)
	}
	if len(faults) == 0 {
		l.job.origins[path] = t.at
		l.job.secret[path] = t.secret
	}
}

// assignEntries sets the entries of a free map, which a variable or flag gives as JSON.
func (l *loading) assignEntries(k *Key, t term) {
	if t.form == scalarForm && t.at.Layer != File {
		var values map[string]string
		if err := json.Unmarshal([]byte(t.text), &values); err != nil {
			l.report(t.at, k.Path, `is no JSON object of texts: want {"name": "value"}`)
			return
		}
		t.form = mapForm
		for _, name := range slices.Sorted(maps.Keys(values)) {
			v := textTerm(t.at, values[name])
			v.secret = SecretName(name)
			t.fields = append(t.fields, field{t.at, name, v})
		}
	}
	if t.form != mapForm {
		l.report(t.at, k.Path, "is "+t.form.String()+": want "+k.Want)
		return
	}
	for _, f := range t.fields {
		l.assignEntry(k, f.name, f.value)
	}
}

var propertyNames = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func (l *loading) assignEntry(k *Key, name string, t term) {
	path := join(k.Path, name)
	if known := find(path); known != nil {
		l.assign(known, t)
		return
	}
	l.touched[path] = t.at
	switch {
	case t.form == badForm:
	case t.form == emptyForm:
		l.report(t.at, path, "has no value: want one, or leave it out")
	case t.form == mapForm:
		l.report(t.at, path, "is a map: names of properties are written whole, such as "+join(name, "name")+": value")
	case !propertyNames.MatchString(name):
		l.report(t.at, path, "is no name for a property: want letters, digits, dots, hyphens and underscores")
	case t.at.Layer == Flag && SecretName(name):
		l.report(t.at, path, "is a secret, and every user of the machine can read the flags of a process: "+secretWays(k, name))
	default:
		l.done(path, t, k.put(l.job, name, t))
	}
}

// secretWays says how else a secret is given.
func secretWays(k *Key, name string) string {
	variable := k.Env()
	if k.Path == kafkaPath || k.Path == registryPath {
		variable = envName(join(k.Path, name))
	}
	return "use the variable " + variable + ", or ${file:…} in a job file"
}

// readFlags reads the flags of keys and --set. A key given twice is a contradiction unless it is twice the same.
func (l *loading) readFlags() {
	given := map[string]string{}
	for _, f := range l.in.Flags {
		if k := findFlag(f.Flag); k != nil {
			l.fromFlag(Origin{Layer: Flag, Name: "--" + f.Flag}, k.Path, f.Value, given)
		} else {
			l.report(Origin{Layer: Flag, Name: "--" + f.Flag}, "", "is the flag of no key")
		}
	}
	for _, pair := range l.in.Set {
		path, value, ok := strings.Cut(pair, "=")
		at := Origin{Layer: Flag, Name: "--set"}
		if !ok {
			l.report(at, "", fmt.Sprintf("%q has no =: want key=value, such as source.maxOffsetsPerTrigger=1000", clip(path)))
			continue
		}
		l.fromFlag(at, path, value, given)
	}
}

func (l *loading) fromFlag(at Origin, path, value string, given map[string]string) {
	if before, twice := given[path]; twice && before != value {
		message := "is given twice, with different values"
		if k := find(path); k != nil && k.Type == "list" {
			message += ": several of a list go into one, with commas"
		}
		l.report(at, path, message)
		return
	}
	given[path] = value
	l.fromText(at, path, value)
}

// fromText sets the key or the entry at path.
func (l *loading) fromText(at Origin, path, value string) {
	t := textTerm(at, value)
	switch k := find(path); {
	case k != nil && value == "":
		l.touched[path] = at
		l.report(at, path, "has no value: want "+k.Want)
	case k != nil:
		l.assign(k, t)
	case mapOf(path) != nil:
		k = mapOf(path)
		name := strings.TrimPrefix(path, k.Path+".")
		t.secret = SecretName(name)
		l.assignEntry(k, name, t)
	case isSection(path):
		l.report(at, path, "is a section: set one of "+strings.Join(children(path), ", "))
	default:
		l.unknown(at, path)
	}
}

// mapOf is the free map that path is an entry of.
func mapOf(path string) *Key {
	for _, k := range keys {
		if k.put != nil && strings.HasPrefix(path, k.Path+".") {
			return k
		}
	}
	return nil
}

// IsJobError says whether err is that of a wrong job, with all of its problems.
func IsJobError(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
