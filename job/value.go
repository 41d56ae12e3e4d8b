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
	case schemaPath, schemaFilePath, "value.onUnknownField":
		return []string{"json"}
	case "value.onMalformed", "value.onTombstone", "value.includeRawValue":
		return []string{"string", "json"}
	}
	if strings.HasPrefix(path, "value.json.") {
		return []string{"json"}
	}
	return nil
}

// keyFormatsFor is the same for keys and the format of keys.
func keyFormatsFor(path string) []string {
	switch path {
	case keySchemaPath, keySchemaFilePath:
		return []string{"json"}
	}
	return nil
}

// heeds says whether the key means something to the formats.
func (v *Value) heeds(path string) bool {
	means := func(formats []string, format string) bool { return formats == nil || slices.Contains(formats, format) }
	return means(formatsFor(path), v.Format) && means(keyFormatsFor(path), v.Key.Format)
}

// largestSchema bounds the text of a schema: it is in every plan.
const largestSchema = 1 << 20

// readSchema reads the file of a schema, which the key at path names.
func (l *loading) readSchema(path, file string) string {
	if file == "" {
		return ""
	}
	content, err := l.in.ReadFile(file)
	at := l.job.origins[path]
	switch {
	case err != nil:
		l.report(at, path, "cannot read "+clip(file)+": "+reason(err))
	case len(content) > largestSchema:
		l.report(at, path, clip(file)+" is larger than 1 MiB")
	default:
		return string(content)
	}
	return ""
}

// checkValue reports settings that the formats have no use for, schemas that are missing, and what whoever knows the formats
// finds wrong.
func (l *loading) checkValue() {
	v := &l.job.Value
	usable := l.checkHeed(formatPath, v.Format, formatsFor) && l.checkHeed(keyFormatPath, v.Key.Format, keyFormatsFor)
	if v.Format == "raw" && v.Key.Format != "raw" && !l.isWrong(formatPath) && !l.isWrong(keyFormatPath) {
		l.report(l.job.origins[keyFormatPath], keyFormatPath, "does not go with "+formatPath+" raw, whose columns are exactly those of Spark's Kafka source: "+
			"leave it out, or set "+formatPath+" to string or json")
		usable = false
	}
	if l.isWrong(formatPath) || l.isWrong(keyFormatPath) || !usable {
		return
	}
	there := l.checkSchema(v.Format, v.Text(), schemaPath, schemaFilePath)
	if !l.checkSchema(v.Key.Format, v.Key.Text(), keySchemaPath, keySchemaFilePath) || !there || l.in.CheckValue == nil {
		return
	}
	for _, p := range l.in.CheckValue(v) {
		l.valueProblem(p)
	}
}

// checkHeed reports keys that mean nothing to a format.
func (l *loading) checkHeed(format, is string, formatsFor func(path string) []string) bool {
	usable := true
	for _, k := range keys {
		formats := formatsFor(k.Path)
		if at := l.touchedAt(k); at.Layer != Unset && formats != nil && !slices.Contains(formats, is) {
			l.report(at, k.Path, "means nothing with "+format+" "+is+": leave it out, or set "+format+" to "+strings.Join(formats, " or "))
			usable = false
		}
	}
	return usable
}

// checkSchema reports that a format lacks the schema that it needs.
func (l *loading) checkSchema(format, text, path, filePath string) bool {
	if format != "json" || text != "" {
		return true
	}
	if !l.isTouched(path) && !l.isTouched(filePath) {
		l.missing(find(path))
	} else if len(l.problems) == 0 {
		l.report(l.job.origins[filePath], filePath, "is an empty file: want "+find(path).Want)
	}
	return false
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
	for inline, file := range map[string][2]string{schemaPath: {schemaFilePath, l.job.Value.SchemaFile}, keySchemaPath: {keySchemaFilePath, l.job.Value.Key.SchemaFile}} {
		if p.Key == inline && file[1] != "" {
			key, at = file[0], Origin{Layer: l.job.origins[file[0]].Layer, Name: file[1]}
		}
	}
	message := p.Message
	if p.Line > 0 {
		at = l.inSchema(at, p, key == schemaFilePath || key == keySchemaFilePath)
		if !l.job.secret[key] {
			message += "\n" + withCaret(p.Text, p.Column)
		}
	}
	l.report(at, key, message)
}

// inSchema is the place of a fault in a schema. In a job file YAML has taken indentation away, so the line is searched.
func (l *loading) inSchema(at Origin, p ValueProblem, ownFile bool) Origin {
	if at.Layer == File && at.Line == 0 || ownFile {
		at.Line, at.Column = p.Line, p.Column
		return at
	}
	line := at.Line + p.Line - 1
	if l.blocks[p.Key] {
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
