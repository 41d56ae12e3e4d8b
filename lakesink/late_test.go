package lakesink

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"sluice/lakesink/laketest"
)

// Between the catalog's answer and the reading of the metadata that it names, later commits may remove that: a run that
// was stopped meanwhile looks again.
func TestMetadataThatIsGoneByNowIsLookedUpAgain(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	for gone, want := range map[int]bool{0: true, 1: true, 2: false} {
		slow, failed := laketest.Wrap(c, &laketest.Script{}), 0
		slow.FailLoad = func() error {
			if failed++; failed <= gone {
				return fmt.Errorf("read metadata: %w", fs.ErrNotExist)
			}
			return nil
		}
		got, err := newSink(slow).Table(context.Background(), queryID)
		if (err == nil) != want || err == nil && got.Applied.Batch != 0 {
			t.Errorf("gone %d times: got %+v, %v", gone, got, err)
		}
	}
}
