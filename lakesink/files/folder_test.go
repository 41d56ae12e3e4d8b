package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/offsets"
)

// memory is a strict fake of a store with conditional writes.
type memory struct {
	mu      sync.Mutex
	objects map[string]string
	// before, if set, is called with every key that is to be created, outside of the lock; an error is the answer, and
	// applied says whether the object is created all the same.
	before func(key string) (err error, applied bool)
	// lax is a store that takes no condition.
	lax bool
}

func newMemory() *memory { return &memory{objects: map[string]string{}} }

func (m *memory) String() string { return "memory" }

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, ok := m.objects[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (m *memory) Own(_ context.Context, key string, data []byte) error {
	var err error
	applied := true
	if m.before != nil {
		err, applied = m.before(key)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if there, ok := m.objects[key]; ok && !m.lax && applied {
		if there != string(data) {
			return fs.ErrExist
		}
		return err
	}
	if applied {
		m.objects[key] = string(data)
	}
	return err
}

func (m *memory) List(_ context.Context, prefix, after string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (m *memory) Delete(_ context.Context, keys ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.objects, key)
	}
	return nil
}

const query = "3f6c0a52-0000-4000-8000-000000000001"

var rows = columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Int32}}}

// opened is a folder that is there.
func opened(t *testing.T, m *memory, change func(*Options)) *Folder {
	t.Helper()
	dir := t.TempDir()
	store, err := lakesink.OpenStore(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Location: dir, Objects: m, Store: store, Sleep: func(context.Context, time.Duration) error { return nil }}
	if change != nil {
		change(&o)
	}
	f := New(o)
	if err := f.Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return f
}

// offered is a commit of an empty batch that reads so many offsets of one partition.
func offered(n int64, plan string) *batch.Commit {
	tp := offsets.TopicPartition{Topic: "t"}
	return &batch.Commit{Query: query, Name: "orders", Run: "run", Plan: &batch.Plan{Batch: n, Hash: plan, Start: offsets.Offsets{tp: n * 10}, End: offsets.Offsets{tp: n*10 + 10}}}
}

func commit(t *testing.T, f *Folder, n int64) {
	t.Helper()
	applied, err := f.Commit(t.Context(), offered(n, fmt.Sprint("plan ", n)))
	if err != nil || applied.Batch != n {
		t.Fatalf("batch %d: got %+v, %v", n, applied, err)
	}
}

func wantClass(t *testing.T, err error, class batch.Class, parts ...string) {
	t.Helper()
	if batch.ClassOf(err) != class {
		t.Errorf("got %v (%v), want class %v", err, batch.ClassOf(err), class)
	}
	for _, part := range parts {
		if !strings.Contains(fmt.Sprint(err), part) {
			t.Errorf("got %v, want it to name %q", err, part)
		}
	}
}

func TestABatchIsCommittedOnceAndOnlyAfterTheOneBefore(t *testing.T) {
	f := opened(t, newMemory(), nil)
	_, err := f.Commit(t.Context(), offered(1, "x"))
	wantClass(t, err, batch.Inconsistent, "batch 1 cannot follow")
	commit(t, f, 0)
	commit(t, f, 0) // the same plan again
	_, err = f.Commit(t.Context(), offered(0, "another"))
	wantClass(t, err, batch.Inconsistent, "another plan")
	commit(t, f, 1)
	_, err = f.Commit(t.Context(), offered(0, "plan 0"))
	wantClass(t, err, batch.Fenced)
	skewed := offered(2, "plan 2")
	skewed.Plan.Start[offsets.TopicPartition{Topic: "t"}] = 15
	_, err = f.Commit(t.Context(), skewed)
	wantClass(t, err, batch.Inconsistent, "two checkpoints")
	table, err := f.Table(t.Context(), query)
	if err != nil || table.Applied.Batch != 1 || table.Applied.Plan != "plan 1" || table.Applied.Ledger.Next()[offsets.TopicPartition{Topic: "t"}] != 20 || table.Queries[query] != "orders" {
		t.Errorf("got %+v, %v", table, err)
	}
}

