package json

import (
	"fmt"
	"slices"
	"strings"
	chars "unicode"

	"sluice/columns"
)

// GuessOptions say what Guess makes of a sample.
type GuessOptions struct {
	// Plain leaves texts STRING, also if each of them is a date or a time.
	Plain bool
	// NotNull makes fields required that are there, and not null, in every record, or in every object around them.
	NotNull bool
	// Zone says that TIMESTAMP may take texts without a zone, since somebody has said which one is meant.
	Zone bool
	// Reserved are names that no column can have, whatever their case.
	Reserved []string
}

// Guess is a schema to start from.
type Guess struct {
	// Schema may be empty: nothing is known of what the records hold.
	Schema columns.Schema
	// Formats are those that Options need for the columns of Schema to take the sample.
	Formats map[string]string
	// Remarks are what somebody should know of it, in the order of the columns.
	Remarks []Remark
}

// About is what a remark is about.
type About string

// What remarks are about.
const (
	LeftOut  About = "left out"         // a field that has no column
	AsJSON   About = "kept as text"     // a column that needs one of Guess.Formats
	Taken    About = "taken for"        // a guess that another sample may contradict
	Might    About = "might be"         // what somebody who knows the records may prefer
	Rare     About = "seldom there"     // a field of few records
	Rounding About = "mind the numbers" // a number that others may not hold
)

// Remark is a sentence about a column.
type Remark struct {
	About About
	// Path is the column's, as Options.Formats has it.
	Path string
	Text string
}

// Guess says which columns hold the records of the sample. The rules, by what the values of a field are:
//
//	booleans                     BOOLEAN
//	integers                     BIGINT; DECIMAL(38,0) if one is beyond 64 bits
//	numbers with point or e      DOUBLE, also if others are integers
//	texts                        STRING; TIMESTAMP if each is a time with a zone, TIMESTAMP_NTZ if each is one without, DATE if
//	                             each is a date, all as Options says that they are written; Plain leaves them STRING
//	arrays                       ARRAY of what the elements of all of them are
//	objects                      STRUCT of all their fields; MAP<STRING, …> if their names look like values: at least 3 names
//	                             which are all numbers, dates, UUIDs and the like; or more than 20 names of which an object has
//	                             less than a third, if the values are of one kind
//	of several of these kinds,   STRING with the format json, which keeps the text of each value; likewise for integers of
//	whatever the number of each  more than 38 digits, and for numbers beyond DOUBLE
//	null, [] and {} alone        no column: what they will hold is not known
//
// A null is a value of every kind. Columns stand in the order in which records have their fields. A field gets no column if its name is
// empty or reserved, has characters that do not show, or is that of another one but for the case (the one that is there more
// often stays).
//
// The same records in the same order give the same guess. Each record of the sample has a row with Schema and Formats, unless it
// leaves out too many values (see the package comment, on size).
func (s *Sample) Guess(o GuessOptions) Guess {
	g := &guesser{options: o, paths: map[string]bool{}, g: Guess{Formats: map[string]string{}}}
	if s.root.value != nil {
		g.remark(LeftOut, "", "the objects have %s different names or more, or %s places for values inside of each other: no table has so many columns", thousands(mostNames), thousands(mostPlaces))
		return g.g
	}
	g.g.Schema = g.fields(s.root, "", o.Reserved)
	return g.g
}

type guesser struct {
	options GuessOptions
	// paths are those of the columns so far; two may be alike where a name has a dot.
	paths map[string]bool
	g     Guess
}

func (g *guesser) remark(about About, path, format string, a ...any) {
	g.g.Remarks = append(g.g.Remarks, Remark{about, path, fmt.Sprintf(format, a...)})
}

// fields are the columns of the objects in one place.
func (g *guesser) fields(s *shape, parent string, reserved []string) []columns.Field {
	var fields []columns.Field
	chosen := chosenNames(s)
	objects, around := s.kinds[anObject].count, "object"
	if parent == "" {
		around = "record"
	}
	for _, f := range s.fields {
		path := join(parent, f.name)
		switch why := unfit(f.name, chosen, reserved); {
		case why != "":
			g.remark(LeftOut, path, "%s", why)
			continue
		case g.paths[path]:
			g.remark(LeftOut, path, "another column has the same path, since a name has a dot")
			continue
		}
		g.paths[path] = true
		t, why := g.typeOf(f.shape, path)
		if why != "" {
			g.remark(LeftOut, path, "%s", why)
			continue
		}
		if f.seen*20 < objects {
			g.remark(Rare, path, "in %s of %s", thousands(f.seen), plural(objects, around))
		}
		required := g.options.NotNull && f.seen == objects && f.kinds[aNull].count == 0
		fields = append(fields, columns.Field{Name: f.name, Type: t, Required: required})
	}
	return fields
}

