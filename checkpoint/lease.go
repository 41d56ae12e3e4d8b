package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"sluice/batch"
	"sluice/objectstore"
)

// Lease is the polite lock of a checkpoint: it lets overlapping runs end at once instead of doing work twice. It
// satisfies runner.Lease. Nothing relies on it for correctness: clocks differ, a suspended machine wakes up after its
// lease was given away, and a store does not check it on other objects.
//
// The owner renews the object lock/lease.json by compare-and-swap. Another run may take it over once it has watched it
// on its own clock for the lease's time to live without seeing it change; what the other machine's clock wrote is
// believed only when it is far beyond any skew. The object is never deleted, so that the epoch only rises.
type Lease struct {
	// TTL is the time to live that we promise to renew the lease within.
	TTL time.Duration
	// Renew is the time between renewals, well below TTL.
	Renew time.Duration
	// Wait is how long Acquire waits for a lease that another run holds. With at least that lease's TTL a dead owner is
	// overtaken; with less, only one that has been dead for staleAfter.
	Wait time.Duration
	// Poll is the time between looks at a lease that another run holds.
	Poll time.Duration
	// Notice is told, once, what Acquire waits for, after it has waited for Patience. Optional.
	Notice   func(message string, attributes ...any)
	Patience time.Duration

	store objectstore.Store
	run   string

	// doc, version and lost belong to the goroutine that renews, from Acquire until stopped is closed.
	doc     Holder
	version objectstore.Version
	lost    bool
	stop    context.CancelFunc
	stopped chan struct{}
}

// Defaults of a Lease.
const (
	DefaultTTL   = 15 * time.Second
	DefaultRenew = 5 * time.Second
	defaultPoll  = time.Second

	// Whoever waits longer than defaultPatience wants to know what for.
	defaultPatience = time.Second

	// staleAfter is beyond any skew that lets a machine work: S3 refuses requests from a clock that is off by 15 minutes.
	staleAfter = 30 * time.Minute
	// A time to live that another program wrote is taken for at most maxTTL.
	maxTTL = 10 * time.Minute
)

// NewLease is the lease of a checkpoint, for the run of that id in this process.
func NewLease(store objectstore.Store, run string) *Lease {
	return &Lease{TTL: DefaultTTL, Renew: DefaultRenew, Wait: DefaultTTL, Poll: defaultPoll, Patience: defaultPatience, store: store, run: run}
}

// Acquire takes the lease, waiting for another run's to end or to run out. Fenced if another run holds on to it; the
// fault names it. The returned context ends with ctx, and with a fault as its cause when the lease is lost: Fenced if
// another run has it, Failed if it could not be renewed in time. The lease is kept until Release, also after ctx has
// ended: what a run must finish, it finishes under its lease.
func (l *Lease) Acquire(ctx context.Context) (held context.Context, epoch int64, err error) {
	if err := l.take(ctx); err != nil {
		return nil, 0, fmt.Errorf("acquire lease: %w", err)
	}
	held, cancel := context.WithCancelCause(ctx)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop, l.stopped, epoch = stop, make(chan struct{}), l.doc.Epoch
	go func() {
		defer close(l.stopped)
		l.keep(keeping, cancel)
	}()
	return held, epoch, nil
}

// watch is what a waiting run has seen: a lease at one version since a moment of its own clock.
type watch struct {
	version  objectstore.Version
	since    time.Time
	deadline time.Time
	// patience is when whoever waits is told why; zero once that was done.
	patience time.Time
}

// take waits until the lease is free or dead, and takes it.
func (l *Lease) take(ctx context.Context) error {
	var seen watch
	for {
		doc, version, err := readHolder(ctx, l.store)
		if err != nil {
			return err
		}
		now := time.Now()
		if seen.deadline.IsZero() {
			seen.deadline, seen.patience = now.Add(l.Wait), now.Add(l.Patience)
		}
		if version != seen.version {
			seen.version, seen.since = version, now
		}
		if doc == nil || doc.Released || doc.dead(seen.since, now) {
			err := l.claim(ctx, doc, version)
			if !errors.Is(err, objectstore.ErrConflict) {
				return err
			}
			if doc, seen.version, err = l.faster(ctx, err); err != nil {
				return err
			}
			seen.since = now
		}
		if !now.Before(seen.deadline) {
			return doc.held(l.store)
		}
		if !seen.patience.IsZero() && !now.Before(seen.patience) {
			l.tellWaiting(doc, seen.deadline.Sub(now))
			seen.patience = time.Time{}
		}
		if !pauseFor(ctx, min(l.Poll, max(time.Millisecond, seen.deadline.Sub(now)))) {
			return context.Cause(ctx)
		}
	}
}

