package job

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

// samples holds, for every key, the values before and after a change.
var samples = map[string][2]string{
	namePath:                          {"orders", "orders2"},
	checkpointPath:                    {"/cp/a", "/cp/b"},
	"source.kafka.client.id":          {"a", "b"},
	"source.kafka.bootstrap.servers":  {"localhost:9092", "localhost:9093"},
	"source.kafka.isolation.level":    {"read_committed", "read_uncommitted"},
	subscribePath:                     {"orders,refunds", "orders"},
	patternPath:                       {"^orders", "^refunds"},
	assignPath:                        {`{"orders":[0,1]}`, `{"orders":[0]}`},
	startOffsetsPath:                  {"earliest", "latest"},
	startNonePath:                     {"error", "latest"},
	startTimePath:                     {"2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"},
	startTimesPath:                    {`{"orders":{"0":1},"refunds":{"0":1}}`, `{"orders":{"0":2},"refunds":{"0":2}}`},
	endOffsetsPath:                    {"latest", `{"orders":{"0":5},"refunds":{"0":5}}`},
	endTimePath:                       {"2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"},
	endTimesPath:                      {`{"orders":{"0":1},"refunds":{"0":1}}`, `{"orders":{"0":2},"refunds":{"0":2}}`},
	"source.maxBytesPerTrigger":       {"none", "1GiB"},
	"source.minOffsetsPerTrigger":     {"none", "10"},
	"source.maxTriggerDelay":          {"15m", "1h"},
	"source.maxRecordsPerPartition":   {"none", "10"},
	"source.consumerGroup":            {"lag-orders", "lag-payments"},
	"source.maxOffsetsPerTrigger":     {"10", "none"},
	"source.minPartitions":            {"1", "2"},
	"source.includeHeaders":           {"false", "true"},
	formatPath:                        {"raw", "string"},
	schemaPath:                        {"a INT", "a INT, b INT"},
	schemaFilePath:                    {"/a.ddl", "/b.ddl"},
	"value.onMalformed":               {"fail", "null"},
	maxBadPath:                        {"10", "20"},
	maxBadRatioPath:                   {"0.01", "0.5"},
	deadLetterPath:                    {"ops.dead", "ops.other"},
	deadTopicPath:                     {"orders-dead", "orders-other"},
	deadFolderPath:                    {"/dead", "/other"},
	parquetPath:                       {"/files", "/others"},
	"sink.parquet.targetFileSize":     {"1MiB", "2MiB"},
	"sink.parquet.sparkMetadata":      {"false", "true"},
	failOnLossPath:                    {"true", "false"},
	onLossPath + ".retention":         {"fail", "skip"},
	onLossPath + ".recreated":         {"fail", "restart"},
	onLossPath + ".diverged":          {"fail", "continue"},
	onLossPath + ".missing":           {"fail", "drop"},
	"value.onTombstone":               {"keep", "drop"},
	"value.onUnknownField":            {"ignore", "fail"},
	"value.includeRawValue":           {"false", "true"},
	"value.json.timestampFormat":      {"epochMillis", "yyyy-MM-dd"},
	"value.json.dateFormat":           {"epochDays", "yyyyMMdd"},
	columnFormatsPath + ".a":          {"json", "epochMillis"},
	"value.json.timeZone":             {"UTC", "Europe/Berlin"},
	"value.json.maxDepth":             {"100", "10"},
	"value.json.numbersInText":        {"false", "true"},
	"value.json.cutFractions":         {"false", "true"},
	keyFormatPath:                     {"raw", "string"},
	keySchemaPath:                     {"BIGINT", "a INT"},
	keySchemaFilePath:                 {"/a.ddl", "/b.ddl"},
	messagePath:                       {"A", "B"},
	"value.avro.cutFractions":         {"false", "true"},
	"value.protobuf.maxDepth":         {"100", "10"},
	"value.protobuf.cutFractions":     {"false", "true"},
	framingPath:                       {"none", "confluent"},
	subjectPath:                       {"a", "b"},
	keyMessagePath:                    {"A", "B"},
	keyFramingPath:                    {"none", "confluent"},
	keySubjectPath:                    {"a", "b"},
	registryURLPath:                   {"https://a", "https://b"},
	registryPath + ".request.timeout": {"1", "2"},
	catalogTypePath:                   {"sql", "hadoop"},
	catalogURIPath:                    {"/lake/a.db", "/lake/b.db"},
	warehousePath:                     {"/lake", "/other"},
	"sink.iceberg.catalog.name":       {"a", "b"},
	catalogPropsPath + ".s3.region":   {"a", "b"},
	tablePath:                         {"sales.orders", "sales.orders2"},
	branchPath:                        {"main", "audit"},
	"sink.iceberg.targetFileSize":     {"1MiB", "2MiB"},
	partitionByPath:                   {"days(ts)", "bucket(16, id)"},
	sortByPath:                        {"a, b DESC", "a DESC NULLS FIRST"},
	filesByPath:                       {"days(ts)", "topic"},
	"sink.parquet.sortBy":             {"a, b DESC", "a DESC NULLS FIRST"},
	expireEveryPath:                   {"10", "20"},
	keepSnapshotsPath:                 {"10", "20"},
	"memory":                          {"144MiB", "200MiB"},
	"retain":                          {"10", "20"},
	"run.maxBatches":                  {"10", "20"},
	"run.maxDuration":                 {"1m", "2m"},
	"run.grace":                       {"1m", "2m"},
	waitPath:                          {"1m", "2m"},
	leasePath:                         {"1m", "2m"},
}

