//go:build integration && soak

package lakesink

import (
	"flag"
	"testing"

	"github.com/apache/iceberg-go/catalog"
)

var crowdBatches = flag.Int("crowd-batches", 10, "`how many` batches each of a hundred queries commits in TestSoakAHundredQueries")

// The same with many batches each: nobody starves however long it goes on.
func TestSoakAHundredQueries(t *testing.T) {
	dir := t.TempDir()
	c := &crowd{queries: 100, batches: *crowdBatches, rows: 5, open: func() catalog.Catalog { return openSQLite(t, dir) }}
	c.proves(t, dir)
}
