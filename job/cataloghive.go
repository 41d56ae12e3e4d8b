package job

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// hiveType is the catalog type of Hive metastores.
const hiveType = "hive"

var metastoreAddress = regexp.MustCompile(`^thrift://`)

// metastores wants the addresses of the servers of one metastore, with commas between, as Hive has them.
func metastores(s string) (string, error) {
	all := strings.Split(s, ",")
	for i, one := range all {
		all[i] = strings.TrimSpace(one)
		u, err := url.Parse(all[i])
		switch {
		case err != nil || u.Scheme != "thrift" || u.Hostname() == "":
			return "", fmt.Errorf("is no address of a Hive metastore: want thrift://host:9083, or several of them with commas between")
		case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
			return "", fmt.Errorf("has more than a host and a port")
		}
	}
	return strings.Join(all, ","), nil
}

// checkHive reports what does not go with a Hive metastore: it has an address, and no databases within databases.
func (l *loading) checkHive() {
	catalog := &l.job.Sink.Iceberg.Catalog
	if catalog.Type != hiveType {
		return
	}
	switch {
	case l.isMissing(catalogURIPath):
		l.report(l.around(catalogURIPath), catalogURIPath, "is missing: want thrift://host:9083 of the Hive metastore"+find(catalogURIPath).ways())
	case !metastoreAddress.MatchString(catalog.URI):
		l.report(l.touched[catalogURIPath], catalogURIPath, "does not go with the catalog type hive: want thrift://host:9083")
	}
}
