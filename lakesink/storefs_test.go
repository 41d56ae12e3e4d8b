package lakesink

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/iotest"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/objectstore"
)

func newStoreFS(t *testing.T, addresses ...string) *storeFS {
	t.Helper()
	s := &storeFS{ctx: t.Context(), store: objectstore.NewMemory("lake"), root: "lake"}
	for _, address := range addresses {
		if err := s.WriteFile(address, []byte(address)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Manifests are read front to end, Parquet files here and there.
func TestAnObjectIsReadAsAFile(t *testing.T) {
	s := newStoreFS(t)
	for _, size := range []int{0, 1, 1000, aheadBytes + 1000} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i*i>>3 + i)
		}
		address := fmt.Sprintf("gs://lake/t/data/%d.parquet", size)
		if err := s.WriteFile(address, content); err != nil {
			t.Fatal(err)
		}
		f, err := s.Open(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(f, content); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		info, err := f.Stat()
		if err != nil || info.Size() != int64(size) || info.Name() != fmt.Sprintf("%d.parquet", size) || info.IsDir() || info.ModTime().IsZero() {
			t.Errorf("%d bytes: got %v, %v", size, info, err)
		}
		if got, err := s.ReadFile(address); err != nil || !slices.Equal(got, content) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
}

func TestAnObjectThatIsNotThereIsFoundMissing(t *testing.T) {
	s := newStoreFS(t)
	_, open := s.Open("gs://lake/none")
	_, read := s.ReadFile("gs://lake/none")
	_, stat := s.Stat("gs://lake/none")
	for op, err := range map[string]error{"open": open, "read": read, "stat": stat, "remove": s.Remove("gs://lake/none")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want fs.ErrNotExist", op, err)
		}
	}
}

func TestABucketIsNotTakenForAnother(t *testing.T) {
	s := newStoreFS(t)
	for _, address := range []string{"gs://other/x", "gs://lakes/x", "/lake/x", "lake/x", "gs://lake"} {
		if err := s.WriteFile(address, nil); err == nil {
			t.Errorf("%s was written", address)
		}
		if _, err := s.Open(address); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want that it is not in the bucket", address, err)
		}
	}
}

func TestAWalkVisitsWhatIsBelow(t *testing.T) {
	s := newStoreFS(t, "gs://lake/t/data/a", "gs://lake/t/data/b%20=c/d", "gs://lake/t/metadata/v1", "gs://lake/t2/x")
	walk := func(root string, visit func(path string) error) (seen []string) {
		err := s.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				t.Fatal(err)
			}
			if folder := path == root; entry.IsDir() != folder {
				t.Errorf("%s: is a folder: %v", path, entry.IsDir())
			}
			seen = append(seen, path)
			return visit(path)
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	all := func(string) error { return nil }
	if got, want := walk("gs://lake/t", all), []string{"gs://lake/t", "gs://lake/t/data/a", "gs://lake/t/data/b%20=c/d", "gs://lake/t/metadata/v1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := walk("gs://lake/none", all); len(got) != 1 {
		t.Errorf("got %v, want the root alone", got)
	}
	if got := walk("gs://lake/t", func(path string) error {
		if path == "gs://lake/t/data/a" {
			return fs.SkipAll
		}
		return nil
	}); len(got) != 2 {
		t.Errorf("got %v, want that it ended", got)
	}
}

func TestRemovingManyRemovesAll(t *testing.T) {
	var addresses []string
	for i := range 2*deleteAtOnce + 3 {
		addresses = append(addresses, fmt.Sprintf("gs://lake/t/%03d", i))
	}
	s := newStoreFS(t, addresses...)
	removed, err := s.DeleteFiles(t.Context(), append(addresses, "gs://lake/t/none"))
	left, listErr := s.store.List(t.Context(), "", "")
	if err != nil || listErr != nil || len(removed) != len(addresses)+1 || len(left) != 0 {
		t.Errorf("got %d removed, %v; left %v, %v", len(removed), err, left, listErr)
	}
}

func TestAnUploadThatIsAbortedIsNoFile(t *testing.T) {
	s := newStoreFS(t)
	w := &Writer{ctx: t.Context(), fs: s}
	for _, end := range []func(*upload) error{(*upload).close, func(u *upload) error { u.abort(); return nil }} {
		u, err := w.create("gs://lake/t/data/x.parquet")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write([]byte("rows")); err != nil {
			t.Fatal(err)
		}
		if err := end(u); err != nil {
			t.Fatal(err)
		}
		size, err := storedSize(s, "gs://lake/t/data/x.parquet")
		if closed := err == nil; closed && size != 4 || !closed && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %d, %v", size, err)
		}
		_ = s.Remove("gs://lake/t/data/x.parquet")
	}
}

func TestStoresOfIcebergsAddressesAreKnown(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	for address, properties := range map[string]map[string]string{
		"gs://lake/t": {"gcs.service.host": "http://127.0.0.1:1", "gcs.no-auth": "true"},
		"abfss://lake@contoso.dfs.core.windows.net/t":  {"adls.auth.shared-key.account.name": "contoso", "adls.auth.shared-key.account.key": "a2V5"},
		"wasbs://lake@contoso.blob.core.windows.net/t": {"adls.sas-token.contoso.blob.core.windows.net": "sv=1&sig=x"},
	} {
		f, err := iceio.LoadFS(t.Context(), properties, address)
		if _, ok := f.(*storeFS); !ok || err != nil {
			t.Errorf("%s: got %T, %v", address, f, err)
		}
	}
	for _, address := range []string{"abfss://lake/t", "abfss://contoso.dfs.core.windows.net/t"} {
		if f, err := iceio.LoadFS(t.Context(), nil, address); err == nil {
			t.Errorf("%s: got %v", address, f)
		}
	}
}
