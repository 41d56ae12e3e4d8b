package job

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// catalogTypes are the types of catalogs, the default first.
var catalogTypes = []string{"sql", "hadoop", restType, "glue", hiveType}

// addressesOf are the schemes of the addresses of catalogs on servers, and the types that they are of.
var addressesOf = map[string]string{"postgresql": "sql", "thrift": hiveType}

// postgresForms are postgresql:// and postgres://, with the driver that SQLAlchemy names behind a plus, or jdbc: before it.
var postgresForms = regexp.MustCompile(`^(?:jdbc:)?postgres(?:ql)?(?:\+[A-Za-z0-9_]+)?://`)

// catalogAddress is where a catalog is: the path of a SQLite database, or a URL of it as SQLAlchemy and PyIceberg write it,
// or the address of a server. Whether it fits the catalog's type is looked at later.
var catalogAddress = words("location", "the path of a SQLite database, postgresql://host/database, https://host/path of a REST catalog, or thrift://host:9083 of a Hive metastore", func(s string) (string, error) {
	if at := postgresForms.FindString(s); at != "" {
		return serverAddress("postgresql://" + strings.TrimPrefix(s, at))
	}
	if metastoreAddress.MatchString(s) {
		return metastores(s)
	}
	if httpAddress.MatchString(s) {
		return strings.TrimRight(s, "/"), checkServer(s)
	}
	m := urlScheme.FindStringSubmatch(s)
	switch {
	case m == nil || m[1] == "file" || m[1] == "sqlite":
		return sqliteFile(s, m)
	case addressesOf[m[1]] == "":
		return "", fmt.Errorf("is no address of a catalog that is known here")
	}
	return serverAddress(s)
})

func serverAddress(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", fmt.Errorf("holds blanks or control characters")
	}
	return s, nil
}

// postgresWay says how a database of PostgreSQL is given.
const postgresWay = "PostgreSQL is postgresql://user@host/database, and its password comes from PGPASSWORD, PGPASSFILE or ${file:…}"

// connectionWords are libpq's keywords in its form "host=db user=etl", and ADO's and ODBC's words for them, at the beginning of
// a text or behind what separates two of them; a folder year=2026 or host=a in a path is behind a slash.
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
var connectionWords = regexp.MustCompile(`(?i)(?:^|[\s;,&?])(?:host|hostaddr|port|user|username|user id|uid|password|pwd|passfile|dbname|database|server|` +
	`driver|service|servicefile|options|application_name|connect_timeout|target_session_attrs|ssl[a-z_]+|gss[a-z]+|krbsrvname|channel_binding|require_auth)\s*=`)

// otherScheme is what begins an address that is neither a path nor a URL, such as jdbc:mysql://db or postgresql:/db.
var otherScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// isConnection says that a text is more likely how a database is connected to than the path of a file.
func isConnection(s string) bool {
	path, ofFile := strings.CutPrefix(s, "file:")
	return connectionWords.MatchString(path) || holdsSecret(path) || !ofFile && otherScheme.MatchString(path)
}

// catalogURI is catalogAddress without passwords in flags.
var catalogURI = func() kind[string] {
	k := catalogAddress
	k.read = func(t term) (string, []fault) {
		uri, faults := catalogAddress.read(t)
		if faults == nil && t.at.Layer == Flag && passwordIn(uri) {
			return "", faultOf(t.at, "holds a password, and every user of the machine can read the flags of a process: use the variable "+
				envName(catalogURIPath)+", or ${file:…} in a job file, or leave it out of the address and give it as PGPASSWORD or PGPASSFILE")
		}
		return uri, faults
	}
	return k
}()

// passwordIn says whether an address has a password in it, before the host or among the parameters.
func passwordIn(address string) bool {
	u, err := url.Parse(address)
	if err != nil { // a password with a slash or a percent sign in it, perhaps
		return Redact("", address) != address
	}
	if password, _ := u.User.Password(); password != "" {
		return true
	}
	for name := range u.Query() {
		if SecretName(name) {
			return true
		}
	}
	return false
}

// sqliteFile is the database of a sql catalog: m are the parts of its URL, nil for a path.
func sqliteFile(s string, m []string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", fmt.Errorf("is empty")
	case m == nil && isConnection(s):
		return "", unquoted("is no path of a SQLite database: it looks like how another program connects to a database, with a secret perhaps, " +
			"and would become the name of a file. " + postgresWay + "; a file of this name begins with ./")
	case m == nil:
		s = strings.TrimPrefix(s, "file:")
		return s, checkPath(s)
	case m[1] == "file":
		return filePath(s)
	}
	path := strings.TrimPrefix(s, "sqlite:///") // four slashes begin an absolute path, three a relative one
	if path == "" || path == s || strings.ContainsAny(path, "?#") {
		return "", fmt.Errorf("is no SQLite database")
	}
	return path, checkPath(path)
}

// checkCatalog reports what does not go with the type of the catalog.
func (l *loading) checkCatalog() {
	catalog := &l.job.Sink.Iceberg.Catalog
	uri, remote := l.touched[catalogURIPath], catalog.Warehouse != "" && !isLocal(catalog.Warehouse)
	given := uri.Layer != Unset && !l.isWrong(catalogURIPath)
	if of := addressesOf[strings.TrimSuffix(scheme(catalog.URI), "://")]; given && of != "" && of != catalog.Type {
		l.report(uri, catalogURIPath, "is the address of a catalog of type "+of+", and "+catalogTypePath+" is "+catalog.Type)
		return
	}
	l.checkREST()
	l.checkHive()
	if catalog.Type == "glue" && given && !httpAddress.MatchString(catalog.URI) {
		l.report(uri, catalogURIPath, "does not go with the catalog type glue, which is found by its region: another endpoint is glue.endpoint in "+catalogPropsPath)
	}
	switch {
	case catalog.Type == "hadoop" && uri.Layer != Unset:
		l.report(uri, catalogURIPath, "does not go with the catalog type hadoop, which has the warehouse alone")
	case catalog.Type == "hadoop" && remote:
		l.report(l.job.origins[warehousePath], warehousePath, "does not go with the catalog type hadoop: "+
			"its commits rely on renames that only a local folder makes atomic; use type sql")
	case catalog.Type == "sql" && remote && uri.Layer == Unset:
		l.report(l.around(catalogURIPath), catalogURIPath, "is missing: a SQLite database cannot live in "+
			scheme(catalog.Warehouse)+": want the path of one on this machine, or postgresql://host/database"+find(catalogURIPath).ways())
	}
}

func scheme(location string) string { return urlScheme.FindString(location) }
