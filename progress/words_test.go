package progress

import "testing"

func TestWhatWasLostIsCountedAsFarAsItCanBe(t *testing.T) {
	counted, open := Loss{Topic: "orders", From: 3, Until: 8, Offsets: 5}, Loss{Topic: "orders", Partition: 1, From: 4, Until: 4, Offsets: -1}
	for want, is := range map[string]struct {
		offsets int64
		losses  []Loss
	}{
		"":          {0, nil},
		"5 offsets": {5, []Loss{counted}},
		"5 offsets at least, and what came after that which was read": {5, []Loss{counted, open}},
		"what came after that which was read":                         {0, []Loss{open}},
	} {
		if got := lost(is.offsets, is.losses); got != want {
			t.Errorf("%d offsets, %v: got %q, want %q", is.offsets, is.losses, got, want)
		}
	}
}

func TestAStatusSaysInItsHeadlineWhatKeepsRecordsUnread(t *testing.T) {
	for want, s := range map[string]*Status{
		"done: the end that the job gives is reached; 15,200 offsets beyond it": {QueryID: "q", Lag: 15200, Bound: &Bound{Reached: true}},
		"done: the end that the job gives is reached":                           {QueryID: "q", Lag: -1, Bound: &Bound{Reached: true}},
		"15,200 behind": {QueryID: "q", Lag: 15200, Bound: &Bound{Ahead: 1}},
		"waiting for more to read, 15,200 behind": {QueryID: "q", Lag: 15200, Waiting: &Waiting{Offsets: 15200, MinOffsets: 50000}},
		"caught up": {QueryID: "q"},
	} {
		if got := s.headline(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
