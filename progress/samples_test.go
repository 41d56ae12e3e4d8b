package progress

import (
	"encoding/json"
	"time"

	"sluice/offsets"
)

// The objects below tell one story; the golden files and docs/json.md show them.

const (
	sampleQuery = "6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11"
	sampleRun   = "0b3f6a52-7a57-4b7e-a5ad-5f6c1e0f2d44"
	sampleTable = "9d3c1f3e-6f0e-4f0a-8f0f-3b6f4f3b2a10"
)

func at(text string) Timestamp {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return Timestamp{t}
}

func of(p0, p1 int64) offsets.Offsets {
	return offsets.Offsets{{Topic: "orders", Partition: 0}: p0, {Topic: "orders", Partition: 1}: p1}
}

func pointer[T any](v T) *T { return &v }

func sampleBatch() *Batch {
	return &Batch{ID: sampleQuery, RunID: sampleRun, Name: "orders", Timestamp: at("2026-11-30T04:00:01.250Z"), BatchID: 7, BatchDuration: 12300,
		NumInputRows: 999_998, InputRowsPerSecond: 81300.7, ProcessedRowsPerSecond: 81300.7,
		DurationMs:     map[string]int64{"addBatch": 11980, "commitBatch": 120, "walCommit": 40, "commitOffsets": 35, "triggerExecution": 12300},
		StateOperators: []json.RawMessage{},
		Sources: []SourceReport{{Description: "KafkaV2[Subscribe[orders]]", StartOffset: of(100, 200), EndOffset: of(500_100, 500_200), LatestOffset: of(3_000_100, 500_200),
			NumInputRows: 999_998, InputRowsPerSecond: 81300.7, ProcessedRowsPerSecond: 81300.7,
			Metrics: map[string]string{"minOffsetsBehindLatest": "0", "maxOffsetsBehindLatest": "2500000", "avgOffsetsBehindLatest": "1250000.0"}}},
		Sink: SinkReport{Description: "iceberg sql /data/lake/catalog.db sales.orders", NumOutputRows: 999_998},
		Sluice: Extra{Offsets: 1_000_000, Rows: 999_998, ReadBytes: 61_000_000, RecordBytes: 60_400_000, WrittenBytes: 88_300_000, Files: 4, Snapshot: 4_302_859_012_394_871_102,
			Frozen: pointer(at("2026-11-30T04:00:00.980Z")), Lag: 2_500_000, PeakMemoryBytes: 148_000_000},
	}
}

func sampleSummary() *Summary {
	return &Summary{Query: "orders", QueryID: sampleQuery, RunID: sampleRun, FirstBatch: 7, LastBatch: 10, Batches: 4, Records: 3_499_990, Rows: 3_499_990,
		Bytes: 309_000_000, Files: 14, CaughtUp: true, Lag: 312, DurationMs: 44_120, Table: "sales.orders", TableLocation: "file:///data/lake/sales.db/orders"}
}

func sampleImport() *Import {
	return &Import{Query: "orders", QueryID: "", From: "spark", Place: "s3://lake/checkpoints/spark-orders", Reached: "the end of batch 57, which is marked as done", State: ImportNew, Planned: -1,
		Partitions: []ImportPartition{{"orders", 0, 500_100, 400_000, 640_200, 500_100, 140_100}, {"orders", 1, 300_200, 310_000, 512_000, 310_000, 202_000}, {"orders", 2, -1, 0, 90, 0, 90}},
		Losses:     []LossAhead{{Loss: Loss{Topic: "orders", Partition: 1, Cause: "retention", From: 300_200, Until: 310_000, Offsets: 9_800}, Accepted: true, Option: "--on-data-loss-retention skip"}},
		LeftOut:    []string{"clicks-0, at offset 77"},
		Unknown:    []string{"whether Spark is stopped for good: its checkpoint does not say; the last batch was planned at 2026-11-30T04:00:00Z"},
		Notes:      []string{}}
}

func samplePlan() *Plan {
	return &Plan{Query: "orders", QueryID: sampleQuery, Action: ActionReplay, Batch: 7, Records: 1_000_000, Remaining: 2_500_000, Batches: 4,
		Ranges:         []PlanRange{{"orders", 0, 100, 500_100, 500_000, 0}, {"orders", 1, 200, 500_200, 500_000, 12}},
		EstimatedBytes: 88_000_000, EstimatedFiles: 4, KafkaBytes: 60_400_000, Limit: 1_000_000, Isolation: "read_committed", MaxOffsets: 1_000_000, StartOrigin: "plan 7 of the checkpoint, as it was written", Blocked: 12, Rates: sampleRates(),
		Tables: []PlanTable{{Role: "main", Name: "sales.orders", Exists: true, UUID: sampleTable, Location: "file:///data/lake/sales.db/orders"}},
		Format: "json", Columns: []PlanColumn{{"order_id", "STRING", true}, {"amount", "DECIMAL(18,2)", false}, {"kafka_offset", "BIGINT", true}},
		Differences: []string{"the table has no column amount (decimal(18,2))"},
		Notes:       []string{"memory is enough for 2 workers on 8 cores: --memory 576MiB makes all of them work"}}
}

