package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/checkpoint"
	"sluice/columns"
	"sluice/decode"
	"sluice/lakesink"
	"sluice/lakesink/files"
	"sluice/lakesink/laketest"
	"sluice/layout"
	"sluice/objectstore"
	"sluice/runner"
	"sluice/verify"
)

// filesWorld is a world whose rows go to a folder of Parquet files: real files, and bookkeeping in an in-memory store with
// conditional writes.
type filesWorld struct {
	kafka *kafka
	store objectstore.Store
	// dir is where the data files are, books what is said of them.
	dir   string
	books objectstore.Store
	// name is the query's.
	name string
	// dead are the folders that dead letters may go to, by name.
	dead   map[string]deadFolder
	mutate func(*runner.Query)
	value  func(partition int32, offset int64) []byte
	job    batch.Value
	// spark says that Spark's log is kept, by how a new folder is partitioned.
	spark bool
	by    []layout.Term
}

func newFilesWorld(t *testing.T) *filesWorld {
	t.Helper()
	w := &filesWorld{kafka: newKafka(), store: objectstore.NewMemory("test"), books: objectstore.NewMemory("books"), dir: t.TempDir(), name: "orders", job: batch.Value{Format: "raw"}, dead: deadFolders(t)}
	w.kafka.produce(0, 5)
	w.kafka.produce(1, 3)
	return w
}

// bookObjects is a store of a checkpoint as a folder's bookkeeping.
type bookObjects struct{ objectstore.Store }

