package partition

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// maxName is the longest name of a folder that is written as it is: file systems allow 255 bytes, an object store 1,024 for
// all of a key.
const maxName = 150

// Path is the folder of a partition: name=value for each field, escaped as java.net.URLEncoder does, which is what the
// reference implementation uses. A folder is for people: readers know the values from manifests. So a name that is too long
// for a store ends in a hash.
func (s *Spec) Path(key []byte) string {
	var parts []string
	for i, v := range s.Values(key) {
		f := &s.fields[i]
		parts = append(parts, shorten(escape(f.Name)+"="+escape(f.Human(v))))
	}
	return strings.Join(parts, "/")
}

func shorten(name string) string { return cutName(name, maxName) }

// cutName lets a name that is too long end in a hash, and cuts no escape and no character in half.
func cutName(name string, most int) string {
	if len(name) <= most {
		return name
	}
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	cut := name[:most-17]
	if k := strings.LastIndexByte(cut, '%'); k > len(cut)-3 {
		cut = cut[:k]
	}
	for len(cut) > 0 && !utf8.RuneStart(name[len(cut)]) {
		cut = cut[:len(cut)-1]
	}
	return cut + "~" + hex.EncodeToString(h.Sum(nil))
}

// escape is java.net.URLEncoder.encode with UTF-8.
func escape(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(".-*_", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// Entropy is the folders that a file of this name is put into where files are to be spread over an object store: 20 bits of the
// name's hash, in the form of the reference implementation (LocationProviders.ObjectStoreLocationProvider).
func Entropy(name string) string {
	b := fmt.Sprintf("%020b", murmur3([]byte(name))&(1<<20-1))
	return b[:4] + "/" + b[4:8] + "/" + b[8:12] + "/" + b[12:]
}
