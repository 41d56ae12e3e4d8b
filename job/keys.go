package job

import (
	"slices"
	"time"

	"sluice/batch"
	"sluice/layout"
)

// Paths that rules speak of.
const (
	kafkaPath         = "source.kafka"
	bootstrapServers  = "bootstrap.servers"
	isolationLevel    = "isolation.level"
	subscribePath     = "source.subscribe"
	patternPath       = "source.subscribePattern"
	assignPath        = "source.assign"
	startOffsetsPath  = "source.startingOffsets"
	startTimePath     = "source.startingTimestamp"
	startTimesPath    = "source.startingOffsetsByTimestamp"
	startNonePath     = "source.startingOffsetsByTimestampStrategy"
	endOffsetsPath    = "source.endingOffsets"
	endTimePath       = "source.endingTimestamp"
	endTimesPath      = "source.endingOffsetsByTimestamp"
	failOnLossPath    = "source.failOnDataLoss"
	onLossPath        = "source.onDataLoss"
	catalogTypePath   = "sink.iceberg.catalog.type"
	catalogURIPath    = "sink.iceberg.catalog.uri"
	catalogPropsPath  = "sink.iceberg.catalog.properties"
	warehousePath     = "sink.iceberg.catalog.warehouse"
	parquetSection    = "sink.parquet"
	parquetPath       = "sink.parquet.path"
	filesByPath       = "sink.parquet.partitionBy"
	tablePath         = "sink.iceberg.table"
	branchPath        = "sink.iceberg.branch"
	namePath          = "name"
	checkpointPath    = "checkpoint"
	partitionByPath   = "sink.iceberg.partitionBy"
	sortByPath        = "sink.iceberg.sortBy"
	expireEveryPath   = "sink.iceberg.expireEvery"
	keepSnapshotsPath = "sink.iceberg.keepSnapshots"
	formatPath        = "value.format"
	schemaPath        = "value.schema"
	schemaFilePath    = "value.schemaFile"
	columnFormatsPath = "value.json.columnFormats"
	messagePath       = "value.message"
	framingPath       = "value.framing"
	subjectPath       = "value.subject"
	keyFormatPath     = "key.format"
	keyMessagePath    = "key.message"
	keyFramingPath    = "key.framing"
	keySubjectPath    = "key.subject"
	registryPath      = "schemaRegistry"
	registryURLPath   = "schemaRegistry.url"
	keySchemaPath     = "key.schema"
	keySchemaFilePath = "key.schemaFile"
	onMalformedPath   = "value.onMalformed"
	onTombstonePath   = "value.onTombstone"
	onUnknownPath     = "value.onUnknownField"
	maxBadPath        = "value.maxBadRecords"
	maxBadRatioPath   = "value.maxBadRatio"
	deadLetterPath    = "deadLetter.table"
	deadTopicPath     = "deadLetter.topic"
	deadFolderPath    = "deadLetter.path"
	waitPath          = "run.wait"
	leasePath         = "run.lease"
)

// leastMemory is what a run with one worker was measured to stay under, wherever its files go. The program alone takes more than half.
const leastMemory = 144 << 20

// keys is the table that everything else follows from, in the order of the documentation.
var keys = slices.Concat(queryKeys, sourceKeys, recordKeys)

// queryKeys say which query it is.
var queryKeys = []*Key{
	key(namePath, func(j *Job) *string { return &j.Name }, queryName, Key{
		Class: NewQuery, Flag: "name", also: []string{"query", "queryName"},
		Brief: "The query's name; without one it is the table's",
		Doc:   "The query's name. Without one it is the table's."}),
	key(checkpointPath, func(j *Job) *string { return &j.Checkpoint }, location("s3", "gs", "azblob", "abfss", "abfs", "wasbs", "wasb", "mem"), Key{
		Class: Free, Flag: "checkpoint", Needs: ForCheckpoint, also: []string{"checkpointLocation", "checkpointDir"},
		Brief: "Where the query keeps what it planned and did; without one _checkpoints/<name> in a local warehouse; needed beside a remote one",
		Doc: "Where the query keeps what it planned and did. One folder for each query. It may move, if its content moves with it. " +
			"Without one it is `_checkpoints/<name>` in a local warehouse; beside a remote warehouse it must be given."}),
}

