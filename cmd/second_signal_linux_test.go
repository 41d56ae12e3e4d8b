package cmd_test

import (
	"bufio"
	"database/sql"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wantCut fails the test unless a process was ended by the second signal: with the code of the first, before it could say
// how it ended or give back its lease.
func (p *pipeline) wantCut(t *testing.T, r *running, code int) {
	t.Helper()
	o := r.wait().wants(code)
	if found := o.objects("summary"); len(found) > 0 || strings.Contains(o.stderr, "goroutine ") {
		t.Errorf("got %s%s\nwant a process that ended without a word", o.stdout, o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(p.checkpoint(), "lock", "lease.json"))
	if err != nil || !strings.Contains(string(text), `"released": false`) {
		t.Errorf("the lease: got %s, %v; want it to be held still", text, err)
	}
}

// The first signal stops a run that waits for the broker. It cannot leave, for somebody holds the lock of its checkpoint;
// the second one ends it at once, and the next run reads what was planned.
func TestTheSecondSignalEndsARunThatWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).with("--set", "run.lease=6s", "--grace", "1h")
	k.fill(t, "orders", 10, 0, 1)
	held, release := make(chan struct{}), make(chan struct{})
	k.onFetch(func() { close(held); <-release })
	r := prepared(t, child(p.args("run")...))
	r.cmd.Stderr = nil
	log, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	<-held
	unlock := p.lock(t)
	r.signal(syscall.SIGTERM)
	readUntil(log, "the record of this run was not stored")
	r.signal(syscall.SIGTERM)
	p.wantCut(t, r, 143)
	unlock()
	close(release)
	p.run(t).has("summary", "firstBatch", 0, "records", 20, "caughtUp", true)
	p.wantAll(t, "orders")
}

// readUntil reads lines up to one that has the words.
func readUntil(log io.Reader, words string) {
	for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), words); {
	}
}

// lock takes the lock of the checkpoint, and waits for it.
func (p *pipeline) lock(t *testing.T) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(p.checkpoint(), ".lock"), os.O_RDWR, 0)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// A commit in hand is finished after the first signal, for as long as --grace; here the catalog is locked meanwhile. The
// second signal ends the process at once. Whether the commit was made shows later: the next run looks.
func TestTheSecondSignalEndsARunInItsCommit(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).brief().with("--grace", "1h")
	k.fill(t, "orders", 10, 0, 1)
	p.run(t)
	k.fill(t, "orders", 5, 0, 1)
	committing := whenWritten(t, filepath.Join(p.dir, "sales.db", "orders", "metadata"), ".metadata.json")
	unlock := p.lockCatalog(t)
	r := prepared(t, child(p.args("run")...))
	r.cmd.Stderr = nil
	log, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	committing()
	r.signal(syscall.SIGINT)
	readUntil(log, "another signal ends the run at once") // signals that are sent at once may arrive in any order
	r.signal(syscall.SIGTERM)
	p.wantCut(t, r, 130)
	unlock()
	k.fill(t, "orders", 3, 1)
	p.run(t).has("summary", "firstBatch", 1, "batches", 2, "records", 13, "caughtUp", true)
	p.wantAll(t, "orders")
}

// lockCatalog keeps everybody else from writing to the catalog's database; it may still be read.
func (p *pipeline) lockCatalog(t *testing.T) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "catalog.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		db.Close()
	}
}

// whenWritten returns a function that returns once a file with that ending has come to the folder since.
func whenWritten(t *testing.T, dir, ending string) (wait func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { events.Close() })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := events.SetReadDeadline(time.Now().Add(hung)); err != nil {
			t.Fatal(err)
		}
		for buffer := make([]byte, 64<<10); ; {
			n, err := events.Read(buffer)
			if err != nil {
				t.Fatalf("no file *%s came to %s: %v", ending, dir, err)
			}
			for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
				length := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
				if strings.HasSuffix(strings.TrimRight(string(b[unix.SizeofInotifyEvent:length]), "\x00"), ending) {
					return
				}
				b = b[length:]
			}
		}
	}
}
