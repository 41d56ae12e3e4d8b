package lakesink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"sluice/objectstore"
)

// Tables in Google Cloud Storage and Azure are read and written by the stores that checkpoints are kept in. iceberg-go's own
// would make the program a third larger, wait without end for a store that hangs, and on Azure upload in a way that can end
// the process.
func init() {
	register("gs", openGoogle)
	for _, scheme := range []string{"abfs", "abfss", "wasb", "wasbs"} {
		register(scheme, openAzure)
	}
}

// openGoogle reads Iceberg's properties of Google Cloud Storage; what they lack comes from the environment.
func openGoogle(ctx context.Context, address *url.URL, properties map[string]string) (iceio.IO, error) {
	if address.Host == "" {
		return nil, fmt.Errorf("%s names no bucket", address.Redacted())
	}
	endpoint := properties[iceio.GCSServiceHost]
	if endpoint == "" {
		endpoint = properties[iceio.GCSEndpoint]
	}
	options := objectstore.GCS{Bucket: address.Host, Endpoint: strings.TrimSuffix(strings.TrimRight(endpoint, "/"), "/storage/v1"), Anonymous: properties[iceio.GCSNoAuth] == "true",
		Token: properties[iceio.GCSOAuthToken], KeyFile: properties[iceio.GCSKeyPath], KeyJSON: properties[iceio.GCSJSONKey]}
	if loan := loanIn(ctx); loan != nil && options.Token != "" {
		options.TokenFrom = lentValue(loan, iceio.GCSOAuthToken)
	}
	return &storeFS{ctx: ctx, store: objectstore.OpenGCS(options), root: address.Host}, nil
}

// openAzure reads Iceberg's properties of Azure; what they lack comes from the environment.
func openAzure(ctx context.Context, address *url.URL, properties map[string]string) (iceio.IO, error) {
	o, err := objectstore.AzureOf(address)
	if err != nil {
		return nil, err
	}
	if endpoint := properties[iceio.ADLSEndpoint]; endpoint != "" {
		o.Domain = endpoint
	}
	o.Protocol = properties[iceio.ADLSProtocol]
	if name := properties[iceio.ADLSSharedKeyAccountName]; name == o.Account {
		o.Key = properties[iceio.ADLSSharedKeyAccountKey]
	}
	for _, key := range []string{iceio.ADLSSasTokenPrefix + o.Account, iceio.ADLSSasTokenPrefix + address.Host} {
		if sas := properties[key]; sas != "" {
			o.SAS = sas
			if loan := loanIn(ctx); loan != nil {
				o.SASFrom = lentValue(loan, key)
			}
		}
	}
	o.ConnectionString = properties[iceio.ADLSConnectionStringPrefix+o.Account]
	o.ManagedIdentity, o.ClientID = properties[iceio.ADLSManagedIdentityEnabled] == "true", properties[iceio.ADLSClientID]
	bucket, err := objectstore.OpenAzure(o)
	if err != nil {
		return nil, err
	}
	return &storeFS{ctx: ctx, store: bucket, root: address.User.Username() + "@" + address.Host}, nil
}

// storeFS is iceberg-go's view of a bucket.
type storeFS struct {
	ctx   context.Context
	store objectstore.Folder
	// root is the bucket, or container and account, as addresses name it.
	root string
}

var (
	_ iceio.ReadFileIO      = (*storeFS)(nil)
	_ iceio.WriteFileIO     = (*storeFS)(nil)
	_ iceio.StatIO          = (*storeFS)(nil)
	_ iceio.ListableIO      = (*storeFS)(nil)
	_ iceio.BulkRemovableIO = (*storeFS)(nil)
)

// key is the name in the bucket of what an address stands for, as it is: nothing in it is an escape.
func (s *storeFS) key(address string) (string, error) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return "", fmt.Errorf("%q is no address of an object", address)
	}
	root, key, ok := strings.Cut(rest, "/")
	if root != s.root || !ok {
		return "", fmt.Errorf("%q is not in %s", address, s.store)
	}
	return key, nil
}

// failed is an error in the words that iceberg-go looks for.
func failed(op, address string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, objectstore.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return &fs.PathError{Op: op, Path: address, Err: err}
}

// Open opens an object for reading, front to end or in parts.
func (s *storeFS) Open(address string) (iceio.File, error) {
	key, err := s.key(address)
	if err != nil {
		return nil, failed("open", address, err)
	}
	f, err := s.store.Open(s.ctx, key)
	if err != nil {
		return nil, failed("open", address, err)
	}
	return newStoreFile(f), nil
}

// ReadFile reads a whole object.
func (s *storeFS) ReadFile(address string) ([]byte, error) {
	f, err := s.Open(address)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content := make([]byte, info.Size())
	if _, err = f.ReadAt(content, 0); errors.Is(err, io.EOF) {
		err = nil
	}
	return content, errors.Join(failed("read", address, err), f.Close())
}

// Create begins an object that is seen when it is closed.
func (s *storeFS) Create(address string) (iceio.FileWriter, error) {
	u, err := s.upload(s.ctx, address)
	if err != nil {
		return nil, err
	}
	return u, nil
}

