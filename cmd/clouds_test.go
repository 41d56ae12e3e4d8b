//go:build integration && clouds && linux

package cmd_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
	"sluice/rig/faultproxy"
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

// cloudBlows are those of a cloud's store. Its 409 is none that asks for a repetition.
var cloudBlows = []blow{
	always(faultproxy.Reset(false), 0),
	always(faultproxy.Reset(true), 0),
	always(faultproxy.Status(http.StatusRequestTimeout, false), 0),
	always(faultproxy.Status(http.StatusInternalServerError, false), 0),
	always(faultproxy.Status(http.StatusInternalServerError, true), 0),
	always(faultproxy.Status(http.StatusBadGateway, true), 0),
	always(faultproxy.Status(http.StatusServiceUnavailable, false), 0),
	always(faultproxy.Status(http.StatusServiceUnavailable, true), 0),
	always(faultproxy.Status(http.StatusGatewayTimeout, true), 0),
	always(faultproxy.Busy(), 0),
	always(faultproxy.RefusedThoughApplied(), 0),
	always(faultproxy.CutAnswer(), 0),
	always(faultproxy.CutRequest(), 0),
	always(faultproxy.WrongDate(time.Hour), 0),
	always(faultproxy.Expired(), 10, 0),
	killing(false),
	killing(true),
}

// At each request of a run to a cloud's store something goes wrong once, as at those to S3.
func TestARunStruckAtAnyRequestToGCSLosesAndDoublesNothing(t *testing.T) {
	seed, cloud := seed(t), rig.GCS(t)
	target := "http://" + os.Getenv("STORAGE_EMULATOR_HOST")
	sweepAll(t, seed, cloudBlows, onCloud(t, cloud, target, faultproxy.GCS, func(address string) string { return "STORAGE_EMULATOR_HOST=" + address }))
}

// The same on Azure.
func TestARunStruckAtAnyRequestToAzureLosesAndDoublesNothing(t *testing.T) {
	seed, cloud := seed(t), rig.Azure(t)
	target := "http://" + os.Getenv("AZURE_STORAGE_DOMAIN")
	sweepAll(t, seed, cloudBlows, onCloud(t, cloud, target, faultproxy.Azure, func(address string) string {
		return "AZURE_STORAGE_DOMAIN=" + strings.TrimPrefix(address, "http://")
	}))
}

// onCloud is the ground of runs whose catalog is a file, and all else on a cloud behind a proxy that a variable leads to.
func onCloud(t *testing.T, cloud rig.Cloud, target string, dialect faultproxy.Dialect, variable func(address string) string) ground {
	dir := t.TempDir()
	return ground{open: func(t *testing.T) (door, string) { return before(t, target, dialect) }, namespace: "sales",
		place: func(s *sweep, p *pipeline, folder string) *pipeline {
			return p.with("--warehouse", cloud.Warehouse+"/lake"+s.id, "--checkpoint", cloud.Folder+"/"+folder+"/state", "--catalog-uri", filepath.Join(dir, s.id+".db"))
		},
		through: func(address string, p *pipeline) (*pipeline, []string) { return p, []string{variable(address)} }}
}
