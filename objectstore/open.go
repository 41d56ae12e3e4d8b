package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Open returns the store in a folder. No request is made yet. Addresses:
//
//	s3://bucket/folder?region=…          gocloud.dev's parameters: region, endpoint, use_path_style, profile, …
//	gs://bucket/folder                   parameters: anonymous, endpoint
//	azblob://container/folder            gocloud.dev's parameters: storage_account, domain, protocol, localemu
//	abfss://container@account.dfs.core.windows.net/folder
//	file:///folder, /folder, folder      a local or shared file system
//	mem://name                           this process alone; the same name is the same store
//
// Credentials come from the cloud's own chain (environment, profile, instance role), never from the address. An error
// wraps ErrURL, unless it comes from loading a cloud's configuration. A folder that is made here is for its owner alone.
func Open(ctx context.Context, address string) (Folder, error) {
	if address == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrURL)
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return openLocal(address)
	}
	if scheme == "mem" {
		return openMemory(rest), nil
	}
	u, err := url.Parse(address)
	var wrong *url.Error
	if errors.As(err, &wrong) { // which shows the address with its secrets
		err = wrong.Err
	}
	if err != nil {
		return nil, marked(ErrURL, err)
	}
	if isABFS(scheme) {
		return openABFS(u)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%w: it holds credentials: give them by environment or profile", ErrURL)
	}
	switch scheme {
	case "file":
		return openFile(u)
	case "s3":
		return openS3(ctx, u)
	case "gs":
		return openGCS(u)
	case "azblob":
		return openAzure(u)
	}
	return nil, badURL(u, "scheme %s:// is not one of s3://, gs://, azblob://, abfss://, file://, mem://", scheme)
}

func isABFS(scheme string) bool {
	return slices.Contains([]string{"abfs", "abfss", "wasb", "wasbs"}, scheme)
}

func openFile(u *url.URL) (Folder, error) {
	switch {
	case u.Host != "" && u.Host != "localhost":
		return nil, badURL(u, "a folder has three slashes: file:///%s%s", u.Host, u.Path)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, badURL(u, "file:// takes no parameters")
	case strings.Trim(u.Path, "/") == "":
		return nil, badURL(u, "no folder")
	}
	return openLocal(u.Path)
}

func openLocal(path string) (Folder, error) {
	l, err := NewLocal(path)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// OpenShared is Open for a folder that others read: where it has to be made on a file system, and for the files in it, the
// umask alone says who may.
func OpenShared(ctx context.Context, address string) (Folder, error) {
	s, err := Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if l, ok := s.(*Local); ok {
		l.dirMode, l.fileMode = sharedDirMode, sharedFileMode
	}
	return s, nil
}

// badURL shows an address without its parameters: an endpoint in them may hold a password.
func badURL(u *url.URL, format string, args ...any) error {
	return fmt.Errorf("%w %s://%s%s: %w", ErrURL, u.Scheme, u.Host, u.Path, fmt.Errorf(format, args...))
}