func TestOfManyRunsThatCommitOneBatchOneSucceeds(t *testing.T) {
	m := newMemory()
	f := opened(t, m, nil)
	gathered := make(chan struct{})
	var all, ready sync.WaitGroup
	ready.Add(8)
	m.before = func(key string) (error, bool) {
		if strings.Contains(key, query) {
			ready.Done()
			<-gathered // all have seen the folder without the batch
		}
		return nil, true
	}
	answers := make([]error, 8)
	for i := range answers {
		all.Go(func() { _, answers[i] = f.Commit(t.Context(), offered(0, "plan 0")) })
	}
	ready.Wait()
	close(gathered)
	all.Wait()
	won := 0
	for _, err := range answers {
		if err == nil {
			won++
		} else {
			wantClass(t, err, batch.Fenced)
		}
	}
	if won != 1 {
		t.Errorf("%d of 8 runs committed the batch", won)
	}
}

func TestNoAnswerToACommitIsBelieved(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		answer  error
		applied bool
		fails   int
		want    batch.Class
		there   bool
	}{
		"applied, the answer lost":  {fmt.Errorf("%w: %w", ErrUnknown, broken), true, 1, batch.Failed, true},
		"not applied, then it is":   {broken, false, 2, batch.Failed, true},
		"never applied":             {broken, false, 100, batch.Failed, false},
		"applied and said it is no": {broken, true, 100, batch.Failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			f := opened(t, m, nil)
			m.before = func(key string) (error, bool) {
				if c.fails--; !strings.Contains(key, query) || c.fails < 0 {
					return nil, true
				}
				return c.answer, c.applied
			}
			c.fails++ // the probe
			_, err := f.Commit(t.Context(), offered(0, "plan 0"))
			m.before = nil
			if c.there != (err == nil) {
				t.Errorf("got %v, want success %v", err, c.there)
			}
			table, err := f.Table(t.Context(), query)
			if err != nil || (table.Applied.Batch == 0) != c.there {
				t.Errorf("got batch %d, %v", table.Applied.Batch, err)
			}
		})
	}
}

func TestAFolderThatWasMadeAgainMeanwhileTakesNoBatch(t *testing.T) {
	m := newMemory()
	f := opened(t, m, nil)
	before, err := f.Table(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	m.before = func(key string) (error, bool) {
		if strings.Contains(key, query) { // emptied and made again while the manifest is on its way
			m.before = nil
			clear(m.objects)
			if err := New(f.options).Create(t.Context(), rows); err != nil {
				t.Error(err)
			}
		}
		return nil, true
	}
	c := offered(0, "plan 0")
	c.TableUUID = before.UUID
	_, err = f.Commit(t.Context(), c)
	wantClass(t, err, batch.Inconsistent, before.UUID)
	_, err = f.Table(t.Context(), query)
	wantClass(t, err, batch.Inconsistent, "is of the folder with UUID")
}

// A manifest under a number that was freed, or skipped, is on no way back from the newest.
func TestAManifestThatIsOnNoWayBackCountsForNothing(t *testing.T) {
	m := newMemory()
	f := opened(t, m, nil)
	for n := range int64(205) {
		commit(t, f, n)
	}
	table, err := f.Table(t.Context(), query)
	if err == nil {
		table.Applied.Batch = 209
		err = f.Maintain(t.Context(), &table.Applied)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(t.Context(), manifestKey(query, 5)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v: the manifest of batch 5 stands alone", err)
	}
	sleeper := &deal{folder: f, commit: offered(5, "plan 5"), attempt: "sleeper", offers: 1}
	m.objects[manifestKey(query, 5)] = strings.Replace(m.objects[manifestKey(query, 204)], `"batch":204`, `"batch":5`, 1)
	s, newest, err := sleeper.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := sleeper.ours(t.Context(), s, newest); ours || err != nil {
		t.Errorf("got %v, %v for the manifest of a sleeper", ours, err)
	}
	all, err := f.rangeOf(t.Context(), query, 5)
	if err != nil || len(all) != 100 || all[5].Plan != "plan 5" || all[99].Ledger == nil || all[98].Ledger != nil {
		t.Errorf("got a range of %d manifests, %v", len(all), err)
	}
	delete(m.objects, manifestKey(query, 103)) // a gap that nobody accounts for
	for n := int64(205); n < 300; n++ {
		commit(t, f, n)
	}
	if table, err = f.Table(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	if err := f.Maintain(t.Context(), &table.Applied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v: a range was made over a gap", err)
	}
	if _, err := m.Get(t.Context(), manifestKey(query, 104)); err != nil {
		t.Errorf("batch 104: %v: something was removed over a gap", err)
	}
}

func TestAStoreWithoutConditionsAndAFolderOfSparkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*memory)
		class  batch.Class
		text   string
	}{
		"no conditions": {func(m *memory) { m.lax = true }, batch.NotSetUp, "does not enforce conditional writes"},
		"Spark's":       {func(m *memory) { m.objects["_spark_metadata/0"] = "v1" }, batch.Inconsistent, "the output of a Spark query"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			c.change(m)
			before := len(m.objects)
			f := New(Options{Location: "/nowhere", Objects: m})
			if c.class == batch.Inconsistent {
				wantClass(t, f.Makeable(t.Context(), nil), c.class, c.text)
			}
			wantClass(t, f.Create(t.Context(), rows), c.class, c.text)
			if len(m.objects) != before {
				t.Errorf("it left %v", slices.Sorted(maps.Keys(m.objects)))
			}
		})
	}
}

