package spill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestATemporaryFileHasNoNameAndIsItsOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("rows")); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 4)
	if _, err := f.ReadAt(back, 0); err != nil || string(back) != "rows" {
		t.Errorf("got %q, %v", back, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	info, err := f.(interface{ Stat() (os.FileInfo, error) }).Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFolderForTemporaryFilesThatIsNotThereIsAnError(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	if f, err := Temporary(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, %v", f, err)
	}
}

func TestAFileThatCannotLoseItsNameWhileItIsOpenLosesItWhenItIsClosed(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "sluice-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&named{f}).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
