package progress

import (
	"strings"
	"testing"
)

func TestAcceptedLossesAreInTheVerdictAndInTheStatus(t *testing.T) {
	v := sampleVerify()
	v.OK, v.Verdict, v.Source = true, "proved", false
	for want, g := range map[string]*GivenUp{
		"ok, every row is there once; without 100 offsets and an unknown number of records lost in Kafka, as accepted": sampleGivenUp(),
		"ok, every row is there once; without 1 offset lost in Kafka, as accepted":                                     {Offsets: 1, Partitions: []GivenUpPartition{{Topic: "orders", Offsets: 1}}},
		"ok, every row is there once; without an unknown number of records lost in Kafka, as accepted":                 {Batches: []GivenUpBatch{{What: "orders-1 from 5 on, missing"}}},
		"ok, every row is there once": nil,
	} {
		v.GivenUp = g
		if got := v.headline(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s := sampleStatus()
	s.GivenUp = nil
	if got := text(t, s); strings.Contains(got, "accepted") {
		t.Errorf("got\n%s\nwant nothing of losses where there are none", got)
	}
}

func TestLossesThatNobodyNamesAnyMoreAreCountedAllTheSame(t *testing.T) {
	for want, p := range map[string]GivenUpPartition{
		"":                             {Offsets: 7},
		"5 to 7":                       {Offsets: 3, Ranges: []Span{{5, 8}}},
		"5 to 7, and 4 offsets before": {Offsets: 7, Ranges: []Span{{5, 8}}},
		"5 to 7, 20 to 20":             {Offsets: 4, Ranges: []Span{{5, 8}, {20, 21}}},
		"whatever came from 9 on in a log that is gone": {GoneFrom: []int64{9}},
	} {
		if got := p.which(); got != want {
			t.Errorf("%+v: got %q, want %q", p, got, want)
		}
	}
	many := GivenUpPartition{Offsets: 11}
	g := &GivenUp{Offsets: 11}
	for i := range int64(mostGivenUp + 1) {
		many.Ranges = append(many.Ranges, Span{i * 10, i*10 + 1})
		g.Batches = append(g.Batches, GivenUpBatch{Batch: i, What: "orders-0[0,1) retention"})
	}
	if got := many.which(); strings.HasPrefix(got, "0 to 0") || !strings.HasSuffix(got, "100 to 100, and 1 offset before") {
		t.Errorf("got %q, want the newest ten", got)
	}
	var out page
	if g.write(&out); !strings.HasSuffix(out.b.String(), "  and 1 batch before\n") {
		t.Errorf("got %q, want it to say that there are more", out.b.String())
	}
}

func TestAPlanSaysWhatFollowsTheNextBatch(t *testing.T) {
	for want, change := range map[string]func(p *Plan){
		"\n  after it     3 more batches, 2,500,000 offsets\n":             func(*Plan) {},
		"\n  after it     nothing is left to read\n":                       func(p *Plan) { p.Batches, p.Remaining = 1, 0 },
		"\n  after it     1 more batch, 1 offset\n":                        func(p *Plan) { p.Batches, p.Remaining = 2, 1 },
		"\n  next batch   7, 1,000,000 offsets, at most as many records\n": func(p *Plan) { p.Records = 1_000_000 },
		"\n  limit        about 1.0 MiB of Kafka's, which comes to 16 offsets now (no batch was measured yet: an offset counts for 64 KiB)\n": func(p *Plan) {
			p.Action, p.MaxOffsets, p.MaxBytes, p.Limit, p.KafkaBytes = ActionStart, 0, 1<<20, 16, -1
		},
		"\n  limit        about 1.0 MiB of Kafka's, which comes to 8,000 offsets now\n": func(p *Plan) {
			p.Action, p.MaxOffsets, p.MaxBytes, p.Limit = ActionContinue, 0, 1<<20, 8000
		},
	} {
		p := samplePlan()
		change(p)
		if got := text(t, p); !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant a line %q", got, want)
		}
	}
}
