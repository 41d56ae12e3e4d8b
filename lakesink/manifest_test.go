package lakesink

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

func manifests(t testing.TB, tbl *table.Table) []iceberg.ManifestFile {
	t.Helper()
	fs, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	list, err := tbl.CurrentSnapshot().Manifests(fs)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// liveFiles lists the data files of the head as its manifests have them.
func liveFiles(t testing.TB, tbl *table.Table) []iceberg.DataFile {
	t.Helper()
	fs, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var files []iceberg.DataFile
	for _, m := range manifests(t, tbl) {
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, e.DataFile())
		}
	}
	return files
}

// emptyCounters rewrites the head's manifest list so that every manifest claims to have no file, as some engines wrote
// them.
func emptyCounters(t testing.TB, c catalog.Catalog) {
	t.Helper()
	tbl := load(t, c)
	head := tbl.CurrentSnapshot()
	var out bytes.Buffer
	w, err := iceberg.NewManifestListWriterV2(&out, head.SnapshotID, head.SequenceNumber, head.ParentSnapshotID)
	if err != nil {
		t.Fatal(err)
	}
	var list []iceberg.ManifestFile
	for _, m := range manifests(t, tbl) {
		list = append(list, iceberg.NewManifestFile(2, m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
			AddedFiles(0).ExistingFiles(0).DeletedFiles(0).AddedRows(0).ExistingRows(0).DeletedRows(0).
			SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Build())
	}
	if err := w.AddManifests(list); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(localPath(head.ManifestList), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func paths(files []iceberg.DataFile) map[string]int {
	seen := map[string]int{}
	for _, f := range files {
		seen[f.FilePath()]++
	}
	return seen
}
