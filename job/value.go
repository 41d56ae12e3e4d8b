package job

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// formatsFor lists the formats that a key below value means something to; all of them if it is empty.
func formatsFor(path string) []string {
	switch path {
	case schemaPath, schemaFilePath, onUnknownPath:
		return []string{"json"}
	case onMalformedPath, onTombstonePath, maxBadPath, maxBadRatioPath, deadLetterPath, "value.includeRawValue":
		return []string{"string", "json"}
	}
	if strings.HasPrefix(path, "value.json.") {
		return []string{"json"}
	}
	return nil
}

// heeds says whether the key means something to the format.
func (v *Value) heeds(path string) bool {
	formats := formatsFor(path)
	return formats == nil || slices.Contains(formats, v.Format)
}

// largestSchema bounds the text of a schema: it is in every plan.
const largestSchema = 1 << 20

// readSchema reads the file of the schema.
func (l *loading) readSchema() {
	v := &l.job.Value
	if v.SchemaFile == "" {
		return
	}
	content, err := l.in.ReadFile(v.SchemaFile)
	at := l.job.origins[schemaFilePath]
	switch {
	case err != nil:
		l.report(at, schemaFilePath, "cannot read "+clip(v.SchemaFile)+": "+reason(err))
	case len(content) > largestSchema:
		l.report(at, schemaFilePath, clip(v.SchemaFile)+" is larger than 1 MiB")
	default:
		v.file = string(content)
		return
	}
	v.file = ""
}

// checkValue reports settings that the format has no use for, a schema that is missing, and what whoever knows the format
// finds wrong.
func (l *loading) checkValue() {
	v := &l.job.Value
	usable := true
	for _, k := range keys {
		if at := l.touchedAt(k); at.Layer != Unset && !v.heeds(k.Path) {
			l.report(at, k.Path, "means nothing with "+formatPath+" "+v.Format+": leave it out, or set "+formatPath+" to "+strings.Join(formatsFor(k.Path), " or "))
			usable = false
		}
	}
	if l.isWrong(formatPath) || !usable {
		return
	}
	if v.Format == "json" && v.Text() == "" {
		if !l.isTouched(schemaPath) && !l.isTouched(schemaFilePath) {
			l.missing(find(schemaPath))
		} else if len(l.problems) == 0 {
			l.report(l.job.origins[schemaFilePath], schemaFilePath, "is an empty file: want "+ddlText.want)
		}
		return
	}
	l.checkBadRecords()
	if l.in.CheckValue == nil {
		return
	}
	for _, p := range l.in.CheckValue(v) {
		l.valueProblem(p)
	}
}

// checkBadRecords reports limits that can never be met, and dead letters that would go where the rows go.
func (l *loading) checkBadRecords() {
	v := &l.job.Value
	for _, path := range []string{maxBadPath, maxBadRatioPath} {
		if at := l.touched[path]; at.Layer != Unset && find(path).text(l.job) != none && v.OnMalformed == "fail" && v.OnUnknownField != "deadLetter" {
			l.report(at, path, "means nothing with "+onMalformedPath+" fail, which bears no malformed record: leave it out, or set "+onMalformedPath+" to deadLetter or null")
		}
	}
	if v.DeadLetters != "" && v.DeadLetters == l.job.Sink.Iceberg.Table {
		l.report(l.touched[deadLetterPath], deadLetterPath, "is the table of the rows: want another one")
	}
}

// touchedAt is where a key was set, or the first entry of a free map.
func (l *loading) touchedAt(k *Key) Origin {
	if k.put == nil {
		return l.touched[k.Path]
	}
	for _, path := range slices.Sorted(maps.Keys(l.touched)) {
		if strings.HasPrefix(path, k.Path+".") {
			return l.touched[path]
		}
	}
	return Origin{}
}

// valueProblem puts a problem where it was written. One in the text of a schema shows the line, with a caret below.
func (l *loading) valueProblem(p ValueProblem) {
	key, at := p.Key, l.job.origins[p.Key]
	if key == schemaPath && l.job.Value.SchemaFile != "" {
		key, at = schemaFilePath, Origin{Layer: l.job.origins[schemaFilePath].Layer, Name: l.job.Value.SchemaFile}
	}
	message := p.Message
	if p.Line > 0 {
		at = l.inSchema(at, p)
		if !l.job.secret[key] {
			message += "\n" + withCaret(p.Text, p.Column)
		}
	}
	l.report(at, key, message)
}

// inSchema is the place of a fault in a schema. In a job file YAML has taken indentation away, so the line is searched.
func (l *loading) inSchema(at Origin, p ValueProblem) Origin {
	if at.Layer == File && at.Line == 0 || at.Name == l.job.Value.SchemaFile {
		at.Line, at.Column = p.Line, p.Column
		return at
	}
	line := at.Line + p.Line - 1
	if l.blocks[schemaPath] {
		line++
	}
	if at.Layer != File || line > len(l.text) {
		return at
	}
	if from := strings.Index(l.text[line-1], p.Text); from >= 0 && p.Text != "" {
		at.Line, at.Column = line, utf8.RuneCountInString(l.text[line-1][:from])+p.Column
	}
	return at
}

// withCaret is a line of a schema with a caret below a column.
func withCaret(text string, column int) string {
	const indent = "    "
	before := []rune(text)
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string(before[:min(column-1, len(before))]))
	return indent + text + "\n" + indent + pad + "^"
}
