package maintain

import (
	"hash/maphash"
	"net/url"
	"path"
	"strings"
)

// canonical is the form in which addresses are compared: the path alone, without scheme and authority, escapes undone, slashes
// that are doubled or at the end dropped. It makes equal whatever any engine, store or catalog may take for the same file, and
// more than that, which errs on the safe side: an address that is equal to one that is referred to is never an orphan. That
// s3a://b/x is not s3://b/x, or hdfs://a/x not hdfs://b/x, has emptied tables
// (https://github.com/apache/iceberg/issues/4346, https://github.com/apache/iceberg/pull/4652).
func canonical(address string) string {
	p := withoutScheme(address)
	for range 3 { // an escape may have been escaped
		plain, err := url.PathUnescape(p)
		if err != nil || plain == p {
			break
		}
		p = plain
	}
	return path.Clean("/" + p)
}

// withoutScheme is the path in an address: scheme://authority/path, scheme:/path, or a path.
func withoutScheme(address string) string {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || strings.Contains(scheme, "/") || !strings.HasPrefix(rest, "/") {
		return address
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		_, rest, _ = strings.Cut(after, "/")
	}
	return rest
}

// within reports whether a canonical address is that of a folder, or in it.
func within(address, folder string) bool {
	return address == folder || folder == "/" || strings.HasPrefix(address, folder+"/")
}

// addresses is a set of texts that takes 16 bytes or so for each: a table may have millions of files. Two texts may be taken
// for the same, once in some 10^19 pairs, and then a file stays that could go.
type addresses map[uint64]struct{}

var seed = maphash.MakeSeed()

func (a addresses) add(text string) { a[maphash.String(seed, text)] = struct{}{} }

func (a addresses) has(text string) bool {
	_, ok := a[maphash.String(seed, text)]
	return ok
}