// recordKeys are those of what becomes of records, and of the run.
var recordKeys = []*Key{
	key(formatPath, func(j *Job) *string { return &j.Value.Format }, oneOf(formats...), Key{
		Class: NewQuery, Default: "raw", Allowed: formats, Flag: "value-format",
		Doc: "How records become columns. `raw` gives `key, value, topic, partition, offset, timestamp, timestampType`, as Spark does. `string` gives the value as text in the column `value`, " +
			"`json`, `avro` and `protobuf` the columns of a schema, and all four `kafka_key, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp` besides: docs/formats.md has the rules."}),
	key(schemaPath, func(j *Job) *string { return &j.Value.Schema }, ddlText, Key{
		Class: NextBatch, Flag: "value-schema", also: []string{"columns", "valueSchema", "jsonSchema", "userSpecifiedSchema"},
		Doc: "The columns in Spark's DDL, such as `order_id STRING NOT NULL, amount DECIMAL(18,2)`. The table must have them: a table that is there already is altered before a column is added here. " +
			"`json` needs it, or a file. Of `avro` and `protobuf` it picks the columns that the table gets; without it they follow from `schemaFile`, else from the newest schema in the registry."}),
	key(schemaFilePath, func(j *Job) *string { return &j.Value.SchemaFile }, localFile, Key{
		Class: NextBatch, also: []string{"schemaPath", "avroSchema", "descFilePath"},
		Doc: "A file with a schema. Of `json` it holds the columns instead of `schema`: in DDL, as a JSON Schema or as an Avro schema. Of `avro` it is the schema that values were written with (`.avsc`), " +
			"of `protobuf` the `.proto` file or what `protoc --include_imports --descriptor_set_out` makes of it; with `framing: confluent` the columns follow from it, and what a value was written with says its id."}),
	key(messagePath, func(j *Job) *string { return &j.Value.Message }, wording, Key{
		Class: NextBatch, also: []string{"messageName", "messageType"},
		Doc: "The Protobuf message that values are, such as `shop.Order`. A schema with one message at its top needs no name."}),
	key(framingPath, func(j *Job) *string { return &j.Value.Framing }, oneOf(framings...), Key{
		Class: NextBatch, Allowed: framings,
		Doc: "Whether each value says by an id what it was written with. `confluent` is the framing of Confluent's serializers and of those that are compatible: bytes before the value, or a record header. " +
			"Without it it is `confluent` for `avro` and `protobuf` where `schemaRegistry.url` is given and `schemaFile` is not, and `none` otherwise."}),
	key(subjectPath, func(j *Job) *string { return &j.Value.Subject }, wording, Key{
		Class: NextBatch, also: []string{"schemaSubject"},
		Doc: "Where the registry has the schemas that the columns follow from. Without it `<topic>-value`, if one topic is read."}),
	key(onMalformedPath, func(j *Job) *string { return &j.Value.OnMalformed }, oneOf("fail", "null", "deadLetter"), Key{
		Class: NextBatch, Default: "fail", Allowed: []string{"fail", "null", "deadLetter"}, also: []string{"mode", "badRecords", "onError", "errors.tolerance"},
		Doc: "What becomes of a record that is no row of the schema. `fail` ends the run with exit code 14, naming record and reason, before anything of its batch is in the table. " +
			"`null` makes a row whose columns are null but for the `kafka_` ones, and counts it; no column may be `NOT NULL` then. " +
			"`deadLetter` puts the record, with the reason, into the table `deadLetter.table`, the folder `deadLetter.path` or the topic `deadLetter.topic`."}),
	key(onTombstonePath, func(j *Job) *string { return &j.Value.OnTombstone }, oneOf("keep", "drop", "deadLetter"), Key{
		Class: NextBatch, Default: "keep", Allowed: []string{"keep", "drop", "deadLetter"}, also: []string{"tombstones"},
		Doc: "What becomes of a record without a value. `keep` makes a row of nulls of it, which is malformed if a column is `NOT NULL`; `drop` leaves it out, and counts it; " +
			"`deadLetter` puts it where `onMalformed` would."}),
	key(onUnknownPath, func(j *Job) *string { return &j.Value.OnUnknownField }, oneOf("ignore", "fail", "deadLetter", "addColumn"), Key{
		Class: NextBatch, Default: "ignore", Allowed: []string{"ignore", "fail", "deadLetter", "addColumn"}, also: []string{"unknownFields"},
		Doc: "What becomes of a record with a field that the schema does not have, at whatever depth. `ignore` leaves the field out; with `fail` the record is malformed; " +
			"`deadLetter` puts it where `onMalformed` would, whatever `onMalformed` says. " +
			"`addColumn` adds a column to the table, and is the one setting with which sluice alters it: columns of `value.schema` that the table lacks are added too, types widened, columns made optional."}),
	key(maxBadPath, func(j *Job) *int64 { return &j.Value.MaxBadRecords }, limit(1), Key{
		Class: NextBatch, Default: none, Unit: "records", also: []string{"badRecordsLimit"},
		Doc: "A batch with more malformed records than this fails with exit code 14, and nothing of it is in any table. Tombstones are malformed only where `onTombstone` is `keep` and a column is `NOT NULL`."}),
	key(maxBadRatioPath, func(j *Job) *float64 { return &j.Value.MaxBadRatio }, ratio, Key{
		Class: NextBatch, Default: none,
		Doc: "The same as a part of the records of the batch, such as `0.01` for one in a hundred."}),
	key("value.includeRawValue", func(j *Job) *bool { return &j.Value.IncludeRawValue }, truth, Key{
		Class: NextBatch, Default: "false",
		Doc: "Adds the column `kafka_value` with the bytes that the columns were read from. A table that is there already needs that column first."}),
	key("value.json.timestampFormat", func(j *Job) *string { return &j.Value.JSON.TimestampFormat }, wording, Key{
		Class: NextBatch, also: []string{"timestampNTZFormat"},
		Doc: "How timestamps are written: a pattern of Spark's letters such as `yyyy-MM-dd HH:mm:ss.SSS`, or `epochSeconds`, `epochMillis`, `epochMicros`, `epochNanos`. Without it as in RFC 3339."}),
	key("value.json.dateFormat", func(j *Job) *string { return &j.Value.JSON.DateFormat }, wording, Key{
		Class: NextBatch,
		Doc:   "How dates are written: a pattern such as `dd.MM.yyyy`, or `epochDays`. Without it as `2026-01-02`."}),
	properties(columnFormatsPath, func(j *Job) *Properties { return &j.Value.JSON.ColumnFormats }, Key{
		Class: NextBatch, also: []string{"formats"},
		Doc: "The format of single columns, by path, before the two above: `created: epochMillis`, `items.element.at: yyyyMMdd`. " +
			"`json` keeps, for a `STRING` column, the text of any value as it stands."}),
	key("value.json.timeZone", func(j *Job) *string { return &j.Value.JSON.TimeZone }, wording, Key{
		Class: NextBatch, Default: "UTC", also: []string{"timezone"},
		Doc: "Where timestamps that are written without a zone are, such as `Europe/Berlin`. A local time that the zone has not, or has twice, is malformed."}),
	key("value.json.maxDepth", func(j *Job) *int64 { return &j.Value.JSON.MaxDepth }, countBetween(1, 10_000), Key{
		Class: NextBatch, Default: "100", Unit: "levels", also: []string{"maxNestingDepth"},
		Doc: "Records with more objects and arrays inside each other are malformed."}),
	key("value.json.numbersInText", func(j *Job) *bool { return &j.Value.JSON.NumbersInText }, truth, Key{
		Class: NextBatch, Default: "false", also: []string{"primitivesAsString"},
		Doc: "Takes `\"5\"` for 5 in columns of numbers."}),
	key("value.json.cutFractions", func(j *Job) *bool { return &j.Value.JSON.CutFractions }, truth, Key{
		Class: NextBatch, Default: "false",
		Doc: "Cuts what is finer than a microsecond off timestamps and times; without it such a record is malformed."}),
	key("value.avro.cutFractions", func(j *Job) *bool { return &j.Value.AvroCutFractions }, truth, Key{
		Class: NextBatch, Default: "false",
		Doc: "Cuts what is finer than a microsecond off `timestamp-nanos`; without it such a record is malformed."}),
	key("value.protobuf.cutFractions", func(j *Job) *bool { return &j.Value.ProtobufCutFractions }, truth, Key{
		Class: NextBatch, Default: "false",
		Doc: "Cuts what is finer than a microsecond off `google.protobuf.Timestamp`; without it such a record is malformed. Producers that take the time from their clock need it mostly."}),
	key("value.protobuf.maxDepth", func(j *Job) *int64 { return &j.Value.ProtobufMaxDepth }, countBetween(1, 10_000), Key{
		Class: NextBatch, Default: "100", Unit: "levels",
		Doc: "Records with more messages inside each other are malformed."}),

	key(keyFormatPath, func(j *Job) *string { return &j.Value.Key.Format }, oneOf(formats...), Key{
		Class: NewQuery, Default: "raw", Allowed: formats, Flag: "key-format", also: []string{"keyFormat", "key.converter", "key.deserializer"},
		Doc: "What the column `kafka_key` holds. `raw` keeps the bytes of the key, `string` its text; `json`, `avro` and `protobuf` make a value of it. A key that cannot be read makes the record " +
			"malformed; a record without a key has a null there. Where `value.format` is `raw`, so is this."}),
	key(keySchemaPath, func(j *Job) *string { return &j.Value.Key.Schema }, keyType, Key{
		Class: NextBatch, also: []string{"keySchema"},
		Doc: "The type of `kafka_key` in Spark's DDL, such as `BIGINT`, or the columns of a `STRUCT`, such as `customer_id BIGINT NOT NULL, region STRING`. Otherwise as `value.schema`."}),
	key(keySchemaFilePath, func(j *Job) *string { return &j.Value.Key.SchemaFile }, localFile, Key{
		Class: NextBatch,
		Doc:   "A file with a schema, as `value.schemaFile`."}),
	key(keyMessagePath, func(j *Job) *string { return &j.Value.Key.Message }, wording, Key{
		Class: NextBatch,
		Doc:   "The Protobuf message that keys are."}),
	key(keyFramingPath, func(j *Job) *string { return &j.Value.Key.Framing }, oneOf(framings...), Key{
		Class: NextBatch, Allowed: framings,
		Doc: "Whether each key says by an id what it was written with, as `value.framing`."}),
	key(keySubjectPath, func(j *Job) *string { return &j.Value.Key.Subject }, wording, Key{
		Class: NextBatch,
		Doc:   "As `value.subject`. Without it `<topic>-key`, if one topic is read."}),

	properties(registryPath, func(j *Job) *Properties { return &j.Registry }, Key{
		Class: Free, also: []string{"schema.registry", "registry"},
		Doc: "Properties of the client of a schema registry, by the names that Confluent gives them: a [table below](#schema-registry) has all. Secrets among them come from a variable or `${file:…}`."}),
	entry(registryPath, "url", registryOf, registryURLs, Key{
		Class: Free, Flag: "schema-registry-url", also: []string{"schema.registry.url", "schemaRegistryUrl", "registryUrl"},
		Doc: "Where the registry is, such as `https://registry:8081`; several with commas, of which the first that answers is asked. It may move, if it knows the same ids afterwards."}),
	key(deadLetterPath, func(j *Job) *string { return &j.Value.DeadLetters }, tableName, Key{
		Class: NextBatch, also: []string{"deadLetterTable"},
		Doc: "The table for records that a policy sends to `deadLetter`, in the catalog of the sink; created if it is not there. Several queries may share one. " +
			"One of `deadLetter.table`, `deadLetter.path` and `deadLetter.topic`."}),
	key(deadFolderPath, func(j *Job) *string { return &j.Value.DeadLetterPath }, location("s3", "gs", "azblob", "abfss", "abfs", "wasbs", "wasb"), Key{
		Class: NextBatch, also: []string{"badRecordsPath", "deadLetterPath"},
		Doc: "A folder of Parquet files for such records instead, each of them there exactly once; created if it is not there. Several queries may share one. It takes the parameters of `sink.parquet.path`."}),
	key(deadTopicPath, func(j *Job) *string { return &j.Value.DeadLetterTopic }, topicName, Key{
		Class: NextBatch, also: []string{"deadLetterTopic", "deadLetterQueue", "dlq", "errors.deadletterqueue.topic.name"},
		Doc: "A topic for such records instead, in the cluster that is read; created if it is not there and the cluster allows it. Each is there at least once, not exactly once as in a table: " +
			"docs/formats.md says what that means and which headers it has. A topic that the query reads is refused."}),

	key(catalogTypePath, func(j *Job) *string { return &j.Sink.Iceberg.Catalog.Type }, oneOf(catalogTypes...), Key{
		Class: Free, Default: "sql", Allowed: catalogTypes, Flag: "catalog-type",
		Doc: "`sql` keeps the catalog in a database, SQLite or PostgreSQL, `hadoop` in the folders of a local warehouse, `rest` is a server that speaks Iceberg's REST protocol, `glue` is AWS Glue, `hive` a Hive metastore. [Catalogs](catalogs.md) has a job file for each."}),
	key(catalogURIPath, func(j *Job) *string { return &j.Sink.Iceberg.Catalog.URI }, catalogURI, Key{
		Class: Free, Flag: "catalog-uri", also: []string{"url"},
		Brief: "The database of a sql catalog, a path or postgresql://host/database, without which it is catalog.db in a local warehouse; or the address of a rest or hive catalog",
		Doc:   "The database of a `sql` catalog: the path of a SQLite file, or `postgresql://user@host:5432/database?sslmode=verify-full`, also as `jdbc:postgresql://…` and `postgresql+psycopg2://…`. A password comes from `PGPASSWORD`, `PGPASSFILE`, this variable or `${file:…}`, and is refused in a flag. Without one it is `catalog.db` in a local warehouse; beside a remote warehouse it must be given. Of a `rest` catalog it is the server's address, to which `/v1/config` is added; of a `hive` catalog `thrift://host:9083`, several with commas between."}),
	key(warehousePath, func(j *Job) *string { return &j.Sink.Iceberg.Catalog.Warehouse }, location("s3", "s3a", "gs", "abfss", "abfs", "wasbs", "wasb", "mem"), Key{
		Class: Free, Flag: "warehouse", Needs: ForSink,
		Brief: "Where new tables are created: a local folder, or s3://, gs:// or abfss://",
		Doc:   "Where new tables are created: a local folder, or a folder in a bucket of S3 (`s3://`), Google Cloud Storage (`gs://`) or Azure (`abfss://container@account.dfs.core.windows.net/folder`). [Stores](stores.md) has an example of each. Of a `rest` catalog it is a name or a location that the server knows, and may be left out. An existing table stays where it is, and is recognised by its UUID."}),
	key("sink.iceberg.catalog.name", func(j *Job) *string { return &j.Sink.Iceberg.Catalog.Name }, queryName, Key{
		Class: Free, Default: "default", Flag: "catalog-name",
		Doc: "The name that a `sql` catalog files its tables under. Other programs find them under the same name only."}),
	properties(catalogPropsPath, func(j *Job) *Properties { return &j.Sink.Iceberg.Catalog.Properties }, Key{
		Class: Free,
		Doc:   "Properties of the catalog and of the store under it, by Iceberg's names, such as `s3.endpoint` and `s3.region`. Secrets among them come from a variable or `${file:…}`."}),
	key(tablePath, func(j *Job) *string { return &j.Sink.Iceberg.Table }, tableName, Key{
		Class: NewQuery, Flag: "table", Needs: ForSink, also: []string{"tableName"},
		Brief: "The table with its namespace, such as sales.orders; created if it is not there",
		Doc:   "The table, with its namespace. It is created if it is not there."}),
	key(branchPath, func(j *Job) *string { return &j.Sink.Iceberg.Branch }, branchName, Key{
		Class: NewQuery, Default: mainBranch, Flag: "branch", also: []string{"branchName", "writeBranch", "toBranch"},
		Brief: "The branch of the table that rows go to, for write-audit-publish",
		Doc: "The branch of the table that rows go to, for write-audit-publish. One that is not there is forked from main by the first commit. " +
			"docs/tables.md tells how it is published, and what may become of it."}),
	key("sink.iceberg.targetFileSize", func(j *Job) *int64 { return &j.Sink.Iceberg.TargetFileSize }, size(64<<10), Key{
		Class: Free, Default: "256MiB", Unit: "bytes", Flag: "target-file-size",
		Doc: "The size that data files aim at, in bytes as written, compressed. Left out, the table's `write.target-file-size-bytes` holds, if it has that property. Files are smaller where a batch, or what it has of one partition, is."}),
	key(partitionByPath, func(j *Job) *[]layout.Term { return &j.Sink.Iceberg.PartitionBy }, partitions, Key{
		Class: NextBatch, also: []string{"partitionedBy", "partitions", "partitionSpec", "partitionColumns"},
		Doc: "How a table that is created is partitioned: columns (`address.city` for one inside of another), `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(16, c)`, `truncate(10, c)`. " +
			"A table that is there already is followed, whatever its partitions are, if this is left out; else the two must agree. docs/tables.md tells more."}),
	key(sortByPath, func(j *Job) *[]layout.Order { return &j.Sink.Iceberg.SortBy }, orders, Key{
		Class: NextBatch, also: []string{"sortedBy", "orderBy", "sortOrder", "sortColumns"},
		Doc: "What the rows of each data file are sorted by, recorded as the sort order of a table that is created. Left out, the order of a table that is there is followed; `[]` keeps rows as they come. " +
			"What memory does not hold goes through temporary files (`TMPDIR`). docs/tables.md tells more."}),
	key(expireEveryPath, func(j *Job) *int64 { return &j.Sink.Iceberg.ExpireEvery }, limit(1), Key{
		Class: Free, Default: "50", Unit: "commits",
		Doc: "Expire old snapshots after every so many commits. Only tables that sluice created are ever expired."}),
	key(keepSnapshotsPath, func(j *Job) *int64 { return &j.Sink.Iceberg.KeepSnapshots }, count(1), Key{
		Class: Free, Default: "20", Unit: "snapshots",
		Doc: "How many of the newest snapshots expiry leaves."}),

	key(parquetPath, func(j *Job) *string { return &j.Sink.Parquet.Path }, location("s3", "gs", "azblob", "abfss", "abfs", "wasbs", "wasb"), Key{
		Class: Free, Flag: "parquet-path", also: []string{"path", "outputPath", "sink.parquet.folder"},
		Brief: "A folder of Parquet files instead of a table: a local folder, or one of S3, Google Cloud Storage or Azure; created if it is not there",
		Doc: "A folder of Parquet files instead of a table, without a catalog: a local folder, or `s3://`, `gs://`, `azblob://` or `abfss://` with the parameters that a checkpoint's address takes, of S3's `region`, `endpoint` and `use_path_style`. " +
			"It is created if it is not there, and is recognised by its UUID, so that it may move. docs/files.md says what is in it, and how to read it. Either this or `sink.iceberg.table`."}),
	key(filesByPath, func(j *Job) *[]layout.Term { return &j.Sink.Parquet.PartitionBy }, partitions, Key{
		Class: NextBatch,
		Doc: "How a folder that is created is partitioned, as `name=value/` folders that Spark, Hive and DuckDB know: columns, which the files then leave out, and `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(16, c)`, `truncate(10, c)`. " +
			"A folder that is there already is followed if this is left out; else the two must agree. docs/files.md tells more."}),
	key("sink.parquet.sortBy", func(j *Job) *[]layout.Order { return &j.Sink.Parquet.SortBy }, orders, Key{
		Class: NextBatch,
		Doc:   "What the rows of each file are sorted by. What memory does not hold goes through temporary files (`TMPDIR`)."}),
	key("sink.parquet.targetFileSize", func(j *Job) *int64 { return &j.Sink.Parquet.TargetFileSize }, size(64<<10), Key{
		Class: Free, Default: "256MiB", Unit: "bytes",
		Doc: "The size that data files aim at."}),
	key("sink.parquet.sparkMetadata", func(j *Job) *bool { return &j.Sink.Parquet.SparkMetadata }, truth, Key{
		Class: NextBatch, Default: "false",
		Doc: "Keeps Spark's own log of a file sink in the folder (`_spark_metadata`), so that Spark, given the folder, reads exactly the files that count. A folder with it has one query, and others are refused. docs/files.md says more."}),

	key("memory", func(j *Job) *int64 { return &j.Memory }, size(leastMemory), Key{
		Class: Free, Default: "256MiB", Unit: "bytes", Flag: "memory", also: []string{"memoryLimit"},
		Doc: "The ceiling for the whole process of a run. What is outside of it stands below, under [Memory](#memory)."}),
	key("retain", func(j *Job) *int64 { return &j.Retain }, count(2), Key{
		Class: Free, Default: "100", Unit: "batches", Flag: "retain", also: []string{"minBatchesToRetain"},
		Doc: "How many of the newest batches the checkpoint remembers."}),
	key("run.maxBatches", func(j *Job) *int64 { return &j.Run.MaxBatches }, limit(1), Key{
		Class: Free, Default: none, Unit: "batches", Flag: "max-batches",
		Doc: "Stop in good order after so many batches."}),
	key("run.maxDuration", func(j *Job) *time.Duration { return &j.Run.MaxDuration }, spanLimit, Key{
		Class: Free, Default: none, Flag: "max-duration", also: []string{"timeout"},
		Doc: "Begin no batch after this time, and stop in good order."}),
	key("run.grace", func(j *Job) *time.Duration { return &j.Run.Grace }, span, Key{
		Class: Free, Default: "30s", Flag: "grace",
		Doc: "How long a run that is told to stop may take to finish the batch in hand."}),
	key(waitPath, func(j *Job) *time.Duration { return &j.Run.Wait }, span, Key{
		Class: Free, Default: "15s", Flag: "wait",
		Brief: "How long to wait while another run holds the lease, before exit code 11",
		Doc:   "How long to wait while another run holds the lease. Without it as long as the lease lives: a run that died is overtaken in that time."}),
	key(leasePath, func(j *Job) *time.Duration { return &j.Run.Lease }, spanBetween(time.Second, 10*time.Minute), Key{
		Class: Free, Default: "15s", also: []string{"ttl", "leaseTtl", "leaseDuration"},
		Doc: "How long the lease of a run that died lives on; a run that lives renews it three times as often. " +
			"It only decides how soon the next run begins: rows are written once whatever it is."}),
}

// lossKey is what becomes of a loss of one cause.
func lossKey(cause batch.Cause, at func(*Job) *string, doc string) *Key {
	words := []string{"fail", cause.Choice()}
	return key(onLossPath+"."+string(cause), at, oneOf(words...), Key{Class: Free, Allowed: words, Flag: "on-data-loss-" + string(cause),
		Doc: doc + " Left out, `source.failOnDataLoss` decides."})
}

func kafkaOf(j *Job) *Properties { return &j.Source.Kafka }

func registryOf(j *Job) *Properties { return &j.Registry }

var (
	formats  = []string{"raw", "string", "json", "avro", "protobuf"}
	framings = []string{"none", "confluent"}
)

// Keys is the table of all keys.
func Keys() []Key {
	rows := make([]Key, len(keys))
	for i, k := range keys {
		rows[i] = *k
	}
	return rows
}

func find(path string) *Key {
	for _, k := range keys {
		if k.Path == path {
			return k
		}
	}
	return nil
}

func findFlag(flag string) *Key {
	for _, k := range keys {
		if k.Flag != "" && k.Flag == flag {
			return k
		}
	}
	return nil
}
