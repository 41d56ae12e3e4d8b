//go:build clouds

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
	"sluice/lakesink/rowtest"
	"sluice/layout"
	"sluice/objectstore"
	"sluice/rig"
)

// stored is the bookkeeping of a folder in a store, as cmd has it.
type stored struct{ objectstore.Folder }

func (s stored) Get(ctx context.Context, key string) ([]byte, error) {
	data, _, err := s.Folder.Get(ctx, key)
	if errors.Is(err, objectstore.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return data, err
}

func (s stored) Own(ctx context.Context, key string, data []byte) error {
	_, err := objectstore.PutOwned(ctx, s.Folder, key, data)
	switch {
	case errors.Is(err, objectstore.ErrConflict):
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case errors.Is(err, objectstore.ErrAmbiguous):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// onClouds runs a test with a new folder on each cloud, under each of its addresses.
func onClouds(t *testing.T, test func(t *testing.T, o Options)) {
	for name, address := range map[string]func(t *testing.T) string{
		"GCS":   func(t *testing.T) string { return rig.GCS(t).Folder },
		"Azure": func(t *testing.T) string { return rig.Azure(t).Folder },
		"abfss": func(t *testing.T) string { return rig.Azure(t).Warehouse },
	} {
		t.Run(name, func(t *testing.T) { test(t, inCloud(t, address(t)+"/files")) })
	}
}

func inCloud(t *testing.T, address string) Options {
	t.Helper()
	folder, err := objectstore.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Location: address, Objects: stored{folder}, Store: lakesink.FolderStore(t.Context(), folder, address)}
}

var text = columns.Schema{{Name: "a", Type: columns.Type{Kind: columns.Int32}}, {Name: "s", Type: columns.Type{Kind: columns.String}}}

// filled is a commit of a batch whose rows are written.
func filled(t *testing.T, f *Folder, n int64, values [][]any) *batch.Commit {
	t.Helper()
	w, err := f.Write(t.Context(), &batch.Task{Query: query, Batch: n}, fmt.Sprint("attempt-", n), text)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), rowtest.Build(text, values)); err != nil {
		t.Fatal(err)
	}
	made, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := offered(n, fmt.Sprint("plan ", n))
	c.Results = []batch.TaskResult{{Files: made}}
	return c
}

func TestAFolderOnACloud(t *testing.T) {
	onClouds(t, func(t *testing.T, o Options) {
		o.PartitionBy = []layout.Term{{Transform: layout.Identity, Column: "s"}}
		f := New(o)
		if err := f.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.Create(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		for n := range int64(3) {
			c := filled(t, f, n, [][]any{{int32(1), "Köln/Süd #1"}, {int32(2), nil}, {int32(3), "a.."}, {int32(4), "50% \x01?"}})
			if len(c.Results[0].Files) != 4 {
				t.Fatalf("got %d files, want one for each value", len(c.Results[0].Files))
			}
			for _, file := range c.Results[0].Files {
				there, err := o.Objects.(stored).Open(t.Context(), file.Path)
				if err != nil || there.Entry().Size != file.Bytes {
					t.Errorf("%s: got %+v, %v, want %d bytes", file.Path, there, err, file.Bytes)
				}
			}
			if _, err := f.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		table, err := New(o).Table(t.Context(), query)
		if err != nil || table.Applied.Batch != 2 {
			t.Errorf("got %+v, %v", table, err)
		}
		if _, err := f.Commit(t.Context(), offered(1, "another")); batch.ClassOf(err) != batch.Fenced {
			t.Errorf("got %v for a batch that is long there", err)
		}
		w, err := f.Write(t.Context(), &batch.Task{Query: query, Batch: 9}, "given-up", text)
		if err == nil {
			err = w.Write(t.Context(), rowtest.Build(text, [][]any{{int32(1), "x"}}))
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Abort()
		keys, err := o.Objects.List(t.Context(), "s=", "")
		if err != nil || len(keys) != 12 || strings.Contains(strings.Join(keys, " "), "given-up") {
			t.Errorf("got files %q, %v, want 12 that were finished", keys, err)
		}
	})
}

func TestOfManyRunsThatCommitOneBatchOnACloudOneSucceeds(t *testing.T) {
	onClouds(t, func(t *testing.T, o Options) {
		if err := New(o).Create(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		answers := make([]error, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				c := offered(0, "plan 0")
				c.Run = fmt.Sprint("run ", i)
				_, answers[i] = New(o).Commit(t.Context(), c)
			})
		}
		all.Wait()
		made := 0
		for _, err := range answers { // those that came later than the winner find their plan there
			if err == nil {
				made++
			} else {
				wantClass(t, err, batch.Fenced)
			}
		}
		keys, err := o.Objects.List(t.Context(), bookFolder+query, "")
		if err != nil || made == 0 || len(keys) != 1 {
			t.Errorf("%d of 8 runs say that they committed the batch, and there are %v, %v", made, keys, err)
		}
	})
}

// A store that takes conditions and heeds none is refused, and nothing is left there.
func TestACloudThatIgnoresConditionsIsRefused(t *testing.T) {
	address := rig.GCS(t).Folder
	target, err := url.Parse("http://" + os.Getenv("STORAGE_EMULATOR_HOST"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		asked := r.Out.URL.Query()
		asked.Del("ifGenerationMatch")
		r.Out.URL.RawQuery = asked.Encode()
	}})
	defer proxy.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(proxy.URL, "http://"))
	o := inCloud(t, address)
	wantClass(t, New(o).Probe(t.Context()), batch.NotSetUp, "does not enforce conditional writes")
	wantClass(t, New(o).Create(t.Context(), rows), batch.NotSetUp, "does not enforce conditional writes")
	if keys, err := o.Objects.List(t.Context(), "", ""); err != nil || len(keys) > 0 {
		t.Errorf("it left %v, %v", keys, err)
	}
}
