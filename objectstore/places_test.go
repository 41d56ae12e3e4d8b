package objectstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sluice/batch"
)

// told fails the test unless an error has the class, a hint, and the words.
func told(t *testing.T, what string, err error, class batch.Class, words ...string) {
	t.Helper()
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" || errors.Is(err, ErrNotFound) {
		t.Errorf("%s: got %v (%v) with hint %q, want %v and what to do", what, err, batch.ClassOf(err), batch.HintOf(err), class)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got %v, want it to name %q", what, err, word)
		}
	}
}

func TestPlacesThatAreNoFolderAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		make  func(dir string) error
		words string
	}{
		"a file":           {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a folder"},
		"a pipe":           {func(dir string) error { return syscall.Mkfifo(dir, 0o600) }, "not a folder"},
		"a link nowhere":   {func(dir string) error { return os.Symlink("/nowhere/at/all", dir) }, "/nowhere/at/all"},
		"a link to itself": {func(dir string) error { return os.Symlink(dir, dir) }, "cannot be used"},
	} {
		l := newLocal(t)
		if err := tc.make(l.dir); err != nil {
			t.Fatal(err)
		}
		_, create := PutOwned(t.Context(), l, "offsets/0", []byte("x"))
		told(t, name+", create", create, batch.NotSetUp, l.String(), tc.words)
		told(t, name+", put", l.Put(t.Context(), "runs/x.json", nil), batch.NotSetUp, tc.words)
		told(t, name+", try", Try(t.Context(), l, "lock/probe-"), batch.NotSetUp)
	}
	l := newLocal(t)
	l.dir = filepath.Join(l.dir, strings.Repeat("n", 300))
	told(t, "a long name", l.Put(t.Context(), "k", nil), batch.NotSetUp, "cannot be used")
}
