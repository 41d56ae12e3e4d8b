package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sluice/objectstore"
)

// mode is what becomes of the effect that a gate strikes.
type mode string

const (
	notApplied mode = "not applied"
	answerLost mode = "applied but answer lost"
	killed     mode = "process killed" // applied, and nothing of the run happens after it
)

var (
	errInjected = errors.New("injected fault: connection reset")
	errKilled   = errors.New("this process is dead")
)

// gate is what every request of one run passes. It numbers the effects (whatever changes the world) and strikes one
// of them. After a kill nothing passes any more.
type gate struct {
	mu     sync.Mutex
	strike int // -1: none
	mode   mode
	seen   []string
	dead   bool
	struck string
	// until strikes the first effect of that name instead of a number.
	until string

	// A gate with pauseAt holds its run before that effect (or after, if pauseAfter) until resume is closed.
	pauseAt    int
	pauseAfter bool
	paused     chan struct{}
	resume     chan struct{}
}

func open() *gate                       { return &gate{strike: -1, pauseAt: -1} }
func striking(effect int, m mode) *gate { return &gate{strike: effect, mode: m, pauseAt: -1} }
func dyingAt(effect string) *gate       { return &gate{strike: -1, pauseAt: -1, mode: killed, until: effect} }
func pausing(effect int, after bool) *gate {
	return &gate{strike: -1, pauseAt: effect, pauseAfter: after, paused: make(chan struct{}), resume: make(chan struct{})}
}

// pass lets a reading through. Readings are struck too, as they can fail, but applied or not makes no difference.
func (g *gate) pass(name string, read func() error) error { return g.effect(name, read) }

func (g *gate) effect(name string, apply func() error) error {
	g.mu.Lock()
	if g.dead {
		g.mu.Unlock()
		return errKilled
	}
	n := len(g.seen)
	g.seen = append(g.seen, name)
	strike := n == g.strike || g.until != "" && g.until == name && g.struck == ""
	if strike {
		g.struck, g.dead = name, g.mode == killed
	}
	g.mu.Unlock()

	if n == g.pauseAt && !g.pauseAfter {
		g.hold()
	}
	var err error
	if !strike || g.mode != notApplied {
		err = apply()
	}
	if n == g.pauseAt && g.pauseAfter {
		g.hold()
	}
	switch {
	case strike && g.mode == killed:
		return errKilled
	case strike:
		return errInjected
	}
	return err
}

func (g *gate) hold() {
	close(g.paused)
	<-g.resume
}

// retried reports whether the struck effect was tried again.
func (g *gate) retried() bool {
	for _, name := range g.seen[g.strike+1:] {
		if name == g.struck {
			return true
		}
	}
	return false
}

// gatedStore is a checkpoint store whose every request passes a gate. A struck write is unknown to its caller.
type gatedStore struct {
	objectstore.Store
	gate *gate
}

func (s gatedStore) through(name string, apply func() error) error {
	err := s.gate.effect(name, apply)
	if errors.Is(err, errInjected) {
		return fmt.Errorf("%w: %w", objectstore.ErrAmbiguous, err)
	}
	return err
}

func (s gatedStore) Get(ctx context.Context, key string) (data []byte, v objectstore.Version, err error) {
	err = s.through("get "+generic(key), func() (err error) { data, v, err = s.Store.Get(ctx, key); return err })
	return data, v, err
}

func (s gatedStore) PutIfAbsent(ctx context.Context, key string, data []byte) (v objectstore.Version, err error) {
	err = s.through("create "+generic(key), func() (err error) { v, err = s.Store.PutIfAbsent(ctx, key, data); return err })
	return v, err
}

func (s gatedStore) PutIfMatch(ctx context.Context, key string, data []byte, was objectstore.Version) (v objectstore.Version, err error) {
	err = s.through("swap "+generic(key), func() (err error) { v, err = s.Store.PutIfMatch(ctx, key, data, was); return err })
	return v, err
}

func (s gatedStore) Put(ctx context.Context, key string, data []byte) error {
	return s.through("put "+generic(key), func() error { return s.Store.Put(ctx, key, data) })
}

// Delete passes key by key: a store may remove some of them and fail.
func (s gatedStore) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := s.through("delete "+generic(key), func() error { return s.Store.Delete(ctx, key) }); err != nil {
			return err
		}
	}
	return nil
}

func (s gatedStore) List(ctx context.Context, prefix, after string) (keys []string, err error) {
	err = s.through("list "+prefix, func() (err error) { keys, err = s.Store.List(ctx, prefix, after); return err })
	return keys, err
}

// generic drops the random part of a key, so that traces compare.
func generic(key string) string {
	for _, random := range []string{"runs/", "lock/probe-"} {
		if strings.HasPrefix(key, random) {
			return random + "<id>"
		}
	}
	return key
}