func sampleRates() *Rates {
	return &Rates{Batches: 3, RecordsPerSecond: pointer(48_123.4), OffsetsPerSecond: pointer(48_125.0), BytesPerSecond: pointer(2_906_750.0), Input: pointer(1_060.6), InputWindowMs: pointer(int64(3_300_000)),
		InputTopics: []TopicInput{{"orders", pointer(1_060.6)}}, Backlog: pointer(int64(3_500_000)), BacklogBytes: pointer(int64(211_400_000)), BacklogBatches: pointer(int64(4)), DrainMs: pointer(int64(73_000)), FallingBehind: pointer(false)}
}

func sampleStatus() *Status {
	return &Status{Query: "orders", QueryID: sampleQuery, Checkpoint: "file:///data/lake/_checkpoints/orders", LastPlan: 7, LastCommit: 6, TableBatch: 6,
		Uncommitted: &StatusBatch{Batch: 7, Planned: at("2026-11-30T04:00:01.250Z"), Offsets: 1_000_000}, Action: ActionReplay,
		Table: "sales.orders", TableUUID: sampleTable, TableLocation: "file:///data/lake/sales.db/orders",
		Partitions: []StatusPartition{{"orders", 0, 100, 3_000_100, 3_000_000, 0, 3_000_100, 3_000_000, PartitionRead}, {"orders", 1, 200, 500_200, 500_000, 12, 500_212, 500_012, PartitionHeld}}, Lag: 3_500_000, Blocked: 12,
		LogLag: 3_500_012, Rates: sampleRates(),
		DeadLetters: &StatusLetters{Place: "ops.dead", Before: []string{"topic orders-dead"}, DeadLetters: 1_204, Replayed: 1_200},
		GivenUp:     sampleGivenUp(),
		Lease:       &StatusLease{Owner: "run " + sampleRun + ", process 4711 on etl-1", Since: at("2026-11-30T04:00:00.900Z"), Heartbeat: at("2026-11-30T04:00:05.900Z"), Released: true},
		LastRun:     &StatusRun{ID: sampleRun, State: "failed", Started: at("2026-11-30T04:00:00.900Z"), Finished: pointer(at("2026-11-30T04:00:09Z")), ExitCode: pointer(1), Error: "read orders-1: broker 2 does not answer", Hint: "see whether the brokers are up, then run again"},
		Notes:       []string{}}
}

func sampleVerify() *Verify {
	return &Verify{OK: false, Verdict: "broken", Source: true, Table: "sales.orders", TableUUID: sampleTable, Location: "file:///data/lake/sales.db/orders", Snapshot: 4_302_859_012_394_871_102,
		Batches: 11, Rows: 3_500_001, Expected: 3_500_000, Duplicates: 1, ForeignRows: 3, Files: 46, Bytes: 309_000_000,
		Queries: []VerifyQuery{{ID: sampleQuery, Name: "orders", Batch: 10, Snapshot: 4_302_859_012_394_871_102, Rows: 3_500_000}},
		Partitions: []VerifyPartition{
			{Topic: "orders", Partition: 0, Until: 3_000_000, Read: 3_000_000, Compared: 2_000_000, Queries: []string{sampleQuery}, Rows: 3_000_001, Expected: 3_000_000, Duplicates: 1, Verdict: "broken",
				Kafka: &VerifyKafka{From: 1_000_000, Until: 3_000_000, Records: 2_000_000}},
			{Topic: "orders", Partition: 1, Until: 500_000, Read: 500_000, Compared: 500_000, Queries: []string{sampleQuery}, Rows: 500_000, Expected: 500_000, Verdict: "proved",
				Kafka: &VerifyKafka{Until: 500_000, Records: 500_000}}},
		Lost: 100, GivenUp: sampleGivenUp(),
		Foreign: map[string]int64{"refunds": 3},
		Problems: []Problem{{Kind: "duplicate-rows", What: "orders-0 has 1 row too many", Evidence: "by the ledgers query orders has read [0,3000000); the table holds offsets [1234567,1234568) more often than that",
			Todo: "Find what wrote them: the snapshots that added the files say. Remove the extra rows, then verify again.", Query: sampleQuery, Topic: "orders", Partition: pointer(int32(0)),
			Offsets: []Span{{1_234_567, 1_234_568}}, Count: 1, Files: []string{"data/a.parquet", "data/b.parquet"}}},
		CannotProve: []Limit{{Kind: "expired", What: "orders-0[0,1000000) against Kafka", Why: "Kafka's log begins at offset 1000000 now"}},
		Notes:       []string{}}
}

