package runner

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/offsets"
)

func TestLossNamesEveryPartitionWithItsExactRange(t *testing.T) {
	view := holding([2]int64{8, 12}, [2]int64{0, 40}, [2]int64{0, 100})
	at := position{reached: offsets.Offsets{tp(0): 5, tp(1): 52, tp(2): 100, tp(9): 3}}
	_, err := judge(at, view, nil)
	if batch.ClassOf(err) != batch.DataLoss {
		t.Fatalf("got %v, want a DataLoss fault", err)
	}
	for _, part := range []string{"t-0: offsets [5,8), 3 in all", "t-1 ends at offset 40, before offset 52", "t-9 is gone; the query had reached offset 3"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want it to contain %q", err, part)
		}
	}
	for _, option := range []string{"--on-data-loss-retention skip (source.onDataLoss.retention: skip)", "--on-data-loss-diverged continue", "--on-data-loss-missing drop"} {
		if hint := batch.HintOf(err); !strings.Contains(hint, option) || strings.Contains(hint, "recreated") {
			t.Errorf("got hint %q, want it to name %s, and nothing of what did not happen", hint, option)
		}
	}
	all, err := judge(at, view, batch.Causes{batch.Retention, batch.Diverged})
	if hint := batch.HintOf(err); len(all) != 3 || strings.Contains(err.Error(), "t-0") || !strings.Contains(hint, "--on-data-loss-missing drop") || strings.Contains(hint, "retention") {
		t.Errorf("got %v, %v (%s), want what is not accepted alone", all, err, hint)
	}
	if all[0].Loss != (batch.Loss{Topic: "t", Partition: 0, From: 5, Until: 8, Cause: batch.Retention}) || !all[0].Accepted {
		t.Errorf("got %+v", all[0])
	}
	if strings.Contains(err.Error(), "t-2") {
		t.Errorf("got %q, but t-2 lost nothing", err)
	}
}

func TestHeldBackNamesTheFirstFewPartitions(t *testing.T) {
	view := holding([2]int64{0, 30})
	if got := HeldBack(view); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	for p := range int32(30) {
		view.Partitions[tp(p)] = offsets.Bounds{End: 10, HighWatermark: 10 + int64(p)}
	}
	got := HeldBack(view)
	if !strings.HasPrefix(got, "t-29 29 from offset 10; t-28 28 from offset 10; ") || !strings.HasSuffix(got, "; and 19 more") || strings.Contains(got, "t-0 ") {
		t.Errorf("got %q", got)
	}
}

// https://github.com/quickwit-oss/quickwit/issues/1602: every offset fits, only the topic id tells.
func TestARecreatedTopicIsALossWhateverItsOffsets(t *testing.T) {
	for _, end := range []int64{60, 100, 150} {
		_, err := judge(position{reached: at(100), topicIDs: map[string]string{"t": "id-0"}}, holding([2]int64{0, end}), nil)
		if batch.ClassOf(err) != batch.DataLoss || !strings.Contains(err.Error(), "id-0") || !strings.Contains(err.Error(), "id-1") {
			t.Errorf("end %d: got %v, want a DataLoss fault with both ids", end, err)
		}
	}
}

// https://github.com/apache/pinot/issues/19161: control records and compaction leave gaps, which are no loss.
func TestGapsAndOpenTransactionsAreNoLoss(t *testing.T) {
	view := holding([2]int64{0, 30})
	view.Partitions[tp(0)] = offsets.Bounds{Start: 20, End: 25, HighWatermark: 40}
	if _, err := judge(position{reached: at(30), topicIDs: map[string]string{"t": "id-1"}}, view, nil); err != nil {
		t.Errorf("got %v; the last stable offset may lie below what was read uncommitted", err)
	}
	if _, err := judge(position{reached: at(20)}, view, nil); err != nil {
		t.Error(err)
	}
}
