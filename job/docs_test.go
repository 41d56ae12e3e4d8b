package job_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"sluice/decode/registry"
	"sluice/job"
	"sluice/kafkasrc"
)

// The parts of docs/job.md that are no tables; the file is generated: go test ./job -update.
const (
	preface = `# Keys of a job

A job is a YAML file, flags, or both. Precedence: defaults, file, variables, flags; ` + "`--set KEY=VALUE`" + ` reaches every key. *May change* says when a
query takes another value: at any time with the next run; with the next batch, while one that is planned is finished as planned (or, where a record or the table makes that impossible, with the job as it is then); or never, since it
would be another query (exit 13, with the recipe).

Everything that is wrong with a job is reported at once, each with its line or its flag, and exit code 64; nothing is touched then. Relative paths in a
file are relative to the file, those in variables and flags to the working directory.

| in variables, flags and ` + "`--set`" + ` | is written | such as |
|---|---|---|
| a list of topics or servers | with commas, or as a JSON list of texts | ` + "`--subscribe orders,refunds`, `SLUICE_SOURCE_SUBSCRIBE='[\"orders\",\"refunds\"]'`" + ` |
| a map | as JSON | ` + "`--assign '{\"orders\":[0,1]}'`, `--starting-offsets '{\"orders\":{\"0\":23}}'`, `SLUICE_SINK_ICEBERG_CATALOG_PROPERTIES='{\"s3.region\":\"eu-west-1\"}'`" + ` |
| one entry of a map of properties | under its own name | ` + "`--set source.kafka.client.id=etl`, `SLUICE_SOURCE_KAFKA_CLIENT_ID=etl`" + ` |
| true or false | with =, or the flag alone for true | ` + "`--include-headers`, `--include-headers=false`" + ` |

## Keys

`
	clientPreface = `
## Client properties

These are the entries of ` + "`source.kafka`" + `. Any other name is a mistake. [kafka.md](kafka.md) has a job for each way to connect.

`
	registryPreface = `
## Schema registry

These are the entries of ` + "`schemaRegistry`" + `. Confluent's longer names, with ` + "`schema.registry.`" + ` before them, mean the same. Any other name is a mistake.

`
	memoryPreface = `
## Memory

` + "`memory`" + ` is shared out before anything is read: 80 MiB are the program, the rest goes in equal shares to the workers, of which there is one a core if each has at
least 24 MiB then, 64 MiB where files go to an object store. A worker's share bounds what one Fetch asks for (from 1 to 8 MiB), its columns, its row group and
its uploads. So memory depends neither on the backlog nor on the size of a batch. With the least, 144 MiB, runs were measured to take up to 110 MiB with a
local warehouse and 135 MiB with one on S3: how much of the program a kernel maps differs between machines.

Outside of it are, and come on top:

- **Record batches larger than one Fetch asks for.** Brokers send a record batch whole, however large it is, and it is decompressed whole. While a worker has such a
  batch in hand it may take five times the batch's decompressed size besides: with batches of 20 MiB one worker was measured to take up to 84 MiB more than with small ones.
  A batch of more than 128 MiB, decompressed, is not read at all (exit code 14).
- **Single records of many MiB that are larger in columns than as bytes**, such as arrays of short numbers: five times what their columns take. With a BIGINT for each number of one digit these are four times as large as the record, with a
  DECIMAL(38,0) eight times: a record of 17 MiB of them was measured to take up to 240 and 590 MiB besides. The columns of a record take at most 16 MiB and 24 times its size: one that would take more, since it leaves out so many values, is malformed (size).
  The rows of small records are inside, however wide the schema is: they are decoded and written a megabyte at a time.
- **Fetches larger than the share**, if ` + "`max.partition.fetch.bytes` and `fetch.max.bytes`" + ` ask for them: four bytes a worker for each byte more.
- **The files of a batch, where there are very many**: about 5 KiB for each until the batch is committed. A batch has very many where partition values are, or where ` + "`TMPDIR`" + ` has no room: one of 300,000 records of a thousand partition values, with 144 MiB and two workers, makes 2,000 files, with ` + "`sortBy`" + ` and without, and was measured
  to take 109 MiB; without room in ` + "`TMPDIR`" + ` 12,800 files took 161 MiB without ` + "`sortBy`" + `, and 36,000 files 290 MiB with it.
- ` + "`verify`" + `, which holds up to two bytes for each row of the table.
`
	exitPreface = `
## What has no key

What a record's value holds, ` + "`value.onMalformed`" + ` decides: [formats.md](formats.md#when-a-record-is-malformed). A record batch that cannot be read (damaged, larger than the limit, or with a timestamp beyond microseconds) ends the run with exit code 14 before anything of
its batch is in the table. In this version no key lets a run go on without it: the next run stops at the same place until a human has decided.
`
)

func TestTheReferenceIsTheTableOfKeys(t *testing.T) {
	const file = "../docs/job.md"
	want := preface + job.Reference() + clientPreface + kafkasrc.Reference() + registryPreface +
		strings.Replace(registry.PropertyTable(), "`schema.registry.url`", "`url`", 1) + memoryPreface + exitPreface
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s: got\n%s, %v\nwant\n%s", file, got, err, want)
	}
	for line := range strings.Lines(job.Reference()) {
		unescaped := strings.ReplaceAll(line, `\|`, "")
		if got, want := strings.Count(unescaped, "|"), 8; got != want {
			t.Errorf("%s: got %d bars, want %d", line, got, want)
		}
	}
}

// What the documentation says of lists and maps in variables and flags.
func TestListsHaveCommasAndMapsAreJSON(t *testing.T) {
	base := job.Input{Flags: []job.FlagValue{{Flag: "table", Value: "sales.orders"}, {Flag: "warehouse", Value: "/lake"}}}
	for _, c := range []struct {
		set  []string
		want string // of the error, none if empty
	}{
		{set: []string{"source.kafka.bootstrap.servers=a:1,b:2", "source.subscribe=orders,refunds"}},
		{set: []string{`source.kafka={"bootstrap.servers":"a:1,b:2"}`, `source.subscribe=["orders","refunds"]`}},
		{set: []string{"source.kafka.bootstrap.servers=a:1", `source.assign={"orders":[0,1]}`, `source.startingOffsets={"orders":{"0":5,"1":6}}`}},
		{set: []string{"source.kafka=bootstrap.servers:a", "source.subscribe=orders"}, want: `want {"name": "value"}`},
		{set: []string{"source.kafka.bootstrap.servers=a:1", "source.assign=orders:0"}, want: `{"orders": [0, 1]}`},
		{set: []string{"source.kafka.bootstrap.servers=a:1", "source.subscribe=orders", "source.startingOffsets=orders:5"}, want: `{"orders": {"0": 23, "1": -2}}`},
		{set: []string{"source.kafka.bootstrap.servers=a:1;b:2", "source.subscribe=orders"}, want: "separated by commas"},
	} {
		in := base
		in.Set = c.set
		_, err := job.Load(in)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.set, err, c.want)
		}
	}
}