// sampled is a job in which one key has a value; what that key excludes is left out.
func sampled(t *testing.T, path, value string) *Job {
	t.Helper()
	in := Input{Set: []string{path + "=" + value}, WorkDir: "/", ReadFile: func(name string) ([]byte, error) { return []byte("a INT"), nil }}
	base := map[string]string{"source.kafka.bootstrap.servers": "localhost:9092", namePath: "orders", subscribePath: "orders,refunds",
		warehousePath: "/lake", tablePath: "sales.orders", checkpointPath: "/cp"}
	if isSelection(path) {
		delete(base, subscribePath)
	}
	if strings.HasPrefix(path, "value.") || strings.HasPrefix(path, "key.") || path == deadLetterPath || path == deadTopicPath || path == deadFolderPath {
		base[formatPath], base[schemaPath] = "json", "a INT"
	}
	if path == maxBadPath || path == maxBadRatioPath {
		base[onMalformedPath] = "null"
	}
	side, formats := formatsFor(path)
	if side == keyFormatPath {
		base[keyFormatPath], base[keySchemaPath] = formats[0], "BIGINT"
	}
	if path == keySchemaFilePath {
		delete(base, keySchemaPath)
	}
	if path == formatPath || path == schemaFilePath {
		delete(base, schemaPath)
	}
	switch path {
	case parquetPath:
		delete(base, warehousePath)
		delete(base, tablePath)
	case filesByPath, "sink.parquet.sortBy", "sink.parquet.targetFileSize", "sink.parquet.sparkMetadata":
		delete(base, warehousePath)
		delete(base, tablePath)
		base[parquetPath] = "/files"
	case subjectPath:
		base[framingPath], base[registryURLPath] = "confluent", "https://registry"
		delete(base, schemaPath)
	case keySubjectPath:
		base[keyFramingPath], base[registryURLPath] = "confluent", "https://registry"
		delete(base, keySchemaPath)
	case messagePath, keyMessagePath, "value.avro.cutFractions", "value.protobuf.cutFractions", "value.protobuf.maxDepth":
		base[side], base[registryURLPath] = formats[0], "https://registry"
	}
	delete(base, path)
	for p, v := range base {
		in.Set = append(in.Set, p+"="+v)
	}
	j, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestEveryKeyMayChangeAsItsClassSays(t *testing.T) {
	tested := map[string]bool{}
	for path, values := range samples {
		k := find(path)
		if k == nil {
			k = mapOf(path)
		}
		tested[k.Path] = true
		before, after := sampled(t, path, values[0]), sampled(t, path, values[1])
		if before.Text(path) == after.Text(path) {
			t.Errorf("%s: the samples are the same", path)
		}
		for _, read := range [][]offsets.TopicPartition{nil, {{Topic: "orders", Partition: 0}, {Topic: "orders", Partition: 1}, {Topic: "refunds", Partition: 0}}} {
			changes := Forbidden(before.Identity(), after.Identity(), read)
			if k.Class != NewQuery && len(changes) > 0 {
				t.Errorf("%s: got %v, want no forbidden change: it may change %s", path, changes, k.Class)
			}
			if k.Class == NewQuery && (len(changes) != 1 || changes[0].Key != path) {
				t.Errorf("%s: got %v, want one forbidden change", path, changes)
			}
		}
		if same := Forbidden(before.Identity(), before.Identity(), nil); len(same) > 0 {
			t.Errorf("%s: got %v for the same job", path, same)
		}
	}
	for _, k := range keys {
		if !tested[k.Path] {
			t.Errorf("%s has no sample", k.Path)
		}
	}
}

func TestTheIdentityHoldsTheKeysOfANewQueryAndNoSecrets(t *testing.T) {
	j, err := Load(caseInput(t, cases+"/full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{namePath: "orders", assignPath: `{"orders":[0,1],"refunds":[0]}`, "value.format": "raw", "key.format": "raw", tablePath: "sales.orders"}
	if got := j.Identity(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAKeyThatIsGoneOrNewCounts(t *testing.T) {
	was := map[string]string{namePath: "orders", subscribePath: `["orders"]`, "value.format": "raw", tablePath: "sales.orders"}
	for _, c := range []struct {
		name   string
		change func(was, is map[string]string)
		want   string
	}{
		{"another format", func(_, is map[string]string) { is["value.format"] = "json" }, "value.format was raw and is json"},
		{"a key that did not exist then, at its default", func(was, _ map[string]string) { delete(was, "value.format") }, ""},
		{"a key that did not exist then, not at its default", func(was, is map[string]string) { delete(was, "value.format"); is["value.format"] = "json" },
			"value.format was raw and is json"},
		{"a key of a newer version", func(was, _ map[string]string) { was["value.registry"] = "a INT" },
			"value.registry was a INT and is not set: this version of sluice does not know the key: use the one that wrote it, or a newer one"},
	} {
		before, after := maps.Clone(was), maps.Clone(was)
		c.change(before, after)
		if got := texts(Forbidden(before, after, nil)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func texts(changes []Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

func TestWhatIsReadMayGrowButNotShrink(t *testing.T) {
	tp := func(topic string, partitions ...int32) (tps []offsets.TopicPartition) {
		for _, p := range partitions {
			tps = append(tps, offsets.TopicPartition{Topic: topic, Partition: p})
		}
		return tps
	}
	both := slices.Concat(tp("orders", 0, 1), tp("refunds", 0))
	for _, c := range []struct {
		name             string
		wasPath, was     string
		isPath, is       string
		read             []offsets.TopicPartition
		want             string // part of the change; empty for none
		otherwiseUnknown bool   // without read nobody can tell, and it is forbidden
	}{
		{"a topic added", subscribePath, `["orders"]`, subscribePath, `["orders","refunds"]`, tp("orders", 0), "", false},
		{"a topic removed", subscribePath, `["orders","refunds"]`, subscribePath, `["orders"]`, both, "no longer reads refunds", false},
		{"a topic replaced", subscribePath, `["orders"]`, subscribePath, `["refunds"]`, tp("orders", 0), "no longer reads orders", false},
		{"a partition added", assignPath, `{"orders":[0]}`, assignPath, `{"orders":[0,1]}`, tp("orders", 0), "", false},
		{"a partition removed", assignPath, `{"orders":[0,1]}`, assignPath, `{"orders":[1]}`, tp("orders", 0, 1), "no longer reads orders-0", false},
		{"a wider pattern", patternPath, `^orders$`, patternPath, `^(orders|refunds)$`, tp("orders", 0), "", true},
		{"a narrower pattern", patternPath, `s$`, patternPath, `^orders$`, both, "no longer reads refunds", true},
		{"a list that the pattern covers", subscribePath, `["orders"]`, patternPath, `^orders`, tp("orders", 0), "", false},
		{"a list that the pattern does not cover", subscribePath, `["orders","refunds"]`, patternPath, `^orders`, both, "no longer reads refunds", false},
		{"a pattern that the list covers", patternPath, `^orders`, subscribePath, `["orders","orders-2"]`, tp("orders", 0), "", true},
		{"partitions of a topic that is read whole now", assignPath, `{"orders":[0]}`, subscribePath, `["orders"]`, tp("orders", 0), "", false},
		{"a topic of which all partitions are assigned", subscribePath, `["orders"]`, assignPath, `{"orders":[0,1]}`, tp("orders", 0, 1), "", true},
		{"a topic of which a partition is left out", subscribePath, `["orders"]`, assignPath, `{"orders":[0]}`, tp("orders", 0, 1), "no longer reads orders-1", true},
		{"a removed topic that was never read", subscribePath, `["orders","refunds"]`, subscribePath, `["orders"]`, tp("orders", 0), "", true},
	} {
		was, is := map[string]string{c.wasPath: c.was}, map[string]string{c.isPath: c.is}
		got := texts(Forbidden(was, is, c.read))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if unknown := texts(Forbidden(was, is, nil)); (unknown == "") != (c.want == "" && !c.otherwiseUnknown) {
			t.Errorf("%s, read unknown: got %q", c.name, unknown)
		}
	}
}

func TestARefusalNamesEveryChangeAndTheRecipe(t *testing.T) {
	if err := Refuse(nil); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	err := Refuse([]Change{{Key: namePath, Was: "a", Is: "b"}, {Key: patternPath, Was: "^a", Is: "^b", Why: "no longer reads a"}})
	want := "the job is not the query of its checkpoint any more: name was a and is b; source.subscribePattern was ^a and is ^b: no longer reads a"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if batch.ClassOf(err) != batch.Inconsistent {
		t.Errorf("got class %v, want Inconsistent", batch.ClassOf(err))
	}
	for _, part := range []string{"another name", "another checkpoint", "source.startingOffsets", "sluice status"} {
		if !strings.Contains(batch.HintOf(err), part) {
			t.Errorf("got hint %q, want it to speak of %q", batch.HintOf(err), part)
		}
	}
}
