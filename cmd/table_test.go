package cmd_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/lakesink/rowtest"
)

// catalogOf opens a SQL catalog as any other program would.
func catalogOf(t testing.TB, file, warehouse string) catalog.Catalog {
	t.Helper()
	return sharedCatalog(t, "sqlite", "file:"+file, sqlcatalog.SQLite, warehouse)
}

func sharedCatalog(t testing.TB, driver, address string, dialect sqlcatalog.SupportedDialect, warehouse string) catalog.Catalog {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := sqlcatalog.NewCatalog("default", db, dialect, iceberg.Properties{"warehouse": warehouse, "init_catalog_tables": "false"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// catalogVariable is where an address with a password comes from: a flag may not hold it.
const catalogVariable = "SLUICE_SINK_ICEBERG_CATALOG_URI="

// catalogURI is the address of the catalog, from a flag or else from the environment; empty for a catalog in dir.
func (p *pipeline) catalogURI() string {
	if uri := p.flag("--catalog-uri"); uri != "" {
		return uri
	}
	for _, variable := range p.environ {
		if uri, ok := strings.CutPrefix(variable, catalogVariable); ok {
			return uri
		}
	}
	return ""
}

func (p *pipeline) catalog(t testing.TB) catalog.Catalog {
	t.Helper()
	if uri := p.catalogURI(); strings.HasPrefix(uri, "postgresql://") {
		return sharedCatalog(t, "pgx", uri, sqlcatalog.Postgres, "file://"+p.dir)
	}
	return catalogOf(t, filepath.Join(p.dir, "catalog.db"), "file://"+p.dir)
}

func (p *pipeline) table(t testing.TB) *table.Table {
	t.Helper()
	tbl, err := p.catalog(t).LoadTable(context.Background(), catalog.ToIdentifier(tableOfTests))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// change commits a transaction of somebody else to the table.
func (p *pipeline) change(t testing.TB, do func(*table.Transaction) error) {
	t.Helper()
	tx := p.table(t).NewTransaction()
	if err := do(tx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// scan reads all rows with iceberg-go's own reader, each as text.
func scan(t testing.TB, tbl *table.Table) []string {
	t.Helper()
	_, batches, err := tbl.Scan().ToArrowRecords(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for b, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rowtest.FromArrow(b) {
			rows = append(rows, rowtest.Text(row))
		}
		b.Release()
	}
	slices.Sort(rows)
	return rows
}

// sparkRow is the row that Spark's Kafka source makes of a record.
func sparkRow(r *kgo.Record, headers bool) string {
	var key, value any
	if r.Key != nil {
		key = r.Key
	}
	if r.Value != nil {
		value = r.Value
	}
	row := []any{key, value, r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli() * 1000, int32(r.Attrs.TimestampType())}
	if headers {
		row = append(row, sparkHeaders(r))
	}
	return rowtest.Text(row)
}

func sparkHeaders(r *kgo.Record) any {
	if len(r.Headers) == 0 {
		return nil
	}
	var list []any
	for _, h := range r.Headers {
		var value any
		if h.Value != nil {
			value = h.Value
		}
		list = append(list, []any{h.Key, value})
	}
	return list
}

// wantRows fails the test unless the table holds exactly the records, each once, as Spark's columns.
func wantRows(t testing.TB, tbl *table.Table, records []*kgo.Record, headers bool) {
	t.Helper()
	var want []string
	for _, r := range records {
		want = append(want, sparkRow(r, headers))
	}
	slices.Sort(want)
	if got := scan(t, tbl); !slices.Equal(got, want) {
		t.Fatalf("got %d rows, want %d: %s", len(got), len(want), difference(got, want))
	}
}

// difference names the first rows that one list has more often than the other.
func difference(got, want []string) string {
	counts := map[string]int{}
	for _, r := range got {
		counts[r]++
	}
	for _, r := range want {
		counts[r]--
	}
	var wrong []string
	for r, n := range counts {
		if n != 0 {
			wrong = append(wrong, fmt.Sprintf("%+d of %s", n, r))
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong[:min(5, len(wrong))], "; ")
}

// wantAll fails the test unless the table holds every record of the topic once, and verify agrees.
func (p *pipeline) wantAll(t testing.TB, topics ...string) {
	t.Helper()
	wantRows(t, p.table(t), p.kafka.of(func(r *kgo.Record) bool { return slices.Contains(topics, r.Topic) }), false)
	p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "duplicates", 0, "missing", 0, "unexpected", 0)
}

// files lists the files below a folder that match, by their names.
func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ok, err := filepath.Match(pattern, entry.Name()); err != nil || ok {
			found = append(found, path)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// millis is a time as Kafka stores it.
func millis(ms int64) time.Time { return time.UnixMilli(ms) }
