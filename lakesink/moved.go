package lakesink

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sluice/batch"
)

// CheckMoved judges a table, by its UUID, that Describe once called was and now calls is. Where the catalog of was is
// still there and is another one than that of is, the table is claimed by both: somebody copied a folder, and whatever
// is committed through the copy goes to, and deletes among, the original's files, for the metadata of a table has their
// absolute paths. That is an Inconsistent fault. Where the old catalog is gone, or cannot be told from the words, the
// catalog was moved, and remark says so; it is empty where both words are of one catalog.
func CheckMoved(tableUUID, was, is string) (remark string, err error) {
	old, now := placesOf(was), placesOf(is)
	switch {
	case onServer(was):
		return fmt.Sprintf("the table was in %s and is in %s now: it is the same one, by its UUID", was, is), nil
	case len(old) == 0:
		return fmt.Sprintf("the table was in %s and is in %s now; the old catalog is gone", was, is), nil
	case samePlace(old, now):
		return "", nil
	}
	return "", &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("two catalogs, %s and %s, claim the table with UUID %s: a copied folder is not a copied table, its files are addressed by absolute paths", was, is, tableUUID),
		Hint:    "use a warehouse and a checkpoint of its own to try things out; to move a catalog for good, remove or rename the old database: " + old[0].path}
}

// onServer says that words of Describe are of a catalog that is no file of this machine: whether it still has the table cannot
// be seen from here, and servers are given other names.
func onServer(description string) bool {
	words := strings.Fields(description)
	return len(words) > 2 && words[0] == "iceberg" && (words[1] == "rest" || words[1] == "glue" || urlOfServer.MatchString(words[2]))
}

// urlOfServer begins the address of anything but a file.
var urlOfServer = regexp.MustCompile(`^(postgresql|thrift|glue)://`)

// place is a file or folder that stands for a catalog, or for a table in one without a database.
type place struct {
	path string
	info os.FileInfo
}

func samePlace(some, others []place) bool {
	return slices.ContainsFunc(some, func(a place) bool {
		return slices.ContainsFunc(others, func(b place) bool { return os.SameFile(a.info, b.info) })
	})
}

// placesOf finds what words of Describe stand for on this machine, as far as it is there: the database of a sql catalog,
// the folder of a table in a hadoop one. Words do not tell a path with an escape in it from one that was escaped for
// them, so there may be two.
func placesOf(description string) (found []place) {
	words := strings.Fields(description)
	if len(words) < 4 || words[0] != "iceberg" || onServer(description) {
		return nil
	}
	kind, address, name := words[1], words[2], strings.Join(words[3:], " ")
	paths := []string{localPath(strings.TrimPrefix(address, "sqlite:"))}
	if u, err := url.Parse(address); err == nil && u.Path != "" && u.Path != paths[0] {
		paths = append(paths, u.Path)
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		if kind == "hadoop" {
			path = filepath.Join(append([]string{path}, strings.Split(name, ".")...)...)
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() == (kind == "hadoop") {
			found = append(found, place{path, info})
		}
	}
	return found
}

// OddLocation remarks on a table that lies outside the warehouse of its catalog, as it does in a copied folder; the
// result is empty where it lies inside, and for catalogs other than sql ones of a file, which are not copied with a folder.
func OddLocation(o CatalogOptions, location string) (remark string) {
	if _, server := postgresForm(o.URI); o.Type != "sql" || server || location == "" || within(o.Warehouse, location) {
		return ""
	}
	return fmt.Sprintf("the table is at %s, outside the catalog's warehouse %s, and this run changes it there: if the catalog was copied, the original's files are meant (a copied folder is not a copied table); use another table to try things out",
		location, withoutSecrets(o.Warehouse))
}

// within compares addresses; local ones by where their symbolic links lead.
func within(folder, address string) bool {
	if isLocal(folder) != isLocal(address) {
		return false
	}
	if !isLocal(folder) {
		return under(withoutScheme(folder), withoutScheme(address))
	}
	absolute, err := filepath.Abs(localPath(folder))
	return err == nil && (under(absolute, localPath(address)) || under(resolved(absolute), resolved(localPath(address))))
}

func under(folder, path string) bool {
	folder = strings.TrimRight(folder, "/")
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// withoutScheme takes s3 and s3a for the same.
func withoutScheme(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return rest
}

// resolved is the path without symbolic links, as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
