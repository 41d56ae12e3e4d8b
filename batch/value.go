package batch

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Value says how the values of records become columns. A plan carries it, so that a replay makes the rows that were
// planned, whatever has become of the job. All of it was checked when it was written; there are no secrets in it.
type Value struct {
	// Format is raw, string, json, avro or protobuf.
	Format string `json:"format"`
	// Schema is the columns of json, avro and protobuf, in Spark's DDL.
	Schema string `json:"schema,omitempty"`
	// Written is what values were written with, where that is one schema for all of them.
	Written Written `json:"written,omitzero"`
	// Framing is confluent where each value says by an id in a schema registry what it was written with; empty where none
	// does.
	Framing string `json:"framing,omitempty"`
	// OnMalformed is fail, null or deadLetter, OnTombstone keep, drop or deadLetter, OnUnknownField ignore, fail or
	// deadLetter; empty where the format has no such choice.
	OnMalformed    string `json:"onMalformed,omitempty"`
	OnTombstone    string `json:"onTombstone,omitempty"`
	OnUnknownField string `json:"onUnknownField,omitempty"`
	// Closed says that no more fields become columns than the schema has: a record that brings one is no row. It is set in
	// tasks, for the second reading of a batch whose records have brought some, and in no plan.
	Closed bool `json:"closed,omitempty"`
	// IncludeRawValue adds the bytes that the columns were read from.
	IncludeRawValue bool      `json:"includeRawValue,omitempty"`
	JSON            JSONValue `json:"json,omitzero"`
	// CutFractions drops what is finer than a microsecond in times of avro and protobuf.
	CutFractions bool `json:"cutFractions,omitempty"`
	// MaxDepth bounds messages of protobuf within each other.
	MaxDepth int `json:"maxDepth,omitempty"`
	// Key says how keys become the column kafka_key.
	Key Key `json:"key,omitzero"`
	// DeadLetters is the table, in the catalog of the rows' table, for records that a policy sends to the dead letters;
	// DeadLetterTopic a topic for them, DeadLetterPath the URL of a folder. At most one is set, none if no policy does:
	// DeadLetterPlace.
	DeadLetters     string `json:"deadLetters,omitempty"`
	DeadLetterTopic string `json:"deadLetterTopic,omitempty"`
	DeadLetterPath  string `json:"deadLetterPath,omitempty"`
	// MaxBadRecords and MaxBadRatio are how many records of a batch may be malformed, and which part of them, before it
	// fails; 0 for any number.
	MaxBadRecords int64   `json:"maxBadRecords,omitempty"`
	MaxBadRatio   float64 `json:"maxBadRatio,omitempty"`
}

// Key says how the keys of records become the column kafka_key. Its zero value keeps their bytes.
type Key struct {
	// Format is string, json, avro or protobuf; empty for raw.
	Format string `json:"format,omitempty"`
	// Type is the type of the column, in Spark's DDL, where the format leaves a choice.
	Type string `json:"type,omitempty"`
	// Written and Framing are as in Value.
	Written Written `json:"written,omitzero"`
	Framing string  `json:"framing,omitempty"`
}

// Written is a schema that values or keys were written with, whole: a replay needs it as it was.
type Written struct {
	// Text is an Avro schema in JSON, or a .proto file.
	Text string `json:"text,omitempty"`
	// Set is a FileDescriptorSet instead of a .proto file.
	Set []byte `json:"set,omitempty"`
	// Message is the name of the message in a Protobuf schema.
	Message string `json:"message,omitempty"`
}

// Carried says whether there is a schema.
func (w *Written) Carried() bool { return w.Text != "" || w.Set != nil }

// ConfluentFraming is the framing that Confluent's clients of a schema registry write, and others with them.
const ConfluentFraming = "confluent"

// NeedsHeaders says whether rows need the headers of records even where they have no column for them: an id may be there.
func (v *Value) NeedsHeaders() bool {
	return v.Framing != "" || v.Key.Framing != ""
}

// JSONValue is how JSON is read where the format's own rules do not suffice. Its zero value is those rules.
type JSONValue struct {
	TimestampFormat string `json:"timestampFormat,omitempty"`
	DateFormat      string `json:"dateFormat,omitempty"`
	// ColumnFormats overrides the two for single columns, by path.
	ColumnFormats map[string]string `json:"columnFormats,omitempty"`
	// TimeZone is that of local times, by its name in the IANA database.
	TimeZone string `json:"timeZone,omitempty"`
	MaxDepth int    `json:"maxDepth,omitempty"`
	// NumbersInText takes "5" for 5, CutFractions drops what is finer than a microsecond.
	NumbersInText bool `json:"numbersInText,omitempty"`
	CutFractions  bool `json:"cutFractions,omitempty"`
}

// Equal reports whether both make the same rows of the same records.
func (v Value) Equal(other Value) bool {
	a, errA := json.Marshal(v)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Rejects reports whether a policy sends records to the dead letters.
func (v *Value) Rejects() bool {
	return slices.Contains([]string{v.OnMalformed, v.OnTombstone, v.OnUnknownField}, DeadLetterPolicy)
}

// DeadLetterPolicy is the word for it.
const DeadLetterPolicy = "deadLetter"
