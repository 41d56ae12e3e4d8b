package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/offsets"
)

var ratesBegan = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

// past is the report of a batch of so many records, which took so long and saw the log end at end, so many minutes after ratesBegan.
func past(n, records, ms, end, minute int64) *Batch {
	b := &Batch{BatchID: n, NumInputRows: records, BatchDuration: ms,
		Sources: []SourceReport{{LatestOffset: offsets.Offsets{{Topic: "t"}: end}}}}
	b.Sluice.Offsets, b.Sluice.RecordBytes = records, 100*records
	b.Sluice.Frozen = &Timestamp{Time: ratesBegan.Add(time.Duration(minute) * time.Minute)}
	return b
}

func nowAt(minute, end int64) Now {
	return Now{Time: ratesBegan.Add(time.Duration(minute) * time.Minute), Ends: offsets.Offsets{{Topic: "t"}: end}, Other: map[string]bool{}}
}

func told[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// Histories as checkpoints have them, the odd ones too: what is not known stays so.
func TestEstimatesAreKnownOrNothing(t *testing.T) {
	recreated := past(2, 1000, 1000, 3000, 2)
	recreated.Sluice.Losses = []Loss{{Topic: "t", Cause: "recreated"}}
	expired := past(2, 1000, 1000, 3000, 2)
	expired.Sluice.Losses = []Loss{{Topic: "t", Cause: "retention"}}
	old := past(1, 1000, 1000, 1000, 0)
	old.Sluice.Frozen, old.Sluice.RecordBytes = nil, 0
	for name, c := range map[string]struct {
		reports []*Batch // newest first
		now     Now
		backlog int64
		// rate in offsets, input, window in minutes, drain in seconds, bytes, behind
		want string
	}{
		"no report":                     {nil, nowAt(10, 500), 500, "- - - - - -"},
		"nil reports":                   {[]*Batch{nil}, nowAt(10, 500), 500, "- - - - - -"},
		"one report":                    {[]*Batch{past(1, 1000, 2000, 1000, 0)}, nowAt(10, 7000), 6000, "500 10 10 12 600000 false"},
		"Kafka was not asked":           {[]*Batch{past(1, 1000, 2000, 1000, 0)}, Now{Time: ratesBegan.Add(time.Hour)}, -1, "500 - - - - -"},
		"no duration":                   {[]*Batch{past(1, 1000, 0, 1000, 0)}, nowAt(10, 1600), 600, "- 1 10 - 60000 -"},
		"an empty batch":                {[]*Batch{past(1, 0, 1000, 1000, 0)}, nowAt(10, 1000), 0, "- 0 10 - - -"},
		"an outlier of three":           {[]*Batch{past(3, 1000, 1000000, 3000, 3), past(2, 1000, 1000, 2000, 2), past(1, 1000, 500, 1000, 0)}, nowAt(10, 3000), 0, "1000 3.3 10 0 0 false"},
		"a long batch counts for more":  {[]*Batch{past(2, 1000, 3000, 2000, 2), past(1, 1000, 1000, 1000, 0)}, nowAt(10, 2000), 0, "500 1.7 10 0 0 false"},
		"the same batch twice":          {[]*Batch{past(1, 1000, 1000, 1000, 2), past(1, 9000, 1000, 1000, 0)}, nowAt(12, 1600), 600, "1000 1 10 1 60000 false"},
		"more comes in than is read":    {[]*Batch{past(1, 100, 100000, 1000, 0)}, nowAt(10, 7000), 6000, "1 10 10 6000 600000 true"},
		"the window is too short":       {[]*Batch{past(1, 1000, 1000, 1000, 10)}, nowAt(10, 1600), 600, "1000 - - 1 60000 -"},
		"the clock went back":           {[]*Batch{past(1, 1000, 1000, 1000, 60)}, nowAt(10, 1600), 600, "1000 - - 1 60000 -"},
		"it went back between two":      {[]*Batch{past(2, 1000, 1000, 1600, 5), past(1, 1000, 1000, 1000, 60)}, nowAt(15, 2200), 600, "1000 1 10 1 60000 false"},
		"the newest is a year old":      {[]*Batch{past(1, 1000, 1000, 1000, -525600)}, nowAt(10, 1600), 600, "1000 - - 1 60000 -"},
		"the log was cut":               {[]*Batch{past(1, 1000, 1000, 5000, 0)}, nowAt(10, 1600), 600, "1000 - - 1 60000 -"},
		"another topic since":           {[]*Batch{past(1, 1000, 1000, 1000, 0)}, Now{nowAt(10, 1600).Time, nowAt(10, 1600).Ends, map[string]bool{"t": true}}, 600, "1000 - - 1 60000 -"},
		"created again in between":      {[]*Batch{recreated, past(1, 1000, 1000, 1000, 0)}, nowAt(12, 3600), 600, "1000 1 10 1 60000 false"},
		"retention loses no window":     {[]*Batch{expired, past(1, 1000, 1000, 1000, 0)}, nowAt(10, 3400), 600, "1000 4 10 1 60000 false"},
		"reports of before, without it": {[]*Batch{old}, nowAt(10, 1600), 600, "1000 - - 1 - -"},
		"nobody plans with centuries":   {[]*Batch{past(1, 1, 1000000, 1000, 0)}, nowAt(10, 1000), 1 << 60, "0 0 10 - - false"},
	} {
		r := Estimate(c.reports, c.now, Backlog{Offsets: c.backlog, Batches: -1})
		window, seconds := "-", "-"
		if r.InputWindowMs != nil {
			window = fmt.Sprint(*r.InputWindowMs / 60000)
		}
		if r.DrainMs != nil {
			seconds = fmt.Sprint(*r.DrainMs / 1000)
		}
		got := strings.Join([]string{told(r.OffsetsPerSecond), told(r.Input), window, seconds, told(r.BacklogBytes), told(r.FallingBehind)}, " ")
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// One topic that is new says nothing of the others.
func TestTheInputOfEachTopicIsKnownByItself(t *testing.T) {
	now := nowAt(10, 1600)
	now.Ends[offsets.TopicPartition{Topic: "u"}] = 900
	now.Ends[offsets.TopicPartition{Topic: "t", Partition: 1}] = 600 // added since
	r := Estimate([]*Batch{past(1, 1000, 1000, 1000, 0)}, now, Backlog{-1, -1})
	if len(r.InputTopics) != 2 || told(r.InputTopics[0].OffsetsPerSecond) != "2" || r.InputTopics[1].OffsetsPerSecond != nil || r.Input != nil || r.FallingBehind != nil {
		t.Errorf("got %+v", r)
	}
}

func TestEstimatesAreToldWithTheDigitsThatTheyHave(t *testing.T) {
	for want, n := range map[string]float64{"0.0": 0, "9.9": 9.94, "10": 9.96, "48,000": 48123, "130": 129.6, "1,200,000": 1234567} {
		if got := rough(n); got != want {
			t.Errorf("%v: got %s, want %s", n, got, want)
		}
	}
	for want, d := range map[string]time.Duration{"1 s": 0, "89 s": 89 * time.Second, "2 min": 90 * time.Second, "5 h": 5 * time.Hour, "12 days": 12 * 24 * time.Hour} {
		if got := roughTime(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	slow := Estimate([]*Batch{past(1, 100, 100000, 1000, 0)}, nowAt(10, 7000), Backlog{6000, 6})
	if got := fmt.Sprint(slow.pairs()); got != "[[to catch up about 2 h at 1.0 records/s, 6 batches, about 585.9 KiB of Kafka's] [coming in about 10 offsets/s over the last 10 min, and batches take 1.0/s: the query falls behind]]" {
		t.Errorf("got %s", got)
	}
	if got := Estimate(nil, nowAt(0, 0), Backlog{0, 0}).pairs(); got[0][1] != "" || got[1][1] != "" {
		t.Errorf("got %q", got)
	}
	if got := (*Rates)(nil).pairs(); got != nil {
		t.Errorf("got %q", got)
	}
}
