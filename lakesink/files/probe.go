package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink"
)

// Probe finds out whether data files can be written, read and removed in the folder, and whether its store creates an object
// only if there is none. Nothing is left. What is missing or forbidden is a NotSetUp fault.
func (f *Folder) Probe(ctx context.Context) error {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	if err := lakesink.ProbeFolder(ctx, f.options.Store, f.options.Location, f.options.Answer); err != nil {
		return err
	}
	return late(ctx, f.prove(ctx))
}

// proved is prove, once for every Folder: nothing is written to a store that lets every run win every batch.
func (f *Folder) proved(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.safe {
		return nil
	}
	err := f.prove(ctx)
	f.safe = err == nil
	return err
}

// prove creates an object twice, with other bytes the second time, and removes it.
func (f *Folder) prove(ctx context.Context) error {
	key := bookFolder + "probe-" + uuid.NewString()
	first, second := []byte("1 "+key), []byte("2 "+key)
	err := f.refused(ctx, key, first, second)
	removed := f.options.Objects.Delete(context.WithoutCancel(ctx), key)
	if err == nil && removed != nil {
		err = fmt.Errorf("remove the probe: %w", removed)
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", f.options.Objects, err)
	}
	return nil
}

func (f *Folder) refused(ctx context.Context, key string, first, second []byte) error {
	if err := f.options.Objects.Own(ctx, key, first); err != nil {
		return err
	}
	err := f.options.Objects.Own(ctx, key, second)
	there, readErr := f.options.Objects.Get(ctx, key)
	switch {
	case readErr != nil:
		return readErr
	case errors.Is(err, fs.ErrExist) && string(there) == string(first):
		return nil
	case err != nil && string(there) == string(first):
		return err
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: "the store does not enforce conditional writes: it replaced an object that was to be created", Err: err,
		Hint: "put the files on a store that enforces If-None-Match on PUT (Amazon S3 and most that speak like it, in a current version; no caching proxy in between), or in a folder: /data/…"}
}

// Within says what the folder has of a schema, as a table does; all of it, where there is no folder.
func (f *Folder) Within(ctx context.Context, schema columns.Schema, asTheTable bool) (*lakesink.Held, error) {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	s, err := f.look(ctx)
	switch {
	case err != nil:
		return nil, late(ctx, err)
	case s.schema == nil:
		return &lakesink.Held{Columns: schema}, nil
	}
	return lakesink.WithinColumns(rowsOf(s.schema.Columns), schema, asTheTable), nil
}