func (o bookObjects) Get(ctx context.Context, key string) ([]byte, error) {
	data, _, err := o.Store.Get(ctx, key)
	if errors.Is(err, objectstore.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return data, err
}

func (o bookObjects) Own(ctx context.Context, key string, data []byte) error {
	_, err := objectstore.PutOwned(ctx, o.Store, key, data)
	switch {
	case errors.Is(err, objectstore.ErrConflict):
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case errors.Is(err, objectstore.ErrAmbiguous):
		return fmt.Errorf("%w: %w", files.ErrUnknown, err)
	}
	return err
}

// deadFolder is a folder of dead letters: where its files are, and what is said of them.
type deadFolder struct {
	dir   string
	books objectstore.Store
	by    []layout.Term
}

func deadFolders(t *testing.T) map[string]deadFolder {
	t.Helper()
	return map[string]deadFolder{"dead": {dir: t.TempDir(), books: objectstore.NewMemory("dead")}, "other": {dir: t.TempDir(), books: objectstore.NewMemory("other")}}
}

// folder is one as a run has it, behind its script.
func (d deadFolder) folder(s *laketest.Script, name string, letters bool) *files.Folder {
	store, err := lakesink.OpenStore(context.Background(), d.dir, nil)
	if err != nil {
		panic(err) // a local one is always there
	}
	return files.New(files.Options{Location: d.dir, PartitionBy: d.by, DeadLetters: letters, SparkMetadata: name == "spark ", Objects: bookObjects{filesBooks{scriptedStore{d.books, s}, name}}, Store: laketest.Store(store, s),
		Sleep: func(context.Context, time.Duration) error { return nil }})
}

// judged is one as the judge reads it.
func (d deadFolder) judged(ctx context.Context) (*verify.Folder, error) {
	store, err := lakesink.OpenStore(ctx, d.dir, nil)
	return &verify.Folder{Location: d.dir, Objects: bookObjects{d.books}, Store: store}, err
}

// deadSinks are the sinks of places of dead letters, one for each folder.
func deadSinks(dead map[string]deadFolder, s *laketest.Script) func(batch.LetterPlace) runner.Sink {
	sinks := map[string]runner.Sink{}
	for name, d := range dead {
		sinks[name] = fileSink{d.folder(s, name+" ", true)}
	}
	return func(place batch.LetterPlace) runner.Sink { return sinks[place.Name] }
}

// deadTables are what the judge reads dead letters from.
func deadTables(ctx context.Context, dead map[string]deadFolder, identity *batch.Identity, into map[string]func(context.Context) (*table.Table, error)) error {
	for _, name := range verify.LetterPlaces(identity, batch.InPath) {
		folder, err := dead[name].judged(ctx)
		if err != nil {
			return err
		}
		into[batch.LetterPlace{Kind: batch.InPath, Name: name}.String()] = folder.Load
	}
	return nil
}

// query is one run whose effects on store, bookkeeping and files are numbered by one script.
func (w *filesWorld) query(t *testing.T, s *laketest.Script) *runner.Query {
	t.Helper()
	name := ""
	if w.spark {
		name = "spark "
	}
	folder := deadFolder{w.dir, w.books, w.by}.folder(s, name, false)
	log := checkpoint.NewLog(scriptedStore{w.store, s})
	log.Retain = 2
	q := &runner.Query{
		Source: rawSource{&source{kafka: w.kafka, gate: open()}, w.value}, Sink: fileSink{folder}, Log: log, Journal: log, Lease: noLease{}, Reporter: &notices{},
		NewDecoder:  func(value batch.Value, headers bool) (runner.Decoder, error) { return decode.New(value, headers) },
		DeadLetters: deadSinks(w.dead, s), DeadLetterSchema: decode.DeadLetterSchema(),
		Widening: &runner.Widening{Evolver: folder, Widen: decode.Widen, Bounded: decode.Bounded,
			On: func(value batch.Value) bool { return value.OnUnknownField == decode.AddColumn }},
		Options: runner.Options{Name: w.name, RunID: uuid.Must(uuid.NewV7()).String(), SinkName: folder.Describe(), Isolation: batch.ReadCommitted, Value: w.job, MaxOffsetsPerTrigger: 4,
			Workers: 2, MinPartitions: 2, Grace: time.Minute, TableName: folder.TableName(), Now: time.Now, ExitCode: func(error) int { return 0 }},
	}
	if w.mutate != nil {
		w.mutate(q)
	}
	return q
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// filesBooks gives the effects on a folder's bookkeeping names of their own.
type filesBooks struct {
	scriptedStore
	of string
}

func (b filesBooks) PutIfAbsent(ctx context.Context, key string, data []byte) (v objectstore.Version, err error) {
	err = b.effect("book "+b.of+anyID.ReplaceAllString(key, "<id>"), func() (err error) { v, err = b.Store.PutIfAbsent(ctx, key, data); return err })
	return v, err
}

// fileSink adapts the concrete writer.
type fileSink struct{ *files.Folder }

func (s fileSink) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	w, err := s.Folder.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// verify asks the judge, with the checkpoint and Kafka as witnesses.
func (w *filesWorld) verify(ctx context.Context) (*verify.Report, error) {
	log := checkpoint.NewLog(w.store)
	id, err := log.Query(ctx)
	if err != nil {
		return nil, err
	}
	identity, err := log.Identity(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := deadFolder{w.dir, w.books, nil}.judged(ctx)
	if err != nil {
		return nil, err
	}
	letters := map[string]func(context.Context) (*table.Table, error){}
	if err := deadTables(ctx, w.dead, identity, letters); err != nil {
		return nil, err
	}
	return folder.Of(ctx, verify.Options{Query: id, Checkpoint: log.Last, Identity: identity, Source: witness{w.kafka}, DeadLetters: letters})
}

// judge asks verify, and compares the count with what was produced.
func (w *filesWorld) judge(ctx context.Context) error {
	report, err := w.verify(ctx)
	if err != nil {
		return err
	}
	if !report.OK || report.Verdict != verify.Proved {
		return fmt.Errorf("verify: %s: %v; %v", report.Verdict, report.Problems, report.CannotProve)
	}
	produced := int64(0)
	for _, records := range w.kafka.records {
		produced += int64(len(records))
	}
	if report.Rows+report.Dropped+report.DeadLettersFound != produced {
		return fmt.Errorf("the folder has %d rows, %d were dropped, %d are dead letters, %d records were produced", report.Rows, report.Dropped, report.DeadLettersFound, produced)
	}
	return nil
}

func (w *filesWorld) arrive() {
	w.kafka.produce(0, 2)
	w.kafka.produce(2, 1)
}

// fail runs once with a fault. The error is that of a run that did not meet it.
func (w *filesWorld) fail(t *testing.T, s *laketest.Script) (met bool, err error) {
	_, err = w.query(t, s).Run(context.Background())
	if s.Broke() {
		return true, nil
	}
	return false, err
}

// recovers runs cleanly until caught up, and judges.
func (w *filesWorld) recovers(t *testing.T) error {
	if err := w.catchUp(t); err != nil {
		return err
	}
	return w.judge(context.Background())
}

// catchUp runs cleanly until caught up.
func (w *filesWorld) catchUp(t *testing.T) error {
	summary, err := w.query(t, &laketest.Script{}).Run(context.Background())
	if err != nil {
		return fmt.Errorf("the clean run failed: %w", err)
	}
	if !summary.CaughtUp {
		return errors.New("the clean run did not catch up")
	}
	return nil
}

// struck runs once with a fault, lets records arrive, runs cleanly and judges.
func (w *filesWorld) struck(t *testing.T, s *laketest.Script) (met bool, err error) {
	if met, err = w.fail(t, s); !met {
		return false, err
	}
	w.arrive()
	return true, w.recovers(t)
}

// Every effect on checkpoint, bookkeeping and files, with verify as the judge.
func TestARunOnAFolderOfFilesStruckAnywhereLosesAndDoublesNothing(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	for _, how := range laketest.Modes() {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			for i := 0; ; i++ {
				s := laketest.BreakAt(i, how)
				met, err := newFilesWorld(t).struck(t, s)
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
	t.Cleanup(func() {
		for _, effect := range []string{"create metadata", "create offsets/0", "create commits/1", "book _sluice/folder.json", "book _sluice/<id>/0.json", "book _sluice/<id>/1.json", "create data"} {
			if !seen[effect] {
				t.Errorf("no run was struck at %q; they were at %v", effect, seen)
			}
		}
	})
}