func sampleGivenUp() *GivenUp {
	return &GivenUp{Offsets: 100, Partitions: []GivenUpPartition{{Query: sampleQuery, Topic: "orders", Partition: 1, Offsets: 100, Ranges: []Span{{100, 200}}, GoneFrom: []int64{77}}},
		Batches: []GivenUpBatch{{sampleQuery, 4, at("2026-11-29T04:00:02.000Z"), 100, "orders-1[100,200) retention"}, {sampleQuery, 2, at("2026-11-27T04:00:02.000Z"), 0, "orders-1 from 77 on, recreated"}}}
}

func sampleMaintain() *Maintain {
	return &Maintain{Query: "orders", QueryID: sampleQuery, Tables: []MaintainTable{
		{Table: "sales.orders", Role: "rows",
			Expire: &MaintainExpiry{Snapshots: 412, Kept: 34, Old: 427, Refs: []string{"audit-2026-10"}, Held: []MaintainHeld{{Query: "8f14e45f-ceea-4c1b-9d2f-2f0a6b1c7e33", Name: "refunds", Snapshots: 14}},
				Data: MaintainCount{310, 5_100_000_000}, Metadata: MaintainCount{530, 6_400_000}},
			Compact: &MaintainCompact{In: MaintainCount{96, 812_000_000}, Out: MaintainCount{4, 790_000_000}, Groups: 4, Dropped: 1, Why: "some of its rows were deleted meanwhile", Commits: 1, Left: 3},
			Manifests: &MaintainManifests{Rewritten: MaintainCount{88, 1_900_000}, Written: MaintainCount{1, 1_700_000}, Kept: MaintainCount{2, 15_800_000}, Entries: 2210,
				Snapshot: 4_302_859_012_394_871_102},
			Orphans: &MaintainOrphans{Found: MaintainCount{2, 9_400_000}, Listed: MaintainCount{2944, 61_000_000_000}, Young: MaintainCount{5, 1_200_000}, Open: MaintainCount{1, 88_000_000},
				Others: MaintainCount{1, 2}, First: []string{"s3://lake/sales.db/orders/data/6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11-31-0-1b8c7c52-6b52-4a45-8c0e-0d9b8f1d2f10-0.parquet"}, OlderThan: "3d"}},
		{Table: "sales.orders_dead", Role: "deadLetters",
			Expire: &MaintainExpiry{Kept: 3, Refs: []string{}, Held: []MaintainHeld{}},
			Error:  "rewrite manifests: the commit was not accepted in 12 attempts", Hint: "run it again at a time when fewer others commit to this table"},
	}}
}

func sampleValidate() *Validate {
	return &Validate{Query: "orders", OK: false, Checks: []Check{
		{Name: "job", Status: CheckOK, Detail: "KafkaV2[Subscribe[orders]] into sales.orders"},
		{Name: "kafka", Status: CheckFailed, Detail: "topic orders does not exist", Hint: "create the topic, or correct source.subscribe", DurationMs: 41},
		{Name: "checkpoint", Status: CheckOK, Detail: "file:///data/lake/_checkpoints/orders is empty; conditional writes work", DurationMs: 3},
		{Name: "catalog", Status: CheckOK, Detail: "iceberg sql /data/lake/catalog.db sales.orders", DurationMs: 1},
		{Name: "table", Status: CheckOK, Detail: "sales.orders is not there yet; the first run creates it"},
		{Name: "warehouse", Status: CheckOK, Detail: "files can be written, read and removed in file:///data/lake/sales.db/orders", DurationMs: 2},
		{Name: "query", Status: CheckSkipped, Detail: "it needs the check kafka, which failed"}}}
}

func samplePeek() *Peek {
	timestamp := at("2026-11-30T03:59:58.123Z").Time
	return &Peek{From: "topic", Name: "orders",
		Columns: []PeekColumn{{"key", "binary"}, {"value", "binary"}, {"topic", "string"}, {"partition", "int"}, {"offset", "long"}, {"timestamp", "timestamp"}, {"timestampType", "int"}, {"headers", "list"}},
		Rows: [][]any{
			{Bytes("k1"), Bytes(`{"order_id":"a<b","amount":1.5}`), "orders", int32(0), int64(1_234_567), timestamp, int32(0), []PeekHeader{{"trace", Bytes("t\x1b[31m")}, {"none", nil}}},
			{Bytes(nil), Bytes{0xff, 0x00, 0x07}, "orders", int32(0), int64(1_234_568), timestamp, int32(0), []PeekHeader{}},
		},
		Malformed: []PeekFault{}}
}

