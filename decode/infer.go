package decode

import (
	"errors"
	"fmt"

	"sluice/batch"
	"sluice/columns"
	"sluice/decode/ddl"
	"sluice/decode/json"
	"sluice/decode/malformed"
)

// SampledValue is the value of a record, nil for a tombstone, and how people call the record.
type SampledValue struct {
	Value []byte
	Place string
}

// InferOptions say what Infer makes of a sample.
type InferOptions struct {
	// JSON is how the job reads JSON: it decides which texts are times. Its ColumnFormats mean nothing here.
	JSON batch.JSONValue
	// ZoneGiven says that somebody chose JSON.TimeZone, so that TIMESTAMP may hold texts without a zone.
	ZoneGiven bool
	// Plain leaves texts STRING, also if each of them is a date or a time.
	Plain bool
	// NotNull makes fields required that are there, and not null, in every record.
	NotNull bool
}

// Inferred is a schema to start from.
type Inferred struct {
	// Columns are the schema, DDL its text, as value.schema takes it. Both are empty if no field has a column.
	Columns columns.Schema
	DDL     string
	// Formats are value.json.columnFormats that the schema needs beyond the job's options.
	Formats map[string]string
	// Remarks are what somebody should know of the columns, in their order.
	Remarks []json.Remark
	// Records is how many values the schema was made of; Tombstones are besides.
	Records, Tombstones int
	// NoRecords are values that are no record of JSON, whatever the schema.
	NoRecords []Misfit
	// Misfits are records that have no row in the schema all the same. They are rare: they leave out too many values.
	Misfits []Misfit
}

// Misfit is a sampled value that is no row.
type Misfit struct {
	Place string
	// Looks says what the value may be instead; empty if it looks like JSON.
	Looks string
	Why   *malformed.Error
}

// Infer guesses a schema from a sample; json.Sample.Guess has the rules. What it returns was tried: the schema was written
// down, read again, and has decoded every sampled value but the misfits. The error is of the options.
func Infer(sample []SampledValue, o InferOptions) (*Inferred, error) {
	options, err := jsonOptions(o.JSON)
	if err != nil {
		return nil, err
	}
	gathered, err := json.NewSample(options)
	if err != nil {
		return nil, err
	}
	found := &Inferred{}
	var records []SampledValue
	for _, s := range sample {
		if s.Value == nil {
			found.Tombstones++
		} else if err := gathered.Add(s.Value, s.Place); err != nil {
			found.NoRecords = append(found.NoRecords, misfit(s, err))
		} else {
			records = append(records, s)
		}
	}
	found.Records = len(records)
	guess := gathered.Guess(json.GuessOptions{Plain: o.Plain, NotNull: o.NotNull, Zone: o.ZoneGiven, Reserved: reservedNames()})
	found.Formats, found.Remarks = guess.Formats, guess.Remarks
	if len(guess.Schema) == 0 {
		return found, nil
	}
	found.DDL = ddl.Format(guess.Schema)
	options.Formats = guess.Formats
	return found, found.try(records, options)
}

// jsonOptions are the options of a job's JSON, but for those that are about columns.
func jsonOptions(j batch.JSONValue) (json.Options, error) {
	zone, err := zoneOf(j.TimeZone)
	return json.Options{MaxDepth: j.MaxDepth, Zone: zone, Timestamps: j.TimestampFormat, Dates: j.DateFormat, NumbersInText: j.NumbersInText, CutFractions: j.CutFractions}, err
}

// reservedNames are those of the columns about a record.
func reservedNames() (names []string) {
	for _, f := range metadata(TypedOptions{Headers: true, RawValue: true}) {
		names = append(names, f.Name)
	}
	return names
}

// misfit is a value that is no row.
func misfit(s SampledValue, err error) Misfit {
	m := Misfit{Place: s.Place}
	if errors.As(err, &m.Why) && m.Why.Reason != malformed.Duplicate {
		m.Looks = looksLike(s.Value)
	}
	return m
}

// try decodes the records with the schema as it will be read.
func (f *Inferred) try(records []SampledValue, o json.Options) (err error) {
	if f.Columns, err = ddl.Parse(f.DDL); err != nil {
		return fmt.Errorf("read the schema that was inferred: %w", err)
	}
	parser, err := json.Compile(f.Columns, o)
	if err != nil {
		return fmt.Errorf("use the schema that was inferred: %w", err)
	}
	rows := columns.Make(f.Columns)
	for _, s := range records {
		if err := parser.Append(rows, s.Value); err != nil {
			f.Misfits = append(f.Misfits, misfit(s, err))
		}
		columns.TruncateAll(rows, 0)
	}
	return nil
}
