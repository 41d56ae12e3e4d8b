package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"sluice/objectstore"
)

// ConformFiles checks that folders are what objectstore.Files says. open returns an empty one on every call.
func ConformFiles(t *testing.T, open func(t *testing.T) objectstore.Folder) {
	for _, c := range []struct {
		name string
		test func(*testing.T, objectstore.Folder)
	}{
		{"an upload is seen whole once it is closed, and not before", uploadWhole},
		{"an upload that is aborted leaves nothing", uploadAborted},
		{"an upload whose context has ended leaves nothing", uploadCancelled},
		{"an upload ends once", uploadEndsOnce},
		{"uploads at once do not mix", uploadsAtOnce},
		{"parts of an object are read exactly", readParts},
		{"an absent object cannot be opened", openAbsent},
		{"entries have sizes and times and are cut exactly", entries},
		{"entries end where their reader does", entriesEnd},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// pattern is bytes that are like no other part of themselves.
func pattern(size int) []byte {
	b := make([]byte, 0, size+8)
	for n := uint32(0); len(b) < size; n++ {
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n*2654435761>>24))
	}
	return b[:size]
}

// sizes are none, a little, a part of most clouds, just more, and several.
var sizes = []int{0, 1, 100_000, 5 << 20, 5<<20 + 1, 17<<20 + 3}

func upload(ctx context.Context, s objectstore.Folder, key string, data []byte) error {
	u, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(data, 1_000_003) { // which divides no part
		if _, err := u.Write(chunk); err != nil {
			u.Abort()
			return err
		}
	}
	return u.Close()
}

func uploadWhole(t *testing.T, s objectstore.Folder) {
	for _, size := range sizes {
		key, data := fmt.Sprintf("data/%d.parquet", size), pattern(size)
		u := mustUpload(t, s, key)
		for chunk := range slices.Chunk(data, 1_000_003) {
			if n, err := u.Write(chunk); err != nil || n != len(chunk) {
				t.Fatalf("%s: wrote %d of %d, %v", key, n, len(chunk), err)
			}
		}
		unseen(t, s, key)
		succeed(t, u.Close())
		got := contents(t, s, key)
		if !bytes.Equal(got, data) {
			t.Errorf("%s: got %d bytes, or others, want the %d written", key, len(got), size)
		}
	}
}

func uploadAborted(t *testing.T, s objectstore.Folder) {
	for _, size := range sizes {
		key := fmt.Sprintf("data/%d", size)
		u := mustUpload(t, s, key)
		if _, err := u.Write(pattern(size)); err != nil {
			t.Fatal(err)
		}
		u.Abort()
		unseen(t, s, key)
	}
}

func uploadCancelled(t *testing.T, s objectstore.Folder) {
	for _, size := range sizes {
		key := fmt.Sprintf("data/%d", size)
		signal := errors.New("SIGTERM")
		ctx, cancel := context.WithCancelCause(t.Context())
		u, err := s.Create(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		_, writeErr := u.Write(pattern(size))
		cancel(signal)
		err = u.Close()
		if writeErr != nil || !errors.Is(err, signal) {
			t.Errorf("%d bytes: got %v and %v, want the signal at the end", size, writeErr, err)
		}
		unseen(t, s, key)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := upload(ctx, s, "data/late", pattern(17<<20)); !errors.Is(err, context.Canceled) {
		t.Errorf("begun too late: got %v, want the end of the context", err)
	}
	unseen(t, s, "data/late")
}

func uploadEndsOnce(t *testing.T, s objectstore.Folder) {
	u := mustUpload(t, s, "data/a")
	if _, err := u.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	succeed(t, u.Close())
	if _, err := u.Write([]byte("b")); err == nil || u.Close() == nil {
		t.Error("an upload that was closed goes on")
	}
	u.Abort()
	if got := contents(t, s, "data/a"); string(got) != "a" {
		t.Errorf("got %q, want a", got)
	}
	u = mustUpload(t, s, "data/b")
	u.Abort()
	u.Abort()
	if u.Close() == nil {
		t.Error("an upload that was aborted is closed without an error")
	}
	unseen(t, s, "data/b")
}

func uploadsAtOnce(t *testing.T, s objectstore.Folder) {
	together(4, func(i int) {
		if err := upload(t.Context(), s, fmt.Sprint("data/", i), pattern(6<<20+i)); err != nil {
			t.Error(err)
		}
	})
	for i := range 4 {
		if got := contents(t, s, fmt.Sprint("data/", i)); !bytes.Equal(got, pattern(6<<20+i)) {
			t.Errorf("%d: got %d bytes, or others", i, len(got))
		}
	}
}

func readParts(t *testing.T, s objectstore.Folder) {
	data := pattern(100_000)
	succeed(t, upload(t.Context(), s, "data/a b=c/é.parquet", data))
	f := mustOpen(t, s, "data/a b=c/é.parquet")
	for _, c := range []struct{ at, length, want int }{
		{0, 1, 1}, {0, len(data), len(data)}, {99_999, 1, 1}, {50_000, 1000, 1000}, {99_990, 100, 10}, {100_000, 1, 0}, {200_000, 1, 0}, {5, 0, 0},
	} {
		b := make([]byte, c.length)
		n, err := f.ReadAt(b, int64(c.at))
		if n != c.want || (n < c.length) != errors.Is(err, io.EOF) || n == c.length && err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes at %d: got %d, %v, want %d", c.length, c.at, n, err, c.want)
		} else if n > 0 && !bytes.Equal(b[:n], data[c.at:c.at+n]) {
			t.Errorf("%d bytes at %d: got others", c.length, c.at)
		}
	}
	if n, err := f.ReadAt(make([]byte, 1), -1); err == nil {
		t.Errorf("at -1: got %d bytes", n)
	}
	succeed(t, f.Close())
}

func openAbsent(t *testing.T, s objectstore.Folder) {
	if f, err := s.Open(t.Context(), "data/none"); !errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("got %v, %v, want ErrNotFound", f, err)
	}
}

