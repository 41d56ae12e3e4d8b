package lakesink

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresForm says whether an address is that of a PostgreSQL database: postgresql:// or postgres:// as libpq has it, with
// jdbc: before it as JDBC has, or postgresql+psycopg2:// as SQLAlchemy, and with it PyIceberg, names a driver. rest is what
// follows the slashes.
func postgresForm(uri string) (rest string, ok bool) {
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(uri, "jdbc:"), "://")
	dialect, _, _ := strings.Cut(scheme, "+")
	return rest, dialect == "postgresql" || dialect == "postgres"
}

// ofJDBC are parameters by the names of JDBC's driver (https://jdbc.postgresql.org/documentation/use/), and libpq's for them;
// those without one only concern that driver.
var ofJDBC = map[string]string{
	"currentSchema": "search_path", "ApplicationName": "application_name", "connectTimeout": "connect_timeout", "loginTimeout": "connect_timeout",
	"socketTimeout": "", "tcpKeepAlive": "", "prepareThreshold": "", "reWriteBatchedInserts": "", "sslfactory": "", "stringtype": "", "assumeMinServerVersion": "",
}

// postgresURL is an address as the driver takes it.
func postgresURL(uri string) (*url.URL, error) {
	rest, _ := postgresForm(uri)
	u, err := url.Parse("postgresql://" + rest)
	if err != nil { // the error has the address in it, and with it the password
		return nil, notSetUp("the address of the sql catalog is no URL", addressHint, nil)
	}
	u.RawQuery = strings.ReplaceAll(u.RawQuery, "+", "%2B") // to libpq it is itself, no blank
	given, parameters := u.Query(), url.Values{}
	for name, values := range given {
		if other, ok := ofJDBC[name]; ok {
			name = other
		}
		if name != "" && name != "ssl" && name != "targetServerType" {
			parameters[name] = values
		}
	}
	if given.Get("ssl") == "true" && given.Get("sslmode") == "" {
		parameters.Set("sslmode", "verify-full") // as JDBC means it
	}
	if which := given.Get("targetServerType"); which == "primary" || which == "master" {
		parameters.Set("target_session_attrs", "primary")
	}
	u.RawQuery = strings.ReplaceAll(parameters.Encode(), "+", "%20")
	return u, nil
}

func userOf(name, password string) *url.Userinfo {
	if password == "" {
		return url.User(name)
	}
	return url.UserPassword(name, password)
}

// postgresName is an address without secrets, the same for all forms of it.
func postgresName(uri string) string {
	rest, _ := postgresForm(uri)
	return withoutSecrets("postgresql://" + rest)
}

// plainCause is why the driver does not take an address, without the address.
func plainCause(err error) string {
	var refused *pgconn.ParseConfigError
	if cause := errors.Unwrap(err); errors.As(err, &refused) && cause != nil {
		return cause.Error()
	}
	text := err.Error()
	if _, after, ok := strings.Cut(text, "`: "); ok {
		return after
	}
	return "it is not one of PostgreSQL's"
}
