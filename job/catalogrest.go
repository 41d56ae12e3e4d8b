package job

import (
	"fmt"
	"net/url"
	"regexp"
)

// restType is the catalog type of servers that speak Iceberg's REST protocol. Their warehouse is a name or a location there,
// and may be left out: only the server knows where the files go.
const restType = "rest"

var httpAddress = regexp.MustCompile(`^https?://`)

// checkServer wants a host, and no credentials: an address is shown in many places.
func checkServer(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("is no URL")
	case u.User != nil:
		return fmt.Errorf("holds credentials: put them into %s (token, credential), from a variable or ${file:…}", catalogPropsPath)
	case u.Host == "":
		return fmt.Errorf("names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("has more than a path")
	}
	return nil
}

// IsNamed says that the warehouse is a name that the catalog knows, or is left to it, and no place of its own.
func (c *Catalog) IsNamed() bool { return c.Type == restType && isLocal(c.Warehouse) }

// checkREST reports what does not go together in a REST catalog, and an address of one beside another type.
func (l *loading) checkREST() {
	catalog := &l.job.Sink.Iceberg.Catalog
	switch http := httpAddress.MatchString(catalog.URI); {
	case catalog.Type == restType && l.isMissing(catalogURIPath):
		l.report(l.around(catalogURIPath), catalogURIPath, "is missing: want https://host/path of the REST catalog"+find(catalogURIPath).ways())
	case catalog.Type == restType && catalog.URI != "" && !http:
		l.report(l.touched[catalogURIPath], catalogURIPath, "does not go with the catalog type rest: want https://host/path")
	case catalog.Type != restType && http:
		l.report(l.touched[catalogURIPath], catalogURIPath, "is the address of a REST catalog: set "+catalogTypePath+" to rest")
	}
}
