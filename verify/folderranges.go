package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

const (
	rangeFolder = "_sluice_ranges/"
	// rangeSize is how many batches a range stands for. The newest of them always have manifests of their own.
	rangeSize = 100
)

func rangeName(query string, from int64) string {
	return fmt.Sprintf("%s%s/%d-%d.jsonl", rangeFolder, query, from, from+rangeSize)
}

// rangedManifest is the manifest of a batch in its range, nil if there is no range of it: where there is one, it counts, and
// not what stands alone under the batch's name.
func (f *Folder) rangedManifest(ctx context.Context, query string, n int64) (*manifest, error) {
	all, err := f.rangeOf(ctx, query, n-n%rangeSize)
	if all == nil || err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.Batch == n {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: %s lacks batch %d", errNoManifest, rangeName(query, n-n%rangeSize), n)
}

// rangeOf is the manifests of a range, nil if it was not listed, or is not there.
func (f *Folder) rangeOf(ctx context.Context, query string, from int64) ([]*manifest, error) {
	key := rangeName(query, from)
	if all, known := f.ranged[key]; known || !f.ranges[key] {
		return all, nil
	}
	text, err := f.Objects.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		f.ranged[key] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseRange(key, text, query, from)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoManifest, key, err)
	}
	f.ranged[key] = all
	return all, nil
}

// reread takes it that there may be a range of a batch after all, once, and reports whether it did.
func (f *Folder) reread(query string, n int64) bool {
	key := rangeName(query, n-n%rangeSize)
	if f.ranges[key] {
		return false
	}
	f.ranges[key] = true
	return true
}

// parseRange reads a line for the range and one for each manifest.
func parseRange(key string, text []byte, query string, from int64) ([]*manifest, error) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var head struct {
		V         int    `json:"v"`
		Query     string `json:"query"`
		From      int64  `json:"from"`
		Manifests int    `json:"manifests"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil {
		return nil, err
	}
	if head.V != 1 && head.V != 2 || head.Query != query || head.From != from || head.Manifests != len(lines)-1 {
		return nil, fmt.Errorf("it is of batches from %d of query %s, with %d of %d manifests", head.From, head.Query, len(lines)-1, head.Manifests)
	}
	all := []*manifest{}
	for _, line := range lines[1:] {
		var id struct {
			ID int64 `json:"id"`
		}
		m := &manifest{key: key}
		if err := errors.Join(json.Unmarshal([]byte(line), m), json.Unmarshal([]byte(line), &id)); err != nil {
			return nil, err
		}
		if m.Query != query || m.Batch < from || m.Batch >= from+rangeSize {
			return nil, fmt.Errorf("batch %d of query %s is in it", m.Batch, m.Query)
		}
		m.id = id.ID
		all = append(all, m)
	}
	return all, nil
}