func TestBookkeepingThatMakesNoSenseIsNeverTakenForNone(t *testing.T) {
	for name, forge := range map[string]func(m *memory){
		"no JSON": func(m *memory) { m.objects[manifestKey(query, 0)] = "x" },
		"a later form": func(m *memory) {
			m.objects[manifestKey(query, 0)] = strings.Replace(m.objects[manifestKey(query, 0)], `"v":1`, `"v":2`, 1)
		},
		"another batch": func(m *memory) { m.objects[manifestKey(query, 1)] = m.objects[manifestKey(query, 0)] },
		"the folder":    func(m *memory) { m.objects[folderKey] = "{}" },
		"the columns":   func(m *memory) { m.objects[schemaKey(1)] = m.objects[folderKey] },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			f := opened(t, m, nil)
			commit(t, f, 0)
			forge(m)
			_, err := f.Table(t.Context(), query)
			wantClass(t, err, batch.Inconsistent, "cannot be read")
		})
	}
}

func TestColumnsAreAddedAndNeverOtherwiseChanged(t *testing.T) {
	long, text := columns.Type{Kind: columns.Int64}, columns.Type{Kind: columns.String}
	inner := func(fields ...columns.Field) columns.Type {
		return columns.Type{Kind: columns.Struct, Fields: fields}
	}
	list := func(element columns.Field) columns.Type {
		return columns.Type{Kind: columns.List, Fields: []columns.Field{element}}
	}
	last := 0
	has := newColumns([]columns.Field{{Name: "a", Type: long, Required: true}, {Name: "s", Type: inner(columns.Field{Name: "x", Type: long})},
		{Name: "l", Type: list(columns.Field{Name: "element", Type: inner(columns.Field{Name: "y", Type: text})})}}, &last)
	wider, changes, differences := evolved(has, []columns.Field{{Name: "a", Type: columns.Type{Kind: columns.Int32}}, {Name: "s", Type: inner(columns.Field{Name: "x", Type: long}, columns.Field{Name: "z", Type: text})},
		{Name: "l", Type: list(columns.Field{Name: "element", Type: inner(columns.Field{Name: "w", Type: long})})}, {Name: "b", Type: text, Required: true}})
	if want := "[make a optional add s.z string add l.element.w long add b string]"; fmt.Sprint(changes) != want || len(differences) > 0 {
		t.Errorf("got %v, %v, want %s", changes, differences, want)
	}
	ids := map[int]bool{}
	eachColumn(wider, func(c *Column) { ids[c.ID] = true })
	if len(ids) != 9 || wider[0].Required || wider[3].Required || wider[0].ID != has[0].ID {
		t.Errorf("got %+v", wider)
	}
	for want, rows := range map[string][]columns.Field{
		"column a is long in the folder and string in the rows":   {{Name: "a", Type: text, Required: true}},
		"column a of the folder is required":                      {{Name: "b", Type: text}},
		"differ by case only":                                     {{Name: "a", Type: long, Required: true}, {Name: "A", Type: long}},
		"column s.x is long in the folder and string in the rows": {{Name: "a", Type: long, Required: true}, {Name: "s", Type: inner(columns.Field{Name: "x", Type: text})}},
		"column l is list in the folder and struct in the rows":   {{Name: "a", Type: long, Required: true}, {Name: "l", Type: inner()}},
	} {
		if _, _, differences := evolved(has, rows); !strings.Contains(fmt.Sprint(differences), want) {
			t.Errorf("got %v, want %s", differences, want)
		}
	}
}
