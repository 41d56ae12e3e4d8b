package job

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/layout"
	"sluice/offsets"
)

// Job is a validated job. Every field holds what is in force: written, derived or default.
type Job struct {
	// Name is the query's name.
	Name string
	// Checkpoint is an absolute path of a local folder, or a URL such as s3://bucket/folder.
	Checkpoint string
	Source     Source
	Value      Value
	// Registry holds the settings of the client of a schema registry, url among them; empty if there is none.
	Registry Properties
	Sink     Sink
	// Memory is the ceiling for the whole process, in bytes.
	Memory int64
	// Retain is the number of newest batches whose entries the checkpoint keeps.
	Retain int64
	Run    Run

	// origins says where each value came from; a property stands under the path of its map, a dot, and its name.
	origins map[string]Origin
	// secret holds the paths whose values must not be shown whatever their names are.
	secret map[string]bool
}

// Source is what to read, and where to begin.
type Source struct {
	// Kafka holds client properties under their Java names, bootstrap.servers and isolation.level always among them.
	Kafka Properties
	// Exactly one of Subscribe, SubscribePattern and Assign is set. Subscribe is in order and without repetition.
	Subscribe        []string
	SubscribePattern string
	Assign           []offsets.TopicPartition
	// StartingOffsets is where a query without a checkpoint begins; StartingTimestamp, unless zero, replaces it.
	StartingOffsets   StartingOffsets
	StartingTimestamp time.Time
	// StartingOffsetsByTimestamp, unless nil, replaces both: a time in milliseconds since 1970 for every partition to read.
	StartingOffsetsByTimestamp offsets.Offsets
	// StartingOffsetsByTimestampStrategy is error or latest: what a partition without a record of the time to start at or
	// later is.
	StartingOffsetsByTimestampStrategy string
	// EndingOffsets is where runs end at the latest: an offset, or offsets.Latest, for every partition to read; nil is no bound.
	// EndingTimestamp, unless zero, or EndingOffsetsByTimestamp, unless nil, as StartingOffsetsByTimestamp, replaces it.
	EndingOffsets            offsets.Offsets
	EndingTimestamp          time.Time
	EndingOffsetsByTimestamp offsets.Offsets
	// MaxOffsetsPerTrigger bounds a batch, in offsets, MaxBytesPerTrigger aims at a size of it, in bytes as Kafka has them; 0 is no
	// bound.
	MaxOffsetsPerTrigger int64
	MaxBytesPerTrigger   int64
	// MinOffsetsPerTrigger is what must be there for a run to begin, in offsets, unless the newest batch is as old as
	// MaxTriggerDelay; 0 is nothing.
	MinOffsetsPerTrigger int64
	MaxTriggerDelay      time.Duration
	// MinPartitions asks for at least so many units of work in a batch, MaxRecordsPerPartition for units of at most so many
	// offsets; 0 leaves it to the planner.
	MinPartitions          int64
	MaxRecordsPerPartition int64
	IncludeHeaders         bool
	// ConsumerGroup is shown the offsets that were reached, empty for none.
	ConsumerGroup string
	// FailOnDataLoss says what becomes of records that are gone from Kafka, OnDataLoss what where another choice was made.
	FailOnDataLoss bool
	OnDataLoss     OnDataLoss
}

// OnDataLoss is fail or the word that accepts a loss, by its cause; empty where nobody chose.
type OnDataLoss struct {
	Retention, Recreated, Diverged, Missing string
}

// Accepts are the causes of which losses are accepted.
func (s *Source) Accepts() (causes batch.Causes) {
	for _, choice := range []struct {
		cause batch.Cause
		word  string
	}{{batch.Retention, s.OnDataLoss.Retention}, {batch.Recreated, s.OnDataLoss.Recreated}, {batch.Diverged, s.OnDataLoss.Diverged}, {batch.Missing, s.OnDataLoss.Missing}} {
		if choice.word == choice.cause.Choice() || choice.word == "" && !s.FailOnDataLoss {
			causes = append(causes, choice.cause)
		}
	}
	return causes
}

