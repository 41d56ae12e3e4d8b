package hivecatalog

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/klauspost/compress/zstd"

	"sluice/lakesink/hivecatalog/thrift"
)

// CommitTable makes a new state of a table, which is written first, the table's own, while the table is what the requirements say
// and its metadata is the one that was read for it. Where somebody else was faster the error wraps table.ErrCommitFailed. *Locked:
// nothing was altered. *Careless: the server does not honour conditions, nothing was altered. After any other error it may have
// been, or may be yet: the table says.
func (c *Catalog) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	n, err := nameOf(id)
	if err != nil {
		return nil, "", err
	}
	var t *table.Table
	err = c.tell(ctx, func(k *conn) error {
		record, err := c.lookUp(ctx, k, n)
		if err != nil {
			return err
		}
		base, err := c.read(ctx, id, record)
		if err != nil {
			return err
		}
		for _, r := range requirements {
			if err := r.Validate(base.Metadata()); err != nil {
				return fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
			}
		}
		metadata, err := table.UpdateTableMetadata(base.Metadata(), updates, base.MetadataLocation())
		if err != nil {
			return err
		}
		if metadata.Equals(base.Metadata()) {
			t = base
			return nil
		}
		if t, err = c.write(ctx, id, metadata, versionOf(base.MetadataLocation())+1); err != nil {
			return err
		}
		return c.swap(ctx, k, n, base, t)
	})
	if err != nil {
		return nil, "", err
	}
	return t.Metadata(), t.MetadataLocation(), nil
}

// swap puts t in the place of base.
func (c *Catalog) swap(ctx context.Context, k *conn, n name, base, t *table.Table) error {
	if !c.locks(base.Properties()) {
		return c.alter(ctx, k, n, base, t, nil)
	}
	l, err := c.lock(ctx, k, n)
	if err != nil {
		return err
	}
	err = c.alter(ctx, k, n, base, t, l)
	var broken *Broken
	if errors.As(err, &broken) {
		return c.settle(ctx, n, t, l, err)
	}
	if err == nil {
		if gone := l.held(ctx, k); gone != nil {
			return c.settle(ctx, n, t, l, gone)
		}
	}
	_ = l.end(ctx, k) // what is left of it ends by itself, and the commit is what it is
	return err
}

// alter replaces the record, which is read anew: under the lock, if there is one.
func (c *Catalog) alter(ctx context.Context, k *conn, n name, base, t *table.Table, l *lock) error {
	record, err := c.lookUp(ctx, k, n)
	if err != nil {
		return err
	}
	if at := record.Texts(tableParameters)[metadataLocation]; at != base.MetadataLocation() {
		return fmt.Errorf("%w: the metadata of table %s is %s by now, and was %s", table.ErrCommitFailed, n, at, base.MetadataLocation())
	}
	updated, err := c.updated(record, base, t)
	if err != nil {
		return err
	}
	if err := c.prove(ctx, k, n, record); err != nil {
		return err
	}
	if l != nil && c.options.Now().Sub(l.alive) > c.waits.fresh {
		if err := l.held(ctx, k); err != nil {
			return err
		}
	}
	err = k.alterTable(ctx, n, updated, base.MetadataLocation())
	if !isConflict(err) {
		return err
	}
	// A server that has tried twice is told of a conflict with itself.
	if record, again := c.lookUp(ctx, k, n); again == nil && record.Texts(tableParameters)[metadataLocation] == t.MetadataLocation() {
		return nil
	}
	return fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
}

// isConflict says that an alteration found other metadata than it expected. Metastores and proxies before them throw different
// exceptions with the same words.
func isConflict(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && strings.Contains(refusal.Message, "The table has been modified. The parameter value for key '"+metadataLocation+"'")
}

// Careless is a server that alters tables whatever the alteration expects to find.
type Careless struct {
	Address string
	// Words are what it said to an alteration that expected something else.
	Words string
}

// Error says what is wrong with it.
func (c *Careless) Error() string {
	return fmt.Sprintf("the metastore at thrift://%s alters tables unconditionally (it lacks HIVE-26882): to an alteration of metadata that is not there it says: %s", c.Address, c.Words)
}

// IsRefusal says whether an answer to a commit or a creation is a no that will be the same the next time.
func IsRefusal(err error) bool {
	var careless *Careless
	var foreign *Foreign
	var misuse *Misuse
	return errors.As(err, &careless) || errors.As(err, &foreign) || errors.As(err, &misuse) || isRefusal(err, invalidObject, unknownMethod)
}