// pauseFor waits, and reports whether it could wait to the end.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tellWaiting says who is waited for. A run that lives ends, or is still there after the wait; one that is dead is
// overtaken once it has been silent for its time to live.
func (l *Lease) tellWaiting(owner *Holder, left time.Duration) {
	if l.Notice == nil {
		return
	}
	l.Notice("waiting for another run to end, or for the lease of one that died to run out",
		"run", owner.Run, "host", owner.Host, "pid", owner.PID, "since", owner.Acquired.UTC().Format(time.RFC3339), "forAtMost", left.Round(time.Second).String())
}

// faster reads who took the lease before we could. The object is never deleted, so it must be there now.
func (l *Lease) faster(ctx context.Context, conflict error) (*Holder, objectstore.Version, error) {
	doc, version, err := readHolder(ctx, l.store)
	if err == nil && doc == nil {
		err = objectstore.Unsafe("it refuses to create an object that is not there", conflict)
	}
	return doc, version, err
}

// claim writes us down as the owner.
func (l *Lease) claim(ctx context.Context, was *Holder, version objectstore.Version) error {
	host, _ := os.Hostname() // for people; a host without a name is no reason to fail
	now := time.Now().UTC()
	doc := Holder{Format: holderFormat, Run: l.run, Host: host, PID: os.Getpid(), Epoch: 1, Acquired: now, Heartbeat: now, TTLMs: l.TTL.Milliseconds(), Nonce: rand.Text()}
	if was != nil {
		doc.Epoch = was.Epoch + 1
	}
	next, err := l.put(ctx, doc, version)
	if err != nil {
		return err
	}
	l.doc, l.version, l.lost = doc, next, false
	return nil
}

func (l *Lease) put(ctx context.Context, doc Holder, version objectstore.Version) (objectstore.Version, error) {
	data, err := doc.marshal()
	if err != nil {
		return "", err
	}
	if version == "" {
		return objectstore.PutOwned(ctx, l.store, leaseKey, data)
	}
	return objectstore.ReplaceOwned(ctx, l.store, leaseKey, data, version)
}

// keep renews the lease until ctx ends, and cancels the holder's work if the lease is lost: at once if another run has
// it, and when its time to live is over, even while a renewal waits for its answer.
func (l *Lease) keep(ctx context.Context, cancel context.CancelCauseFunc) {
	var last atomic.Pointer[error]
	expire := time.AfterFunc(l.TTL, func() { cancel(l.expired(ctx, last.Load())) })
	defer expire.Stop()
	tick := time.NewTicker(l.Renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		err := l.renew(ctx)
		switch {
		case err == nil:
			expire.Reset(l.TTL - time.Since(begun))
		case ctx.Err() != nil:
			return
		case errors.Is(err, objectstore.ErrConflict):
			l.lost = true
			cancel(l.overtaken(ctx, err))
			return
		default:
			last.Store(&err)
		}
	}
}

// expired is the fault of a lease that was not renewed in time. It may still be ours, but nobody can rely on it. A
// process that was stopped, or a machine that slept, finds that another run has it.
func (l *Lease) expired(ctx context.Context, last *error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Renew)
	defer cancel()
	if doc, _, err := readHolder(ctx, l.store); err == nil && doc != nil && doc.Run != l.run {
		return taken(doc.String(), nil)
	}
	fault := &batch.Fault{Class: batch.Failed, Message: fmt.Sprintf("the lease could not be renewed for %s", l.TTL), Hint: "see why the checkpoint's store does not answer, then run again"}
	if last != nil {
		fault.Err = *last
	}
	return fault
}

// renew is bounded by Renew, so that one request that hangs does not cost the lease.
func (l *Lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.Renew)
	defer cancel()
	doc := l.doc
	doc.Heartbeat, doc.Nonce = time.Now().UTC(), rand.Text()
	next, err := l.put(ctx, doc, l.version)
	if err != nil {
		return err
	}
	l.doc, l.version = doc, next
	return nil
}

// overtaken is the fault of a lease that another run has taken.
func (l *Lease) overtaken(ctx context.Context, cause error) error {
	by := "another run"
	if doc, _, err := readHolder(ctx, l.store); err == nil && doc != nil {
		by = doc.String()
	}
	return taken(by, cause)
}

func taken(by string, cause error) error {
	return &batch.Fault{Class: batch.Fenced, Message: "the lease was taken over by " + by, Err: cause, Hint: "nothing to do: the other run goes on, nothing was harmed"}
}

// Release lets the next run in at once. It does nothing for a lease that is lost, or was never held.
func (l *Lease) Release(ctx context.Context) error {
	if l.stop == nil {
		return nil
	}
	l.stop()
	<-l.stopped
	l.stop = nil
	if l.lost {
		return nil
	}
	l.doc.Released, l.doc.Nonce = true, rand.Text()
	_, err := l.put(ctx, l.doc, l.version)
	if err != nil && !errors.Is(err, objectstore.ErrConflict) { // a conflict: somebody has it already
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}