// Isolation is the level at which the source is read.
func (s *Source) Isolation() batch.Isolation { return batch.Isolation(s.Kafka[isolationLevel]) }

// StartingOffsets is one position for all partitions, or one for each.
type StartingOffsets struct {
	// All is offsets.Earliest or offsets.Latest; it counts only if Each is nil.
	All int64
	// Each holds a position for every partition to read: a number, offsets.Earliest or offsets.Latest.
	Each offsets.Offsets
}

// Value is how the bytes of a record become columns.
type Value struct {
	// Format is raw (the columns of Spark's Kafka source), string, json, avro or protobuf.
	Format string
	// Schema is the columns in Spark's DDL. SchemaFile is the absolute path of a file, which FileText has read: of json it holds
	// the columns in one language or another, of avro and protobuf what the values were written with.
	Schema, SchemaFile string
	// Message is the name of a Protobuf message. Framing is confluent, none or, where it says nothing, empty. Subject is where
	// the registry has the schemas.
	Message, Framing, Subject string
	// OnMalformed is fail, null or deadLetter, OnTombstone keep, drop or deadLetter, OnUnknownField ignore, fail or
	// deadLetter.
	OnMalformed, OnTombstone, OnUnknownField string
	// DeadLetters is the table that those policies send records to, namespace.table in the catalog of the sink,
	// DeadLetterTopic a topic of the cluster that is read, DeadLetterPath a folder, as Parquet.Path; at most one is given.
	DeadLetters, DeadLetterTopic, DeadLetterPath string
	// MaxBadRecords and MaxBadRatio bound the malformed records of a batch, as a number and as a part of its records from 0
	// to 1; 0 is no bound.
	MaxBadRecords   int64
	MaxBadRatio     float64
	IncludeRawValue bool
	JSON            JSON
	// AvroCutFractions and ProtobufCutFractions drop what is finer than a microsecond.
	AvroCutFractions, ProtobufCutFractions bool
	// ProtobufMaxDepth bounds messages within each other.
	ProtobufMaxDepth int64
	// Key is how the bytes of a record's key become the column kafka_key.
	Key RecordKey

	file string
}

// LetterPlace is where those policies send records to; the zero value if none is given.
func (v *Value) LetterPlace() batch.LetterPlace {
	return (&batch.Value{DeadLetters: v.DeadLetters, DeadLetterTopic: v.DeadLetterTopic, DeadLetterPath: Folder(v.DeadLetterPath)}).LetterPlace()
}

// RecordKey is how the bytes of a record's key become the column kafka_key.
type RecordKey struct {
	// Format is raw, string, json, avro or protobuf.
	Format string
	// Schema is the type of the column, or the columns of a STRUCT, in Spark's DDL. The others are as in Value.
	Schema, SchemaFile        string
	Message, Framing, Subject string

	file string
}

// Text is the type, or the schema that it follows from: Schema, else what SchemaFile holds.
func (k *RecordKey) Text() string { return cmp.Or(k.Schema, k.file) }

// FileText is what SchemaFile holds, empty if there is none.
func (k *RecordKey) FileText() string { return k.file }

// Text is the columns, or the schema that they follow from: Schema, else what SchemaFile holds.
func (v *Value) Text() string { return cmp.Or(v.Schema, v.file) }

// FileText is what SchemaFile holds, empty if there is none.
func (v *Value) FileText() string { return v.file }

// JSON is how JSON is read.
type JSON struct {
	TimestampFormat, DateFormat, TimeZone string
	// ColumnFormats holds formats by the path of a column.
	ColumnFormats               Properties
	MaxDepth                    int64
	NumbersInText, CutFractions bool
}

// Sink is where batches end up: in Parquet if that has a path.
type Sink struct {
	Iceberg Iceberg
	Parquet Parquet
}

// IsFolder says that batches go to a folder of files and not to a table.
func (s *Sink) IsFolder() bool { return s.Parquet.Path != "" }

