package job

import "strings"

// Class says when a key may change while a query goes on.
type Class int

// The classes.
const (
	// Free: at any time, with the next run.
	Free Class = iota
	// NextBatch: at any time; a batch that is planned already is finished as it was planned.
	NextBatch
	// NewQuery: never; another value is another query, with a checkpoint of its own.
	NewQuery
)

// String is the class as the documentation has it.
func (c Class) String() string { return [...]string{"any time", "next batch", "new query"}[c] }

// Part is a group of keys that a verb may do without.
type Part int

// The parts. A verb that only reads a topic needs ForSource alone.
const (
	ForSource Part = 1 << iota
	ForSink
	ForCheckpoint
	ForAll = ForSource | ForSink | ForCheckpoint
)

// Key is one row of the table of keys.
type Key struct {
	// Path is the key's place in the file, its parts joined by dots.
	Path string
	// Type names the values, Want says what they look like.
	Type, Want string
	// Default is the value of a key that nobody set, in the form of the file; empty if there is none.
	Default string
	// Unit is what a number counts, empty if there is nothing to say.
	Unit string
	// Allowed lists the values of a key that knows only a few.
	Allowed []string
	// Flag is the key's own flag, without dashes; empty if only --set reaches it.
	Flag string
	// Switch says that the flag without a value means true.
	Switch bool
	// Needs is the part that cannot do without this key; 0 if it is optional.
	Needs Part
	Class Class
	// Doc is one or more sentences, in Markdown.
	Doc string
	// Brief says in the flag's help what the first sentence of Doc leaves open there; empty if it stands alone.
	Brief string

	// also lists other programs' words for it; they are not accepted, only understood.
	also []string
	// plain says that the canonical form is YAML as it stands, and no text that may need quotes.
	plain bool
	// set reads a value into the Job; put reads one entry of a key that is a free map and has no set.
	set func(j *Job, t term) []fault
	put func(j *Job, name string, t term) []fault
	// text is the canonical form, empty if the key is not set; clear unsets it.
	text  func(j *Job) string
	clear func(j *Job)
}

// Env is the variable that sets the key: SLUICE_ and the path in capitals, dots as underscores.
func (k *Key) Env() string { return envName(k.Path) }

func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

const envPrefix = "SLUICE_"

// key ties a row of the table to the field of a Job that it sets.
func key[T any](path string, at func(j *Job) *T, k kind[T], row Key) *Key {
	row.Path, row.Type, row.Want, row.plain = path, k.name, k.want, k.plain
	row.set = func(j *Job, t term) []fault {
		v, faults := k.read(t)
		if len(faults) == 0 {
			*at(j) = v
		}
		return faults
	}
	_, row.Switch = any(*at(&Job{})).(bool)
	row.text = func(j *Job) string { return k.write(*at(j)) }
	row.clear = func(j *Job) {
		var zero T
		*at(j) = zero
	}
	return &row
}

// entry is a row for one entry of a map of properties, which then has a type, a default and a flag of its own.
func entry(path, name string, at func(j *Job) *Properties, k kind[string], row Key) *Key {
	row.Path, row.Type, row.Want = path+"."+name, k.name, k.want
	row.set = func(j *Job, t term) []fault {
		v, faults := k.read(t)
		if len(faults) == 0 {
			putProperty(at(j), name, v)
		}
		return faults
	}
	row.text = func(j *Job) string { return (*at(j))[name] }
	row.clear = func(j *Job) { delete(*at(j), name) }
	return &row
}

// properties is a row for a free map, set entry by entry: each layer adds its entries to those of the layers below.
func properties(path string, at func(j *Job) *Properties, row Key) *Key {
	row.Path, row.Type, row.Want = path, "map", "names with single values"
	row.put = func(j *Job, name string, t term) []fault {
		if t.form != scalarForm {
			return faultOf(t.at, "is "+t.form.String()+": want a single value")
		}
		putProperty(at(j), name, t.text)
		return nil
	}
	row.text = func(j *Job) string {
		if len(*at(j)) == 0 {
			return ""
		}
		return compactJSON(map[string]string(*at(j)))
	}
	row.clear = func(j *Job) { *at(j) = nil }
	return &row
}

func putProperty(p *Properties, name, value string) {
	if *p == nil {
		*p = Properties{}
	}
	(*p)[name] = value
}
