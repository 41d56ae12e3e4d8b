package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/job"
	"sluice/lakesink"
)

var jobBlock = regexp.MustCompile("(?s)<!-- job -->\n```yaml\n(.*?)```")

// Each job file of docs/catalogs.md is one, and between them they have each type of catalog.
func TestTheJobFilesOfTheCatalogsAreJobs(t *testing.T) {
	text, err := os.ReadFile("../docs/catalogs.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, block := range jobBlock.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "type: rest\n") { // another test runs that one
			continue
		}
		file := t.TempDir() + "/job.yaml"
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := job.Load(job.Input{File: file, Needs: job.ForAll})
		if err != nil {
			t.Errorf("%s\n%v", block[1], err)
			continue
		}
		seen[j.Sink.Iceberg.Catalog.Type] = true
	}
	for _, kind := range lakesink.CatalogTypes() {
		if !seen[kind] && kind != "rest" {
			t.Errorf("there is no job file with a catalog of type %s", kind)
		}
	}
}
