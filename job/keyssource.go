package job

import (
	"time"

	"sluice/batch"
	"sluice/offsets"
)

// sourceKeys say what is read, and how much of it at a time.
var sourceKeys = []*Key{
	properties(kafkaPath, func(j *Job) *Properties { return &j.Source.Kafka }, Key{
		Class: Free, also: []string{"kafka", "properties"},
		Doc: "Properties of the Kafka client under their Java names, such as `security.protocol` and `sasl.jaas.config`: the table below has all, and docs/kafka.md a job for each way in. " +
			"Secrets among them come from a variable or `${file:…}`."}),
	entry(kafkaPath, bootstrapServers, kafkaOf, servers, Key{
		Class: Free, Flag: "bootstrap-servers", Needs: ForSource, also: []string{"brokers", "bootstrapServers", "servers"},
		Brief: "Brokers to begin with, such as broker1:9092,broker2:9092",
		Doc:   "Brokers to begin with. The cluster is recognised by its id, so these may change."}),
	entry(kafkaPath, isolationLevel, kafkaOf, oneOf("read_committed", "read_uncommitted"), Key{
		Class: NextBatch, Default: "read_committed", Allowed: []string{"read_committed", "read_uncommitted"},
		Doc: "Whether records of open and aborted transactions are left out."}),
	key(subscribePath, func(j *Job) *[]string { return &j.Source.Subscribe }, topicList, Key{
		Class: NewQuery, Flag: "subscribe", also: []string{"topic", "topics"},
		Brief: "Topics to read, with commas; or else --subscribe-pattern or --assign",
		Doc:   "Topics to read. Exactly one of `subscribe`, `subscribePattern` and `assign` is given. Topics may be added, not taken away."}),
	key(patternPath, func(j *Job) *string { return &j.Source.SubscribePattern }, pattern, Key{
		Class: NewQuery, Flag: "subscribe-pattern", also: []string{"topicPattern", "topicsPattern"},
		Doc: "Reads every topic that the expression matches somewhere in its name; `^` and `$` anchor it. It may change while it matches all topics that were read."}),
	key(assignPath, func(j *Job) *[]offsets.TopicPartition { return &j.Source.Assign }, assignment, Key{
		Class: NewQuery, Flag: "assign", also: []string{"partitions"},
		Brief: `Single partitions to read, such as {"orders":[0,1]}`,
		Doc:   "Single partitions to read. Partitions may be added, not taken away."}),
	key(startOffsetsPath, func(j *Job) *StartingOffsets { return &j.Source.StartingOffsets }, positions, Key{
		Class: Free, Default: "earliest", Flag: "starting-offsets", also: []string{"startingOffset", "offsets", "auto.offset.reset"},
		Brief: `Where the query begins if its checkpoint is empty: earliest, latest or {"orders":{"0":23}}; afterwards it has no effect`,
		Doc:   "Where the query begins if its checkpoint is empty; afterwards it has no effect. Partitions that appear later begin at the earliest offset."}),
	key(startTimePath, func(j *Job) *time.Time { return &j.Source.StartingTimestamp }, moment, Key{
		Class: Free, Flag: "starting-timestamp",
		Brief: "Begin at the first record of this time or later, such as 2026-11-01T00:00:00Z, instead of --starting-offsets",
		Doc:   "Begin at the first record of this time or later, instead of `startingOffsets`."}),
	key(startTimesPath, func(j *Job) *offsets.Offsets { return &j.Source.StartingOffsetsByTimestamp }, instants, Key{
		Class: Free, Flag: "starting-offsets-by-timestamp",
		Brief: `Begin each partition at its first record of a time or later, in milliseconds since 1970, such as {"orders":{"0":1793491200000}}, instead of --starting-offsets`,
		Doc: "Begin each partition at its first record of this time or later, in milliseconds since 1970, instead of `startingOffsets` or `startingTimestamp`. " +
			"It names exactly the partitions that are read."}),
	key(startNonePath, func(j *Job) *string { return &j.Source.StartingOffsetsByTimestampStrategy }, oneOf("error", "latest"), Key{
		Class: Free, Default: "error", Allowed: []string{"error", "latest"}, Flag: "starting-offsets-by-timestamp-strategy",
		Brief: "What becomes of a partition that has no record of --starting-timestamp or later: error refuses to begin, latest begins at its end",
		Doc: "What becomes of a partition that has no record of `startingTimestamp`, or of its time in `startingOffsetsByTimestamp`, or later, an empty one among them: `error` refuses to begin and names all of them, " +
			"`latest` begins at its end. Without one of the two it has no effect."}),
	key(endOffsetsPath, func(j *Job) *offsets.Offsets { return &j.Source.EndingOffsets }, endings, Key{
		Class: Free, Default: "latest", Flag: "ending-offsets", also: []string{"endingOffset", "untilOffsets"},
		Brief: `Where reading ends, whatever comes after it: latest, or {"orders":{"0":5000}}`,
		Doc: "Where reading ends, whatever comes after it: the first offset that is not read, for exactly the partitions that are read; -1 is `latest`, where the topics end when the run begins. " +
			"A run that has nothing left before it is done, with exit code 0, and says so (`bound` in its summary). It may be set, moved and taken away at any time; what was read already stays."}),
	key(endTimePath, func(j *Job) *time.Time { return &j.Source.EndingTimestamp }, moment, Key{
		Class: Free, Flag: "ending-timestamp",
		Brief: "End at the first record of this time or later, such as 2026-11-02T00:00:00Z, instead of --ending-offsets",
		Doc: "End each partition before its first record of this time or later, instead of `endingOffsets`. One that has no such record is read to its end. " +
			"It is looked up again by each run, and records that are out of order by time are not sorted out: what stands before that record is read, and what stands after it is not."}),
	key(endTimesPath, func(j *Job) *offsets.Offsets { return &j.Source.EndingOffsetsByTimestamp }, instants, Key{
		Class: Free, Flag: "ending-offsets-by-timestamp",
		Brief: "End each partition at its first record of a time or later, in milliseconds since 1970, instead of --ending-offsets",
		Doc:   "The same with a time for each partition, in milliseconds since 1970. It names exactly the partitions that are read."}),
	key("source.maxOffsetsPerTrigger", func(j *Job) *int64 { return &j.Source.MaxOffsetsPerTrigger }, limit(1), Key{
		Class: Free, Default: "1000000", Unit: "offsets", Flag: "max-offsets-per-trigger", also: []string{"maxRecords", "batchSize", "rateLimit"},
		Doc: "No batch has more offsets than this. A run makes as many batches as it takes."}),
	key("source.maxBytesPerTrigger", func(j *Job) *int64 { return &j.Source.MaxBytesPerTrigger }, sizeLimit(64<<10), Key{
		Class: Free, Default: none, Unit: "bytes", Flag: "max-bytes-per-trigger", also: []string{"maxBytes", "batchBytes"},
		Brief: "A target for the size of a batch, in bytes as Kafka has them; the limit of offsets holds besides",
		Doc: "A target for the size of a batch, in bytes as Kafka has them, compressed. It becomes a number of offsets by what the offsets of the newest batches took; `maxOffsetsPerTrigger` holds besides, exactly. " +
			"The first batch of a query, of which nothing is known, gets an offset for each 64 KiB."}),
	key("source.minOffsetsPerTrigger", func(j *Job) *int64 { return &j.Source.MinOffsetsPerTrigger }, limit(1), Key{
		Class: Free, Default: none, Unit: "offsets", Flag: "min-offsets-per-trigger", also: []string{"minRecords", "minOffsets"},
		Brief: "Do nothing, with exit code 0, while fewer offsets than this are there, until the newest batch is as old as --max-trigger-delay",
		Doc: "A run that finds fewer offsets than this does nothing and ends with exit code 0, unless the newest batch is as old as `maxTriggerDelay`. It is decided once, before the first batch: a run that begins reads all that is there. " +
			"A batch that was cut short is finished in any case. It may be more than `maxOffsetsPerTrigger`, since a run makes several batches."}),
	key("source.maxTriggerDelay", func(j *Job) *time.Duration { return &j.Source.MaxTriggerDelay }, span, Key{
		Class: Free, Default: "15m", Flag: "max-trigger-delay",
		Brief: "How old the newest batch may be for a run to wait for --min-offsets-per-trigger",
		Doc: "How old the newest batch may be for a run to wait for `minOffsetsPerTrigger`; without that it has no effect. It counts from when the newest batch was done, by the checkpoint, whatever runs there were since; " +
			"a query without a batch never waits."}),
	key("source.minPartitions", func(j *Job) *int64 { return &j.Source.MinPartitions }, count(1), Key{
		Class: Free, Unit: "pieces", Flag: "min-partitions",
		Doc: "Cut a batch into at least so many pieces of equal size that can be read side by side; into more where there are more workers, and never into more than it has offsets. Without it the planner decides."}),
	key("source.maxRecordsPerPartition", func(j *Job) *int64 { return &j.Source.MaxRecordsPerPartition }, limit(1), Key{
		Class: Free, Default: none, Unit: "offsets", Flag: "max-records-per-partition", also: []string{"maxRecordsPerTask"},
		Brief: "Cut a batch into pieces of at most so many offsets, each with files of its own",
		Doc:   "Cut a batch into pieces of at most so many offsets, as many as it takes; `minPartitions` may ask for more. Each piece has files of its own."}),
	key("source.includeHeaders", func(j *Job) *bool { return &j.Source.IncludeHeaders }, truth, Key{
		Class: NextBatch, Default: "false", Flag: "include-headers",
		Brief: "Add a column with the headers of each record; a table that is there already needs that column first",
		Doc:   "Adds a column with the headers of each record. A table that is there already needs that column first."}),
	key("source.consumerGroup", func(j *Job) *string { return &j.Source.ConsumerGroup }, groupName, Key{
		Class: Free, also: []string{"groupId", "group.id", "kafka.group.id", "consumerGroupId"},
		Doc: "A consumer group that is shown, after each batch, the offsets that the query has reached, for `kafka-consumer-groups` and exporters of lag. It is read by nobody here: it may change or go at any time, and a commit to it that fails is a warning. " +
			"No other consumer may be in it; [kafka.md](kafka.md#a-consumer-group-to-look-at) says what it can be relied on for."}),
	key(failOnLossPath, func(j *Job) *bool { return &j.Source.FailOnDataLoss }, truth, Key{
		Class: Free, Default: "true", Flag: "fail-on-data-loss",
		Brief: "End the run where records are gone from Kafka that were not read; with =false go on without them and record them as lost",
		Doc: "Whether a run ends (exit code 12, before anything is written) where Kafka does not have any more what the query would read next. With `false` it goes on without those records, whatever the cause, " +
			"and records what was lost: in the log, the batch's report, the run's summary, the snapshot and the table's ledger. Unlike with Spark nothing is ever read twice or skipped without a word."}),
	lossKey(batch.Retention, func(j *Job) *string { return &j.Source.OnDataLoss.Retention },
		"Records that retention or `kafka-delete-records` removed before they were read. `skip` goes on where the log starts now; the skipped offsets are in the plan and counted exactly."),
	lossKey(batch.Recreated, func(j *Job) *string { return &j.Source.OnDataLoss.Recreated },
		"A topic that was deleted and created again, which its id tells however many records it has. `restart` reads the new one from its start; what was not read of the old one is lost."),
	lossKey(batch.Diverged, func(j *Job) *string { return &j.Source.OnDataLoss.Diverged },
		"A log that was cut short of what was read of it, as after an unclean leader election. `continue` goes on where it was cut, so that offsets from there on are in the table twice, for other records."),
	lossKey(batch.Missing, func(j *Job) *string { return &j.Source.OnDataLoss.Missing },
		"Partitions, or topics, that are gone. `drop` goes on without them. Should one come back as the same topic, it is read on from where it was; as another one, `recreated` decides."),
}
