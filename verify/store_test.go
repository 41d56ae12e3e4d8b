package verify_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/verify"
)

var errStore = errors.New("connection reset by peer")

// unsteady is a local store that fails to read what contains a text, and that has no way to ask for a size but to open.
type unsteady struct{}

var fail struct {
	sync.Mutex
	text string
}

func init() {
	icebergio.Register("unsteady", func(context.Context, *url.URL, map[string]string) (icebergio.IO, error) { return unsteady{}, nil })
}

// failing makes reads fail until the test ends.
func failing(t *testing.T, text string) {
	fail.Lock()
	defer fail.Unlock()
	fail.text = text
	t.Cleanup(func() {
		fail.Lock()
		defer fail.Unlock()
		fail.text = ""
	})
}

func path(name string) string { return strings.TrimPrefix(name, "unsteady://") }

func (unsteady) Open(name string) (icebergio.File, error) {
	f, err := icebergio.LocalFS{}.Open(path(name))
	fail.Lock()
	defer fail.Unlock()
	if err == nil && fail.text != "" && strings.Contains(name, fail.text) {
		return broken{f}, nil
	}
	return f, err
}

func (unsteady) Remove(name string) error { return icebergio.LocalFS{}.Remove(path(name)) }
func (unsteady) Create(name string) (icebergio.FileWriter, error) {
	return icebergio.LocalFS{}.Create(path(name))
}

func (unsteady) WriteFile(name string, text []byte) error {
	return icebergio.LocalFS{}.WriteFile(path(name), text)
}

// broken opens and then cannot be read.
type broken struct{ icebergio.File }

func (broken) Read([]byte) (int, error)          { return 0, errStore }
func (broken) ReadAt([]byte, int64) (int, error) { return 0, errStore }

func unsteadyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, columns: verify.RawColumns, queries: map[string]*query{}, kafka: newKafka(), catalog: sqliteCatalog(t)}
	must(t, w.catalog.CreateNamespace(t.Context(), table.Identifier{"sales"}, nil))
	w.table = w.typed(table.Identifier{"sales", "orders"}, iceberg.PrimitiveTypes.Int32, iceberg.PrimitiveTypes.Int64, catalog.WithLocation("unsteady://"+t.TempDir()))
	return w
}

func TestAStoreThatFailsWhileItIsReadIsAnErrorAndNoFinding(t *testing.T) {
	w := unsteadyWorld(t)
	w.apply(ordersQuery, reading("orders", 0, 0, 100))
	first := w.paths()[0]
	w.deleteOffsets(40, 50)
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
	second := w.paths()[0]
	fs, err := w.table.FS(t.Context())
	must(t, err)
	manifests, err := w.table.CurrentSnapshot().Manifests(fs)
	must(t, err)
	old := w.table.SnapshotByID(*w.table.CurrentSnapshot().ParentSnapshotID)
	for name, path := range map[string]string{"data file": second, "data file of the history": first, "manifest": manifests[0].FilePath(),
		"manifest list": w.table.CurrentSnapshot().ManifestList, "manifest list of the history": old.ManifestList} {
		t.Run(name, func(t *testing.T) {
			failing(t, path)
			if r, err := verify.Table(t.Context(), w.load, w.whole()); !errors.Is(err, errStore) {
				t.Errorf("got report %+v and error %v, want %v", r, err, errStore)
			}
		})
	}
	wantVerdict(t, w.verify(w.whole()), verify.Proved)
}
