package hivecatalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"sluice/lakesink/hivecatalog/thrift"
)

// waits are how a lock is waited for, by the names and defaults of Iceberg's own library.
type waits struct {
	// enabled says whether tables are locked that do not say so themselves.
	enabled bool
	// least and most bound the pauses between two looks, each half as long again as the one before; all is when to give up.
	least, most, all time.Duration
	// fresh is how old a sign of life of a lock may be before another is sent.
	fresh time.Duration
}

// lockEnabled is the property, of tables and behind iceberg. of catalogs, that says whether writers lock the table.
const lockEnabled = "engine.hive.lock-enabled"

func waitsOf(p map[string]string) (w waits, err error) {
	w.enabled = !strings.EqualFold(p["iceberg."+lockEnabled], "false")
	for key, d := range map[string]struct {
		to        *time.Duration
		otherwise time.Duration
	}{
		"iceberg.hive.lock-check-min-wait-ms":     {&w.least, 50 * time.Millisecond},
		"iceberg.hive.lock-check-max-wait-ms":     {&w.most, 5 * time.Second},
		"iceberg.hive.lock-timeout-ms":            {&w.all, 3 * time.Minute},
		"iceberg.hive.lock-heartbeat-interval-ms": {&w.fresh, 4 * time.Minute},
	} {
		if *d.to, err = milliseconds(p[key], d.otherwise); err != nil {
			return w, &Misuse{key, "is " + err.Error()}
		}
	}
	// A sign of life before each alteration costs a call; one that is a few seconds old is as good.
	w.fresh = min(w.fresh, 10*time.Second)
	return w, nil
}

// locks says whether writers of a table lock it.
func (c *Catalog) locks(properties iceberg.Properties) bool {
	if own, ok := properties[lockEnabled]; ok {
		return strings.EqualFold(own, "true")
	}
	return c.waits.enabled
}

// The states of a lock.
const (
	acquired = 1
	waiting  = 2
)

// lock is an exclusive lock of a table.
type lock struct {
	c     *Catalog
	table name
	id    int64
	agent string
	// alive is when the last sign of life was sent that the server has answered.
	alive time.Time
}

// Locked is a table that somebody else kept locked for longer than a lock is waited for.
type Locked struct {
	Table string
	For   time.Duration
	// Holder is who holds it, as the metastore tells, empty if it does not.
	Holder string
}

// Error says by whom and how long.
func (l *Locked) Error() string {
	text := fmt.Sprintf("table %s was locked in the metastore for %s", l.Table, l.For.Round(time.Millisecond))
	if l.Holder != "" {
		text += ", by " + l.Holder
	}
	return text
}

// lock locks a table, and waits for that. Whatever the error, no lock is left but where the server could not be asked any more;
// such a one ends by itself (metastore.txn.timeout, 5 minutes without a sign of life).
func (c *Catalog) lock(ctx context.Context, k *conn, n name) (*lock, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	l := &lock{c: c, table: n, agent: "sluice-" + uuid.NewString(), alive: c.options.Now()}
	component := thrift.Struct{1: int32(3), 2: int32(2), 3: n.database, 4: n.table} // EXCLUSIVE, TABLE
	got, err := result(k.call(ctx, "lock", thrift.Struct{1: thrift.Struct{1: thrift.Structs(component), 3: c.user, 4: host, 5: l.agent}}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock table %s: %w", n, err), l.forget(ctx))
	}
	l.id = got.Long(1)
	state, began := got.Long(2), c.options.Now()
	for pause := c.waits.least; state == waiting; pause = min(pause*3/2, c.waits.most) {
		if waited := c.options.Now().Sub(began); waited >= c.waits.all {
			return nil, errors.Join(&Locked{n.String(), waited, c.holder(ctx, k, l)}, l.end(ctx, k))
		}
		if err := c.options.Sleep(ctx, pause); err != nil {
			waited := c.options.Now().Sub(began)
			return nil, errors.Join(&Locked{n.String(), waited, c.holder(context.WithoutCancel(ctx), k, l)}, err, l.end(ctx, k))
		}
		if state, err = l.check(ctx, k); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for the lock of table %s: %w", n, err), l.forget(ctx))
		}
	}
	if state != acquired {
		return nil, errors.Join(fmt.Errorf("lock table %s: the metastore gives the lock the state %d", n, state), l.end(ctx, k))
	}
	return l, nil
}

// check asks how the lock is, which is a sign of life too.
func (l *lock) check(ctx context.Context, k *conn) (state int64, err error) {
	sent := l.c.options.Now()
	got, err := result(k.call(ctx, "check_lock", thrift.Struct{1: thrift.Struct{1: l.id}}))
	if err == nil {
		l.alive = sent
	}
	return got.Long(2), err
}

// held is an error if the lock is ours no more, or may not be.
func (l *lock) held(ctx context.Context, k *conn) error {
	state, err := l.check(ctx, k)
	if err == nil && state != acquired {
		err = &Refusal{Method: "check_lock", Kind: noSuchLock, Message: fmt.Sprintf("lock %d has the state %d", l.id, state)}
	}
	if err != nil {
		return fmt.Errorf("look after the lock of table %s: %w", l.table, err)
	}
	return nil
}

// release ends the lock, also after ctx has ended. That it has ended already is no error.
func (l *lock) release(ctx context.Context, k *conn) error {
	_, err := k.call(context.WithoutCancel(ctx), "unlock", thrift.Struct{1: thrift.Struct{1: l.id}})
	if isRefusal(err, noSuchLock) {
		return nil
	}
	return err
}

// end ends the lock, over another connection where that fails.
func (l *lock) end(ctx context.Context, k *conn) error {
	if l.release(ctx, k) == nil {
		return nil
	}
	return l.c.ask(context.WithoutCancel(ctx), func(k *conn) error { return l.release(ctx, k) })
}

// forget ends a lock, over another connection, that may be there after a call that failed.
func (l *lock) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.c.options.Answer)
	defer cancel()
	return l.c.ask(ctx, func(k *conn) error {
		all, err := l.c.shown(ctx, k, l.table)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.Text(13) == l.agent {
				l.id = one.Long(1)
				return l.release(ctx, k)
			}
		}
		return nil
	})
}

// shown are the locks of a table.
func (c *Catalog) shown(ctx context.Context, k *conn, n name) (all []thrift.Struct, err error) {
	got, err := result(k.call(ctx, "show_locks", thrift.Struct{1: thrift.Struct{1: strings.ToLower(n.database), 2: strings.ToLower(n.table), 4: false}}))
	for _, item := range got.List(1) {
		if one, ok := item.(thrift.Struct); ok {
			all = append(all, one)
		}
	}
	return all, err
}

// holder describes who holds the lock that is waited for.
func (c *Catalog) holder(ctx context.Context, k *conn, mine *lock) string {
	all, err := c.shown(ctx, k, mine.table)
	if err != nil {
		return ""
	}
	for _, one := range all {
		if one.Long(5) == acquired && one.Long(1) != mine.id {
			beat := time.UnixMilli(one.Long(8)).UTC()
			return fmt.Sprintf("lock %d of %s on %s (%s), whose last sign of life was at %s", one.Long(1), one.Text(10), one.Text(11), one.Text(13), beat.Format(time.RFC3339))
		}
	}
	return ""
}
