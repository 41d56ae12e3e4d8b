package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"

	"sluice/columns"
	"sluice/job"
	"sluice/lakesink"
	"sluice/lakesink/files"
	"sluice/objectstore"
	"sluice/runner"
	"sluice/verify"
)

// outlet is where rows or dead letters end up: an Iceberg table, or a folder of Parquet files.
type outlet interface {
	runner.Sink
	runner.Evolver
	// TableName and Describe name it, Describe with its kind and catalog.
	TableName() string
	Describe() string
	// Fits, Differences and Within compare it with the columns of rows.
	Fits(ctx context.Context, schema columns.Schema) error
	Differences(ctx context.Context, schema columns.Schema) ([]string, error)
	Within(ctx context.Context, schema columns.Schema, asTheTable bool) (*lakesink.Held, error)
	// Load reads it afresh for whoever reads its rows. One that is not there is catalog.ErrNoSuchTable.
	Load(ctx context.Context) (*table.Table, error)
	// Replay makes rows of dead letters; Replayed finds which of them are rows.
	Replay(ctx context.Context, letters []lakesink.Letterbox, o lakesink.ReplayOptions) (*lakesink.Replayed, error)
	Replayed(ctx context.Context, query string, letters lakesink.Places) (lakesink.Places, error)
}

// folder is a folder of Parquet files as an outlet. What reads it goes by the judge's reading of its manifests.
type folder struct {
	*files.Folder
	read verify.Folder
}

// Write adapts the concrete writer.
func (f *folder) Write(ctx context.Context, task *batch.Task, attempt string, schema columns.Schema) (runner.Writer, error) {
	writer, err := f.Folder.Write(ctx, task, attempt, schema)
	if err != nil {
		return nil, err
	}
	return writer, nil
}

// Load is outlet's. A folder that has lost some of its bookkeeping would seem to have fewer rows than it has: it is refused.
func (f *folder) Load(ctx context.Context) (*table.Table, error) {
	read := f.read // which a judge may hold meanwhile
	t, err := read.Load(ctx)
	if err == nil {
		err = read.Whole()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// loadForJudge reads a folder whatever it has lost.
func (f *folder) loadForJudge(ctx context.Context) (*table.Table, error) {
	read := f.read
	return read.Load(ctx)
}

// openFolder opens a folder of Parquet files. location may have the parameters of its store.
func openFolder(ctx context.Context, location string, options files.Options) (*folder, error) {
	if err := knownParameters(location); err != nil {
		return nil, err
	}
	books, err := objectstore.OpenShared(ctx, location)
	if err != nil {
		return nil, err
	}
	options.Location, options.CreatedBy = job.Folder(location), "sluice "+Version()
	if options.Store, err = storeOf(ctx, books, location); err != nil {
		return nil, lakesink.Explain("open the store of "+options.Location, err)
	}
	options.Objects = objects{books}
	return &folder{files.New(options), verify.Folder{Location: options.Location, Objects: objects{books}, Store: options.Store}}, nil
}

// storeOf is where the data files go. On S3 and on disks that is another client than the bookkeeping's.
func storeOf(ctx context.Context, books objectstore.Folder, location string) (iceio.IO, error) {
	folder := job.Folder(location)
	if scheme, _, ok := strings.Cut(folder, "://"); ok && scheme != "s3" {
		return lakesink.FolderStore(ctx, books, folder), nil
	}
	return lakesink.OpenStore(ctx, folder, storeProperties(location))
}

// knownParameters refuses what only the bookkeeping would heed, where data files go through another client, and a second way to
// say which folder it is.
func knownParameters(location string) error {
	_, query, _ := strings.Cut(location, "?")
	parameters, err := url.ParseQuery(query)
	if err != nil || !strings.Contains(location, "://") {
		return nil // whoever opens it says what is wrong
	}
	if !strings.HasPrefix(location, "s3://") {
		if parameters.Has("prefix") {
			return &usage{fmt.Errorf("the parameter prefix of %s is not taken for a folder of files", job.Folder(location)), "write the folder into the path; nothing was touched"}
		}
		return nil
	}
	for name := range parameters {
		if !slices.Contains([]string{"region", "endpoint", "use_path_style", "s3ForcePathStyle"}, name) {
			return &usage{fmt.Errorf("the parameter %s of %s is not taken for a folder of files", name, job.Folder(location)),
				"it takes region, endpoint and use_path_style; everything else comes from the environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, …); nothing was touched"}
		}
	}
	return nil
}

// storeProperties are the parameters of an address, which are those that a checkpoint's takes, under the names that the
// client for data files has for them.
func storeProperties(location string) map[string]string {
	properties := map[string]string{}
	u, err := url.Parse(location)
	if err != nil || !strings.Contains(location, "://") {
		return properties
	}
	for name, property := range map[string]string{"region": "s3.region", "endpoint": "s3.endpoint"} {
		if value := u.Query().Get(name); value != "" {
			properties[property] = value
		}
	}
	for _, name := range []string{"use_path_style", "s3ForcePathStyle"} {
		if u.Query().Get(name) == "true" {
			properties["s3.force-virtual-addressing"] = "false"
		}
	}
	if properties["s3.endpoint"] != "" && properties["s3.region"] == "" {
		properties["s3.region"] = "us-east-1" // stores of one place do not care which
	}
	return properties
}

// objects is a store of small objects as the bookkeeping of a folder.
type objects struct{ objectstore.Store }

// Get is that of files.Objects and verify.Objects.
func (o objects) Get(ctx context.Context, key string) ([]byte, error) {
	data, _, err := o.Store.Get(ctx, key)
	if errors.Is(err, objectstore.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return data, err
}

// Own is that of files.Objects.
func (o objects) Own(ctx context.Context, key string, data []byte) error {
	_, err := objectstore.PutOwned(ctx, o.Store, key, data)
	switch {
	case errors.Is(err, objectstore.ErrConflict):
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case errors.Is(err, objectstore.ErrAmbiguous):
		return fmt.Errorf("%w: %w", files.ErrUnknown, err)
	}
	return err
}
