package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/job"
	"sluice/objectstore"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Each job file of docs/stores.md is one, and each address in the table of stores leads to a store.
func TestTheJobFilesOfTheStoresWork(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "contoso")
	text, err := os.ReadFile("../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 4 {
		t.Errorf("got %d job files, want one of each store", len(blocks))
	}
	seen := map[string]bool{}
	for _, block := range blocks {
		file := t.TempDir() + "/job.yaml"
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := job.Load(job.Input{File: file, Needs: job.ForAll})
		if err != nil {
			t.Errorf("%s\n%v", block[1], err)
			continue
		}
		s, err := objectstore.Open(t.Context(), j.Checkpoint)
		if err != nil {
			t.Errorf("%s: %v", j.Checkpoint, err)
			continue
		}
		scheme, _, _ := strings.Cut(s.String(), "://")
		seen[scheme] = true
	}
	for _, scheme := range []string{"file", "s3", "gs", "azblob"} {
		if !seen[scheme] {
			t.Errorf("there is no job file with a checkpoint on %s://", scheme)
		}
	}
}
