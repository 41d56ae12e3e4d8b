package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
)

// Objects is the bookkeeping of a folder of Parquet files. Keys are relative to the folder.
type Objects interface {
	// Get reads an object; fs.ErrNotExist if it is not there.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns all keys with the prefix, in byte order, that sort after the given key.
	List(ctx context.Context, prefix, after string) ([]string, error)
}

// Folder is a folder of Parquet files whose manifests say which of them count. It is read as the table that it stands for:
// one snapshot for each batch, so that it is judged by the rules of any table.
type Folder struct {
	// Location is its address, Objects its bookkeeping and Store its files.
	Location string
	Objects  Objects
	Store    icebergio.IO

	problems []Problem
	// query is the one whose checkpoint is known, empty for none: a log that Spark has begun does not say.
	query string
	// untold is why it cannot be told which of Spark's files count, an Inconsistent fault; nil where it can.
	untold error
	// ranges are the keys of the ranges that were listed. ranged holds, by its key, the manifests of one that was read; nil if it
	// is not there. alone holds manifests that were read ahead.
	ranges map[string]bool
	ranged map[string][]*manifest
	alone  map[string]*manifest
}

// Of judges the folder. What witnesses say is in the report; an error means that a witness could not be heard.
func (f *Folder) Of(ctx context.Context, options Options) (*Report, error) {
	options.bookkeeping = func() []Problem { return f.problems }
	f.query = options.Query
	return Table(ctx, f.Load, options)
}

// Load reads the folder as it is now. One that is not there is catalog.ErrNoSuchTable.
func (f *Folder) Load(ctx context.Context) (*table.Table, error) {
	b, err := f.books(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.countSparks(ctx, b); err != nil {
		return nil, fmt.Errorf("read folder %s: %w", f.Location, err)
	}
	t, err := f.table(b.folder, b.schema, b.all, b.newest)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", f.Location, err)
	}
	return t, nil
}

// Whole says whether the folder, as it was read last, was all there: files that count are left out where a manifest is gone or
// changed. It is an Inconsistent fault where not.
func (f *Folder) Whole() error {
	for _, p := range f.problems {
		switch p.Kind {
		case ManifestGone, ManifestUnreadable, ManifestContradicts, FolderMixed:
			return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("which files of %s count cannot be told: %s: %s", f.Location, p.What, strings.Join(p.Files, ", ")),
				Hint: "bring back what was there before; sluice verify says all that is wrong"}
		}
	}
	return f.untold
}

const (
	bookFolder = "_sluice/"
	schemaPart = bookFolder + "schema/"
)

// manifest is what a batch's manifest says, as far as the judge asks.
type manifest struct {
	V        int    `json:"v"`
	Folder   string `json:"folder"`
	Query    string `json:"query"`
	Name     string `json:"name"`
	Batch    int64  `json:"batch"`
	Previous int64  `json:"previous"`
	Plan     string `json:"plan"`
	Counts   struct {
		Rows int64 `json:"rows"`
	} `json:"counts"`
	WrittenMs int64 `json:"writtenMs"`
	// Spark is what Spark wrote before the batch, nil for nothing.
	Spark  *turn             `json:"spark"`
	Files  []batch.DataFile  `json:"files"`
	Ledger map[string]string `json:"ledger"`
	// Losses is what the batch goes on without.
	Losses []batch.Loss `json:"losses"`

	key string
	// id is the number by which ledgers and decisions name it.
	id int64
	// replayed is set where it is no batch's: dead letters that were decoded again. sparks says that it stands for batches that
	// Spark wrote, uncounted that the rows of their files are not known yet.
	replayed          *replay
	sparks, uncounted bool
}

// replay is what an object says that holds dead letters which were decoded again.
type replay struct {
	V        int              `json:"v"`
	Folder   string           `json:"folder"`
	Query    string           `json:"query"`
	Number   int64            `json:"number"`
	Records  int64            `json:"records"`
	Files    []batch.DataFile `json:"files"`
	Replayed []struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
		Records   int64  `json:"records"`
	} `json:"replayed"`
}

func manifestName(query string, n int64) string {
	return bookFolder + query + "/" + strconv.FormatInt(n, 10) + ".json"
}

func parseManifest(key string, text []byte) (*manifest, error) {
	m := &manifest{key: key}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	if known := 1 + min(1, m.Spark.batches()); int64(m.V) != known {
		return nil, fmt.Errorf("it has format version %d", m.V)
	}
	sum := sha256.Sum256(text)
	m.id = int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	return m, nil
}

// folderColumn is a column of the folder in the form of its own objects.
type folderColumn struct {
	ID        int            `json:"id"`
	Name      string         `json:"name"`
	Kind      columns.Kind   `json:"kind"`
	Precision int            `json:"precision"`
	Scale     int            `json:"scale"`
	Width     int            `json:"width"`
	Required  bool           `json:"required"`
	Fields    []folderColumn `json:"fields"`
}

type folderSchema struct {
	V       int            `json:"v"`
	Folder  string         `json:"folder"`
	ID      int            `json:"id"`
	Columns []folderColumn `json:"columns"`
	// Partitions are the levels of folders that the files are in.
	Partitions []folderPartition `json:"partitions"`
	// Spark says that Spark has begun the folder.
	Spark bool `json:"spark"`
}

func damaged(key, why string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s cannot be read: %s", key, why), Hint: "somebody changed it, or a newer sluice wrote it: bring back what was there before, or use that version of sluice"}
}

func (f *Folder) schema(ctx context.Context, key string) (*folderSchema, error) {
	text, err := f.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	var s folderSchema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, damaged(key, err.Error())
	}
	known := 1 + min(1, len(s.Partitions))
	if s.Spark {
		known = 3
	}
	if s.V != known {
		return nil, damaged(key, fmt.Sprintf("it has format version %d", s.V))
	}
	return &s, nil
}

