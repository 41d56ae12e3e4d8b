package objectstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
)

// treeOf lists what is below a folder that need not be there.
func treeOf(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func TestTryingAFolderLeavesNothingThatWasNotThere(t *testing.T) {
	for name, prepare := range map[string]func(l *Local) error{
		"no folder":          func(*Local) error { return nil },
		"an empty folder":    func(l *Local) error { return os.MkdirAll(l.dir, 0o755) },
		"Spark's checkpoint": func(l *Local) error { return os.MkdirAll(filepath.Join(l.dir, "offsets"), 0o755) },
		"our own checkpoint": func(l *Local) error {
			return errors.Join(l.Put(context.Background(), "lock/lease.json", []byte("{}")), l.Put(context.Background(), "metadata", []byte(`{"id":"x"}`)))
		},
	} {
		l, err := NewLocal(filepath.Join(t.TempDir(), "new", "state"))
		if err != nil {
			t.Fatal(err)
		}
		if err := prepare(l); err != nil {
			t.Fatal(err)
		}
		root := filepath.Dir(filepath.Dir(l.dir))
		before := treeOf(t, root)
		if err := Try(t.Context(), l, "lock/probe-"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after := treeOf(t, root); !slices.Equal(after, before) {
			t.Errorf("%s: got %v, had %v", name, after, before)
		}
	}
}

func TestTryingAPlaceThatCannotHoldACheckpointIsToldWithItsName(t *testing.T) {
	l := newLocal(t)
	if err := os.WriteFile(l.dir, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	err := Try(t.Context(), l, "lock/probe-")
	if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), l.String()) || batch.HintOf(err) == "" {
		t.Errorf("got %v, want a NotSetUp fault that names %s", err, l)
	}
	m := NewMemory("m")
	if err := Try(t.Context(), m, "lock/probe-"); err != nil || len(m.objects) != 0 {
		t.Errorf("got %v and %d objects, want nothing left", err, len(m.objects))
	}
}

// In /proc, where the system alone makes folders, mkdir says that there is no such file.
func TestAFileSystemThatIsNoPlaceForFilesIsNotSetUp(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	l, err := NewLocal("/proc/sluice/state")
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"try": Try(t.Context(), l, "lock/probe-"), "put": l.Put(t.Context(), "offsets/0", []byte("x"))} {
		if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), "no folder can be made there") {
			t.Errorf("%s: got %v, want a NotSetUp fault", what, err)
		}
	}
}
