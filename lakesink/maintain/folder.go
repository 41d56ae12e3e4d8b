package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"

	"sluice/batch"
	"sluice/lakesink"
)

// Books is the bookkeeping of a folder of Parquet files. Keys are relative to the folder.
type Books interface {
	// Get reads an object; fs.ErrNotExist if it is not there.
	Get(ctx context.Context, key string) ([]byte, error)
	// List returns all keys with the prefix that sort after the given key.
	List(ctx context.Context, prefix, after string) ([]string, error)
}

// Folder is a folder of Parquet files that is looked after. What it needs of that is little: its manifests are merged by the
// runs themselves, and it has no snapshots.
type Folder struct {
	Location string
	Books    Books
	Store    iceio.IO
	Options  Options
}

// partName is the name of a data file in a folder: batch, task, number, and the UUID of the attempt. Spark's begin in the same
// way, with digits that are filled up, and with another UUID.
var partName = regexp.MustCompile(`^part-(0|[1-9]\d*)-(?:0|[1-9]\d*)-(?:0|[1-9]\d*)-(?:replay-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.zstd\.parquet$`)

// parquetText is a JSON text that ends as the name of a data file does.
var parquetText = regexp.MustCompile(`"(?:[^"\\]|\\.)*\.parquet"`)

// Orphans finds the data files that no manifest names, those of attempts which were cut short or lost, and removes them if it is
// told to. A file stays if anything in _sluice, in _sluice_ranges or in Spark's log has its name, also a manifest that does not
// count; if it is young by the store's clock; if it is of a batch that not every query has reached yet; or if it has another name
// than our data files have. Folders in it that are sinks of their own are not looked into. A folder that is not there is
// catalog.ErrNoSuchTable.
func (f *Folder) Orphans(ctx context.Context, o OrphanOptions) (*Orphans, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if f.Options.Now == nil {
		f.Options.Now = time.Now
	}
	s := &sweep{folder: f, options: o, names: addresses{}, result: Orphans{OlderThan: o.OlderThan}}
	if _, err := f.Books.Get(ctx, "_sluice/folder.json"); errors.Is(err, fs.ErrNotExist) {
		return nil, catalog.ErrNoSuchTable
	} else if err != nil {
		return nil, lakesink.Explain("read folder "+f.Location, err)
	}
	for _, step := range []func(context.Context) error{s.clock, s.list, s.read, s.sift, s.remove} {
		if err := step(ctx); err != nil {
			return &s.result, err
		}
	}
	return &s.result, nil
}

// sweep is one search in a folder.
type sweep struct {
	folder  *Folder
	options OrphanOptions
	// names are those of all data files that the bookkeeping has.
	names addresses
	// newest is the newest batch of each query.
	newest map[string]int64
	files  []lakesink.StoredFile
	result Orphans
}

func (s *sweep) clock(ctx context.Context) error {
	now := s.folder.Options.Now()
	if s.removes() {
		there, err := lakesink.StoreClock(ctx, s.folder.Store, s.folder.Location)
		if err != nil {
			return err
		}
		if there.Before(now) {
			now = there
		}
	}
	s.result.Cutoff = now.Add(-s.options.OlderThan)
	return nil
}

func (s *sweep) removes() bool { return s.options.Remove && !s.folder.Options.DryRun }

