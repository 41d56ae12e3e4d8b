//go:build clouds

package lakesink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/rig"
)

var clouds = map[string]func(testing.TB) rig.Cloud{"GCS": rig.GCS, "Azure": rig.Azure}

// onClouds runs a test with a sink whose warehouse is on each cloud.
func onClouds(t *testing.T, test func(t *testing.T, s *Iceberg, o CatalogOptions), change ...func(*Options)) {
	for name, cloud := range clouds {
		t.Run(name, func(t *testing.T) {
			o := CatalogOptions{Type: "sql", URI: filepath.Join(t.TempDir(), "catalog.db"), Warehouse: cloud(t).Warehouse + "/lake"}
			c, err := open(t, o)
			if err != nil {
				t.Fatal(err)
			}
			options := testOptions()
			for _, f := range change {
				f(&options)
			}
			test(t, New(c, options), o)
		})
	}
}

func TestATableOnACloud(t *testing.T) {
	onClouds(t, func(t *testing.T, s *Iceberg, o CatalogOptions) {
		ctx := context.Background()
		if place, err := s.Probe(ctx, o); err != nil || !strings.HasPrefix(place, o.Warehouse) {
			t.Errorf("probe: got %q, %v", place, err)
		}
		if err := s.Create(ctx, rawSchema()); err != nil {
			t.Fatal(err)
		}
		commitMany(t, s, 6)
		if err := s.Maintain(ctx, nil); err != nil {
			t.Fatal(err)
		}
		wantOffsets(t, s.catalog, 60, 0)
		tbl := load(t, s.catalog)
		if n := len(tbl.Metadata().Snapshots()); n != 2 {
			t.Errorf("got %d snapshots, want 2 after expiry", n)
		}
		files, err := tbl.FS(ctx)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		if err := files.(iceio.ListableIO).WalkDir(tbl.Location(), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				kinds[kindOf(path)]++
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if kinds["data"] != 12 || kinds["list"] != 2 || kinds["probe"] != 0 {
			t.Errorf("got files %v, want 12 of data, 2 manifest lists and no probe", kinds)
		}
	}, func(o *Options) { o.ExpireEvery, o.KeepSnapshots = 3, 2 })
}

func kindOf(path string) string {
	switch {
	case strings.HasSuffix(path, ".parquet"):
		return "data"
	case strings.Contains(path, "/snap-"):
		return "list"
	case strings.Contains(path, probeName):
		return "probe"
	}
	return "metadata"
}

func TestAWriterThatIsOvertakenOnACloudAddsNothing(t *testing.T) {
	onClouds(t, func(t *testing.T, s *Iceberg, _ CatalogOptions) {
		if err := s.Create(context.Background(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, queryID, planN(0))
		mustApply(t, s, queryID, planN(1))
		if _, err := apply(newSink(s.catalog), queryID, planN(1)); err != nil {
			t.Errorf("the same batch again: %v", err)
		}
		if _, err := apply(newSink(s.catalog), queryID, planOf(1, 10, 25)); err == nil {
			t.Error("another plan for a batch that is there was accepted")
		}
		wantOffsets(t, s.catalog, 20, 0)
	})
}

// A data file of several parts, as it is written and as it is dropped.
func TestALargeFileOnACloud(t *testing.T) {
	onClouds(t, func(t *testing.T, _ *Iceberg, o CatalogOptions) {
		files, err := iceio.LoadFS(t.Context(), nil, o.Warehouse)
		if err != nil {
			t.Fatal(err)
		}
		w := &Writer{ctx: t.Context(), fs: files}
		content := bytes.Repeat([]byte("0123456789abcdef!"), 1<<20) // 17 MiB
		for _, size := range []int{100, 5 << 20, len(content)} {
			for _, drop := range []bool{true, false} {
				path := fmt.Sprintf("%s/data/%d-%v.parquet", o.Warehouse, size, drop)
				u, err := w.create(path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := u.Write(content[:size]); err != nil {
					t.Fatal(err)
				}
				if drop {
					u.abort()
					if size, err := storedSize(files, path); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s: got %d bytes, %v, want nothing", path, size, err)
					}
					continue
				}
				if err := u.close(); err != nil {
					t.Fatal(err)
				}
				f, err := files.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content[:size]) {
					t.Errorf("%s: got %d bytes, %v", path, len(got), err)
				}
			}
		}
	})
}
