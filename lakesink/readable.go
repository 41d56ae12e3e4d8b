package lakesink

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/apache/iceberg-go/table"
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

// placeDifferences are the places of a table that somebody else has made below which others would not find what is written:
// iceberg-go names its metadata with escapes where the place has none. One that has them already, as sluice's own have had, stays
// as it is.
func placeDifferences(t *table.Table) (differences []string) {
	for _, place := range foldersOf(t) {
		if !literal(place) {
			differences = append(differences, fmt.Sprintf("it has files in %q, and only sluice would find what it adds there, for its addresses are URIs, where a part of that is escaped, and Spark, PyIceberg and DuckDB take them as they stand: "+
				"move the table, or its write.data.path or write.metadata.path, to a folder of ASCII letters, digits and %s", place, others))
		}
	}
	return differences
}

// literal says whether a place is the same in the URIs of what is below it.
func literal(place string) bool {
	u, err := url.Parse(place)
	return err == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && !strings.HasSuffix(place, "#") &&
		strings.Count(u.JoinPath("x").String(), "%") == strings.Count(place, "%")
}
