package cmd_test

import (
	"strings"
	"testing"
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
