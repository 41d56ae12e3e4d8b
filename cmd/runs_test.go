package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// records are the records of all runs, oldest first.
func (p *pipeline) records(t *testing.T) (all []map[string]any) {
	t.Helper()
	for _, path := range filesIn(t, filepath.Join(p.checkpoint(), "runs"), "*.json") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var record map[string]any
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, record)
	}
	return all
}

// wantFailed fails the test unless the newest record is of this run, which failed with this code and class, and status
// tells the same. word is part of the error.
func (p *pipeline) wantFailed(t *testing.T, o *outcome, code int, class, word string) {
	t.Helper()
	o.wants(code)
	id, state := o.last("summary")["runId"], "failed"
	if class == "interrupted" { // a run that was stopped did not fail
		state = class
	}
	all := p.records(t)
	r := all[len(all)-1]
	if r["runId"] != id || r["state"] != state || r["errorClass"] != class || r["finished"] == nil || at(r, "summary.exitCode") != float64(code) ||
		!strings.Contains(fmt.Sprint(at(r, "summary.error")), word) {
		t.Errorf("%s\ngot the record %v, want a failure of run %v with exit code %d, class %q and %q in its error", o.line, r, id, code, class, word)
	}
	if failure := o.last("error"); failure["class"] != class {
		t.Errorf("%s\ngot the error %v, want class %q as in the record", o.line, failure, class)
	}
	status := p.do(t, "status").wants(0).has("status", "lastRun.id", id, "lastRun.state", state, "lastRun.exitCode", code)
	if text := fmt.Sprint(at(status.last("status"), "lastRun.error")); !strings.Contains(text, word) {
		t.Errorf("status: got the error %q, want it to name %q", text, word)
	}
}

// drained is a pipeline that has read what there was, of which status knows one run that ended well.
func drained(t *testing.T) (*kafka, *pipeline) {
	t.Helper()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0, 1)
	p.run(t)
	p.do(t, "status").wants(0).has("status", "lastRun.state", "done", "lastRun.exitCode", 0)
	return k, p
}

func TestARunThatFindsNoBrokerIsRecorded(t *testing.T) {
	t.Parallel()
	_, p := drained(t)
	nobody := refusing(t)
	p.wantFailed(t, p.with("--bootstrap-servers", nobody).do(t, "run"), 1, "failed", nobody)
	if n := len(p.records(t)); n != 2 {
		t.Errorf("got %d records, want one of each run", n)
	}
	p.run(t).has("summary", "batches", 0)
	p.do(t, "status").wants(0).has("status", "lastRun.state", "done", "lastRun.exitCode", 0)
}

func TestARunThatFindsRecordsGoneIsRecorded(t *testing.T) {
	t.Parallel()
	k, p := drained(t)
	k.fill(t, "orders", 10, 0)
	var upTo kadm.Offsets
	upTo.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 15})
	if answers, err := k.admin.DeleteRecords(t.Context(), upTo); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}
	p.wantFailed(t, p.do(t, "run"), 12, "data loss", "[10,15)")
}

func TestARunThatASignalStoppedIsRecorded(t *testing.T) {
	t.Parallel()
	k, p := drained(t)
	k.fill(t, "orders", 10, 0)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	r := started(t, child(p.args("run")...))
	<-held
	all := p.records(t)
	if r := all[len(all)-1]; r["state"] != "running" || r["summary"] != nil || r["finished"] != nil {
		t.Errorf("got the record %v, want it to be running", r)
	}
	r.signal(terminate)
	o := r.wait()
	close(release)
	p.wantFailed(t, o, 143, "interrupted", "SIGTERM")
}

// A run that only finds another one at work is none of the query's, and one that is refused before there is a query has
// nowhere to be recorded.
func TestWhatWasNoRunOfTheQueryIsNotRecorded(t *testing.T) {
	t.Parallel()
	k, p := drained(t)
	k.fill(t, "orders", 10, 0)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	first := started(t, child(p.args("run")...))
	<-held
	before := len(p.records(t))
	p.do(t, "run", "--wait", "0s").fails(11, "is in use by run")
	if n := len(p.records(t)); n != before {
		t.Errorf("got %d records, want the %d from before the run that stood back", n, before)
	}
	close(release)
	first.wait().wants(0)

	q := newPipeline(t, k).with("--subscribe", "refunds")
	q.do(t, "run").fails(10, "refunds")
	if found := q.records(t); len(found) != 0 {
		t.Errorf("got records %v of a query that never began", found)
	}
}
