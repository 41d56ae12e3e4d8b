//go:build integration && linux

package cmd_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asleep starts a run as a process and stops it, with SIGSTOP, when it has a batch in the table and holds no lock: one
// that sleeps with a lock keeps everybody out until it wakes up, which is another story.
func (p *pipeline) asleep(t *testing.T, more ...string) *running {
	t.Helper()
	r := prepared(t, child(p.args("run", more...)...))
	r.cmd.Env = append(r.cmd.Env, p.environ...)
	first := make(chan struct{})
	r.cmd.Stdout = &firstBatch{to: &r.out, seen: func() { close(first) }}
	r.start()
	<-first
	for {
		r.stop(t)
		if !p.lockHeld(t) {
			return r
		}
		r.signal(syscall.SIGCONT)
	}
}

// stop returns when all threads have stopped: each stops by itself after the signal was sent, and may take a lock until then.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.signal(syscall.SIGSTOP)
	for {
		err := unix.Waitid(unix.P_PID, r.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EINTR) {
			t.Fatalf("wait until the run has stopped: %v", err)
		}
	}
}

// lockHeld says whether somebody holds the lock of a local checkpoint or is writing to the SQLite catalog.
func (p *pipeline) lockHeld(t *testing.T) bool {
	t.Helper()
	if f, err := os.OpenFile(filepath.Join(p.checkpoint(), ".lock"), os.O_RDWR, 0); err == nil {
		defer f.Close() // which unlocks
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			return true
		}
	}
	if p.flag("--catalog-type") == "hadoop" {
		return false
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "catalog.db")+"?_pragma=busy_timeout(0)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err == nil {
		err = tx.Rollback()
	}
	return err != nil
}
