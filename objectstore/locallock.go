package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sluice/batch"
)

// locked runs f while no other process or goroutine does.
func (l *Local) locked(ctx context.Context, f func() error) error {
	if err := makeDir(l.dir, l.dirMode, sharedDirMode); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(l.dir, lockFile), os.O_CREATE|os.O_RDWR, l.fileMode)
	if err != nil {
		return err
	}
	defer file.Close() // which unlocks
	ctx, cancel := context.WithTimeoutCause(ctx, l.lockWait, fmt.Errorf("%w for %s", errLockHeld, l.lockWait))
	defer cancel()
	if err := lock(ctx, file); errors.Is(err, errLockHeld) {
		return heldBy(file, err)
	} else if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	sign(file)
	return f()
}

var errLockHeld = errors.New("another process has held the lock")

// sign writes into a lock that is ours whose it is. That is for people alone: a failure changes nothing.
func sign(file *os.File) {
	host, _ := os.Hostname()
	name := fmt.Sprintf("pid %d on host %s\n", os.Getpid(), host)
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(name), 0)
	}
}

// heldBy is the fault of a lock that somebody does not let go. Its owner lives: the system unlocks what a dead process held.
func heldBy(file *os.File, err error) error {
	owner := "a process that did not sign it"
	if name, readErr := io.ReadAll(io.LimitReader(file, 300)); readErr == nil && strings.HasPrefix(string(name), "pid ") {
		owner = strings.TrimSpace(string(name))
	}
	return &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("the folder is locked: %s is held by %s", file.Name(), owner), Err: err,
		Hint: "nothing to do if that run goes on; if it hangs or was stopped (SIGSTOP), let it go on (kill -CONT) or end it, then run again"}
}
