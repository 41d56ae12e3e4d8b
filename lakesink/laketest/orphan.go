package laketest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// Orphan leaves of a table in a local folder what PyIceberg's expire_snapshots leaves: the current snapshot, with no
// parent. It edits the metadata file in its place. Those to keep stay as well, and are not part of the head's history.
func Orphan(t *table.Table, keep ...int64) error {
	u, err := url.Parse(t.MetadataLocation())
	if err != nil {
		return err
	}
	content, err := os.ReadFile(u.Path)
	if err != nil {
		return err
	}
	packed := strings.Contains(u.Path, ".gz.")
	if packed {
		if content, err = unpack(content); err != nil {
			return err
		}
	}
	if content, err = orphaned(content, t.CurrentSnapshot().SnapshotID, keep); err != nil {
		return err
	}
	if packed {
		content = pack(content)
	}
	return os.WriteFile(u.Path, content, 0o644)
}

func orphaned(metadata []byte, head int64, keep []int64) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &m); err != nil {
		return nil, err
	}
	for _, key := range []string{"snapshots", "snapshot-log"} {
		var all, kept []map[string]json.RawMessage
		if err := json.Unmarshal(m[key], &all); err != nil {
			return nil, err
		}
		for _, s := range all {
			var id int64
			if err := json.Unmarshal(s["snapshot-id"], &id); err != nil {
				return nil, err
			}
			if id == head {
				delete(s, "parent-snapshot-id")
			}
			if id == head || slices.Contains(keep, id) {
				kept = append(kept, s)
			}
		}
		text, err := json.Marshal(kept)
		if err != nil {
			return nil, err
		}
		m[key] = text
	}
	return json.Marshal(m)
}

func unpack(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(r)
	return plain, errors.Join(err, r.Close())
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
