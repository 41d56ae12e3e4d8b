//go:build integration

package lakesink

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/rig"
)

func TestWhatPostgreSQLRefusesIsSaidSo(t *testing.T) {
	db := rig.Postgres(t)
	db.Do(t, tablesOfJava...)
	fresh, limited := rig.Postgres(t), db.As(t, "limited", "SEKRET")
	nobody := fresh.As(t, "nobody", "SEKRET")
	db.Do(t, "GRANT SELECT ON iceberg_tables, iceberg_namespace_properties TO PUBLIC")
	with := func(uri string, change func(*url.URL)) string {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	parameter := func(name, value string) func(*url.URL) {
		return func(u *url.URL) { q := u.Query(); q.Set(name, value); u.RawQuery = q.Encode() }
	}
	for name, c := range map[string]struct {
		uri   string
		set   map[string]string
		class batch.Class
		words []string // the last is in the hint
	}{
		"wrong password":      {with(db.URL, func(u *url.URL) { u.User = url.UserPassword("sluice", "SEKRET") }), nil, batch.NotSetUp, []string{"password authentication failed", "pg_hba.conf"}},
		"no such database":    {with(db.URL, func(u *url.URL) { u.Path = "/nothere" }), nil, batch.NotSetUp, []string{`"nothere" does not exist`, "create the database"}},
		"no such host":        {with(db.URL, func(u *url.URL) { u.Host = "no.such.host.invalid" }), nil, batch.NotSetUp, []string{"no.such.host", "does not resolve"}},
		"nobody listens":      {with(db.URL, func(u *url.URL) { u.Host = "127.0.0.1:1" }), nil, batch.Failed, []string{"refused", "does not answer"}},
		"no TLS":              {with(db.URL, parameter("sslmode", "require")), nil, batch.NotSetUp, []string{"TLS", "sslmode"}},
		"unknown parameter":   {with(db.URL, parameter("bogus", "1")), nil, batch.NotSetUp, []string{"bogus", "parameter"}},
		"no such certificate": {with(db.URL, parameter("sslrootcert", "/not/there.pem")), nil, batch.NotSetUp, []string{"/not/there.pem", "postgresql://"}},
		"no URL":              {"postgresql://me:SEKRET/x@db:port/lake", nil, batch.NotSetUp, []string{"is no URL", "%2F"}},
		"may only read":       {limited, nil, batch.NotSetUp, []string{"may not write to the tables", "GRANT"}},
		"may make no tables":  {nobody, nil, batch.NotSetUp, []string{"may not make any", "GRANT CREATE"}},
		"is not to make any":  {fresh.URL, map[string]string{"init_catalog_tables": "false"}, batch.NotSetUp, []string{"init_catalog_tables is false", "leave the property out"}},
		"a standby":           {with(db.URL, parameter("default_transaction_read_only", "on")), nil, batch.NotSetUp, []string{"can only be read", "target_session_attrs"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := postgresOptions(t, c.uri)
			for key, value := range c.set {
				o.Properties[key] = value
			}
			cat, err := open(t, o)
			if err == nil {
				err = Unwritable(context.Background(), cat)
			}
			if err == nil {
				err = newSink(cat).Create(context.Background(), rawSchema())
			}
			last := len(c.words) - 1
			wantClass(t, err, c.class, c.words[:last]...)
			if hint := batch.HintOf(err); !strings.Contains(hint, c.words[last]) {
				t.Errorf("got the hint %q, want it to say %q", hint, c.words[last])
			}
			if text := err.Error() + batch.HintOf(err); strings.Contains(text, "SEKRET") || strings.Contains(text, "rig-secret") || strings.Contains(text, "\n") {
				t.Errorf("the error tells a password, or has more than a line: %q", text)
			}
			if left, err := filepath.Glob(filepath.Join(o.Warehouse, "*")); err != nil || len(left) > 0 {
				t.Errorf("something was left behind: %v, %v", left, err)
			}
		})
	}
}

// The driver reads a password from where psql would.
func TestAPasswordComesFromAFileOrTheEnvironment(t *testing.T) {
	const password = "rig-secret"
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("127.0.0.1:*:*:sluice:"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]func(*testing.T, *CatalogOptions){
		"PGPASSWORD": func(t *testing.T, _ *CatalogOptions) { t.Setenv("PGPASSWORD", password) },
		"PGPASSFILE": func(t *testing.T, _ *CatalogOptions) { t.Setenv("PGPASSFILE", file) },
		"a property of Java's": func(_ *testing.T, o *CatalogOptions) {
			o.URI = strings.Replace(o.URI, "sluice@", "", 1)
			o.Properties["jdbc.user"], o.Properties["jdbc.password"] = "sluice", password
		},
		"a parameter": func(_ *testing.T, o *CatalogOptions) {
			o.URI = "jdbc:" + strings.Replace(o.URI, "sluice@", "", 1) + "&ApplicationName=mine&user=sluice&password=" + password
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := postgresOptions(t, strings.Replace(rig.Postgres(t).URL, ":"+password, "", 1))
			set(t, &o)
			inPostgres(t, o)
			if strings.Contains(o.String(), password) || !strings.HasPrefix(o.String(), "sql postgresql://") {
				t.Errorf("the catalog is called %s", o)
			}
		})
	}
}
