package job

import (
	"fmt"
	"regexp"
	"strings"
)

// catalogTypes are the types of catalogs, the default first.
var catalogTypes = []string{"sql", "hadoop", restType, "glue"}

// addressesOf are the schemes of the addresses of catalogs on servers, and the types that they are of.
var addressesOf = map[string]string{"postgresql": "sql"}

// postgresForms are postgresql:// and postgres://, with the driver that SQLAlchemy names behind a plus, or jdbc: before it.
var postgresForms = regexp.MustCompile(`^(?:jdbc:)?postgres(?:ql)?(?:\+[A-Za-z0-9_]+)?://`)

// catalogAddress is where a catalog is: the path of a SQLite database, or a URL of it as SQLAlchemy and PyIceberg write it,
// or the address of a server. Whether it fits the catalog's type is looked at later.
var catalogAddress = words("location", "the path of a SQLite database, postgresql://host/database, or https://host/path of a REST catalog", func(s string) (string, error) {
	if at := postgresForms.FindString(s); at != "" {
		return serverAddress("postgresql://" + strings.TrimPrefix(s, at))
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

// sqliteFile is the database of a sql catalog: m are the parts of its URL, nil for a path.
func sqliteFile(s string, m []string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", fmt.Errorf("is empty")
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
