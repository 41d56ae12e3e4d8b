package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/batch"
)

// formatsFor lists the formats that a key means something to, and the key that says which it is; none if it always does.
func formatsFor(path string) (format string, formats []string) {
	switch path {
	case schemaPath, schemaFilePath, onUnknownPath, framingPath, subjectPath:
		return formatPath, []string{"json", "avro", "protobuf"}
	case onMalformedPath, onTombstonePath, maxBadPath, maxBadRatioPath, deadLetterPath, deadTopicPath, deadFolderPath, "value.includeRawValue":
		return formatPath, []string{"string", "json", "avro", "protobuf"}
	case messagePath:
		return formatPath, []string{"protobuf"}
	case keySchemaPath, keySchemaFilePath, keyFramingPath, keySubjectPath:
		return keyFormatPath, []string{"json", "avro", "protobuf"}
	case keyMessagePath:
		return keyFormatPath, []string{"protobuf"}
	}
	for _, format := range []string{"json", "avro", "protobuf"} {
		if strings.HasPrefix(path, "value."+format+".") {
			return formatPath, []string{format}
		}
	}
	return "", nil
}

// heeds says whether the key means something to the formats.
func (v *Value) heeds(path string) bool {
	switch format, formats := formatsFor(path); format {
	case formatPath:
		return slices.Contains(formats, v.Format)
	case keyFormatPath:
		return slices.Contains(formats, v.Key.Format)
	}
	return true
}

// orList is words with commas, and an or before the last.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// largestSchema bounds the text of a schema: it is in every plan.
const largestSchema = 1 << 20

// checkValue reports settings that the formats have no use for, schemas that are missing, and what whoever knows the formats
// finds wrong.
func (l *loading) checkValue() {
	v := &l.job.Value
	usable := true
	for _, s := range l.job.sides() {
		if l.isWrong(s.format) || l.isWrong(s.framing) || !l.checkHeed(s) {
			usable = false
		}
	}
	if v.Format == "raw" && v.Key.Format != "raw" && !l.isWrong(keyFormatPath) {
		l.report(l.job.origins[keyFormatPath], keyFormatPath, "does not go with "+formatPath+" raw, whose columns are exactly those of Spark's Kafka source: "+
			"leave it out, or set "+formatPath+" to another")
		return
	}
	if !usable {
		return
	}
	for _, s := range l.job.sides() {
		usable = l.checkSchema(s) && usable
	}
	l.checkBadRecords()
	if !usable || l.in.CheckValue == nil {
		return
	}
	checked := *v
	if slices.ContainsFunc([]string{deadLetterPath, deadFolderPath, deadTopicPath, "deadLetter"}, l.isWrong) {
		checked.DeadLetterTopic = "reported" // there is a place, which was found wrong
	}
	for _, p := range l.in.CheckValue(&checked) {
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
	switch rows := l.job.Sink.Iceberg.Table; {
	case v.DeadLetters == "":
	case v.DeadLetters == rows:
		l.report(l.touched[deadLetterPath], deadLetterPath, "is the table of the rows: want another one")
	case batch.SameButCase(v.DeadLetters, rows):
		l.report(l.touched[deadLetterPath], deadLetterPath, fmt.Sprintf("differs from the table of the rows, %s, in capitals alone: many catalogs take both for one table; want another name", rows))
	}
	if v.DeadLetters != "" && l.job.Sink.IsFolder() {
		l.report(l.touched[deadLetterPath], deadLetterPath, "needs a catalog, and the rows go to a folder of files: want "+deadFolderPath+" or "+deadTopicPath)
	}
	if Folder(v.DeadLetterPath) == "/" {
		l.report(l.touched[deadFolderPath], deadFolderPath, "is the root of the file system: want a folder of its own")
	}
	if v.DeadLetterPath != "" && Folder(v.DeadLetterPath) == Folder(l.job.Sink.Parquet.Path) {
		l.report(l.touched[deadFolderPath], deadFolderPath, "is the folder of the rows: want another one")
	}
	if topic := v.DeadLetterTopic; topic != "" && l.job.Source.names(topic) {
		l.report(l.touched[deadTopicPath], deadTopicPath, fmt.Sprintf("is read by this query (%s), which would read its own dead letters again and again: want a topic that it does not read", l.job.Source.selection()))
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
	for _, s := range l.job.sides() {
		if p.Key == s.schema && *s.is.schema == "" && *s.is.file != "" {
			key, at = s.file, Origin{Layer: l.job.origins[s.file].Layer, Name: *s.is.file}
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