// Name is the table, or the folder without its parameters.
func (s *Sink) Name() string {
	if s.IsFolder() {
		return Folder(s.Parquet.Path)
	}
	return s.Iceberg.Table
}

// Place is where the files go: the folder, or the warehouse; empty where only the catalog knows.
func (s *Sink) Place() string {
	if s.Parquet.Path == "" && s.Iceberg.Catalog.IsNamed() {
		return ""
	}
	return cmp.Or(s.Parquet.Path, s.Iceberg.Catalog.Warehouse)
}

// TargetFileSize is the size that data files aim at, in bytes.
func (s *Sink) TargetFileSize() int64 {
	if s.IsFolder() {
		return s.Parquet.TargetFileSize
	}
	return s.Iceberg.TargetFileSize
}

// Parquet is a folder of Parquet files.
type Parquet struct {
	// Path is the absolute path of a local folder, or a URL of a store with parameters for whoever opens it.
	Path string
	// TargetFileSize is the size that data files aim at, in bytes.
	TargetFileSize int64
	// PartitionBy is how the folder is partitioned, nil for as it is if it is there already. SortBy is how rows are sorted.
	PartitionBy []layout.Term
	SortBy      []layout.Order
	// SparkMetadata keeps Spark's log of a file sink.
	SparkMetadata bool
}

// Folder is the address of a folder without parameters: what identifies it.
func Folder(location string) string {
	if isLocal(location) {
		return location
	}
	folder, _, _ := strings.Cut(location, "?")
	return strings.TrimRight(folder, "/")
}

// Iceberg is an Iceberg table in its catalog.
type Iceberg struct {
	Catalog Catalog
	// Table is namespace.table; a namespace may have several levels.
	Table string
	// Branch is the branch of the table that rows go to.
	Branch string
	// TargetFileSize is the size that data files aim at, in bytes.
	TargetFileSize int64
	// PartitionBy is how a new table is partitioned, and what one that is there must be partitioned by; nil follows it.
	PartitionBy []layout.Term
	// SortBy is the order of rows in files, and of a new table; nil follows that of the table.
	SortBy []layout.Order
	// ExpireEvery is the number of commits between two expiries of snapshots, of which KeepSnapshots stay; 0 is never.
	ExpireEvery   int64
	KeepSnapshots int64
}

// Catalog is an Iceberg catalog.
type Catalog struct {
	// Type is sql, hadoop or rest.
	Type string
	// URI is the absolute path of the SQLite database of a sql catalog, or postgresql://host/database, which may hold a
	// password; or the address of a rest catalog; empty for hadoop.
	URI string
	// Warehouse is an absolute path of a local folder, or a URL such as s3://bucket/folder; of a rest catalog a name or a
	// location that the server knows, or empty.
	Warehouse string
	// Name is what a sql catalog files its tables under.
	Name string
	// Properties are passed on to the catalog and to the store under it, by the names that Iceberg gives them.
	Properties Properties
}

// Run bounds one run.
type Run struct {
	// MaxBatches and MaxDuration end a run early and in good order; 0 is no bound.
	MaxBatches  int64
	MaxDuration time.Duration
	// Grace is how long a stopped run may take to finish the batch in hand.
	Grace time.Duration
	// Wait is how long to wait for another run's lease to run out.
	Wait time.Duration
	// Lease is the time to live of this run's lease.
	Lease time.Duration
}

// Properties are settings by name, some of them secret whatever their names are. They print as their names alone.
type Properties map[string]string

// String lists the names.
func (p Properties) String() string {
	return "[" + strings.Join(slices.Sorted(maps.Keys(p)), " ") + "]"
}

// GoString is String, so that %#v shows no value either.
func (p Properties) GoString() string { return p.String() }

// Origin says where the value at a key's path came from; the zero Origin if nothing set it. A property stands under
// the path of its map, a dot, and its name: source.kafka.sasl.mechanism.
func (j *Job) Origin(path string) Origin { return j.origins[path] }
