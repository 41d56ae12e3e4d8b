package cmd

import (
	"errors"
	"fmt"
	"strings"
	_ "time/tzdata" // a name of a zone means the same on a host that has no zones
	"unicode/utf8"

	"sluice/batch"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/job"
)

// valueOf is how a job wants values to become columns, in the form that plans carry. What means nothing to the format is
// left out, and the schema is in one form whatever it was written like. Columns that follow from a registry are missing.
func valueOf(v *job.Value) batch.Value { return decode.Derive(givenValue(v)) }

// givenValue is what the job says itself, before anything is derived from it.
func givenValue(v *job.Value) batch.Value {
	value := batch.Value{Format: v.Format, Key: givenKey(&v.Key)}
	if v.Format == decode.FormatRaw {
		return value
	}
	value.OnMalformed, value.OnTombstone, value.IncludeRawValue = v.OnMalformed, v.OnTombstone, v.IncludeRawValue
	value.MaxBadRecords, value.MaxBadRatio = v.MaxBadRecords, v.MaxBadRatio
	if v.Format != decode.FormatString {
		value.OnUnknownField = v.OnUnknownField
	}
	if value.Rejects() {
		value.SendLetters(v.LetterPlace())
	}
	if v.Format == decode.FormatString {
		return value
	}
	value.Schema, value.Framing = v.Schema, framingOf(v.Framing)
	if value.Written = writtenOf(v.Format, v.SchemaFile, v.FileText(), v.Message); v.Format == decode.FormatJSON {
		if value.Schema == "" && !value.Written.Carried() {
			value.Schema = v.Text()
		}
		value.JSON = batch.JSONValue{TimestampFormat: v.JSON.TimestampFormat, DateFormat: v.JSON.DateFormat, ColumnFormats: v.JSON.ColumnFormats, TimeZone: v.JSON.TimeZone,
			MaxDepth: int(v.JSON.MaxDepth), NumbersInText: v.JSON.NumbersInText, CutFractions: v.JSON.CutFractions}
	}
	value.CutFractions = v.Format == decode.FormatAvro && v.AvroCutFractions || v.Format == decode.FormatProtobuf && v.ProtobufCutFractions
	if v.Format == decode.FormatProtobuf {
		value.MaxDepth = int(v.ProtobufMaxDepth)
	}
	if schema, err := ddl.Parse(value.Schema); err == nil { // what is wrong in it is reported as it was written
		value.Schema = ddl.Format(schema)
	}
	return value
}

// givenKey is how a job wants keys to become kafka_key.
func givenKey(k *job.RecordKey) batch.Key {
	if k.Format == decode.FormatRaw {
		return batch.Key{}
	}
	key := batch.Key{Format: k.Format}
	if k.Format == decode.FormatString {
		return key
	}
	key.Type, key.Framing = k.Schema, framingOf(k.Framing)
	if key.Written = writtenOf(k.Format, k.SchemaFile, k.FileText(), k.Message); k.Format == decode.FormatJSON && key.Type == "" && !key.Written.Carried() {
		key.Type = k.Text()
	}
	if t, err := decode.ParseKeyType(key.Type); err == nil {
		key.Type = ddl.FormatType(t)
	}
	return key
}

// framingOf is the framing in the form that plans carry.
func framingOf(word string) string {
	if word == "none" {
		return ""
	}
	return word
}

// writtenOf is the schema in a file, if it is one that values were written with and not columns. Protobuf has two kinds of
// files: what people write, and what protoc makes of it.
func writtenOf(format, file, text, message string) batch.Written {
	w := batch.Written{Message: message}
	switch {
	case file == "":
	case format == decode.FormatProtobuf && !strings.HasSuffix(file, ".proto") && !isText(text):
		w.Set = []byte(text)
	case format != decode.FormatJSON || strings.HasPrefix(strings.TrimSpace(text), "{"):
		w.Text = text
	}
	return w
}

// isText says whether the content of a file is text, which a descriptor set never is.
func isText(content string) bool {
	return utf8.ValidString(content) && strings.IndexFunc(content, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n\f", r) }) < 0
}

// mostUnfilled is how many columns are named that no record fills.
const mostUnfilled = 10

// unfilled tells of columns in value.schema that the schema of the records has nothing for; empty if there are none.
func (l *pipeline) unfilled() string {
	absent := decode.Absent(valueOf(&l.job.Value))
	if len(absent) == 0 {
		return ""
	}
	named := strings.Join(absent[:min(len(absent), mostUnfilled)], ", ")
	if more := len(absent) - mostUnfilled; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("null in every row, since the records' schema (%s) has no such field: %s of value.schema", l.job.Value.SchemaFile, named)
}

// altersTable says whether records that are read so may alter the table.
func altersTable(value batch.Value) bool { return value.OnUnknownField == decode.AddColumn }

// fileOf is the file that a setting is about.
func fileOf(v *job.Value, setting string) string {
	if strings.HasPrefix(setting, "key.") {
		return v.Key.SchemaFile
	}
	return v.SchemaFile
}

// checkValue asks the decoder about the settings of a job, so that what does not fit is found with its other mistakes.
func checkValue(v *job.Value) []job.ValueProblem {
	var problems []job.ValueProblem
	for _, p := range decode.Problems(givenValue(v)) {
		found := job.ValueProblem{Key: p.Setting, Message: strings.ReplaceAll(p.Err.Error(), decode.LocalProto, fileOf(v, p.Setting))}
		var wrong *ddl.Error
		if errors.As(p.Err, &wrong) {
			found.Message, found.Line, found.Column, found.Text = wrong.Message, wrong.Line, wrong.Column, wrong.Text
		}
		var fault *batch.Fault
		if errors.As(p.Err, &fault) {
			found.Message += ": " + fault.Hint
		}
		problems = append(problems, found)
	}
	return problems
}
