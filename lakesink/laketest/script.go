// Package laketest breaks the world around a table sink on purpose. A Script numbers every effect on the outside, a
// request that changes something or a file that is completed, and makes one of them go wrong; Catalog puts a catalog and
// the files of its tables behind a Script. Running the same work with the fault at effect 0, 1, 2, … until a run meets
// none leaves no place untried, and a new step of the protocol joins by itself.
package laketest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Mode is how an effect goes wrong.
type Mode int

// The modes.
const (
	// NotApplied: nothing happens, and an error is answered.
	NotApplied Mode = iota
	// AnswerLost: it happens, and an error is answered.
	AnswerLost
	// Killed: nothing happens, and from here on everything fails, reading too, as for a process that is gone.
	Killed
	// KilledAfter: it happens, and from then on everything fails.
	KilledAfter
)

// Modes lists all of them.
func Modes() []Mode { return []Mode{NotApplied, AnswerLost, Killed, KilledAfter} }

// String names the mode.
func (m Mode) String() string {
	return [...]string{"not applied", "answer lost", "killed before", "killed after"}[m]
}

// ErrInjected is the answer of an effect that goes wrong, ErrKilled that of everything after the end.
var (
	ErrInjected = errors.New("laketest: injected failure")
	ErrKilled   = errors.New("laketest: the process is gone")
)

// Script numbers effects and breaks one. The zero value breaks none. It may be shared by catalogs, stores and brokers,
// which are then numbered together, and used by several goroutines.
type Script struct {
	// Step, if set, is called before and after every effect that is carried out, by the goroutine that does it: a chance
	// to hold it there.
	Step func(name string, after bool)

	mu      sync.Mutex
	armed   bool
	at      int
	mode    Mode
	match   func(name string) bool
	effects []string
	broke   bool
	broken  string
	dead    bool
}

// BreakAt makes effect number n, from 0, go wrong.
func BreakAt(n int, mode Mode) *Script { return &Script{armed: true, at: n, mode: mode} }

// BreakWhen makes the first effect whose name matches go wrong.
func BreakWhen(match func(name string) bool, mode Mode) *Script {
	return &Script{armed: true, match: match, mode: mode}
}

// Effects lists the names of all effects so far, in order.
func (s *Script) Effects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.effects)
}

// Broke reports whether the fault was met.
func (s *Script) Broke() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broke
}

// Broken is the name of the effect that went wrong, empty if the fault was not met.
func (s *Script) Broken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// Dead reports whether the process was killed.
func (s *Script) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// Read is to be asked before everything that only reads.
func (s *Script) Read(name string) error {
	if s.Dead() {
		return fmt.Errorf("%s: %w", name, ErrKilled)
	}
	return nil
}

// Effect carries out an effect, or makes it go wrong.
func (s *Script) Effect(name string, apply func() error) error {
	dead, mode, broken := s.next(name)
	switch {
	case dead:
		return fmt.Errorf("%s: %w", name, ErrKilled)
	case !broken && s.Step != nil:
		s.Step(name, false)
		err := apply()
		s.Step(name, true)
		return err
	case !broken:
		return apply()
	case mode == NotApplied:
		return fmt.Errorf("%s: %w", name, ErrInjected)
	case mode == AnswerLost:
		return errors.Join(fmt.Errorf("%s: %w", name, ErrInjected), apply())
	case mode == KilledAfter:
		return errors.Join(fmt.Errorf("%s: %w", name, ErrKilled), apply())
	}
	return fmt.Errorf("%s: %w", name, ErrKilled)
}

// next numbers an effect.
func (s *Script) next(name string) (dead bool, mode Mode, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return true, s.mode, false
	}
	n := len(s.effects)
	s.effects = append(s.effects, name)
	broken = s.armed && !s.broke && (s.match == nil && n == s.at || s.match != nil && s.match(name))
	if broken {
		s.broke, s.broken = true, name
		s.dead = s.mode == Killed || s.mode == KilledAfter
	}
	return false, s.mode, broken
}
