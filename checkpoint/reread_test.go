package checkpoint_test

import (
	"context"
	"testing"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/objectstore"
)

// twisted gives other bytes for one object than were written.
type twisted struct {
	objectstore.Store
	key, instead string
}

func (s *twisted) Get(ctx context.Context, key string) ([]byte, objectstore.Version, error) {
	data, version, err := s.Store.Get(ctx, key)
	if key == s.key && err == nil {
		data = []byte(s.instead)
	}
	return data, version, err
}

// A plan that is not there as it was written must not be read by: the next run would read by another one.
func TestAPlanThatIsReadBackWithOtherBytesStopsTheRun(t *testing.T) {
	for name, instead := range map[string]string{"cut off": "v1", "another": "v1\n{}\n{}", "empty": ""} {
		s := objectstore.NewMemory("m")
		fill(t, s, 1)
		plan := simple(1, 10, 20)
		err := checkpoint.NewLog(&twisted{s, "offsets/1", instead}).WritePlan(t.Context(), plan)
		wantFault(t, err, batch.Failed, "offsets/1", "other bytes")
		if plan.Hash != "" {
			t.Errorf("%s: the plan has the hash %s of what is not there", name, plan.Hash)
		}
	}
}

// A first run may write its id and its first plan between a look for the one and a look for the other.
func TestAQueryThatBeginsWhileItIsLookedForIsFound(t *testing.T) {
	s := objectstore.NewMemory("m")
	racing := &afterList{Store: s, prefix: "commits/", do: func() { fill(t, s, 1) }}
	id, err := checkpoint.NewLog(racing).Query(t.Context())
	if err != nil || id != "6b1f5d06-53a8-4d4b-9a55-3a3b5e9b9e10" {
		t.Errorf("got %q, %v, want the id that was written meanwhile", id, err)
	}
}