func (f *Folder) at(key string) string { return strings.TrimRight(f.Location, "/") + "/" + key }

func (f *Folder) problem(p Problem) {
	if p.Todo == "" {
		p.Todo = "Somebody changed objects of " + bookFolder + ": bring back what was there before."
	}
	f.problems = append(f.problems, p)
}

// chain reads the manifests of a query on the way back from the newest, and returns them in order. What each says of itself
// is held against the one before it.
func (f *Folder) chain(ctx context.Context, query string, newest int64) ([]*manifest, error) {
	var chain []*manifest
	for n := newest; n != batch.None; {
		m, err := f.rangedManifest(ctx, query, n)
		if m == nil && err == nil {
			m, err = f.manifest(ctx, query, n)
		}
		if errors.Is(err, fs.ErrNotExist) && n == newest {
			return nil, err
		}
		if errors.Is(err, fs.ErrNotExist) && f.reread(query, n) {
			continue // it may have become part of a range since that was looked for
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoManifest) {
			return nil, err
		}
		if err != nil {
			p := Problem{Kind: ManifestUnreadable, Query: query, What: fmt.Sprintf("the manifest of batch %d cannot be read", n), Files: []string{f.at(manifestName(query, n))}, Evidence: err.Error()}
			if errors.Is(err, fs.ErrNotExist) {
				p.Kind, p.What = ManifestGone, fmt.Sprintf("the manifest of batch %d is gone", n)
			}
			f.problem(p)
			break
		}
		chain = append(chain, m)
		if m.Previous >= n || m.Previous < batch.None || !m.Spark.between(m.Previous, n) {
			f.problem(Problem{Kind: ManifestUnreadable, Query: query, What: fmt.Sprintf("the manifest of batch %d makes no sense", n), Files: []string{f.at(m.key)}, Evidence: fmt.Sprintf("it says that it follows batch %d%s", m.Previous, m.Spark.text())})
			break
		}
		n = m.Previous
	}
	slices.Reverse(chain)
	for i, m := range chain {
		var before *manifest
		if i > 0 {
			before = chain[i-1]
		}
		f.checkManifest(m, before)
	}
	return chain, nil
}

// errNoManifest: what is under a manifest's name is none.
var errNoManifest = errors.New("it is no manifest")

func (f *Folder) manifest(ctx context.Context, query string, n int64) (*manifest, error) {
	key := manifestName(query, n)
	if m := f.alone[key]; m != nil {
		return m, nil
	}
	text, err := f.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(key, text)
	if err == nil && (m.Query != query || m.Batch != n) {
		err = fmt.Errorf("it is of batch %d of query %s", m.Batch, m.Query)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoManifest, err)
	}
	return m, nil
}

// replays reads the replays of a query, each as what stands for a snapshot.
func (f *Folder) replays(ctx context.Context, query string, keys []string, folder string) ([]*manifest, error) {
	var found []*manifest
	for _, key := range keys {
		text, err := f.Objects.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		r := &replay{}
		err = json.Unmarshal(text, r)
		if err == nil && (r.V != 1 || r.Query != query || r.Folder != folder || key != bookFolder+query+"/replays/"+strconv.FormatInt(r.Number, 10)+".json") {
			err = fmt.Errorf("it is replay %d of query %s in folder %s, format version %d", r.Number, r.Query, r.Folder, r.V)
		}
		if err != nil {
			f.problem(Problem{Kind: ManifestUnreadable, Query: query, What: "what a replay of dead letters has added cannot be read", Files: []string{f.at(key)}, Evidence: err.Error()})
			continue
		}
		sum := sha256.Sum256(text)
		m := &manifest{Query: query, Batch: batch.None, Files: r.Files, key: key, id: int64(binary.BigEndian.Uint64(sum[:8]) >> 1), replayed: r}
		m.Counts.Rows = r.Records
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b *manifest) int { return cmp.Compare(a.replayed.Number, b.replayed.Number) })
	return found, nil
}

// checkManifest holds a manifest against itself and against the ledger before it.
func (f *Folder) checkManifest(m, before *manifest) {
	wrong := func(format string, parts ...any) {
		f.problem(Problem{Kind: ManifestContradicts, Query: m.Query, What: fmt.Sprintf("the manifest of batch %d contradicts itself or the one before it", m.Batch), Files: []string{f.at(m.key)}, Evidence: fmt.Sprintf(format, parts...)})
	}
	var rows int64
	for _, file := range m.Files {
		rows += file.Records
	}
	if rows != m.Counts.Rows {
		wrong("its files have %d rows, and it counts %d", rows, m.Counts.Rows)
	}
	ledger, err := batch.ParseLedger(m.Ledger, m.Query)
	if err != nil || ledger == nil {
		return // told by whoever reads the ledgers, if it is the newest
	}
	if ledger.Batch != m.Batch || ledger.Plan != m.Plan {
		wrong("its ledger is of batch %d, plan %.12s, and it is of batch %d, plan %.12s", ledger.Batch, ledger.Plan, m.Batch, m.Plan)
	}
	was := int64(0)
	if before == nil && m.Previous != batch.None {
		return // it is gone, and that is told
	}
	if before != nil {
		prior, err := batch.ParseLedger(before.Ledger, m.Query)
		if err != nil || prior == nil {
			return
		}
		was = prior.Rows()
	}
	if ledger.Rows()-was != rows {
		wrong("the ledger counts %d rows after it and %d before it, and its files have %d", ledger.Rows(), was, rows)
	}
}
