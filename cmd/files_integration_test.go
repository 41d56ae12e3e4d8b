//go:build integration && linux

package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/rig"
)

// toFiles is the pipeline with its rows in a folder of files instead of a table.
func (p *pipeline) toFiles() *pipeline {
	return p.without("--warehouse", "--table").with("--parquet-path", p.dir)
}

// toFilesIn is the same in a folder of a bucket.
func (p *pipeline) toFilesIn(b rig.Bucket, folder string) *pipeline {
	return p.without("--warehouse", "--table").with("--parquet-path", b.Folder+"/"+folder+"/files", "--checkpoint", b.Folder+"/"+folder+"/state")
}

// DuckDB reads a folder of files by the list that status prints, and by a glob, and a lake's attempts that were given up are in
// the glob alone.
func TestDuckDBReadsExactlyTheFilesThatCount(t *testing.T) {
	rig.Python(t)
	bucket := rig.S3(t)
	for name, c := range map[string]struct {
		place func(p *pipeline) *pipeline
		setUp []string
	}{
		"a folder": {func(p *pipeline) *pipeline { return p.toFiles() }, nil},
		"a bucket": {func(p *pipeline) *pipeline { return p.toFilesIn(bucket, "duck") }, []string{
			"LOAD httpfs", "SET s3_endpoint='" + strings.TrimPrefix(bucket.Endpoint, "http://") + "'", "SET s3_use_ssl=false", "SET s3_url_style='path'"}},
		"a bucket by its address alone": {func(p *pipeline) *pipeline {
			t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1") // where nobody answers
			return p.without("--warehouse", "--table").with("--parquet-path", strings.Replace(bucket.URL, "?", "/address/files?", 1), "--checkpoint", strings.Replace(bucket.URL, "?", "/address/state?", 1))
		}, []string{"LOAD httpfs", "SET s3_endpoint='" + strings.TrimPrefix(bucket.Endpoint, "http://") + "'", "SET s3_use_ssl=false", "SET s3_url_style='path'"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, topic := real(t, 3)
			defer os.Setenv("AWS_ENDPOINT_URL_S3", bucket.Endpoint)
			p := c.place(reading(t, k, topic))
			k.varied(t, topic, 3, 200)
			p.do(t, "validate").wants(0).has("validate", "ok", true)
			p.run(t, "--max-offsets-per-trigger", "150", "--set", "sink.parquet.targetFileSize=64KiB").has("summary", "batches", 4)
			k.varied(t, topic, 3, 10)
			p.run(t)
			p.proves(t, "proved", 630)
			read := p.do(t, "status").wants(0).last("status")["read"].(string)
			if n := paste(t, read, c.setUp...); n != 630 {
				t.Errorf("got %d rows of %.300q, want 630", n, read)
			}
			distinct := strings.Replace(strings.TrimSuffix(read, ";"), "SELECT *", "SELECT DISTINCT topic, partition, \"offset\"", 1)
			if n := paste(t, distinct, c.setUp...); n != 630 {
				t.Errorf("got %d distinct places, want 630", n)
			}
			folder, _, _ := strings.Cut(p.flag("--parquet-path"), "?")
			if n := paste(t, "SELECT * FROM read_parquet('"+folder+"/*.parquet') WHERE partition = 2 AND \"offset\" >= 205", c.setUp...); n != 5 {
				t.Errorf("got %d filtered rows by a glob, want 5", n)
			}
			o := call(t, nil, slices.Concat([]string{"sluice", "run"}, p.with("--name", "again", "--checkpoint", filepath.Join(t.TempDir(), "cp")).flags, []string{"--new-query"})...).wants(0)
			if !strings.Contains(o.stdout, "read_parquet([") {
				t.Errorf("run printed\n%s", o.stdout)
			}
		})
	}
}

// Dead letters in a bucket beside rows in a table.
func TestDeadLettersInABucketAreReplayed(t *testing.T) {
	bucket := rig.S3(t)
	k, topic := real(t, 1)
	p := reading(t, k, topic).inBucket(bucket, "letters").with("--value-format", "json", "--value-schema", "a INT", "--set", "value.onMalformed=deadLetter", "--set", "deadLetter.path="+bucket.Folder+"/letters/dead")
	for _, value := range []string{`{"a":1}`, `{"a":"7"}`, `x`} {
		k.produce(t, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	p.run(t).has("summary", "rows", 1, "deadLetters", 2)
	p.proves(t, "proved", 1).has("verify", "deadLettersFound", 2)
	p.with("--set", "value.json.numbersInText=true").letter(t, "replay").wants(0).has("replay", "rows", 1, "still", 1)
	p.proves(t, "proved", 2).has("verify", "deadLettersFound", 2, "replayed", 1)
	p.letter(t, "ls").wants(0).has("deadletters", "deadLetters", 2, "replayed", 1)
}
