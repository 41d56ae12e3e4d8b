package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/google/uuid"

	"sluice/batch"
	"sluice/lakesink"
	"sluice/lakesink/files"
	"sluice/lakesink/laketest"
	"sluice/lakesink/rowtest"
)

// books is the bookkeeping of a folder in memory.
type books map[string]string

func (b books) String() string { return "memory" }

func (b books) Get(_ context.Context, key string) ([]byte, error) {
	if text, ok := b[key]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (b books) Own(_ context.Context, key string, data []byte) error {
	if there, ok := b[key]; ok && there != string(data) {
		return fs.ErrExist
	}
	b[key] = string(data)
	return nil
}

func (b books) List(_ context.Context, prefix, after string) (keys []string, _ error) {
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (b books) Delete(_ context.Context, keys ...string) error {
	for _, key := range keys {
		delete(b, key)
	}
	return nil
}

// parts is a folder of Parquet files to which a query commits small batches.
type parts struct {
	t    *testing.T
	dir  string
	b    books
	f    *files.Folder
	next int64
	live []string
	// applied is what the last commit came to.
	applied *batch.Applied
}

func newParts(t *testing.T) *parts {
	t.Helper()
	dir := t.TempDir()
	store, err := lakesink.OpenStore(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{t: t, dir: dir, b: books{}}
	p.f = files.New(files.Options{Location: dir, Objects: p.b, Store: store, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err := p.f.Create(t.Context(), pairSchema()); err != nil {
		t.Fatal(err)
	}
	return p
}

// stage writes the files of the next batch.
func (p *parts) stage() *batch.Commit {
	p.t.Helper()
	plan := planN(p.next)
	task := &batch.Task{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash}
	attempt := uuid.NewString()
	w, err := p.f.Write(p.t.Context(), task, attempt, pairSchema())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := w.Write(p.t.Context(), rowtest.Build(pairSchema(), pairRows(int(10*p.next), 10))); err != nil {
		p.t.Fatal(err)
	}
	made, err := w.Close(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	r := batch.TaskResult{Version: batch.FormatVersion, Query: smallQuery, Batch: plan.Batch, Plan: plan.Hash, Attempt: attempt, Files: made,
		Pieces: []batch.PieceResult{{Piece: batch.Piece{Topic: "small", From: 10 * p.next, Until: 10*p.next + 10}, Position: 10*p.next + 10, Delivered: 10, Rows: 10}}}
	return &batch.Commit{Query: smallQuery, Name: "small", Run: "run", Plan: plan, Results: []batch.TaskResult{r}}
}

func (p *parts) commit(c *batch.Commit) {
	p.t.Helper()
	applied, err := p.f.Commit(p.t.Context(), c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.applied = applied
	p.next++
	for _, f := range c.Results[0].Files {
		p.live = append(p.live, filepath.Join(p.dir, filepath.Base(f.Path)))
	}
}

func (p *parts) orphans(o OrphanOptions, script *laketest.Script) (*Orphans, error) {
	p.t.Helper()
	store, err := lakesink.OpenStore(p.t.Context(), p.dir, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if script != nil {
		store = laketest.Store(store, script)
	}
	return (&Folder{Location: p.dir, Books: p.b, Store: store, Options: Options{Query: smallQuery}}).Orphans(p.t.Context(), o)
}

// whole checks that all files that count are there.
func (p *parts) whole() {
	p.t.Helper()
	for _, f := range p.live {
		if _, err := os.Stat(f); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *parts) put(name string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("left"), 0o644)); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func TestAbandonedFilesOfAFolderGoAndNoOthers(t *testing.T) {
	p := newParts(t)
	lost := p.stage()
	p.commit(p.stage())
	p.commit(p.stage())
	asleep := p.stage()
	name := "part-0-0-0-" + uuid.NewString() + ".zstd.parquet"
	left := []string{filepath.Join(p.dir, filepath.Base(lost.Results[0].Files[0].Path)), p.put("day=1/" + name)}
	stay := []string{p.put("other.parquet"), p.put("part-00000-12345678-1234-5678-90ab-cdef01234567-c000.snappy.parquet"), p.put("_sluice_old/" + name),
		p.put("inner/_sluice/folder.json"), p.put("inner/" + name), p.put("letters/" + name), p.put("spark-" + name), filepath.Join(p.dir, filepath.Base(asleep.Results[0].Files[0].Path))}
	named := p.put("part-0-0-1-" + uuid.NewString() + ".zstd.parquet")
	p.b["_spark_metadata/0"] = fmt.Sprintf("v1\n{\"path\":%q}", "file://"+named)
	o, err := p.orphans(OrphanOptions{Remove: true, Keep: []string{p.dir + "/letters"}}, nil)
	if err != nil || o.Found.Files != 0 || o.Young.Files != 3 {
		t.Errorf("of young files: got %+v, %v", o, err)
	}
	aged(t, p.dir, week)
	if o, err = p.orphans(OrphanOptions{Keep: []string{p.dir + "/letters"}, Show: 5}, nil); err != nil || o.Found.Files != 2 || o.Removed.Files != 0 || len(o.First) != 2 || o.Open.Files != 1 || o.Others.Files != 3 {
		t.Errorf("shown: got %+v, %v", o, err)
	}
	if o, err = p.orphans(OrphanOptions{Remove: true, Keep: []string{p.dir + "/letters", p.dir}}, nil); err != nil || o.Removed.Files != 2 {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, f := range left {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s is left", f)
		}
	}
	for _, f := range append(stay, named) {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	p.commit(asleep)
	p.whole()
}

// A hundred batches become one range, and the names of their files are there.
func TestFilesInRangesAreReferredTo(t *testing.T) {
	p := newParts(t)
	for range 210 { // a range is made with every tenth batch
		c := p.stage()
		p.commit(c)
	}
	if err := p.f.Maintain(t.Context(), p.applied); err != nil {
		t.Fatal(err)
	}
	if ranges, _ := p.b.List(t.Context(), "_sluice_ranges/", ""); len(ranges) == 0 {
		t.Fatal("there is no range")
	}
	aged(t, p.dir, week)
	o, err := p.orphans(OrphanOptions{Remove: true}, nil)
	if err != nil || o.Found.Files != 0 || o.Listed.Files != 210 {
		t.Errorf("got %+v, %v", o, err)
	}
	p.whole()
}

func TestARemovalFromAFolderStruckAnywhereHarmsNothing(t *testing.T) {
	p := newParts(t)
	strike(t, "create file, remove data, remove file", func(script *laketest.Script) error {
		p.stage()
		p.commit(p.stage())
		aged(t, p.dir, week)
		pending := p.stage()
		_, err := p.orphans(OrphanOptions{Remove: true}, script)
		p.whole()
		p.commit(pending)
		p.whole()
		return err
	})
}

func TestWhatIsNoFolderOfOursIsLeftAlone(t *testing.T) {
	p := newParts(t)
	delete(p.b, "_sluice/folder.json")
	p.put("part-0-0-0-x.zstd.parquet")
	aged(t, p.dir, week)
	if _, err := p.orphans(OrphanOptions{Remove: true}, nil); !errors.Is(err, catalog.ErrNoSuchTable) {
		t.Errorf("got %v", err)
	}
}
