package lakesink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/iceberg-go/table"
	"gocloud.dev/gcerrors"
)

// isGone says that a store has no file of that name.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || gcerrors.Code(err) == gcerrors.NotFound
}

// unprepared is why the batch could not be staged on a reading of the table. A manifest that is not there was deleted from
// the store by somebody, unless the table has moved on meanwhile and its maintenance took what that reading refers to.
func (d *deal) unprepared(ctx context.Context, t *table.Table, err error) error {
	doing := fmt.Sprintf("prepare the commit of batch %d to table %s", d.commit.Plan.Batch, d.sink.TableName())
	if !isGone(err) {
		return explain(doing, err)
	}
	if now, loadErr := d.read(ctx); loadErr != nil || now.MetadataLocation() != t.MetadataLocation() {
		return explain(doing, errors.Join(fmt.Errorf("the table has changed meanwhile: %w", err), loadErr))
	}
	return notSetUp(doing+": a file of the table's metadata was deleted from the store",
		"restore the file (from a backup, or a version that the bucket keeps), or let the table go back to a snapshot that is whole; sluice verify says what else is missing", err)
}