func (s *storeFS) upload(ctx context.Context, address string) (*storeUpload, error) {
	key, err := s.key(address)
	if err != nil {
		return nil, failed("create", address, err)
	}
	u, err := s.store.Create(ctx, key)
	if err != nil {
		return nil, failed("create", address, err)
	}
	return &storeUpload{u}, nil
}

// WriteFile writes a whole object, and replaces one that is there.
func (s *storeFS) WriteFile(address string, content []byte) error {
	u, err := s.upload(s.ctx, address)
	if err != nil {
		return err
	}
	if _, err := u.Write(content); err != nil {
		return errors.Join(failed("write", address, err), u.Abort())
	}
	return failed("write", address, u.Close())
}

// Remove removes an object. One that is not there is an error: iceberg-go tells by it.
func (s *storeFS) Remove(address string) error {
	if _, err := s.Stat(address); err != nil {
		return err
	}
	_, err := s.DeleteFiles(s.ctx, []string{address})
	return err
}

// DeleteFiles removes objects, several at a time; one that is not there is removed.
func (s *storeFS) DeleteFiles(ctx context.Context, addresses []string) ([]string, error) {
	keys := make([]string, 0, len(addresses))
	for _, address := range addresses {
		key, err := s.key(address)
		if err != nil {
			return nil, failed("remove", address, err)
		}
		keys = append(keys, key)
	}
	for n := 0; n < len(keys); n += deleteAtOnce {
		if err := s.store.Delete(ctx, keys[n:min(n+deleteAtOnce, len(keys))]...); err != nil {
			return addresses[:n], failed("remove", addresses[n], err)
		}
	}
	return addresses, nil
}

// deleteAtOnce is how many objects are removed within the time that a store has for an answer.
const deleteAtOnce = 100

// Stat is what is known of an object.
func (s *storeFS) Stat(address string) (fs.FileInfo, error) {
	key, err := s.key(address)
	if err != nil {
		return nil, failed("stat", address, err)
	}
	f, err := s.store.Open(s.ctx, key)
	if err != nil {
		return nil, failed("stat", address, err)
	}
	return storeInfo{f.Entry()}, f.Close()
}

// WalkDir visits the root and every object below it, without the folders between, in byte order.
func (s *storeFS) WalkDir(root string, visit fs.WalkDirFunc) error {
	key, err := s.key(strings.TrimRight(root, "/") + "/")
	if err != nil {
		return failed("walk", root, err)
	}
	base := strings.TrimSuffix(strings.TrimRight(root, "/")+"/", key)
	err = visit(root, folderEntry{storeInfo{objectstore.Entry{Key: strings.TrimRight(key, "/")}}}, nil)
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	for entry, listErr := range s.store.Entries(s.ctx, key, "") {
		if err == nil && listErr != nil {
			err = visit(root, nil, failed("walk", root, listErr))
		} else if err == nil {
			err = visit(base+entry.Key, fs.FileInfoToDirEntry(storeInfo{entry}), nil)
		}
		switch {
		case errors.Is(err, fs.SkipDir), errors.Is(err, fs.SkipAll):
			return nil
		case err != nil:
			return err
		}
	}
	return err
}

// storeFile reads an object as one file. What is read front to end, as manifests are, is read ahead: a request for every few
// bytes would take minutes.
type storeFile struct {
	objectstore.File
	at    *io.SectionReader
	ahead *bufio.Reader
}

const aheadBytes = 1 << 20

func newStoreFile(f objectstore.File) *storeFile {
	at := io.NewSectionReader(f, 0, f.Entry().Size)
	return &storeFile{File: f, at: at}
}

// Read is io.Reader's.
func (f *storeFile) Read(b []byte) (int, error) {
	if f.ahead == nil {
		f.ahead = bufio.NewReaderSize(f.at, int(min(f.Entry().Size, aheadBytes)))
	}
	return f.ahead.Read(b)
}

// Seek is io.Seeker's.
func (f *storeFile) Seek(offset int64, whence int) (int64, error) {
	if f.ahead != nil && whence == io.SeekCurrent {
		offset -= int64(f.ahead.Buffered())
	}
	f.ahead = nil
	return f.at.Seek(offset, whence)
}

// Stat is fs.File's.
func (f *storeFile) Stat() (fs.FileInfo, error) { return storeInfo{f.Entry()}, nil }

// storeUpload ends as a file does.
type storeUpload struct{ objectstore.Upload }

// ReadFrom writes all that a reader has.
func (u *storeUpload) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{u.Upload}, r)
}

// Abort drops what was written.
func (u *storeUpload) Abort() error {
	u.Upload.Abort()
	return nil
}

// storeInfo is an object as a file.
type storeInfo struct{ entry objectstore.Entry }

func (i storeInfo) Name() string       { return path.Base(i.entry.Key) }
func (i storeInfo) Size() int64        { return i.entry.Size }
func (i storeInfo) Mode() fs.FileMode  { return 0 }
func (i storeInfo) ModTime() time.Time { return i.entry.Modified }
func (i storeInfo) IsDir() bool        { return false }
func (i storeInfo) Sys() any           { return nil }

// folderEntry is the root of a walk.
type folderEntry struct{ storeInfo }

func (f folderEntry) IsDir() bool                { return true }
func (f folderEntry) Type() fs.FileMode          { return fs.ModeDir }
func (f folderEntry) Info() (fs.FileInfo, error) { return f.storeInfo, nil }
