package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/batch"
	"sluice/columns"
)

// below lists everything below a folder that need not be there.
func below(t testing.TB, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func TestAskingWhetherATableFitsWritesNothing(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	s := newSink(openSQLite(t, dir))
	wantClass(t, s.Fits(ctx, rawSchema()), batch.NotSetUp, tableName)
	if found := below(t, dir); len(found) > 0 {
		t.Errorf("it made %v", found)
	}
	if err := s.Create(ctx, rawSchema()); err != nil {
		t.Fatal(err)
	}
	if err := s.Fits(ctx, rawSchema()); err != nil {
		t.Error(err)
	}
	wantClass(t, s.Fits(ctx, columns.Schema{{Name: "amount", Type: columns.Type{Kind: columns.Int64}}}), batch.Inconsistent, "no column amount")
}

func TestAProbeOfAFolderLeavesNothing(t *testing.T) {
	for _, kind := range []string{"sql", "hadoop"} {
		dir := filepath.Join(t.TempDir(), "new", "lake")
		o := CatalogOptions{Type: kind, Warehouse: dir}
		if kind == "sql" {
			o.URI = filepath.Join(t.TempDir(), "catalog.db")
		}
		c, err := open(t, o)
		if err != nil {
			t.Fatal(err)
		}
		s := newSink(c)
		place, err := s.Probe(context.Background(), o)
		foreseen := place
		if err != nil || !strings.HasPrefix(place, "file://"+dir+"/db") {
			t.Errorf("%s: got %s, %v, want a place below %s", kind, place, err, dir)
		}
		if found := below(t, filepath.Dir(filepath.Dir(dir))); len(found) > 0 {
			t.Errorf("%s: it left %v", kind, found)
		}
		if err := s.Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		before := below(t, dir)
		if place, err = s.Probe(context.Background(), o); err != nil || place != load(t, c).Location() || strings.TrimPrefix(foreseen, "file://") != strings.TrimPrefix(place, "file://") {
			t.Errorf("%s: got %s, foreseen %s, %v, want the table's location", kind, place, foreseen, err)
		}
		if found := below(t, dir); !slices.Equal(found, before) {
			t.Errorf("%s: got %v, had %v", kind, found, before)
		}
	}
}

func TestAProbeAlsoAsksWhereATablesPropertiesPutItsFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := newTable(t, func(o *Options) { o.TableProperties = map[string]string{"write.data.path": "file://" + file + "/data"} })
	_, err := s.Probe(context.Background(), CatalogOptions{})
	wantClass(t, err, batch.NotSetUp, file, "not a directory")
}

// Whoever makes a folder may find it gone again: a probe of another process has removed it while it was empty.
func TestFilesAreMadeWhileProbesComeAndGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	probed := func() error {
		p := &probe{folder: "file://" + dir + "/a/b", open: func(context.Context) (iceio.IO, error) { return durableFS{}, nil }, answer: time.Second}
		return p.run(context.Background())
	}
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for range 50 {
				if err := probed(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Wait()
	for _, left := range below(t, dir) { // one that met another in a folder leaves the folder to it
		if left != "a" && left != "a/b" {
			t.Errorf("left %s", left)
		}
	}
}

func TestACatalogThatCannotBeWrittenIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := open(t, CatalogOptions{Type: "sql", URI: filepath.Join(dir, "new", "c.db"), Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := Writable(context.Background(), c); err != nil {
		t.Error(err)
	}
	if found := below(t, dir); len(found) != 1 {
		t.Errorf("left %v", found)
	}
	wantClass(t, Writable(context.Background(), &unborn{path: filepath.Join(file, "c.db")}), batch.NotSetUp, "file", "c.db")
}

// bucket is an S3 endpoint that keeps objects, and answers for the methods in says what they say.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	keys    []string
	says    map[string]int
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if status, ok := b.says[r.Method]; ok {
		w.WriteHeader(status)
		fmt.Fprintf(w, `<Error><Code>%s</Code></Error>`, map[int]string{403: "AccessDenied", 404: "NoSuchBucket", 500: "InternalError"}[status])
		return
	}
	switch r.Method {
	case http.MethodPut:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		b.keys, b.objects[r.URL.Path] = append(b.keys, r.URL.Path), content
	case http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		content, ok := b.objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	}
}

func TestAProbeOfABucketSaysWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		says  map[string]int
		class batch.Class
		words []string
		left  int
	}{
		"all is well":     {nil, batch.Failed, nil, 0},
		"no bucket":       {map[string]int{"PUT": 404}, batch.NotSetUp, []string{"s3://lake/w/db.db/orders/_sluice-probe-", "NoSuchBucket"}, 0},
		"may not write":   {map[string]int{"PUT": 403}, batch.NotSetUp, []string{"AccessDenied"}, 0},
		"may not read":    {map[string]int{"GET": 403}, batch.NotSetUp, []string{"AccessDenied"}, 0},
		"may not remove":  {map[string]int{"DELETE": 403}, batch.NotSetUp, []string{"AccessDenied", "is left"}, 1},
		"cannot say":      {map[string]int{"PUT": 500}, batch.Failed, []string{"InternalError"}, 0},
		"cannot say ever": {map[string]int{"PUT": 500, "DELETE": 500, "HEAD": 500}, batch.Failed, []string{"whether it was written is not known"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bucket{objects: map[string][]byte{}, says: tc.says}
			server := httptest.NewServer(b)
			t.Cleanup(server.Close)
			o := CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: "s3://lake/w", Properties: map[string]string{
				"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "me", "s3.secret-access-key": "secret"}}
			c, err := open(t, o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = newSink(c).Probe(context.Background(), o)
			if tc.words == nil {
				if err != nil || len(b.keys) != 1 || strings.Contains(b.keys[0], "/data/") || strings.HasSuffix(b.keys[0], ".parquet") {
					t.Errorf("got %v after writing %v, want one object that nobody takes for data", err, b.keys)
				}
			} else {
				wantClass(t, err, tc.class, tc.words...)
			}
			if len(b.objects) != tc.left {
				t.Errorf("%d objects are left, want %d", len(b.objects), tc.left)
			}
		})
	}
}
