package checkpoint

import (
	"context"
	"strings"
	"testing"

	"sluice/batch"
)

func TestALeaseThatIsDamagedIsSaidToBe(t *testing.T) {
	for _, content := range []string{"", "{}", "garbage", "null", `{"run":5}`} {
		store := NewMemory("lease")
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

func TestAnAddressWithCredentialsInItsParametersIsNotRepeated(t *testing.T) {
	for _, address := range []string{"s3://b/x?access_key=AKEY&secret_key=SEKRET", "s3://b/x?region=r&nonsense=SEKRET", "s3://b/x?use_path_style=SEKRET"} {
		_, err := OpenStore(context.Background(), address)
		if err == nil || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), "AKEY") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}
