package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/job"
)

var anyYAML = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```")

// lacking are what a part of a job file needs to be a whole one, by what is there if it is.
var lacking = []struct{ has, set string }{
	{`bootstrap\.servers:`, "source.kafka.bootstrap.servers=broker:9092"},
	{`(?m)(^| |\{)(subscribe|subscribePattern|assign):`, "source.subscribe=orders"},
	{`(?m)^checkpoint:`, "checkpoint=/data/checkpoints/orders"},
	{`parquet:|warehouse:`, "sink.iceberg.catalog.warehouse=/data/lake"},
	{`parquet:|(?m)^    table:`, "sink.iceberg.table=sales.orders"},
}

// Each job of the documentation is one, and each part of a job can be a part of one.
func TestTheJobsOfTheDocumentationAreJobs(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range anyYAML.FindAllStringSubmatch(string(text), -1) {
			n++
			body := strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")
			if err := documentedJob(t, body); err != nil {
				t.Errorf("%s\n%s\n%v", page, body, err)
			}
		}
	}
	if n < 25 {
		t.Errorf("got %d jobs, want at least 25", n)
	}
	if documentedJob(t, "source: {subscribes: [orders]}") == nil || documentedJob(t, "memory: 1KiB") == nil {
		t.Error("what is no job was taken for one")
	}
}

// documentedJob loads a job, or a part of one, with files that are there wherever it looks for one.
func documentedJob(t *testing.T, body string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	in := job.Input{File: file, Environ: []string{"REGISTRY_USER=u:p", "CATALOG_CREDENTIAL=id:secret"}, CheckClient: checkClient, CheckRegistry: checkRegistryProperties, CheckValue: checkValue, ReadFile: func(path string) ([]byte, error) {
		if path == file {
			return []byte(body), nil
		}
		return []byte("mounted"), nil
	}}
	for _, l := range lacking {
		if !regexp.MustCompile(l.has).MatchString(body) {
			in.Set = append(in.Set, l.set)
		}
	}
	_, err := job.Load(in)
	return err
}