func sampleDeadLetters() *DeadLetters {
	return &DeadLetters{Query: "orders", QueryID: "6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11", Tables: []string{"ops.dead"}, DeadLetters: 1_204, Replayed: 1_200,
		ByTopic: []DeadLetterCount{{"orders", 1_204, 1_200}}, ByReason: []DeadLetterCount{{"type", 1_200, 1_200}, {"syntax", 4, 0}}, ByBatch: []DeadLetterCount{{"17", 1_200, 1_200}, {"16", 4, 0}},
		Newest: []DeadLetterPlace{samplePlace()}, Lost: []DeadLetterLoss{{Table: "ops.old", Error: "the table of dead letters ops.old is gone; this query wrote to the one with UUID 0c4e", Hint: "bring it back"}}}
}

func samplePlace() DeadLetterPlace {
	replayed := true
	return DeadLetterPlace{Topic: "orders", Partition: 3, Offset: 1_234_567, Reason: "type", Batch: 17, Table: "ops.dead", Replayed: &replayed,
		Error: `amount: a string where decimal(18,2) should be (type, at byte 23) near {"order_id":3,"amount":"5"}`}
}

func sampleDeadLetter() *DeadLetter {
	timestamp := at("2026-11-30T03:59:58.123Z")
	return &DeadLetter{DeadLetterPlace: samplePlace(), Timestamp: &timestamp, Key: Bytes("k\x1b[31m"), Value: Bytes(`{"order_id":3,"amount":"5"}`),
		Headers: []PeekHeader{{"trace", Bytes{0xff}}}, Query: "orders"}
}

func sampleReplay() *DeadLetterReplay {
	still := samplePlace()
	still.Replayed, still.Reason, still.Error = nil, "syntax", "the text ends where a value should be (syntax, at byte 1) near {"
	return &DeadLetterReplay{Query: "orders", QueryID: "6a8f5a3e-2d1b-4c55-9a57-0f0d8f3a7b11", DeadLetters: 1_204, Before: 0, Rows: 1_200, Still: 4,
		Reasons: map[string]int64{"syntax": 4}, Examples: []DeadLetterPlace{still}, Table: "sales.orders", Snapshot: 4_302_859_012_394_871_102}
}

func sampleSchema() *Schema {
	return &Schema{From: "topic orders", Which: "newest", Sampled: 1_000, Rows: 997, Tombstones: 2, Schema: "order_id BIGINT,\nplaced TIMESTAMP",
		Columns: []PlanColumn{{"order_id", "BIGINT", false}, {"placed", "TIMESTAMP", false}}, ColumnFormats: map[string]string{"placed": "epochMillis"},
		Remarks: []SchemaRemark{{"left out", "note", "null in all 17 objects that have it"}},
		Misfits: []SchemaMisfit{{"syntax", "Avro or Protobuf in the framing of a schema registry", 1, "orders-3@1042", "a byte that begins no value (syntax, at byte 1)"}}}
}

func sampleDemo() *Demo {
	return &Demo{Step: 2, Title: "The first run", Detail: []string{"It reads what is there and exits."}, Command: "sluice run --job demo/orders.yaml", Next: []string{"sluice status --job demo/orders.yaml"}, ElapsedMs: 512}
}

func sampleVersion() *Version {
	return &Version{Version: "0.1.0", Commit: "0f2406d1c8", Modified: true, Built: "2026-11-30T03:00:00Z", Go: "go1.26.8", OS: "linux", Arch: "amd64",
		Libraries: map[string]string{"github.com/apache/iceberg-go": "v0.7.0", "github.com/twmb/franz-go": "v1.22.3"}}
}

func sampleFailure() *Failure {
	return &Failure{ExitCode: 64, Class: "usage", Error: "job: orders.yaml:4:3: source.startingOffsett: unknown key; did you mean source.startingOffsets?",
		Hint:     "correct the job; docs/job.md has every key and what it takes. Nothing was touched",
		Problems: []JobProblem{{At: "orders.yaml", Line: 4, Column: 3, Key: "source.startingOffsett", Message: "unknown key", Nearest: "source.startingOffsets"}}}
}

func samples() []Object {
	return []Object{sampleBatch(), sampleSummary(), samplePlan(), sampleStatus(), sampleVerify(), sampleValidate(), sampleMaintain(), sampleImport(), samplePeek(), sampleDeadLetters(), sampleDeadLetter(), sampleReplay(), sampleSchema(), sampleDemo(), sampleVersion(), sampleFailure()}
}
