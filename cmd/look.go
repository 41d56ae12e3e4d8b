package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go/catalog"
	"github.com/urfave/cli/v2"

	"sluice/progress"
)

// wantsLook says whether the summary of a run should end with how to see the rows: where somebody reads it, and in the run
// that wrote a query's first batch, which is tried by hand even if its output is kept in a file. In a log that cron adds
// to it would be said again with each run.
func (p *process) wantsLook(c *cli.Context, s *progress.Summary) bool {
	if p.json || c.Bool(flagQuiet) || s.Rows == 0 {
		return false
	}
	return s.FirstBatch == 0 || progress.IsTerminal(p.stdout)
}

// look is the line to paste into DuckDB to see the rows; empty if the table cannot be read now, or not by DuckDB: it
// takes the URIs in a table's metadata for paths, and does not find files below a folder that a URI has to escape.
func (l *pipeline) look(ctx context.Context) string {
	if f, ok := l.sink.(*folder); ok {
		return f.look(ctx)
	}
	t, err := l.catalog.LoadTable(ctx, catalog.ToIdentifier(l.job.Sink.Iceberg.Table))
	if err != nil {
		return ""
	}
	path := strings.TrimPrefix(t.MetadataLocation(), "file://")
	if path != t.MetadataLocation() && strings.Contains(path, "%") {
		return ""
	}
	return fmt.Sprintf("INSTALL iceberg; LOAD iceberg; SELECT * FROM iceberg_scan('%s') LIMIT 10;", strings.ReplaceAll(path, "'", "''"))
}
