package cmd

import (
	"errors"
	_ "time/tzdata" // a name of a zone means the same on a host that has no zones

	"sluice/batch"
	"sluice/decode"
	"sluice/decode/ddl"
	"sluice/job"
	"sluice/runner"
)

// valueOf is how a job wants values to become columns, in the form that plans carry. What means nothing to the format is
// left out, and the schema is in one form whatever it was written like.
func valueOf(v *job.Value) batch.Value {
	value := batch.Value{Format: v.Format}
	if v.Format == decode.FormatRaw {
		return value
	}
	value.OnMalformed, value.OnTombstone, value.IncludeRawValue = v.OnMalformed, v.OnTombstone, v.IncludeRawValue
	if v.Format != decode.FormatJSON {
		return value
	}
	value.OnUnknownField, value.Schema = v.OnUnknownField, v.Text()
	if schema, err := ddl.Parse(value.Schema); err == nil { // what is wrong in it is reported as it was written
		value.Schema = ddl.Format(schema)
	}
	value.JSON = batch.JSONValue{TimestampFormat: v.JSON.TimestampFormat, DateFormat: v.JSON.DateFormat, ColumnFormats: v.JSON.ColumnFormats, TimeZone: v.JSON.TimeZone,
		MaxDepth: int(v.JSON.MaxDepth), NumbersInText: v.JSON.NumbersInText, CutFractions: v.JSON.CutFractions}
	return value
}

// altersTable says whether records that are read so may alter the table.
func altersTable(value batch.Value) bool { return value.OnUnknownField == decode.AddColumn }

// checkValue asks the decoder about the settings of a job, so that what does not fit is found with its other mistakes.
func checkValue(v *job.Value) []job.ValueProblem {
	var problems []job.ValueProblem
	for _, p := range decode.Problems(valueOf(v)) {
		found := job.ValueProblem{Key: "value." + p.Setting, Message: p.Err.Error()}
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

// newDecoder makes decoders for the runner. What cannot be used was found in the job; a plan may be another version's.
func newDecoder(value batch.Value, includeHeaders bool) (runner.Decoder, error) {
	d, err := decode.New(value, includeHeaders)
	if err != nil {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "the plan says how values become columns, and this version of sluice cannot do so", Err: err,
			Hint: "run the version of sluice that made the plan, or a newer one"}
	}
	return d, nil
}

// decoder is that of the job.
func (l *pipeline) decoder() (runner.Decoder, error) {
	return newDecoder(valueOf(&l.job.Value), l.job.Source.IncludeHeaders)
}
