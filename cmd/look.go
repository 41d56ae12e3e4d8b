package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go/catalog"
)

// look is the line to paste into DuckDB to see the rows; empty if the table cannot be read now.
func (l *pipeline) look(ctx context.Context) string {
	t, err := l.catalog.LoadTable(ctx, catalog.ToIdentifier(l.job.Sink.Iceberg.Table))
	if err != nil {
		return ""
	}
	path := strings.ReplaceAll(strings.TrimPrefix(t.MetadataLocation(), "file://"), "'", "''")
	return fmt.Sprintf("INSTALL iceberg; LOAD iceberg; SELECT * FROM iceberg_scan('%s') LIMIT 10;", path)
}
