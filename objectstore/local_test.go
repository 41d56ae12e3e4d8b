package objectstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/batch"
)

func newLocal(t *testing.T) *Local {
	t.Helper()
	l, err := NewLocal(filepath.Join(t.TempDir(), "ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLocalFilesAreForTheirOwnerAlone(t *testing.T) {
	l := newLocal(t)
	if _, err := l.PutIfAbsent(t.Context(), "sources/0/0", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := l.Put(t.Context(), "progress/0.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(l.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		stat, err := entry.Info()
		if err == nil && stat.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, stat.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What a killed process leaves is never listed, and cleared away once it is old.
func TestLocalLeftoversAreNeverListedAndClearedLater(t *testing.T) {
	l := newLocal(t)
	young, old := filepath.Join(l.dir, tempDir, "w-young"), filepath.Join(l.dir, tempDir, "w-old")
	for _, path := range []string{young, old, filepath.Join(l.dir, "offsets", ".7.crc")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), dirMode), os.WriteFile(path, nil, fileMode)); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if _, err := l.PutIfAbsent(t.Context(), "offsets/0", []byte("x")); err != nil {
		t.Fatal(err)
	}
	keys, err := l.List(t.Context(), "", "")
	if err != nil || len(keys) != 1 || keys[0] != "offsets/0" {
		t.Errorf("got %v, %v, want offsets/0", keys, err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a file that may be in use was removed: %v", err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old file was left: %v", err)
	}
}

func TestLocalWritesLeaveNoTemporaryFile(t *testing.T) {
	l := newLocal(t)
	for i := range 3 {
		_, _ = l.PutIfAbsent(t.Context(), "k", fmt.Append(nil, i))
		_, _ = l.PutIfMatch(t.Context(), "k", []byte("x"), "stale")
		_ = l.Put(t.Context(), "k", fmt.Append(nil, i))
	}
	entries, err := os.ReadDir(filepath.Join(l.dir, tempDir))
	if err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v, want none", entries, err)
	}
}

// Hadoop's local file system keeps a checksum beside every file and refuses one that does not fit.
func TestLocalDeletionTakesHadoopsChecksumAlong(t *testing.T) {
	l := newLocal(t)
	crc := filepath.Join(l.dir, "offsets", ".7.crc")
	if _, err := l.PutIfAbsent(t.Context(), "offsets/7", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(crc, []byte("x"), fileMode); err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(t.Context(), "offsets/7"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(crc); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// Some FUSE and SMB mounts refuse hard links.
func TestLocalRenamesWhereLinksAreRefused(t *testing.T) {
	for _, refusal := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		l := newLocal(t)
		l.link = func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: refusal} }
		if _, err := l.PutIfAbsent(t.Context(), "k", []byte("first")); err != nil {
			t.Errorf("%v: %v", refusal, err)
		}
		if _, err := l.PutIfAbsent(t.Context(), "k", []byte("second")); !errors.Is(err, ErrConflict) {
			t.Errorf("%v: got %v, want ErrConflict", refusal, err)
		}
		if got, _, err := l.Get(t.Context(), "k"); err != nil || string(got) != "first" {
			t.Errorf("%v: got %q, %v, want first", refusal, got, err)
		}
		l.rename = func(string, string) error { return syscall.EINVAL }
		if _, err := l.PutIfAbsent(t.Context(), "other", nil); batch.ClassOf(err) != batch.NotSetUp || batch.HintOf(err) == "" {
			t.Errorf("%v, and no exclusive rename: got %v, want a NotSetUp fault", refusal, err)
		}
	}
}

// A process that was stopped while it held the lock must not stop every other one for good.
func TestLocalGivesUpWaitingForTheLock(t *testing.T) {
	l := newLocal(t)
	l.lockWait = 20 * time.Millisecond
	held := make(chan struct{})
	release := make(chan struct{})
	done := make(chan error)
	go func() {
		done <- l.locked(context.Background(), func() error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	err := l.Put(t.Context(), "k", nil)
	if batch.ClassOf(err) != batch.Fenced || !strings.Contains(err.Error(), "another process has held the lock") || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", os.Getpid())) {
		t.Errorf("got %v, want a Fenced fault that names who holds the lock", err)
	}
	if !strings.Contains(batch.HintOf(err), "kill -CONT") {
		t.Errorf("got hint %q", batch.HintOf(err))
	}
	if _, err := l.PutIfAbsent(t.Context(), "offsets/0", nil); err != nil {
		t.Errorf("creating needs no lock: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLocalErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err   error
		class batch.Class
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, batch.NotSetUp},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EROFS}, batch.NotSetUp},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOTDIR}, batch.NotSetUp},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, batch.Failed},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.EDQUOT}, batch.Failed},
	} {
		err := localError(c.err)
		if batch.ClassOf(err) != c.class || batch.HintOf(err) == "" || !errors.Is(err, c.err) || errors.Is(err, ErrNotFound) {
			t.Errorf("%v: got %v of class %d with hint %q", c.err, err, batch.ClassOf(err), batch.HintOf(err))
		}
	}
}

