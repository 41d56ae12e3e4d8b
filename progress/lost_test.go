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
