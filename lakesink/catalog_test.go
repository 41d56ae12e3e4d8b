package lakesink

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	"github.com/aws/aws-sdk-go-v2/aws"

	"sluice/batch"
	"sluice/objectstore/answer"
)

func open(t *testing.T, o CatalogOptions) (catalog.Catalog, error) {
	t.Helper()
	c, err := OpenCatalog(context.Background(), o)
	if err == nil {
		t.Cleanup(func() {
			if err := c.(catalog.Closer).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return c, err
}

func TestACatalogThatCannotBeOpenedIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options CatalogOptions
		words   string
	}{
		"unknown type":       {CatalogOptions{Type: "dynamo", Warehouse: dir}, `no catalog of type "dynamo"`},
		"no warehouse":       {CatalogOptions{Type: "sql", URI: dir + "/c.db"}, "no warehouse"},
		"no address":         {CatalogOptions{Type: "sql", Warehouse: dir}, "no address"},
		"another database":   {CatalogOptions{Type: "sql", URI: "mysql://me:secret@db/lake", Warehouse: dir}, "only SQLite and PostgreSQL"},
		"not a database":     {CatalogOptions{Type: "sql", URI: file, Warehouse: dir}, "not a database"},
		"below a file":       {CatalogOptions{Type: "sql", URI: file + "/c.db", Warehouse: dir}, "a file is in the way"},
		"a folder":           {CatalogOptions{Type: "sql", URI: dir, Warehouse: dir}, "is a folder"},
		"hadoop on a bucket": {CatalogOptions{Type: "hadoop", Warehouse: "s3://lake/warehouse"}, "object stores do not do atomically"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.options)
			wantClass(t, err, batch.NotSetUp, c.words)
			if strings.Contains(err.Error()+batch.HintOf(err), "secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// difficult is a name that a URI's path may hold as it stands, though few would choose it.
const difficult = "it's(a)lake,1+1=2&so@on;!$*~"

func TestAWarehouseThatOtherEnginesWouldNotFindIsRefused(t *testing.T) {
	for _, name := range []string{"a b", "ü", "50%", "a%41", "what?", "#1", "[x]", "a\tb", "\xff", `a\b`, "<a>"} {
		for place, o := range map[string]CatalogOptions{
			"folder": {Type: "sql", URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: "/data/" + name}, "hadoop": {Type: "hadoop", Warehouse: "/data/" + name},
			"bucket": {Type: "sql", URI: filepath.Join(t.TempDir(), "c.db"), Warehouse: "s3://lake/" + name}} {
			_, err := open(t, o)
			wantClass(t, err, batch.NotSetUp, "/"+name, "Spark")
			if len(below(t, filepath.Dir(o.URI))) > 0 && o.URI != "" {
				t.Errorf("%s %q: something was made", place, name)
			}
		}
	}
	for _, place := range []string{"/data/lake", "lake", "file:///data/lake", "s3://lake/data-1/x_y", "/data/" + difficult} {
		if err := Readable(place); err != nil {
			t.Error(err)
		}
	}
}

func TestACatalogMayLieAnywhere(t *testing.T) {
	for _, uri := range []string{"c.db", "sub dir/with %20 and ?/c.db", "sqlite:c.db", "file:c.db"} {
		for _, warehouse := range []string{"w", difficult} {
			dir := t.TempDir()
			scheme, rest, ok := strings.Cut(uri, ":")
			full := filepath.Join(dir, uri)
			if ok {
				full = scheme + ":" + filepath.Join(dir, rest)
			}
			c, err := open(t, CatalogOptions{Type: "sql", URI: full, Warehouse: filepath.Join(dir, warehouse)})
			if err != nil {
				t.Errorf("%s: %v", uri, err)
				continue
			}
			s := newSink(c)
			if err := s.Create(context.Background(), rawSchema()); err != nil {
				t.Errorf("%s in %s: %v", uri, warehouse, err)
				continue
			}
			mustApply(t, s, queryID, planN(0))
			wantOffsets(t, c, 10, 0)
			if _, err := os.Stat(filepath.Join(dir, warehouse, "db.db", "orders", "data")); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestALockedCatalogIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	s := newSink(openSQLite(t, dir))
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	impatient, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db")+"?_pragma=busy_timeout(0)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()
	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	_, err = impatient.Begin()
	wantClass(t, explain("commit", err), batch.Failed, "locked")
	if hint := batch.HintOf(explain("commit", err)); !strings.Contains(hint, "another process holds") {
		t.Errorf("hint %q", hint)
	}
}

func TestErrorsOfTheWorldHaveAClassAndAHint(t *testing.T) {
	for _, c := range []struct {
		err   error
		class batch.Class
		hint  string
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}, batch.NotSetUp, "right to read and write"},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, batch.Failed, "disk is full"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EROFS}, batch.NotSetUp, "read-only"},
		{fmt.Errorf("x: %w", catalog.ErrNoSuchTable), batch.NotSetUp, "create the table"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, batch.Failed, "does not answer"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "nowhere"}}, batch.NotSetUp, "does not resolve"},
		{awsError("NoSuchBucket"), batch.NotSetUp, "create the bucket"},
		{awsError("AccessDenied"), batch.NotSetUp, "credentials"},
		{awsError("XAdminUserNotFound"), batch.NotSetUp, "credentials"},
		{awsError("KMS.DisabledException"), batch.NotSetUp, "credentials"},
		{awsError("RequestTimeTooSkewed"), batch.NotSetUp, "clock"},
		{awsError("QuotaExceeded"), batch.Failed, "quota"},
		{awsStatus(401), batch.NotSetUp, "credentials"},
		{awsStatus(403), batch.NotSetUp, "credentials"},
		{awsStatus(301), batch.NotSetUp, "region"},
		{noRole(), batch.NotSetUp, "give credentials"},
		{awsError("SlowDown"), batch.Failed, "run again"},
		{errors.New("anything"), batch.Failed, "run again"},
		{&batch.Fault{Class: batch.DataLoss, Hint: "its own"}, batch.DataLoss, "its own"},
	} {
		got := explain("do it", fmt.Errorf("wrapped: %w", c.err))
		if batch.ClassOf(got) != c.class || !strings.Contains(batch.HintOf(got), c.hint) || !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), "do it: ") {
			t.Errorf("%v: got %v, class %v, hint %q", c.err, got, batch.ClassOf(got), batch.HintOf(got))
		}
	}
	if got := explain("do it", context.Canceled); batch.ClassOf(got) != batch.Failed || batch.HintOf(got) != "" {
		t.Errorf("a cancellation is not the world's fault: %v", got)
	}
}

