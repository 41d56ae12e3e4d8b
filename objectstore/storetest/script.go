// Package storetest helps to test what stands on a objectstore.Store: a script that makes one effect of a program fail
// in each way that networks and processes fail, stores that break their promises, and the conformance test that every
// store passes. It is for tests alone.
package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Mode is how an effect fails.
type Mode int

// The ways to fail.
const (
	// NotApplied: nothing happens, and the caller gets an error that does not say so.
	NotApplied Mode = iota
	// AnswerLost: it happens, and the caller gets the same error.
	AnswerLost
	// Killed: nothing happens, and everything after it fails, reads too: the process is gone.
	Killed
	// Repeated: it happens, its answer is lost, and a client library repeats it and hears of a conflict with itself.
	// The caller gets ErrAmbiguous if the effect has no condition.
	Repeated
)

// String names the mode.
func (m Mode) String() string {
	return [...]string{"not applied", "answer lost", "killed", "repeated"}[m]
}

// ErrInjected is wrapped by every error of a Script.
var ErrInjected = errors.New("injected fault")

// Script numbers the effects of a program, on whatever servers, from 0 in the order that they begin, and fails one of
// them. Share one between the stores, catalogs and brokers of a run; run the program with At 0, 1, 2, … until a run
// ends before effect At. It is safe for concurrent use; the numbers are stable only where the program is.
type Script struct {
	// At is the effect to fail, below 0 for none.
	At   int
	Mode Mode

	mu      sync.Mutex
	effects []string
	fired   bool
	killed  bool
}

// NewScript fails the effect at with mode.
func NewScript(at int, mode Mode) *Script { return &Script{At: at, Mode: mode} }

// Effect carries out apply under the script and returns its error, or one that wraps ErrInjected. name says what it is,
// the same on every run ("create offsets/3").
func (s *Script) Effect(name string, apply func() error) error {
	s.mu.Lock()
	if s.killed {
		s.mu.Unlock()
		return gone(name)
	}
	hit := len(s.effects) == s.At
	s.effects = append(s.effects, name)
	s.fired = s.fired || hit
	s.killed = hit && s.Mode == Killed
	s.mu.Unlock()
	switch {
	case !hit:
		return apply()
	case s.Mode == Killed:
		return gone(name)
	case s.Mode != NotApplied:
		_ = apply() // whatever it answered, the answer is lost
	}
	return fmt.Errorf("%s: %w", name, ErrInjected)
}

// Read carries out something without effect: it fails once the process is gone.
func (s *Script) Read(name string, read func() error) error {
	s.mu.Lock()
	killed := s.killed
	s.mu.Unlock()
	if killed {
		return gone(name)
	}
	return read()
}

func gone(name string) error { return fmt.Errorf("%s: the process is gone: %w", name, ErrInjected) }

// Fired reports whether effect At was reached.
func (s *Script) Fired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fired
}

// Effects lists what was begun, in order.
func (s *Script) Effects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.effects...)
}

// effectName is what an effect on an object is called: keys that differ from run to run have a star.
func effectName(verb, key string) string {
	for _, dir := range []string{"lock/probe-", "runs/"} {
		if strings.HasPrefix(key, dir) {
			key = dir + "*"
		}
	}
	return verb + " " + key
}
