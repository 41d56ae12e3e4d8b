package checkpoint

import (
	"context"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
)

func TestALeaseThatIsDamagedIsSaidToBe(t *testing.T) {
	for _, content := range []string{"", "{}", "garbage", "null", `{"run":5}`} {
		store := objectstore.NewMemory("lease")
		if err := store.Put(context.Background(), leaseKey, []byte(content)); err != nil {
			t.Fatal(err)
		}
		l := NewLease(store, "me")
		l.Wait = 0
		_, _, err := l.Acquire(context.Background())
		if batch.ClassOf(err) != batch.Fenced || !strings.Contains(err.Error(), "damaged") || strings.Contains(err.Error(), "0001") || strings.Contains(err.Error(), "pid") {
			t.Errorf("%q: got %v", content, err)
		}
		if hint := batch.HintOf(err); !strings.Contains(hint, "--wait") || !strings.Contains(hint, DefaultTTL.String()) {
			t.Errorf("%q: got the hint %q, want it to say when the lease is taken over", content, hint)
		}
	}
}
