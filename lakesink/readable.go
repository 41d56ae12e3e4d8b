package lakesink

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Readable checks that other engines find what is written below a place: a warehouse, or a table's name. iceberg-go writes
// addresses as URIs, with what a URI cannot hold escaped. Iceberg's own library, and with it Spark and Trino, and PyIceberg and
// DuckDB take the addresses in a table's metadata as they stand, so that they would look for a folder with %20 in its name
// where there is a blank (https://github.com/apache/iceberg/issues/1224, https://github.com/delta-io/delta/pull/5002). In a
// bucket there would be such a folder, under another name than the one asked for.
func Readable(place string) error {
	path := place
	if !isLocal(place) {
		_, path, _ = strings.Cut(place, "://")
	} else if rest := localPath(place); rest != place {
		path = rest
	}
	for _, r := range path {
		if plain(r) {
			continue
		}
		return fmt.Errorf("%s holds %q: only sluice would find the files there, for the addresses in a table's metadata are URIs, where that is escaped, "+
			"and Spark, PyIceberg and DuckDB take them as they stand: want ASCII letters, digits and %s", path, r, others)
	}
	return nil
}

// others may stand in a URI's path besides letters and digits.
const others = "/-._~!$&'()*+,;=:@"

// plain says whether a URI's path may hold a character as it is (RFC 3986, section 3.3).
func plain(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r < utf8.RuneSelf && strings.ContainsRune(others, r)
}
