package runner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/lakesink/laketest"
	"sluice/layout"
	"sluice/objectstore"
	"sluice/runner"
)

// lakeWorld is a world whose table is a real Iceberg table in a SQLite catalog.
type lakeWorld struct {
	kafka   *kafka
	store   objectstore.Store
	catalog catalog.Catalog
	// outer, if set, is put around the catalog of a run, outside its script; mutate, if set, breaks a run.
	outer  func(catalog.Catalog) catalog.Catalog
	mutate func(*runner.Query)
	// value, if set, makes the value of a record, nil for a tombstone; else it is a text that says which record it is.
	value func(partition int32, offset int64) []byte
	// clock, if set, is that of the host.
	clock func() time.Time
	// dead are folders that dead letters may go to, by name; nil for none.
	dead map[string]deadFolder
	// partitionBy is how the job wants the table to be partitioned.
	partitionBy []layout.Term
	// format is the format version of a table that is made, 2 if empty; dir is where the catalog is.
	format, dir string
	// branch is the branch of the table that rows go to, main if empty.
	branch string
}

func newLakeWorld(t *testing.T) *lakeWorld {
	t.Helper()
	dir := t.TempDir()
	c, err := lakesink.OpenCatalog(context.Background(), lakesink.CatalogOptions{Type: "sql", URI: filepath.Join(dir, "catalog.db"), Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.(catalog.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	w := &lakeWorld{kafka: newKafka(), store: objectstore.NewMemory("test"), catalog: c, dir: dir}
	w.kafka.produce(0, 5)
	w.kafka.produce(1, 3)
	return w
}

// query is one run whose effects on store, catalog and files are numbered by one script.
func (w *lakeWorld) query(s *laketest.Script) (*runner.Query, *notices) {
	said := &notices{}
	scripted := laketest.Wrap(w.catalog, s)
	var tables catalog.Catalog = scripted
	if w.outer != nil {
		tables = w.outer(scripted)
	}
	log := checkpoint.NewLog(scriptedStore{w.store, s})
	log.Retain = 2
	sinks := map[string]*lakesink.Iceberg{}
	for _, name := range append(lakeLetters, "db.orders") {
		options := lakesink.Options{Table: name, Catalog: "test", ExpireEvery: 2, KeepSnapshots: 1, Sleep: func(context.Context, time.Duration) error { return nil }, Now: w.clock}
		if name == "db.orders" {
			options.PartitionBy, options.TableProperties, options.Branch = w.partitionBy, w.properties(), w.branch
		}
		sinks[name] = lakesink.New(tables, options)
	}
	ice := sinks["db.orders"]
	q := &runner.Query{
		Source: rawSource{&source{kafka: w.kafka, gate: open()}, w.value}, Sink: lakeSink{ice}, Log: log, Journal: log, Lease: noLease{}, Reporter: said,
		NewDecoder:  func(value batch.Value, headers bool) (runner.Decoder, error) { return decode.New(value, headers) },
		DeadLetters: func(place batch.LetterPlace) runner.Sink { return lakeSink{sinks[place.Name]} }, DeadLetterSchema: decode.DeadLetterSchema(),
		Widening: &runner.Widening{Evolver: ice, Widen: decode.Widen, Bounded: decode.Bounded,
			On: func(value batch.Value) bool { return value.OnUnknownField == decode.AddColumn }},
		Options: runner.Options{Name: "orders", RunID: uuid.Must(uuid.NewV7()).String(), SinkName: ice.Describe(), Isolation: batch.ReadCommitted, Value: batch.Value{Format: "raw"}, MaxOffsetsPerTrigger: 4,
			Workers: 2, MinPartitions: 2, Grace: time.Minute, TableName: "db.orders", Now: time.Now, ExitCode: func(error) int { return 0 }},
	}
	if w.clock != nil {
		q.Now = w.clock
	}
	if w.dead != nil {
		q.DeadLetters = deadSinks(w.dead, s)
	}
	if w.mutate != nil {
		w.mutate(q)
	}
	return q, said
}

// lakeSink adapts the concrete writer.
type lakeSink struct{ *lakesink.Iceberg }

func (s lakeSink) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	w, err := s.Iceberg.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// rawSource fills in what the raw columns need beyond offsets.
type rawSource struct {
	*source
	value func(partition int32, offset int64) []byte
}

func (s rawSource) Read(ctx context.Context, task *batch.Task) (runner.Reader, error) {
	r, err := s.source.Read(ctx, task)
	return rawReader{r, s.value}, err
}

type rawReader struct {
	runner.Reader
	value func(partition int32, offset int64) []byte
}

func (r rawReader) Next(ctx context.Context) (*columns.Records, error) {
	records, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	records.Key.Kind, records.Value.Kind = columns.Binary, columns.Binary
	for _, o := range records.Offsets {
		records.Timestamps = append(records.Timestamps, 1_700_000_000_000+o)
		records.Key.AppendNullBytes()
		value := fmt.Appendf(nil, "%d/%d", records.Partition, o)
		if r.value != nil {
			value = r.value(records.Partition, o)
		}
		if value == nil {
			records.Value.AppendNullBytes()
		} else {
			records.Value.AppendBytes(value)
		}
	}
	return records, nil
}

// scriptedStore is a checkpoint store whose writes are effects of a script.
type scriptedStore struct {
	objectstore.Store
	script *laketest.Script
}

func (s scriptedStore) effect(name string, apply func() error) error {
	err := s.script.Effect(name, apply)
	if errors.Is(err, laketest.ErrInjected) {
		return fmt.Errorf("%w: %w", objectstore.ErrAmbiguous, err)
	}
	return err
}

func (s scriptedStore) Get(ctx context.Context, key string) ([]byte, objectstore.Version, error) {
	if s.script.Dead() {
		return nil, "", laketest.ErrKilled
	}
	return s.Store.Get(ctx, key)
}

func (s scriptedStore) List(ctx context.Context, prefix, after string) ([]string, error) {
	if s.script.Dead() {
		return nil, laketest.ErrKilled
	}
	return s.Store.List(ctx, prefix, after)
}

func (s scriptedStore) PutIfAbsent(ctx context.Context, key string, data []byte) (v objectstore.Version, err error) {
	err = s.effect("create "+generic(key), func() (err error) { v, err = s.Store.PutIfAbsent(ctx, key, data); return err })
	return v, err
}

func (s scriptedStore) PutIfMatch(ctx context.Context, key string, data []byte, was objectstore.Version) (v objectstore.Version, err error) {
	err = s.effect("swap "+generic(key), func() (err error) { v, err = s.Store.PutIfMatch(ctx, key, data, was); return err })
	return v, err
}

func (s scriptedStore) Put(ctx context.Context, key string, data []byte) error {
	return s.effect("put "+generic(key), func() error { return s.Store.Put(ctx, key, data) })
}

func (s scriptedStore) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := s.effect("delete "+generic(key), func() error { return s.Store.Delete(ctx, key) }); err != nil {
			return err
		}
	}
	return nil
}

// properties are those of tables that are made.
func (w *lakeWorld) properties() map[string]string {
	if w.format == "" {
		return nil
	}
	return map[string]string{"format-version": w.format}
}

// lakeLetters are the tables of dead letters that a job may name.
var lakeLetters = []string{"ops.dead", "ops.other"}

// arrive adds records between two runs, and a partition.
func (w *lakeWorld) arrive() {
	w.kafka.produce(0, 2)
	w.kafka.produce(2, 1)
}

// struck runs once with a fault, lets records arrive (or not), runs cleanly and judges. met says that the fault was met.
func (w *lakeWorld) struck(ctx context.Context, s *laketest.Script, arrivals bool) (met bool, err error) {
	if met, err = w.fail(ctx, s); !met {
		return false, err
	}
	if arrivals {
		w.arrive()
	}
	return true, w.recovers(ctx)
}

// fail runs once with a fault. The error is that of a run that did not meet it.
func (w *lakeWorld) fail(ctx context.Context, s *laketest.Script) (met bool, err error) {
	q, _ := w.query(s)
	_, err = q.Run(ctx)
	if s.Broke() {
		return true, nil
	}
	return false, err
}

// recovers runs cleanly until caught up, and judges.
func (w *lakeWorld) recovers(ctx context.Context) error {
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	return w.judge(ctx)
}

// catchUp runs cleanly until caught up.
func (w *lakeWorld) catchUp(ctx context.Context) error {
	q, _ := w.query(&laketest.Script{})
	summary, err := q.Run(ctx)
	if err != nil {
		return fmt.Errorf("the clean run failed: %w", err)
	}
	if !summary.CaughtUp {
		return errors.New("the clean run did not catch up")
	}
	return nil
}

// The same sweep on a real table, with verify as the judge: every effect on checkpoint, catalog and files. With -full also
// where nothing arrives between the fault and the recovery.
func TestARunOnAnIcebergTableStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	for _, arrivals := range []bool{true, false} {
		if !arrivals && !*full {
			break
		}
		for _, how := range laketest.Modes() {
			t.Run(fmt.Sprintf("%s, arrivals %v", how, arrivals), func(t *testing.T) {
				t.Parallel()
				for i := 0; ; i++ {
					s := laketest.BreakAt(i, how)
					met, err := newLakeWorld(t).struck(context.Background(), s, arrivals)
					if !met {
						if err != nil {
							t.Error(err)
						}
						break
					}
					if err != nil {
						t.Errorf("%q: %v", s.Effects()[i], err)
					}
					mu.Lock()
					seen[s.Effects()[i]] = true
					mu.Unlock()
				}
			})
		}
	}
	t.Cleanup(func() {
		for _, effect := range []string{"create metadata", "create sources/0/0", "create offsets/0", "create commits/1", "create table db.orders",
			"create data", "create manifest", "create manifest list", "commit db.orders snapshot", "commit db.orders expiry"} {
			if !seen[effect] {
				t.Errorf("no run was struck at %q; they were at %v", effect, seen)
			}
		}
	})
}