func entries(t *testing.T, s objectstore.Folder) {
	for _, key := range []string{"data/a", "data/b/c", "data/b.c", "database", "x"} {
		succeed(t, upload(t.Context(), s, key, []byte(key)))
	}
	succeed(t, s.Put(t.Context(), "data/z", []byte("1234567")))
	for _, c := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", []string{"data/a", "data/b.c", "data/b/c", "data/z", "database", "x"}},
		{"data/", "", []string{"data/a", "data/b.c", "data/b/c", "data/z"}},
		{"data/", "data/b.c", []string{"data/b/c", "data/z"}},
		{"none/", "", nil},
	} {
		var keys []string
		for entry, err := range s.Entries(t.Context(), c.prefix, c.after) {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, entry.Key)
			if want := len(entry.Key); entry.Size != int64(want) && entry.Key != "data/z" || entry.Key == "data/z" && entry.Size != 7 {
				t.Errorf("%s: got size %d", entry.Key, entry.Size)
			}
			if entry.Modified.IsZero() {
				t.Errorf("%s: got time %v", entry.Key, entry.Modified)
			}
			f := mustOpen(t, s, entry.Key)
			if got := f.Entry(); got.Key != entry.Key || got.Size != entry.Size || got.Modified.Unix() != entry.Modified.Unix() {
				t.Errorf("opened: got %+v, listed %+v", got, entry)
			}
			succeed(t, f.Close())
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%q after %q: got %v, want %v", c.prefix, c.after, keys, c.want)
		}
	}
}

func entriesEnd(t *testing.T, s objectstore.Folder) {
	for i := range 5 {
		succeed(t, s.Put(t.Context(), fmt.Sprint("data/", i), nil))
	}
	seen := 0
	for range s.Entries(t.Context(), "", "") {
		if seen++; seen == 2 {
			break
		}
	}
	if seen != 2 {
		t.Errorf("got %d", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for entry, err := range s.Entries(ctx, "", "") {
		if err == nil {
			t.Errorf("after the end of the context: got %v", entry)
		}
	}
}

func mustUpload(t *testing.T, s objectstore.Folder, key string) objectstore.Upload {
	t.Helper()
	u, err := s.Create(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mustOpen(t *testing.T, s objectstore.Folder, key string) objectstore.File {
	t.Helper()
	f, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func contents(t *testing.T, s objectstore.Folder, key string) []byte {
	t.Helper()
	f := mustOpen(t, s, key)
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Entry().Size))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unseen fails if there is anything of an object.
func unseen(t *testing.T, s objectstore.Folder, key string) {
	t.Helper()
	if f, err := s.Open(t.Context(), key); !errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("%s: got %v, %v, want ErrNotFound", key, f, err)
	}
	if keys, err := s.List(t.Context(), "", ""); err != nil || slices.Contains(keys, key) {
		t.Errorf("%s: got %v, %v, want that it is not listed", key, keys, err)
	}
}