// list takes down the files of the folder, before the bookkeeping is read: whatever is committed until then counts.
func (s *sweep) list(ctx context.Context) error {
	at := canonical(s.folder.Location)
	var keep []string
	for _, k := range s.options.Keep {
		if c := canonical(k); c != at {
			keep = append(keep, c)
		}
	}
	var all []lakesink.StoredFile
	err := lakesink.EachFile(ctx, s.folder.Store, s.folder.Location, func(f lakesink.StoredFile) error {
		c := canonical(f.Path)
		if root, ok := strings.CutSuffix(c, "/_sluice/folder.json"); ok && root != at {
			keep = append(keep, root) // a sink of its own
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		return lakesink.Explain("list "+s.folder.Location, err)
	}
	for _, f := range all {
		c := canonical(f.Path)
		below := strings.TrimPrefix(c, at)
		if within(c, at) && !strings.Contains(below, "/_") && !strings.Contains(below, "/.") && !slices.ContainsFunc(keep, func(k string) bool { return within(c, k) }) {
			s.result.Listed.add(f.Bytes)
			s.files = append(s.files, f)
		}
	}
	return nil
}

// read takes the names of data files from all bookkeeping. Manifests become parts of ranges meanwhile, and ranges are there
// before manifests go: so ranges are read last.
func (s *sweep) read(ctx context.Context) error {
	s.newest = map[string]int64{}
	if id := s.folder.Options.Query; id != "" {
		s.newest[id] = batch.None
	}
	for _, prefix := range []string{"_sluice/", "_spark_metadata/", "_sluice_ranges/"} {
		keys, err := s.folder.Books.List(ctx, prefix, "")
		if err != nil {
			return lakesink.Explain("list "+s.folder.Location+"/"+prefix, err)
		}
		for _, key := range keys {
			s.count(key)
			text, err := s.folder.Books.Get(ctx, key)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return lakesink.Explain("read "+s.folder.Location+"/"+key, err)
			}
			if err := s.note(key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// count takes a batch's number from the name of its manifest.
func (s *sweep) count(key string) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 || parts[0] != "_sluice" || parts[1] == "schema" {
		return
	}
	if n, err := strconv.ParseInt(strings.TrimSuffix(parts[2], ".json"), 10, 64); err == nil {
		s.newest[parts[1]] = max(n, s.newest[parts[1]])
	}
}

// note adds the names in an object. Whatever form it has, a file that counts is named in it.
func (s *sweep) note(key string, text []byte) error {
	for _, quoted := range parquetText.FindAll(text, -1) {
		var name string
		if err := json.Unmarshal(quoted, &name); err != nil {
			return inconsistent(fmt.Sprintf("%s in %s cannot be read", key, s.folder.Location), "sluice verify says what is wrong with the folder; nothing was removed", err)
		}
		s.names.add(path.Base(canonical(name)))
	}
	return nil
}

// open reports whether a batch may yet be committed: the name of a file does not say by which query.
func (s *sweep) open(n int64) bool {
	for query, newest := range s.newest {
		if n > newest && !slices.Contains(s.options.Abandoned, query) {
			return true
		}
	}
	return false
}

// sift leaves the orphans of what was listed.
func (s *sweep) sift(context.Context) error {
	var orphans []lakesink.StoredFile
	for _, f := range s.files {
		name := path.Base(canonical(f.Path))
		m := partName.FindStringSubmatch(name)
		switch n, err := number(m); {
		case s.names.has(name):
		case m == nil || err != nil:
			s.result.Others.add(f.Bytes)
		case f.Modified.IsZero() || !f.Modified.Before(s.result.Cutoff):
			s.result.Young.add(f.Bytes)
		case s.open(n):
			s.result.Open.add(f.Bytes)
		default:
			orphans = append(orphans, f)
			s.result.Found.add(f.Bytes)
		}
	}
	s.files = orphans
	for _, f := range orphans[:min(s.options.Show, len(orphans))] {
		s.result.First = append(s.result.First, f.Path)
	}
	return nil
}

func number(match []string) (int64, error) {
	if match == nil {
		return 0, nil
	}
	return strconv.ParseInt(match[1], 10, 64)
}

// remove removes the orphans. None of them can be named by a manifest that comes later: it would be of a batch that is there.
func (s *sweep) remove(ctx context.Context) error {
	if !s.removes() {
		return nil
	}
	goes := make([]unreferred, len(s.files))
	for i, f := range s.files {
		goes[i] = unreferred{f.Path, f.Bytes, true}
	}
	gone, err := removeAll(ctx, s.folder.Store, goes)
	for _, f := range gone {
		s.result.Removed.add(f.bytes)
	}
	if err != nil {
		return lakesink.Explain("remove abandoned files of "+s.folder.Location, err)
	}
	return nil
}