// The recovery may be struck as well. A pair of faults costs a hundred times what it does on the fake table, where all are
// tried: here it is every eleventh, so that each fault of the one run still meets many of the other; without -full one
// for each fault, and kills alone.
func TestARecoveryOfAnIcebergTableStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	modes, stride := laketest.Modes(), 11
	if !*full {
		modes, stride = []laketest.Mode{laketest.Killed}, 97
	}
	for _, first := range modes {
		for _, second := range modes {
			t.Run(fmt.Sprintf("%s, then %s", first, second), func(t *testing.T) {
				t.Parallel()
				pairs := 0
				for i, met := 0, true; met; i++ {
					again := true
					for j := i * 5 % stride; met && again; j += stride {
						t.Run(fmt.Sprintf("%d, %d", i, j), func(t *testing.T) {
							met, again = struckTwice(t, laketest.BreakAt(i, first), laketest.BreakAt(j, second))
						})
						if met && again {
							pairs++
						}
					}
				}
				t.Logf("%d pairs", pairs)
				if pairs < 10 {
					t.Errorf("got %d pairs of faults", pairs)
				}
			})
		}
	}
}

// struckTwice runs twice with a fault each, lets records arrive in between, runs cleanly and judges. met and again say
// that the faults were met.
func struckTwice(t *testing.T, first, second *laketest.Script) (met, again bool) {
	w := newLakeWorld(t)
	met, err := w.fail(t.Context(), first)
	if !met {
		if err != nil {
			t.Error(err)
		}
		return false, false
	}
	w.arrive()
	again, err = w.fail(t.Context(), second)
	if err == nil {
		err = w.recovers(t.Context())
	}
	if err != nil {
		t.Errorf("%s, then %s: %v", first.Broken(), second.Broken(), err)
	}
	return met, again
}