// chosenNames has, of names that differ by case alone, the one that is there most often.
func chosenNames(s *shape) map[string]field {
	chosen := map[string]field{}
	for _, f := range s.fields {
		lower := strings.ToLower(f.name)
		if before, ok := chosen[lower]; !ok || f.seen > before.seen {
			chosen[lower] = f
		}
	}
	return chosen
}

// hides reports whether a character of a name would mislead whoever reads the schema, or a terminal that shows it.
func hides(r rune) bool {
	return r == chars.ReplacementChar || chars.In(r, chars.Cc, chars.Cf, chars.Co, chars.Zl, chars.Zp)
}

// unfit is why a name cannot be that of a column, empty if it can.
func unfit(name string, chosen map[string]field, reserved []string) string {
	if name == "" {
		return "a field without a name, which a column has"
	}
	if strings.ContainsFunc(name, hides) {
		return "its name has characters that do not show"
	}
	if slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }) {
		return "it is the name of a column about the record"
	}
	if other := chosen[strings.ToLower(name)].name; other != name {
		return fmt.Sprintf("it differs from %s by case only, which is there as often or more: tables match names whatever their case", safe(other))
	}
	return ""
}

// typeOf is the type of a column for the values in one place, or why there is none.
func (g *guesser) typeOf(s *shape, path string) (t columns.Type, why string) {
	kinds := s.present()
	switch {
	case len(kinds) == 0:
		return t, "null " + inAll(s.seen, "value")
	case len(kinds) > 1:
		return g.asJSON(path, mixture(s, kinds)), ""
	}
	switch kinds[0] {
	case aBool:
		return columns.Type{Kind: columns.Bool}, ""
	case aNumber:
		return g.number(s.numbers, path), ""
	case aText:
		return g.text(s, path), ""
	case anArray:
		return g.array(s, path)
	}
	return g.object(s, path)
}

func (g *guesser) asJSON(path, why string) columns.Type {
	g.g.Formats[path] = "json"
	g.remark(AsJSON, path, "%s", why)
	return columns.Type{Kind: columns.String}
}

// mixture says which kinds of values there are, and where.
func mixture(s *shape, kinds []jsonKind) string {
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%s (first in %s)", plural(s.kinds[k].count, kindWords[k]), s.kinds[k].first))
	}
	return strings.Join(parts, ", ")
}

func (g *guesser) array(s *shape, path string) (columns.Type, string) {
	if s.element == nil {
		return columns.Type{}, "empty " + inAll(s.kinds[anArray].count, "array")
	}
	inner := path + ".element"
	if g.paths[inner] {
		return columns.Type{}, "a column has the path of its elements, since a name has a dot"
	}
	g.paths[inner] = true
	element, why := g.typeOf(s.element, inner)
	if why != "" {
		return columns.Type{}, "of its elements nothing is known: " + why
	}
	return columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: element}}}, ""
}

func (g *guesser) object(s *shape, path string) (columns.Type, string) {
	if s.value != nil {
		return g.mapping(s.value, path, fmt.Sprintf("%s names or more", thousands(mostNames)), s)
	}
	if len(s.fields) == 0 {
		return columns.Type{}, "empty " + inAll(s.kinds[anObject].count, "object")
	}
	if looksLikeMap(s) {
		return g.mapping(new(tree).allFields(s), path, plural(len(s.fields), "name"), s)
	}
	fields := g.fields(s, path, nil)
	if len(fields) == 0 {
		return columns.Type{}, "none of its fields has a column"
	}
	return columns.Type{Kind: columns.Struct, Fields: fields}, ""
}

func (g *guesser) mapping(all *shape, path, names string, s *shape) (columns.Type, string) {
	key, inner := path+".key", path+".value"
	if g.paths[key] || g.paths[inner] {
		return columns.Type{}, "a column has the path of its values, since a name has a dot"
	}
	g.paths[key], g.paths[inner] = true, true
	value, why := g.typeOf(all, inner)
	if why != "" {
		return columns.Type{}, "of its values nothing is known: " + why
	}
	g.remark(Taken, path, "a MAP, for %s in %s; if they are fields, write STRUCT", names, plural(s.kinds[anObject].count, "object"))
	return columns.Type{Kind: columns.Map, Fields: []columns.Field{{Name: "key", Type: columns.Type{Kind: columns.String}, Required: true}, {Name: "value", Type: value}}}, ""
}
