package faultproxy

import (
	"fmt"
	"slices"
	"sync"
)

// Strike is a fault that was dealt.
type Strike struct {
	// N is the request's number since the plan began, from 1.
	N int
	// Fault is the fault's name, Request what it was dealt to.
	Fault, Request string
}

// String is one line of a log.
func (s Strike) String() string { return fmt.Sprintf("request %d: %s: %s", s.N, s.Fault, s.Request) }

// ledger is what proxies have in common: a plan, and what came of it.
type ledger struct {
	mu    sync.Mutex
	plan  Plan
	seen  int
	dealt []Strike
}

// Follow begins a plan, nil for one without faults. Requests are counted from 1 again, and strikes listed anew.
func (l *ledger) Follow(plan Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan, l.seen, l.dealt = plan, 0, nil
}

// Seen is how many requests there were since the plan began.
func (l *ledger) Seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// Dealt lists the faults that were dealt since the plan began, in order.
func (l *ledger) Dealt() []Strike {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.dealt)
}

// next counts a request and asks the plan about it.
func (l *ledger) next(r Request) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen++
	if l.plan == nil {
		return nil
	}
	fault := l.plan(l.seen, r)
	if fault != nil {
		l.dealt = append(l.dealt, Strike{l.seen, fault.Name, r.String()})
	}
	return fault
}

// exchange is a request that a fault is dealt to.
type exchange interface {
	// pass passes it on, and its answer back.
	pass()
	// carryOut has the server carry it out, and keeps the answer back.
	carryOut()
	// reset breaks the client's connection.
	reset()
}