// prove finds out, once for each connection, whether the server honours what an alteration expects to find. It is asked for one
// that expects what cannot be there, and that also gives the table a partition column, which no metastore lets an alteration do:
// one that honours conditions refuses it for the first reason, any other for the second, and nothing is altered
// (HiveAlterHandler.alterTable looks at these in that order).
func (c *Catalog) prove(ctx context.Context, k *conn, n name, record thrift.Struct) error {
	if k.proven {
		return nil
	}
	impossible := maps.Clone(record)
	columns := slices.Clone(record.List(tablePartitioned))
	impossible[tablePartitioned] = thrift.List{Of: thrift.Record, Items: append(columns, thrift.Struct{1: "sluice_probe", 2: "string", 3: ""})}
	err := k.alterTable(ctx, n, impossible, "sluice asks whether expectations are honoured")
	switch {
	case isConflict(err):
		k.proven = true
		return nil
	case err == nil:
		return &Careless{k.address, "yes"}
	case isRefusal(err, invalidOperation):
		var refusal *Refusal
		errors.As(err, &refusal)
		return &Careless{k.address, refusal.Message}
	}
	return fmt.Errorf("ask whether expectations are honoured: %w", err)
}

// settle finds out, over a connection of its own and under a lock, what became of an alteration that was not answered, or whose
// lock had ended before the answer: a writer that alters unconditionally may have been under way with an older record. cause is
// returned where it cannot be found out, or where the table is not (yet) ours.
func (c *Catalog) settle(ctx context.Context, n name, t *table.Table, l *lock, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	ours := false
	err := c.tell(ctx, func(k *conn) error {
		if err := l.held(ctx, k); err != nil {
			if l, err = c.lock(ctx, k, n); err != nil {
				return err
			}
		}
		record, err := c.lookUp(ctx, k, n)
		if err == nil {
			ours, err = c.descends(ctx, record, t)
		}
		_ = l.end(ctx, k)
		return err
	})
	if ours {
		return nil
	}
	return errors.Join(cause, err)
}

// settleWithin bounds how long it is tried to find out what became of an alteration.
const settleWithin = time.Minute

// descends says whether the table of a record is t, or was made of it.
func (c *Catalog) descends(ctx context.Context, record thrift.Struct, t *table.Table) (bool, error) {
	if record.Texts(tableParameters)[metadataLocation] == t.MetadataLocation() {
		return true, nil
	}
	now, err := c.read(ctx, t.Identifier(), record)
	if err != nil {
		return false, err
	}
	for entry := range now.Metadata().PreviousFiles() {
		if entry.MetadataFile == t.MetadataLocation() {
			return true, nil
		}
	}
	return false, nil
}

// metadataName is the name of a file of metadata: its number, and a UUID.
var metadataName = regexp.MustCompile(`^v?(\d+)(?:-[\w-]{36})?(?:\.\w+)?\.metadata\.json(?:\.gz)?$`)

// versionOf is the number of a file of metadata, -1 where its name tells none.
func versionOf(location string) int {
	m := metadataName.FindStringSubmatch(path.Base(location))
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return -1
	}
	return n
}

// write writes metadata into a file of its own, and returns the table that it would be.
func (c *Catalog) write(ctx context.Context, id table.Identifier, metadata table.Metadata, version int) (*table.Table, error) {
	places, err := table.LoadLocationProvider(metadata.Location(), metadata.Properties())
	if err != nil {
		return nil, err
	}
	at, err := places.NewTableMetadataFileLocation(version)
	if err != nil {
		return nil, err
	}
	properties := iceberg.Properties{}
	maps.Copy(properties, c.options.Properties)
	maps.Copy(properties, metadata.Properties())
	t := table.New(id, metadata, at, iceio.LoadFSFunc(properties, at), c)
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	to, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("the store of %s cannot be written to", at)
	}
	return t, writeMetadata(to, t)
}

func writeMetadata(to iceio.WriteFileIO, t *table.Table) (err error) {
	file, err := to.Create(t.MetadataLocation())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed, err := packer(file, t.Properties().Get(table.MetadataCompressionKey, table.MetadataCompressionDefault))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(packed).Encode(t.Metadata()); err != nil {
		return err
	}
	return packed.Close()
}

// packer compresses what is written to it.
func packer(to io.Writer, codec string) (io.WriteCloser, error) {
	switch codec {
	case table.MetadataCompressionCodecGzip:
		return gzip.NewWriter(to), nil
	case table.MetadataCompressionCodecZstd:
		return zstd.NewWriter(to)
	case table.MetadataCompressionCodecNone:
		return unpacked{to}, nil
	}
	return nil, fmt.Errorf("%s is %q, which is not known", table.MetadataCompressionKey, codec)
}

type unpacked struct{ io.Writer }

// Close leaves the file open.
func (unpacked) Close() error { return nil }

// milliseconds is a property in milliseconds.
func milliseconds(text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q, no number of milliseconds", text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
