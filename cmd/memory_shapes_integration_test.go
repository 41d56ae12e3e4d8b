//go:build integration && linux

package cmd_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// shape is records that become much more than their bytes.
type shape struct {
	// values are the flags that say how they are read.
	values  []string
	record  string
	records int
	// dead says that they are dead letters, for the reason size.
	dead bool
	// most is the peak that docs/job.md allows, in bytes.
	most int
}

// What docs/job.md promises of rows that take much more memory than their records: the ceiling, however wide the schema is;
// and of single records of many MiB five times what their columns take.
func TestRowsMuchLargerThanTheirRecordsTakeTheMemoryThatIsDocumented(t *testing.T) {
	const ceiling, large = 144 * mib, 17 * mib
	d := shapes{t.TempDir()}
	for name, c := range map[string]shape{
		"500 numbers, none there":           {d.json(t, listed(500, "c%d BIGINT")), `{}`, 100_000, false, ceiling},
		"500 texts, one there":              {d.json(t, listed(500, "c%d STRING")), `{"c7":"x"}`, 100_000, false, ceiling},
		"1000 wide decimals, none there":    {d.json(t, listed(1000, "c%d DECIMAL(38,0)")), `{}`, 50_000, false, ceiling},
		"columns that Avro lacks":           {d.avro(t, `{"name":"c0","type":"int"}`, listed(500, "c%d BIGINT")), "\x02", 100_000, false, ceiling},
		"1000 numbers of Avro, all there":   {d.avro(t, listed(1000, `{"name":"c%d","type":"long"}`), ""), strings.Repeat("\x02", 1000), 30_000, false, ceiling},
		"500 numbers of Protobuf, absent":   {d.protobuf(t, 500), "", 100_000, false, ceiling},
		"nulls that Avro only counts":       {d.avro(t, `{"name":"a","type":{"type":"array","items":"null"}}`, "a ARRAY<INT>"), string(append(binary.AppendVarint(nil, 1<<31), 0)), 50_000, true, ceiling},
		"long names of an enum":             {d.avro(t, `{"name":"a","type":{"type":"array","items":{"type":"enum","name":"E","symbols":["`+strings.Repeat("S", 1000)+`"]}}}`, ""), string(append(binary.AppendVarint(nil, 1<<20), make([]byte, 1<<20+1)...)), 10, true, ceiling + 5*(16+24)*mib},
		"lists of empty structs":            {d.json(t, "l ARRAY<STRUCT<"+listed(30, "c%d: DECIMAL(38,0)")+">>"), stuffed(`{"l":[`, `{},`, `{}]}`, 100_000), 40, true, ceiling},
		"tiny dead letters":                 {d.json(t, "a BIGINT", "value.onUnknownField=fail", "value.onMalformed=deadLetter"), `x`, 200_000, false, ceiling},
		"a list of numbers":                 {d.json(t, "l ARRAY<BIGINT>"), stuffed(`{"l":[`, `1,`, `1]}`, large), 4, false, ceiling + 5*4*large},
		"a list of wide decimals":           {d.json(t, "l ARRAY<DECIMAL(38,0)>"), stuffed(`{"l":[`, `1,`, `1]}`, large), 4, false, ceiling + 5*8*large},
		"a huge list of empty wide structs": {d.json(t, "l ARRAY<STRUCT<"+listed(20, "c%d: DECIMAL(38,0)")+">>"), stuffed(`{"l":[`, `{},`, `{}]}`, large), 3, true, ceiling + 5*(16*mib+8*large)},
		"huge dead letters":                 {d.json(t, "a BIGINT", "value.onMalformed=deadLetter"), strings.Repeat("x", large), 6, false, ceiling + 5*large},
	} {
		t.Run(name, func(t *testing.T) {
			broker := rig.Kafka(t)
			topic := broker.CreateTopic(t, 2, map[string]string{"max.message.bytes": "62914560"})
			fillWith(t, broker, topic, c.records, []byte(c.record))
			p := reading(t, connected(t, broker.Addr), topic).with("--memory", "144MiB").with(c.values...)
			if p = p.with("--set", "deadLetter.table=sales.bad"); c.dead {
				p = p.with("--set", "value.onMalformed=deadLetter")
			}
			process := program(t, p.args("run")...)
			process.Env = append(os.Environ(), "GOMAXPROCS=2")
			o := started(t, process).wait().wants(0)
			if c.dead {
				o.has("batch", "sluice.deadLetters", c.records, "sluice.reasons.size", c.records)
			}
			peak := at(o.last("batch"), "sluice.peakMemoryBytes").(float64)
			if t.Logf("%s: the peak is %.0f MiB", name, peak/mib); peak > float64(c.most) {
				t.Errorf("got a peak of %.0f MiB, want at most %d", peak/mib, c.most/mib)
			}
		})
	}
}

// shapes makes the files of schemas in a folder.
type shapes struct{ dir string }

func (s shapes) file(t *testing.T, ending, text string) string {
	t.Helper()
	f, err := os.CreateTemp(s.dir, "*."+ending)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return filepath.Clean(f.Name())
}

func (s shapes) json(t *testing.T, ddl string, more ...string) []string {
	flags := []string{"--value-format", "json", "--set", "value.schemaFile=" + s.file(t, "ddl", ddl)}
	for _, set := range more {
		flags = append(flags, "--set", set)
	}
	return flags
}

func (s shapes) avro(t *testing.T, fields, ddl string) []string {
	flags := []string{"--value-format", "avro", "--set", "value.schemaFile=" + s.file(t, "avsc", `{"type":"record","name":"R","fields":[`+fields+`]}`)}
	if ddl != "" {
		flags = append(flags, "--value-schema", ddl)
	}
	return flags
}

func (s shapes) protobuf(t *testing.T, n int) []string {
	text := `syntax = "proto3"; message M { `
	for i := range n {
		text += fmt.Sprintf("optional int64 c%d = %d; ", i, i+1)
	}
	return []string{"--value-format", "protobuf", "--set", "value.schemaFile=" + s.file(t, "proto", text+"}")}
}

// listed is n numbered items.
func listed(n int, item string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(item, i))
	}
	return strings.Join(items, ", ")
}

// stuffed repeats an item until there are so many bytes.
func stuffed(head, item, tail string, size int) string {
	return head + strings.Repeat(item, (size-len(head)-len(tail))/len(item)) + tail
}

// fillWith appends one value so many times.
func fillWith(t *testing.T, broker rig.Broker, topic string, records int, value []byte) {
	t.Helper()
	client := broker.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(int32(max(mib, len(value)+1000))),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(1e8), kgo.MaxBufferedRecords(records+1), kgo.MaxBufferedBytes(max(64*mib, 4*len(value))))
	for i := range records {
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce to %s: %v", topic, err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil || t.Failed() {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}
