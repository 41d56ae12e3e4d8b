package files

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Objects is what the folder's bookkeeping asks of a store. Keys are relative to the folder. Every method may be repeated
// and is safe for use by several goroutines.
type Objects interface {
	// String names the folder for people and holds no secret.
	fmt.Stringer
	// Get reads an object; fs.ErrNotExist if it is not there, which a lost permission never is.
	Get(ctx context.Context, key string) ([]byte, error)
	// Own creates an object and believes no error: nil says that these bytes are there, fs.ErrExist that others are.
	// ErrUnknown: the object may or may not be there, or may yet be. After any other error it was not there when it was
	// last looked for.
	Own(ctx context.Context, key string, data []byte) error
	// List returns all keys with the prefix that sort after the given key, in byte order.
	List(ctx context.Context, prefix, after string) ([]string, error)
	// Delete removes objects; one that is not there is no error.
	Delete(ctx context.Context, keys ...string) error
}

// ErrUnknown is wrapped by what Own says when it could not find out.
var ErrUnknown = errors.New("outcome unknown")

const (
	bookFolder  = "_sluice/"
	folderKey   = bookFolder + "folder.json"
	schemaPart  = bookFolder + "schema/"
	rangeFolder = "_sluice_ranges/"
	jsonSuffix  = ".json"
)

func schemaKey(id int) string { return schemaPart + strconv.Itoa(id) + jsonSuffix }

func manifestKey(query string, n int64) string {
	return bookFolder + query + "/" + strconv.FormatInt(n, 10) + jsonSuffix
}

// numbered is the folder and the number in a key such as _sluice/<query-id>/7.json. Numbers are written in one way only, so that
// no two keys mean the same.
func numbered(key string) (folder string, n int64, ok bool) {
	rest, ok := strings.CutSuffix(key, jsonSuffix)
	slash := strings.LastIndexByte(rest, '/')
	if !ok || slash < 0 {
		return "", 0, false
	}
	digits := rest[slash+1:]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return "", 0, false
	}
	return rest[:slash+1], n, true
}
