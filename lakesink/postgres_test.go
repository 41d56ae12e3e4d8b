package lakesink

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/batch"
)

func TestTheAnswersOfPostgreSQLHaveTheirClass(t *testing.T) {
	for code, want := range map[string]struct {
		class batch.Class
		hint  string
	}{
		"28P01": {batch.NotSetUp, "password"}, "28000": {batch.NotSetUp, "pg_hba.conf"}, "3D000": {batch.NotSetUp, "create the database"}, "3F000": {batch.NotSetUp, "search_path"},
		"42501": {batch.NotSetUp, "GRANT"}, "42P01": {batch.NotSetUp, "search_path"}, "42703": {batch.NotSetUp, "other columns"}, "22001": {batch.NotSetUp, "ALTER TABLE"},
		"25006": {batch.NotSetUp, "target_session_attrs"}, "40001": {batch.Failed, "run again"}, "40P01": {batch.Failed, "run again"}, "55P03": {batch.Failed, "pg_stat_activity"},
		"57014": {batch.Failed, "statement_timeout"}, "57P01": {batch.Failed, "restarted"}, "57P02": {batch.Failed, "restarted"}, "57P03": {batch.Failed, "restarted"},
		"53300": {batch.Failed, "pooler"}, "53100": {batch.Failed, "disk"}, "08006": {batch.Failed, "restarted"}, "XX000": {batch.Failed, "run again"},
	} {
		err := explain("read table db.orders", fmt.Errorf("load: %w", &pgconn.PgError{Severity: "ERROR", Code: code, Message: "no"}))
		if batch.ClassOf(err) != want.class || !strings.Contains(batch.HintOf(err), want.hint) {
			t.Errorf("%s: got %s, %q, want %s, %q", code, batch.ClassOf(err), batch.HintOf(err), want.class, want.hint)
		}
	}
}

// Of a file, the end says that it is damaged.
func TestTheEndOfAConnectionIsNotThatOfAFile(t *testing.T) {
	err := fmt.Errorf("error encountered loading table: %w", errHungUp)
	if isCutOff(err) || batch.ClassOf(explain("read", err)) != batch.Failed {
		t.Errorf("got %v", explain("read", err))
	}
}

func TestAnAddressOfPostgreSQLIsReadInEachOfItsForms(t *testing.T) {
	for uri, want := range map[string]string{
		"postgresql://me:p%40ss@db:5432/lake?sslmode=require": "postgresql://me:p%40ss@db:5432/lake?sslmode=require",
		"postgres://db/lake": "postgresql://db/lake",
		"jdbc:postgresql://db/lake?user=me&password=a%2Fb&ssl=true":   "postgresql://db/lake?password=a%2Fb&sslmode=verify-full&user=me",
		"postgresql+psycopg2://me@db/lake?password=a+b":               "postgresql://me@db/lake?password=a%2Bb",
		"jdbc:postgresql://db/lake?currentSchema=ice&socketTimeout=9": "postgresql://db/lake?search_path=ice",
		"jdbc:postgresql://a:1,b:2/lake?targetServerType=primary":     "postgresql://a:1,b:2/lake?target_session_attrs=primary",
		"postgresql://db/lake?options=-c%20lock_timeout%3D50":         "postgresql://db/lake?options=-c%20lock_timeout%3D50",
	} {
		u, err := postgresURL(uri)
		if err != nil || u.String() != want {
			t.Errorf("%s: got %v, %v, want %s", uri, u, err, want)
		}
		o := CatalogOptions{Type: "sql", URI: uri}
		if got := o.String(); !strings.HasPrefix(got, "sql postgresql://") || strings.ContainsAny(got, "@?") {
			t.Errorf("%s is called %s", uri, got)
		}
	}
}

func TestSeveralAttemptsToConnectAreToldOnOneLine(t *testing.T) {
	c, err := open(t, CatalogOptions{Type: "sql", URI: "postgresql://me:SEKRET@127.0.0.1:1,127.0.0.1:2/lake", Warehouse: t.TempDir()})
	wantClass(t, err, batch.Failed, "127.0.0.1:1", "127.0.0.1:2")
	if c != nil || strings.ContainsAny(err.Error(), "\n\t") || strings.Contains(err.Error(), "SEKRET") || strings.Count(err.Error(), "127.0.0.1:1 ") != 1 {
		t.Errorf("got %q", err)
	}
	var refused *pgconn.ConnectError
	if !errors.As(err, &refused) {
		t.Errorf("got %T", err)
	}
}

// Whether two addresses lead to one server cannot be told: a catalog that was moved is no second one.
func TestACatalogOnAServerIsNotTakenForAFile(t *testing.T) {
	was := "iceberg sql postgresql://old/etc/passwd db.orders"
	remark, err := CheckMoved("uuid", was, "iceberg sql postgresql://new/lake db.orders")
	if err != nil || !strings.Contains(remark, "postgresql://old") || strings.Contains(remark, "is gone") {
		t.Errorf("got %q, %v", remark, err)
	}
	u := &url.URL{Scheme: "file", Path: "/elsewhere/t"}
	if got := OddLocation(CatalogOptions{Type: "sql", URI: "postgresql://db/lake", Warehouse: "/lake"}, u.String()); got != "" {
		t.Errorf("got %q", got)
	}
}
