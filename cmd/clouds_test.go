//go:build integration && clouds && linux

package cmd_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// cloudKills is how often the program is killed on each cloud.
const cloudKills = 12

// inCloud keeps warehouse and checkpoint on a server that speaks like a cloud's; the catalog stays a local file.
func (p *pipeline) inCloud(c rig.Cloud) *pipeline {
	return p.with("--warehouse", c.Warehouse+"/lake", "--checkpoint", c.Folder+"/state", "--catalog-uri", filepath.Join(p.dir, "catalog.db"))
}

// toFilesOn is the pipeline with its rows in a folder of a cloud.
func (p *pipeline) toFilesOn(folder string, c rig.Cloud) *pipeline {
	return p.without("--warehouse", "--table").with("--parquet-path", folder, "--checkpoint", c.Folder+"/files-state")
}

// hive has partitions, and Spark's log.
func (p *pipeline) hive() *pipeline {
	return p.with("--set", "sink.parquet.partitionBy=topic, partition", "--set", "sink.parquet.sparkMetadata=true")
}

// Every verb, with rows and dead letters in folders of a cloud, by each of its addresses.
func TestAFolderOnACloudWithEveryVerb(t *testing.T) {
	gcs, azure := rig.GCS(t), rig.Azure(t)
	for _, address := range []string{gcs.Folder + "/g", azure.Folder + "/z", azure.Warehouse + "/s"} {
		t.Run(address, func(t *testing.T) {
			k, topic := real(t, 1)
			spark := "true"
			if strings.HasPrefix(address, "azblob") {
				spark = "false"
			}
			p := reading(t, k, topic).without("--warehouse", "--table").with("--parquet-path", address+"/rows", "--checkpoint", address+"/state", "--name", "q",
				"--value-format", "json", "--value-schema", "a INT, s STRING", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.path="+address+"/dead", "--set", "sink.parquet.partitionBy=s", "--set", "sink.parquet.sparkMetadata="+spark)
			for _, value := range []string{`{"a":1,"s":"Köln/Süd"}`, `{"a":"7","s":"100%"}`, `x`, `{"a":2}`} {
				k.produce(t, &kgo.Record{Topic: topic, Value: []byte(value)})
			}
			if o := p.do(t, "validate").wants(0); strings.Count(o.stdout, "conditional writes work") != 3 {
				t.Errorf("validate said\n%s", o.stdout)
			}
			p.do(t, "plan").wants(0)
			p.run(t, "--max-offsets-per-trigger", "2").wants(0).has("summary", "rows", 2, "deadLetters", 2, "batches", 2)
			p.proves(t, "proved", 2).has("verify", "deadLettersFound", 2)
			lenient := p.with("--set", "value.json.numbersInText=true")
			lenient.letter(t, "replay").wants(0).has("replay", "rows", 1, "still", 1)
			lenient.letter(t, "replay").wants(0).has("replay", "rows", 0, "before", 1)
			p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2, "replayed", 1)
			p.proves(t, "proved", 3).has("verify", "replayed", 1)
			shown := p.do(t, "peek").wants(0).last("peek")
			if rows := fmt.Sprint(shown["rows"]); !strings.Contains(rows, "s:Köln/Süd") || !strings.Contains(rows, "s:100%") || !strings.Contains(rows, "s:<nil>") {
				t.Errorf("peek shows %s", rows)
			}
			if read := p.do(t, "status").wants(0).last("status")["read"]; read != shown["read"] || !strings.Contains(read.(string), "/rows/s=K") {
				t.Errorf("status reads by %v", read)
			}
			p.do(t, "run").wants(0).has("summary", "rows", 0)
		})
	}
}

func TestARunOnACloudKilledAtAnyMomentLosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	broker, gcs, azure := rig.Kafka(t), rig.GCS(t), rig.Azure(t)
	for _, l := range []lane{
		{name: "GCS", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.inCloud(gcs) }, store: "STORAGE_EMULATOR_HOST"},
		{name: "Azure", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.inCloud(azure) }, store: "AZURE_STORAGE_DOMAIN"},
		{name: "files on GCS", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.toFilesOn(gcs.Folder+"/hive", gcs).hive() }, store: "STORAGE_EMULATOR_HOST"},
		{name: "files on Azure", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.toFilesOn(azure.Folder+"/files", azure) }, store: "AZURE_STORAGE_DOMAIN"},
	} {
		t.Run(l.name, func(t *testing.T) {
			l.random = drawn(t, seed)
			l.kafka, l.topic = connected(t, broker.Addr), broker.CreateTopic(t, 3, nil)
			l.run(t, cloudKills)
		})
	}
}
