package cmd_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was lost and accepted is no secret afterwards: the proof and the status name how much, where, and when.
func TestAcceptedLossesAreToldByVerifyAndStatus(t *testing.T) {
	t.Parallel()
	for name, into := range map[string]func(*pipeline) *pipeline{
		"table": func(p *pipeline) *pipeline { return p },
		"folder": func(p *pipeline) *pipeline {
			return p.without("--warehouse", "--table").with("--parquet-path", filepath.Join(p.dir, "rows"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders", "refunds")
			p := into(newPipeline(t, k)).with("--subscribe", "orders,refunds")
			k.fill(t, "orders", 5, 0, 1)
			k.fill(t, "refunds", 5, 0)
			p.run(t)
			if o := p.do(t, "status", "--output", "text").wants(0); strings.Contains(o.stdout, "accepted") {
				t.Errorf("got\n%s\nwant no word of losses", o.stdout)
			}
			k.fill(t, "orders", 5, 0, 1)
			k.expire(t, "orders", 0, 8)
			p.run(t, "--on-data-loss-retention", "skip")
			k.deleteTopic(t, "refunds")
			k.createTopic(t, "refunds")
			k.fill(t, "refunds", 1, 0)
			p.run(t, "--on-data-loss-recreated", "restart")
			want := []string{"3 offsets and an unknown number of records", "lost in Kafka before it was read, and accepted", "5 to 7", "whatever came from 5 on in a log that is gone",
				"went on without", "UTC  orders-0[5,8) retention", "refunds-0 from 5 on, recreated"}
			for verb, more := range map[string]string{"verify": "ok, every row is there once; without 3 offsets and an unknown number of records lost in Kafka, as accepted", "status": "caught up"} {
				o := p.do(t, verb, "--output", "text").wants(0)
				for _, says := range append(want, more) {
					if !strings.Contains(o.stdout, says) {
						t.Errorf("%s: got\n%s\nwant it to say %q", verb, o.stdout, says)
					}
				}
				p.do(t, verb).has(verb, "givenUp.offsets", 3)
			}
		})
	}
}

// A checkpoint that cannot be read is told of once, and not as if it were the folder of the rows.
func TestValidateTellsOfACheckpointOnceWhereRowsGoIntoAFolder(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, embedded(t, "orders")).without("--warehouse", "--table")
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := p.with("--parquet-path", filepath.Join(dir, "rows"), "--checkpoint", filepath.Join(inTheWay, "orders")).do(t, "validate", "--output", "text").wants(10)
	if n := strings.Count(o.stdout, "not a folder"); n != 1 || !strings.Contains(o.stdout, "skipped  table       it needs the check checkpoint, which failed") || !strings.Contains(o.stdout, "ok       warehouse   files can be written") {
		t.Errorf("the checkpoint is told of %d times, want once, and the folder to be tried all the same:\n%s", n, o.stdout)
	}
}

// A machine that has no role to give answers 404 or 405 to the SDK, which says so on stderr in its own words.
func TestNothingOfTheSDKIsOnStderr(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Method:
		default:
		}
		http.Error(w, "no", http.StatusMethodNotAllowed)
	}))
	defer machine.Close()
	nobody := refusing(t)
	for name, more := range map[string][]string{
		"a table":  {"--warehouse", "s3://lake/rows", "--table", "sales.orders", "--catalog-uri", filepath.Join(t.TempDir(), "catalog.db")},
		"a folder": {"--parquet-path", "s3://lake/rows?region=eu-central-1"},
	} {
		c := child(append([]string{"sluice", "validate", "--bootstrap-servers", nobody, "--subscribe", "orders", "--checkpoint", "s3://lake/cp?region=eu-central-1"}, more...)...)
		c.Env = []string{asSluice + "=1", "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + machine.URL, "AWS_REGION=eu-central-1", "AWS_EC2_METADATA_DISABLED=false", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		o := started(t, c).wait()
		if o.stderr != "" || !strings.Contains(o.stdout, "no credentials") {
			t.Errorf("%s: got\n%s\nand on stderr\n%s\nwant it to say that there are no credentials, and nothing on stderr", name, o.stdout, o.stderr)
		}
	}
	if len(asked) == 0 {
		t.Error("nobody asked the machine for its role")
	}
}

func TestAValueThatAFlagDoesNotTakeIsSaidInPlainWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		`sluice: --limit "x" is no whole number`:                {"peek", "--limit", "x"},
		`sluice: --sample "x" is no whole number`:               {"schema", "infer", "--sample", "x"},
		`sluice: --dry-run "perhaps" is neither true nor false`: {"maintain", "--dry-run=perhaps"},
		`sluice: --source "a\"b" is neither true nor false`:     {"verify", `--source=a"b`},
		`sluice: --quiet "perhaps" is neither true nor false`:   {"run", "--quiet=perhaps"},
		`sluice: --group needs a value`:                         {"import", "--group"},
	} {
		o := call(t, nil, append([]string{"sluice"}, words...)...).wants(64)
		if said, _, _ := strings.Cut(o.stderr, "\n"); said != want {
			t.Errorf("got %q, want %q", said, want)
		}
	}
}

// A topic that is not there was answered by a broker: nobody shall look for a network that is down.
func TestAStatusSaysWhyLagIsUnknown(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, embedded(t, "orders")).with("--subscribe", "refunds")
	o := p.do(t, "status", "--output", "text").wants(0)
	if !strings.Contains(o.stdout, "note: lag is unknown: topic refunds does not exist") || !strings.Contains(o.stdout, "Create it or correct the job") || strings.Contains(o.stdout, "did not answer") {
		t.Errorf("got\n%s", o.stdout)
	}
}