// noRole is the error of a provider that finds no credentials.
func noRole() error {
	_, err := answer.Credentials(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("no role") })).Retrieve(context.Background())
	return err
}

type awsError string

func (e awsError) Error() string     { return string(e) }
func (e awsError) ErrorCode() string { return string(e) }

type awsStatus int

func (e awsStatus) Error() string       { return fmt.Sprint(int(e)) }
func (e awsStatus) HTTPStatusCode() int { return int(e) }

func TestTheDescriptionHasNoSecrets(t *testing.T) {
	o := CatalogOptions{Type: "rest", URI: "https://user:secret@catalog.example/v1?token=secret#secret", Properties: map[string]string{"s3.secret-access-key": "secret"}}
	s := New(nil, Options{Table: "sales.orders", Catalog: o.String()})
	if got, want := s.Describe(), "iceberg rest https://catalog.example/v1 sales.orders"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.TableName(), "sales.orders"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (CatalogOptions{Type: "hadoop", Warehouse: "/lake"}).String(), "hadoop /lake"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATableThatIsNotThereIsNoErrorAndACatalogThatIsNotIs(t *testing.T) {
	dir := t.TempDir()
	c := openSQLite(t, dir)
	got, err := newSink(c).Table(context.Background(), queryID)
	if err != nil || got.Exists || got.Applied.Batch != batch.None {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = New(c, Options{Table: "orders"}).Table(context.Background(), queryID)
	wantClass(t, err, batch.NotSetUp, `"orders" has no namespace`)
	if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "warehouse")); err != nil {
		t.Fatal(err)
	}
	_, err = newSink(c).Table(context.Background(), queryID)
	wantClass(t, err, batch.NotSetUp, "metadata of table", tableName)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the table's metadata is gone: got %v", err)
	}
}

func TestMetadataThatMakesNoSenseIsToldAndNotTriedAgain(t *testing.T) {
	whole, c := newTable(t)
	path := localPath(load(t, c).MetadataLocation())
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "garbage": []byte("\xff\xfe\x00 garbage"), "cut off": intact[:len(intact)/2], "another": gzipped(t, `{"format-version":2}`),
		"no JSON": gzipped(t, "\xff{"), "a list": gzipped(t, "[]"), "of the future": gzipped(t, `{"format-version":9}`)} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := whole.Table(context.Background(), queryID)
		if err == nil || batch.ClassOf(err) != batch.Inconsistent || !strings.Contains(err.Error(), tableName) {
			t.Errorf("%s: got %v (%v), want an Inconsistent fault", name, err, batch.ClassOf(err))
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheHadoopCatalogServesLocalFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "warehouse")
	c, err := open(t, CatalogOptions{Type: "hadoop", Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(c)
	if got, err := s.Table(context.Background(), queryID); err != nil || got.Exists {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking made the warehouse: %v", err)
	}
	if err := s.Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	for n := range int64(30) {
		mustApply(t, s, queryID, planN(n))
	}
	wantOffsets(t, c, 300, 0)
	again, err := open(t, CatalogOptions{Type: "hadoop", Warehouse: dir})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := newSink(again).Table(context.Background(), queryID); err != nil || a.Applied.Batch != 29 {
		t.Errorf("got %+v, %v", a, err)
	}
}

// A catalog that another program made is not switched to another journal: reading it writes nothing.
func TestACatalogOfAnotherProgramIsReadAsItIs(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "catalog.db")
	c := openSQLite(t, dir)
	if err := newSink(c).Create(context.Background(), rawSchema()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+own)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "catalog.db")
	_, err = db.Exec("VACUUM INTO '" + foreign + "'") // a copy with SQLite's own default journal
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	journal := func(path string) byte { // 1: rollback journal, 2: WAL (https://sqlite.org/fileformat2.html#file_format_version_numbers)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b[18]
	}
	if journal(own) != 2 || journal(foreign) != 1 {
		t.Fatalf("got journals %d and %d, want 2 and 1", journal(own), journal(foreign))
	}
	before, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	there, err := open(t, CatalogOptions{Type: "sql", URI: foreign, Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	load(t, there)
	after, err := os.ReadFile(foreign)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("reading the table has changed the catalog's file, %v", err)
	}
}

// In /proc, where the system alone makes folders, mkdir says that there is no such file.
func TestAFileSystemThatIsNoPlaceForFilesIsNotSetUp(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	wantClass(t, explain("make a folder", makeFolder("/proc/sluice/lake")), batch.NotSetUp, "no folder can be made there")
}