func TestLocalFolderThatIsAFile(t *testing.T) {
	l := newLocal(t)
	if err := os.WriteFile(l.dir, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	_, _, read := l.Get(t.Context(), "metadata")
	_, create := l.PutIfAbsent(t.Context(), "metadata", nil)
	for _, err := range []error{read, create, l.Put(t.Context(), "k", nil)} {
		if batch.ClassOf(err) != batch.NotSetUp || errors.Is(err, ErrNotFound) {
			t.Errorf("got %v, want a NotSetUp fault", err)
		}
	}
}

func TestKeysCannotLeaveTheFolder(t *testing.T) {
	for _, key := range []string{"../x", "a/../../x", "/etc/passwd", "a//b", "", "a/", ".lock", ".tmp/w-1", "a\x00b", `a\b`} {
		if CheckPath(key) == nil {
			t.Errorf("%q passes", key)
		}
	}
	for _, key := range []string{"metadata", "offsets/0", "a.b/c d/é"} {
		if err := CheckPath(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
}

const (
	racers    = 8
	raceKeys  = 150
	raceAtEnv = "SLUICE_TEST_RACE"
)

// TestMain lets this binary be one of the processes of TestLocalHasOneWinnerAmongProcesses.
func TestMain(m *testing.M) {
	if dir := os.Getenv(raceAtEnv); dir != "" {
		race(dir, os.Args[len(os.Args)-1])
		return
	}
	os.Exit(m.Run())
}

// race creates every key as soon as the line that names it comes in, and says whether it won.
func race(dir, me string) {
	l, err := NewLocal(dir)
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		_, err := l.PutIfAbsent(context.Background(), in.Text(), []byte(strings.Repeat(me, 1000)))
		switch {
		case err == nil:
			fmt.Println("won")
		case errors.Is(err, ErrConflict):
			fmt.Println("lost")
		default:
			fmt.Println(err)
		}
	}
}

// Eight processes create the same key at the same moment, again and again. gocloud.dev's fileblob has several winners
// for 8 to 42 % of the keys here.
func TestLocalHasOneWinnerAmongProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ckpt")
	l, err := NewLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type racer struct {
		in  *bufio.Writer
		out *bufio.Scanner
	}
	var all []racer
	for i := range racers {
		cmd := exec.CommandContext(t.Context(), self, strconv.Itoa(i))
		cmd.Env = append(os.Environ(), raceAtEnv+"="+dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
		all = append(all, racer{bufio.NewWriter(in), bufio.NewScanner(out)})
	}
	for n := range raceKeys {
		for _, r := range all {
			fmt.Fprintf(r.in, "offsets/%d\n", n)
		}
		for _, r := range all {
			r.in.Flush()
		}
		winner := -1
		for i, r := range all {
			if !r.out.Scan() {
				t.Fatalf("process %d ended: %v", i, r.out.Err())
			}
			switch answer := r.out.Text(); {
			case answer == "won" && winner >= 0:
				t.Fatalf("offsets/%d has two winners: %d and %d", n, winner, i)
			case answer == "won":
				winner = i
			case answer != "lost":
				t.Fatalf("process %d: %s", i, answer)
			}
		}
		got, _, err := l.Get(t.Context(), fmt.Sprintf("offsets/%d", n))
		if want := strings.Repeat(strconv.Itoa(winner), 1000); err != nil || string(got) != want {
			t.Fatalf("offsets/%d: got %.20q…, %v, want the winner's", n, got, err)
		}
	}
}
