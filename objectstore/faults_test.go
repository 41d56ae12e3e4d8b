package objectstore_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/objectstore"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantFault checks an error's class, that it says what to do, and what it names.
func wantFault(t *testing.T, err error, class batch.Class, names ...string) {
	t.Helper()
	var fault *batch.Fault
	if !errors.As(err, &fault) || fault.Class != class {
		t.Errorf("got %v, want a fault of class %d", err, class)
		return
	}
	if batch.HintOf(err) == "" {
		t.Errorf("%v: no hint", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to name %q", err, name)
		}
	}
}

// put writes objects as another program would.
func put(t *testing.T, s objectstore.Store, objects map[string]string) {
	t.Helper()
	for key, data := range objects {
		noError(t, s.Put(t.Context(), key, []byte(data)))
	}
}

func get(t *testing.T, s objectstore.Store, key string) string {
	t.Helper()
	data, _, err := s.Get(t.Context(), key)
	noError(t, err)
	return string(data)
}

func list(t *testing.T, s objectstore.Store, prefix string) []string {
	t.Helper()
	keys, err := s.List(t.Context(), prefix, "")
	noError(t, err)
	return keys
}
