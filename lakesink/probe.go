package lakesink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/restcatalog"
)

const (
	// probeName begins the names of probes. By the convention of Hadoop, Hive and Spark a file whose name begins with an
	// underscore is no data; it has no extension that a pattern for data files would match.
	probeName = "_sluice-probe-"
	// tidyWithin bounds the removal of a probe whose writing failed, so that the failure is still told in time.
	tidyWithin = 1500 * time.Millisecond
)

// Probe finds out whether files can be written, read and removed where the table is, or where the options would put it:
// a small file is, and nothing is left, folders neither. It returns the place, which is empty where only the catalog knows it
// and does not tell before the namespace is there. What is missing or forbidden is a
// NotSetUp fault. If it is not known whether the file was written, or it cannot be removed, the error names it.
func (i *Iceberg) Probe(ctx context.Context, o CatalogOptions) (place string, err error) {
	ctx, cancel := i.soon(ctx)
	defer cancel()
	folders, open, err := i.writes(ctx, o)
	if err != nil {
		return "", explain(fmt.Sprintf("find out where the files of table %s go", i.TableName()), late(ctx, err))
	}
	if len(folders) == 0 {
		return "", nil
	}
	for _, folder := range folders {
		p := &probe{folder: folder, open: open, answer: i.options.Answer}
		if err := p.run(ctx); err != nil {
			return "", err
		}
	}
	return folders[0], nil
}

type openFS func(context.Context) (iceio.IO, error)

// writes lists the folders that a run writes to. The first is the table's own.
func (i *Iceberg) writes(ctx context.Context, o CatalogOptions) ([]string, openFS, error) {
	t, err := i.load(ctx)
	if err == nil {
		return foldersOf(t), t.FS, nil
	}
	if !isMissing(err) {
		return nil, nil, err
	}
	if server, ok := i.catalog.(*restcatalog.Catalog); ok {
		return i.staged(ctx, server)
	}
	folder, err := i.wouldBe(ctx, o)
	return []string{folder}, func(ctx context.Context) (iceio.IO, error) { return iceio.LoadFS(ctx, o.Properties, folder) }, err
}

// staged asks a server where it would put the table, which it is not made by.
func (i *Iceberg) staged(ctx context.Context, server *restcatalog.Catalog) ([]string, openFS, error) {
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "probe", Type: iceberg.PrimitiveTypes.String})
	t, err := server.Stage(ctx, i.table, schema, catalog.WithProperties(i.tableProperties()))
	switch {
	case isMissing(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return foldersOf(t), t.FS, nil
}

// foldersOf is a table's location, and those that its properties name elsewhere.
func foldersOf(t *table.Table) []string {
	folders := []string{strings.TrimRight(t.Location(), "/")}
	for _, key := range []string{table.WriteDataPathKey, table.WriteMetadataPathKey} {
		folder := strings.TrimRight(t.Properties()[key], "/")
		if folder != "" && !strings.HasPrefix(folder+"/", folders[0]+"/") && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// wouldBe is where the catalog puts the table when it makes it: a permission may hold there and not in the whole
// warehouse.
func (i *Iceberg) wouldBe(ctx context.Context, o CatalogOptions) (string, error) {
	warehouse, err := o.address()
	if err != nil {
		return "", err
	}
	namespace, name := catalog.NamespaceFromIdent(i.table), catalog.TableNameFromIdent(i.table)
	properties, err := i.catalog.LoadNamespaceProperties(ctx, namespace)
	if err != nil && !isMissing(err) {
		return "", err
	}
	if at := properties["location"]; at != "" {
		return url.JoinPath(at, name)
	}
	if o.Type == "hadoop" { // the table's path is its name
		return url.JoinPath(warehouse, i.table...)
	}
	return url.JoinPath(warehouse, strings.Join(namespace, ".")+".db", name)
}

// probe is one small file that is written, read and removed.
type probe struct {
	folder string
	open   openFS
	answer time.Duration
}

func (p *probe) run(ctx context.Context) error {
	path := p.folder + "/" + probeName + rand.Text()
	if isLocal(path) {
		defer removeFolders(missingFolders(filepath.Dir(localPath(path))))
	}
	content := []byte("sluice wrote this to see whether it may, and removes it at once\n")
	wrote, err := p.write(ctx, path, content)
	if err == nil {
		err = p.read(ctx, path, content)
	}
	if err != nil {
		err = explain(fmt.Sprintf("try to write and read %s", path), late(ctx, err))
	}
	if !wrote && batch.ClassOf(err) == batch.NotSetUp {
		return err // refused: there is nothing to remove
	}
	bound := p.answer
	if err != nil {
		bound = tidyWithin
	}
	removeErr := p.remove(ctx, path, bound)
	switch {
	case removeErr == nil || errors.Is(removeErr, fs.ErrNotExist):
		return err
	case err == nil:
		return explain(fmt.Sprintf("files can be written there and not removed; %s is left: remove it", path), removeErr)
	}
	return fmt.Errorf("%w (whether it was written is not known, nor could it be removed: %w)", err, removeErr)
}

// write reports whether the file is there, as far as the store says.
func (p *probe) write(ctx context.Context, path string, content []byte) (bool, error) {
	store, err := p.open(ctx)
	if err != nil {
		return false, err
	}
	to, ok := store.(iceio.WriteFileIO)
	if !ok {
		return false, fmt.Errorf("the store cannot be written to (%T)", store)
	}
	err = to.WriteFile(path, content)
	return err == nil, err
}

func (p *probe) read(ctx context.Context, path string, want []byte) error {
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	f, err := store.Open(path)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the store does not give back what it took: got %d bytes, want %d", len(got), len(want))
	}
	return nil
}

// remove also works when ctx has ended: what was written must not stay.
func (p *probe) remove(ctx context.Context, path string, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	return store.Remove(path)
}

// missingFolders lists what is not there of a folder and those above it, deepest first.
func missingFolders(path string) []string {
	var missing []string
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		path = filepath.Dir(path)
	}
}

// removeFolders removes empty folders. One that somebody has put something into meanwhile stays.
func removeFolders(paths []string) {
	for _, path := range paths {
		if os.Remove(path) != nil {
			return
		}
	}
}
