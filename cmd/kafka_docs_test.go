package cmd

import (
	"os"
	"testing"

	"sluice/job"
)

// Each job file of docs/kafka.md is one, its client properties included.
func TestTheJobFilesOfKafkaClientsAreJobs(t *testing.T) {
	text, err := os.ReadFile("../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := jobBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 5 {
		t.Errorf("got %d job files, want 5", len(blocks))
	}
	for _, block := range blocks {
		file := t.TempDir() + "/job.yaml"
		if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		mounted := func(path string) ([]byte, error) {
			if path == file {
				return os.ReadFile(path)
			}
			return []byte("mounted"), nil
		}
		if _, err := job.Load(job.Input{File: file, Needs: job.ForAll, CheckClient: checkClient, ReadFile: mounted}); err != nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
}
