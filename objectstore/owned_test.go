package objectstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

// The client library repeats a write whose answer was lost and is told that the object exists: it is ours
// (https://github.com/aws/aws-sdk-java-v2/issues/6580).
func TestOwnWriteIsRecognisedAfterAnyError(t *testing.T) {
	for _, mode := range []storetest.Mode{storetest.AnswerLost, storetest.Repeated, storetest.NotApplied} {
		s := objectstore.NewMemory("m")
		script := storetest.NewScript(0, mode)
		version, err := objectstore.PutOwned(t.Context(), &storetest.Faults{Store: s, Script: script}, "offsets/0", []byte("ours"))
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		got, at, err := s.Get(t.Context(), "offsets/0")
		if err != nil || string(got) != "ours" || at != version {
			t.Errorf("%s: got %q at %q, %v, want ours at %q", mode, got, at, err, version)
		}
		want := []string{"create offsets/0"}
		if mode == storetest.NotApplied {
			want = append(want, "create offsets/0")
		}
		if got := script.Effects(); !slices.Equal(got, want) {
			t.Errorf("%s: effects %v, want %v", mode, got, want)
		}
	}
}

func TestAForeignObjectIsAConflictAfterAnyError(t *testing.T) {
	for at := -1; at < 1; at++ {
		for _, mode := range []storetest.Mode{storetest.AnswerLost, storetest.Repeated, storetest.NotApplied} {
			s := objectstore.NewMemory("m")
			put(t, s, map[string]string{"offsets/0": "theirs"})
			_, err := objectstore.PutOwned(t.Context(), &storetest.Faults{Store: s, Script: storetest.NewScript(at, mode)}, "offsets/0", []byte("ours"))
			if !errors.Is(err, objectstore.ErrConflict) || errors.Is(err, objectstore.ErrAmbiguous) && at < 0 {
				t.Errorf("%s at %d: got %v, want ErrConflict", mode, at, err)
			}
			if got := get(t, s, "offsets/0"); got != "theirs" {
				t.Errorf("%s at %d: it became %q", mode, at, got)
			}
		}
	}
}

// A conflict that was answered while nothing can be read may be a conflict with ourselves: nobody may act on it.
func TestWhatCannotBeReadBackIsAmbiguousAlone(t *testing.T) {
	unreadable := errors.New("no route to host")
	s := &reads{Store: objectstore.NewMemory("m"), err: unreadable}
	put(t, s.Store, map[string]string{"offsets/0": "whose?"})
	_, err := objectstore.PutOwned(t.Context(), s, "offsets/0", []byte("ours"))
	if !errors.Is(err, objectstore.ErrAmbiguous) || !errors.Is(err, unreadable) || errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("got %v, want ErrAmbiguous and the reason, and no ErrConflict", err)
	}
}

// Putting again is bounded, and each time the same bytes: an earlier request may still land, and then it is harmless.
func TestAWriteThatNeverLandsIsGivenUp(t *testing.T) {
	s := &deaf{Store: objectstore.NewMemory("m")}
	_, err := objectstore.PutOwned(t.Context(), s, "offsets/0", []byte("ours"))
	if !errors.Is(err, objectstore.ErrAmbiguous) {
		t.Errorf("got %v, want ErrAmbiguous", err)
	}
	if len(s.puts) < 2 || len(s.puts) > 10 || slices.ContainsFunc(s.puts, func(data string) bool { return data != "ours" }) {
		t.Errorf("got puts %q, want a few, all of the same bytes", s.puts)
	}
}

func TestAWriteThatSomebodyMustAllowIsNotRepeated(t *testing.T) {
	denied := &batch.Fault{Class: batch.NotSetUp, Message: "denied", Hint: "allow it"}
	s := &deaf{Store: objectstore.NewMemory("m"), err: denied}
	if _, err := objectstore.PutOwned(t.Context(), s, "offsets/0", []byte("ours")); !errors.Is(err, denied) || len(s.puts) != 1 {
		t.Errorf("got %v after %d puts, want the fault after one", err, len(s.puts))
	}
}

// A signal that arrives while a write is under way must not leave open whether it was applied.
func TestTheAnswerIsLookedUpAfterCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &cancelling{Store: objectstore.NewMemory("m"), cancel: cancel}
	if _, err := objectstore.PutOwned(ctx, s, "offsets/0", []byte("ours")); err != nil {
		t.Errorf("got %v, want success: it was applied", err)
	}
}

// reads fails to read.
type reads struct {
	objectstore.Store
	err error
}

func (r *reads) Get(context.Context, string) ([]byte, objectstore.Version, error) {
	return nil, "", r.err
}

// deaf never applies a write.
type deaf struct {
	objectstore.Store
	err  error
	puts []string
}

func (d *deaf) PutIfAbsent(_ context.Context, _ string, data []byte) (objectstore.Version, error) {
	d.puts = append(d.puts, string(data))
	if d.err != nil {
		return "", d.err
	}
	return "", objectstore.ErrAmbiguous
}

// cancelling applies a write and ends the caller's context before it can answer.
type cancelling struct {
	objectstore.Store
	cancel context.CancelFunc
}

func (c *cancelling) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	_, err := c.Store.PutIfAbsent(ctx, key, data)
	if err != nil {
		return "", err
	}
	c.cancel()
	return "", objectstore.ErrAmbiguous
}
