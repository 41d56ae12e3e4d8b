package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"sluice/lakesink"
)

// alone makes sure that no other table of the catalog has files in the folders of this one, or this one in its: all files of
// the other would be orphans, and tables have been emptied in this way (https://github.com/apache/iceberg/issues/17213,
// https://github.com/apache/iceberg/issues/4265).
func (t *Table) alone(ctx context.Context, folders []string) error {
	others, err := t.others(ctx)
	if err != nil {
		return lakesink.Explain(fmt.Sprintf("see whether other tables have files in the folders of table %s", t.Name()), err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, id := range others {
		g.Go(func() error { return t.apart(ctx, folders, id) })
	}
	return g.Wait()
}

// others lists the other tables of the catalog.
func (t *Table) others(ctx context.Context) ([]table.Identifier, error) {
	var found []table.Identifier
	spaces, err := t.catalog().ListNamespaces(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	for len(spaces) > 0 {
		space := spaces[0]
		spaces = spaces[1:]
		for id, err := range t.catalog().ListTables(ctx, space) {
			if errors.Is(err, catalog.ErrNoSuchNamespace) { // dropped meanwhile
				break
			}
			if err != nil {
				return nil, fmt.Errorf("list the tables of %s: %w", strings.Join(space, "."), err)
			}
			if strings.Join(id, ".") != t.Name() {
				found = append(found, id)
			}
		}
		if flat(t.catalog()) {
			continue
		}
		below, err := t.catalog().ListNamespaces(ctx, space)
		if err != nil && !errors.Is(err, catalog.ErrNoSuchNamespace) {
			return nil, fmt.Errorf("list the namespaces in %s: %w", strings.Join(space, "."), err)
		}
		for _, b := range below {
			if len(b) > len(space) { // a catalog that lists the parent again would never end
				spaces = append(spaces, b)
			}
		}
	}
	return found, nil
}

// flat reports whether a catalog has namespaces of one level alone, and takes a question for more as an error.
func flat(c catalog.Catalog) bool {
	return c.CatalogType() == catalog.Glue || c.CatalogType() == catalog.Hive
}

// apart makes sure that another table's folders are no part of these, nor the other way round. A table that is gone, or whose
// metadata is, has no files that anybody could read.
func (t *Table) apart(ctx context.Context, folders []string, id table.Identifier) error {
	other, err := t.catalog().LoadTable(ctx, id)
	switch {
	case errors.Is(err, catalog.ErrNoSuchTable), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return lakesink.Explain(fmt.Sprintf("see where the files of table %s are", strings.Join(id, ".")), err)
	}
	for _, theirs := range lakesink.FoldersOf(other) {
		for _, ours := range folders {
			if within(canonical(theirs), canonical(ours)) || within(canonical(ours), canonical(theirs)) {
				return inconsistent(fmt.Sprintf("tables %s and %s share a folder (%s and %s): the files of one would be taken for orphans of the other", t.Name(), strings.Join(id, "."), ours, theirs),
					"nothing was removed; give each table a location of its own before orphans are removed", nil)
			}
		}
	}
	return nil
}

// ours makes sure that metadata files among the orphans are of this table: those of another, which may be in no catalog that
// is known here, say that the folder is shared. One that cannot be read says nothing, and stays.
func (s *search) ours(tbl *table.Table) error {
	uuid := tbl.Metadata().TableUUID().String()
	var mu sync.Mutex
	unread := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(readers)
	for _, f := range s.files {
		if !strings.HasSuffix(f.Path, ".metadata.json") && !strings.HasSuffix(f.Path, ".metadata.json.gz") {
			continue
		}
		g.Go(func() error {
			theirs, err := s.uuidIn(f.Path)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				unread[f.Path] = true
				return nil
			}
			if theirs != uuid && !slices.Contains(s.options.Dropped, theirs) {
				return inconsistent(fmt.Sprintf("%s is the metadata of another table (UUID %s, and table %s has %s): two tables share a folder", f.Path, theirs, s.table.Name(), uuid),
					"nothing was removed; find out what that table is: if it was dropped, say so with --dropped-table "+theirs+"; if not, give each table a location of its own", nil)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.files = slices.DeleteFunc(s.files, func(f lakesink.StoredFile) bool {
		if unread[f.Path] {
			s.result.Doubtful.add(f.Bytes)
		}
		return unread[f.Path]
	})
	return nil
}

// uuidIn reads the table's UUID in a metadata file.
func (s *search) uuidIn(address string) (string, error) {
	content, err := readWhole(s.store, address)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(address, ".gz.metadata.json") || path.Ext(address) == ".gz" {
		if content, err = unzip(content); err != nil {
			return "", err
		}
	}
	var m struct {
		UUID string `json:"table-uuid"`
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return "", err
	}
	return m.UUID, nil
}
