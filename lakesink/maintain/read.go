package maintain

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	iceio "github.com/apache/iceberg-go/io"
)

// readWhole reads a small file.
func readWhole(store iceio.IO, address string) ([]byte, error) {
	if r, ok := store.(iceio.ReadFileIO); ok {
		return r.ReadFile(address)
	}
	f, err := store.Open(address)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	return content, errors.Join(err, f.Close())
}

func unzip(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(r)
	return plain, errors.Join(err, r.Close())
}
