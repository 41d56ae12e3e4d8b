package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/batch"
	"sluice/objectstore"
)

const leaseKey = "lock/lease.json"

// holderFormat is the version of the lease's stored form.
const holderFormat = 1

// Holder is the stored form of the lease: who holds it or held it last.
type Holder struct {
	Format int `json:"version"`
	// Run is the run's id, Host and PID where it runs.
	Run  string `json:"run"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Epoch rises with every owner.
	Epoch int64 `json:"epoch"`
	// Acquired and Heartbeat are by the owner's clock.
	Acquired  time.Time `json:"acquired"`
	Heartbeat time.Time `json:"heartbeat"`
	// TTLMs is the time to live in milliseconds, counted from the heartbeat.
	TTLMs int64 `json:"ttlMs"`
	// Released says that the owner has ended.
	Released bool `json:"released"`
	// Nonce makes every renewal's bytes unlike any other's.
	Nonce string `json:"nonce"`

	// damaged says that the lease could not be read: nothing above but TTLMs means anything.
	damaged bool
}

// ReadHolder reads who holds the lease of a checkpoint, or held it last, without taking it; nil if nobody ever did.
func ReadHolder(ctx context.Context, store objectstore.Store) (*Holder, error) {
	doc, _, err := readHolder(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	return doc, nil
}

// readHolder reads the lease. One that cannot be read is held by nobody known: a polite lock that is damaged must run
// out like any other, not stop every run until somebody comes.
func readHolder(ctx context.Context, store objectstore.Store) (*Holder, objectstore.Version, error) {
	data, version, err := store.Get(ctx, leaseKey)
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var doc Holder
	if err := json.Unmarshal(data, &doc); err != nil || doc.Run == "" {
		doc = Holder{Run: "unknown (" + leaseKey + " is damaged)", TTLMs: DefaultTTL.Milliseconds(), Heartbeat: time.Now(), damaged: true}
	}
	return &doc, version, nil
}

func (h *Holder) marshal() ([]byte, error) { return json.MarshalIndent(h, "", "  ") }

// TTL is the time to live, taken for at most ten minutes.
func (h *Holder) TTL() time.Duration {
	return min(max(time.Duration(h.TTLMs)*time.Millisecond, 0), maxTTL)
}

// dead reports whether a lease that has been seen unchanged since then has run out.
func (h *Holder) dead(since, now time.Time) bool {
	return now.Sub(since) >= h.TTL() || now.Sub(h.Heartbeat) >= staleAfter+h.TTL()
}

// String names the owner and since when.
func (h *Holder) String() string {
	if h.damaged {
		return "a run that cannot be told: " + leaseKey + " is damaged"
	}
	return fmt.Sprintf("run %s on host %s (pid %d) since %s", h.Run, h.Host, h.PID, h.Acquired.UTC().Format(time.RFC3339))
}

// held is the fault of a lease that another run holds on to.
func (h *Holder) held(store objectstore.Store) error {
	if h.damaged {
		return &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("the lease of %s is damaged: %s is empty or no lease, so that who holds it cannot be told", store, leaseKey),
			Hint: fmt.Sprintf("a run that waits for at least %s (--wait, as it is by default) takes it over if nobody renews it meanwhile; or, if no run is active, delete %s", h.TTL(), leaseKey)}
	}
	return &batch.Fault{Class: batch.Fenced, Message: fmt.Sprintf("another run is active: %s is in use by %s", store, h),
		Hint: fmt.Sprintf("nothing to do if that run is alive; if it is dead, its lease runs out %s after its last sign of life (%s)", h.TTL(), h.Heartbeat.UTC().Format(time.RFC3339))}
}
