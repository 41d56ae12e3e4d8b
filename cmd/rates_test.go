package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPlanAndStatusEstimateWhatIsLeftByWhatRecentBatchesTook(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 20, 0, 1)
	p := newPipeline(t, k).with("--max-offsets-per-trigger", "10")
	none := p.do(t, "plan").wants(0).last("plan")["rates"].(map[string]any)
	if none["recordsPerSecond"] != nil || none["drainMs"] != nil || none["backlogOffsets"] != 40. || none["backlogBatches"] != 4. {
		t.Errorf("before any batch got %v", none)
	}
	p.run(t)
	k.fill(t, "orders", 15, 0, 1)
	for _, verb := range []string{"plan", "status"} {
		rates := p.do(t, verb).wants(0).last(verb)["rates"].(map[string]any)
		if rates["batches"] != 2. { // of four the fastest and the slowest are left out
			t.Errorf("%s: got rates of %v batches, want 2", verb, rates["batches"])
		}
		if rate, known := rates["recordsPerSecond"].(float64); !known || rate <= 0 {
			t.Errorf("%s: got %v records/s", verb, rates["recordsPerSecond"])
		}
		if rates["backlogOffsets"] != 30. || rates["backlogBatches"] != 3. || rates["inputOffsetsPerSecond"] != nil || rates["fallingBehind"] != nil {
			t.Errorf("%s: got %v, want 30 offsets in 3 batches, and nothing of what comes in: it is too soon to tell", verb, rates)
		}
		if text := p.text(t, verb).wants(0).stdout; !strings.Contains(text, "to catch up") || !strings.Contains(text, "records/s, 3 batches, about") {
			t.Errorf("%s: got\n%s", verb, text)
		}
	}
}

// reported changes the report of a batch in the checkpoint.
func (p *pipeline) reported(t *testing.T, n int, change func(report, ours map[string]any)) {
	t.Helper()
	path := filepath.Join(p.checkpoint(), "progress", fmt.Sprint(n, ".json"))
	text, err := os.ReadFile(path)
	report := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		t.Fatal(err)
	}
	change(report, report["sluice"].(map[string]any))
	if text, err = json.Marshal(report); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// within fails the test unless the estimate of that name lies in bounds that a slow machine does not move it out of.
func within(t *testing.T, verb string, rates map[string]any, name string, least, most float64) {
	t.Helper()
	if got, known := rates[name].(float64); !known || got < least || got > most {
		t.Errorf("%s: %s: got %v, want %v to %v", verb, name, rates[name], least, most)
	}
}

// What comes in is what the ends have moved by since a batch of more than a minute ago; more than batches take is told, in so many words.
func TestPlanAndStatusTellWhetherAQueryFallsBehind(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 10, 0, 1)
	p := newPipeline(t, k)
	p.run(t)
	ago := func(d time.Duration) func(report, ours map[string]any) {
		return func(report, ours map[string]any) {
			report["batchDuration"] = 2000 // 20 records
			ours["frozen"] = time.Now().Add(-d).UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	p.reported(t, 0, ago(100*time.Second))
	k.fill(t, "orders", 1000, 0, 1)
	k.grow(t, "orders", 3)
	k.fill(t, "orders", 40, 2)
	for _, verb := range []string{"plan", "status"} {
		o := p.do(t, verb, "--max-offsets-per-trigger", "1000").wants(0).has(verb, "rates.batches", 1, "rates.recordsPerSecond", 10, "rates.offsetsPerSecond", 10, "rates.fallingBehind", true,
			"rates.backlogOffsets", 2040, "rates.backlogBatches", 3, "rates.drainMs", 204_000)
		rates := o.last(verb)["rates"].(map[string]any)
		within(t, verb, rates, "inputOffsetsPerSecond", 10.1, 20.4) // of 2,040 in 100 s
		within(t, verb, rates, "inputWindowMs", 100_000, 200_000)
		within(t, verb, rates, "backlogBytes", 2040, 2040*100)
		if topics := rates["inputTopics"].([]any); len(topics) != 1 || at(topics[0], "topic") != "orders" || at(topics[0], "offsetsPerSecond") != rates["inputOffsetsPerSecond"] {
			t.Errorf("%s: got topics %v", verb, topics)
		}
		if text := p.text(t, verb).wants(0).stdout; !strings.Contains(text, "about 3 min at 10 records/s, 1 batch, about ") || !strings.Contains(text, "the query falls behind") {
			t.Errorf("%s: got\n%s", verb, text)
		}
	}
	status := p.do(t, "status").wants(0).has("status", "lag", 2040, "logLag", 2040).last("status")
	for i, want := range []string{"read", "read", "new"} {
		if got := at(status["partitions"].([]any)[i], "state"); got != want {
			t.Errorf("partition %d: got state %v, want %s", i, got, want)
		}
	}
	p.reported(t, 0, ago(1000*time.Second)) // in which as much came as batches take in a fifth of it
	for _, verb := range []string{"plan", "status"} {
		within(t, verb, p.do(t, verb).wants(0).has(verb, "rates.fallingBehind", false).last(verb)["rates"].(map[string]any), "inputOffsetsPerSecond", 1, 2.1)
		if text := p.text(t, verb).wants(0).stdout; strings.Contains(text, "falls behind") {
			t.Errorf("%s: got\n%s", verb, text)
		}
	}
	p.run(t)
	status = p.do(t, "status").wants(0).has("status", "rates.drainMs", 0, "rates.backlogOffsets", 0, "rates.backlogBatches", 0).last("status")
	if got := at(status["partitions"].([]any)[2], "state"); got != "read" {
		t.Errorf("a partition that was new and is read: got state %v", got)
	}
}
