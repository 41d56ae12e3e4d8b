package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
)

// readAhead is how many manifests and ranges are read side by side: a folder of many batches is some hundred small objects.
const readAhead = 8

// books is one reading of a folder's bookkeeping.
type books struct {
	folder string
	schema *folderSchema
	// all are the manifests that count, of one query after the other, in order; newest the last one of each.
	all    []*manifest
	newest map[string]*manifest
}

// books reads the folder's bookkeeping. A folder that is not there is catalog.ErrNoSuchTable.
func (f *Folder) books(ctx context.Context) (*books, error) {
	for attempt := 1; ; attempt++ {
		b, err := f.booksOnce(ctx)
		if attempt < maxReadings && errors.Is(err, fs.ErrNotExist) {
			continue // what was listed has been made one with others meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read folder %s: %w", f.Location, err)
		}
		return b, nil
	}
}

// Files lists the addresses of the files that count, in the order of their batches, and the columns of the folder. Whole says
// afterwards whether that is all. It costs a small part of what Load does. A folder that is not there is
// catalog.ErrNoSuchTable.
func (f *Folder) Files(ctx context.Context) (addresses []string, schema *iceberg.Schema, err error) {
	b, err := f.books(ctx)
	if err != nil {
		return nil, nil, err
	}
	if schema, err = b.schema.iceberg(); err != nil {
		return nil, nil, fmt.Errorf("the columns of folder %s: %w", f.Location, err)
	}
	for _, m := range b.all {
		for i := range m.Files {
			addresses = append(addresses, f.at(m.Files[i].Path))
		}
	}
	return addresses, schema, nil
}

// listed is what a folder's bookkeeping consists of, by query.
type listed struct {
	// numbers are those of manifests that stand alone, ranges the beginnings of ranges; each query is in one of them at least.
	numbers, ranges map[string][]int64
	replays         map[string][]string
	altered         int64
	// claims says that Spark is told of one query.
	claims bool
}

func (f *Folder) list(ctx context.Context) (*listed, error) {
	keys, err := f.Objects.List(ctx, bookFolder, "")
	if err != nil {
		return nil, err
	}
	l := &listed{numbers: map[string][]int64{}, ranges: map[string][]int64{}, replays: map[string][]string{}}
	for _, key := range keys {
		l.add(key)
	}
	if keys, err = f.Objects.List(ctx, rangeFolder, ""); err != nil { // after the manifests: one that is gone by then is in a range
		return nil, err
	}
	for _, key := range keys {
		query, name, _ := strings.Cut(strings.TrimPrefix(key, rangeFolder), "/")
		digits, _, _ := strings.Cut(name, "-")
		if from, err := strconv.ParseInt(digits, 10, 64); err == nil && key == rangeName(query, from) {
			l.ranges[query] = append(l.ranges[query], from)
			f.ranges[key] = true
		}
	}
	return l, nil
}

// add takes up what a key of the folder's bookkeeping says; other people's say nothing.
func (l *listed) add(key string) {
	if key == bookFolder+"spark.json" {
		l.claims = true
	}
	folder, name, _ := strings.Cut(strings.TrimPrefix(key, bookFolder), "/")
	n, err := strconv.ParseInt(strings.TrimSuffix(name, ".json"), 10, 64)
	query, number, isReplay := strings.Cut(strings.TrimPrefix(key, bookFolder), "/replays/")
	switch {
	case isReplay:
		if n, err := strconv.ParseInt(strings.TrimSuffix(number, ".json"), 10, 64); err == nil && n >= 0 && number == strconv.FormatInt(n, 10)+".json" {
			l.replays[query] = append(l.replays[query], key)
		}
	case err != nil || n < 0 || bookFolder+folder+"/"+strconv.FormatInt(n, 10)+".json" != key:
	case folder == "schema":
		l.altered = max(l.altered, n)
	default:
		l.numbers[folder] = append(l.numbers[folder], n)
	}
}

func (f *Folder) booksOnce(ctx context.Context) (*books, error) {
	f.untold = nil
	f.problems, f.ranges, f.ranged, f.alone = nil, map[string]bool{}, map[string][]*manifest{}, map[string]*manifest{}
	began, err := f.schema(ctx, bookFolder+"folder.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, catalog.ErrNoSuchTable
	}
	if err != nil {
		return nil, err
	}
	there, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	b := &books{folder: began.Folder, schema: began, newest: map[string]*manifest{}}
	if err := f.readAltered(ctx, b, there.altered); err != nil {
		return nil, err
	}
	claimed := ""
	if there.claims {
		if claimed, err = f.claimed(ctx, bookFolder+"spark.json"); err != nil {
			return nil, err
		}
	}
	queries := maps.Clone(there.numbers)
	maps.Copy(queries, there.ranges)
	if len(queries) == 0 && (claimed != "" || began.Spark) { // Spark has begun, and the first batch of ours is not there yet
		query := cmp.Or(claimed, f.query)
		_, after, err := f.sparkAfter(ctx, query, nil)
		b.add(nil, after)
		return b, err
	}
	for _, query := range slices.Sorted(maps.Keys(queries)) {
		if err := f.addQuery(ctx, b, there, query, claimed); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// readAltered reads the columns after the newest change.
func (f *Folder) readAltered(ctx context.Context, b *books, altered int64) (err error) {
	if altered == 0 {
		return nil
	}
	key := schemaPart + strconv.FormatInt(altered, 10) + ".json"
	if b.schema, err = f.schema(ctx, key); err == nil && b.schema.Folder != b.folder {
		f.problem(Problem{Kind: FolderMixed, What: "the folder's columns are of another folder", Evidence: fmt.Sprintf("folder.json says %s, %s says %s", b.folder, key, b.schema.Folder)})
	}
	return err
}

// addQuery adds the manifests and replays of one query.
func (f *Folder) addQuery(ctx context.Context, b *books, there *listed, query, claimed string) error {
	if err := f.readAheadOf(ctx, query, there); err != nil {
		return err
	}
	newest := slices.Max(append(there.numbers[query], batch.None))
	if newest == batch.None { // all manifests are in ranges: somebody moved the others away
		all, err := f.rangeOf(ctx, query, slices.Max(there.ranges[query]))
		if err != nil || len(all) == 0 {
			f.problem(Problem{Kind: ManifestUnreadable, Query: query, What: "the newest batches cannot be read", Files: []string{f.at(rangeName(query, slices.Max(there.ranges[query])))}, Evidence: fmt.Sprint(err)})
			return nil
		}
		newest = all[len(all)-1].Batch
	}
	chain, err := f.chain(ctx, query, newest)
	if err != nil {
		return err
	}
	var after *manifest
	if claimed == query {
		if chain, after, err = f.sparkAfter(ctx, query, chain); err != nil {
			return err
		}
	}
	for _, m := range chain {
		if m.Folder != b.folder {
			f.problem(Problem{Kind: FolderMixed, Query: query, What: "a manifest is of another folder", Files: []string{f.at(m.key)}, Evidence: fmt.Sprintf("it names folder %s, and this one is %s", m.Folder, b.folder)})
		}
	}
	b.add(chain, after)
	if len(chain) == 0 {
		return nil
	}
	b.newest[query] = chain[len(chain)-1]
	f.checkClaim(claimed, query)
	more, err := f.replays(ctx, query, there.replays[query], b.folder)
	b.all = append(b.all, more...)
	return err
}

// add takes up the manifests of a query, each behind what Spark wrote before it, and what Spark has written after them.
func (b *books) add(chain []*manifest, after *manifest) {
	for _, m := range chain {
		if m.Spark != nil {
			b.all = append(b.all, m.Spark.manifest(m))
		}
		b.all = append(b.all, m)
	}
	if after != nil {
		b.all = append(b.all, after)
	}
}

// readAheadOf reads the ranges of a query and the manifests that stand alone, as far as they can be read: what is wrong with
// the others is said where their turn comes.
func (f *Folder) readAheadOf(ctx context.Context, query string, there *listed) error {
	var mu sync.Mutex
	ranges := there.ranges[query]
	err := parallel(ctx, readAhead, len(ranges), func(ctx context.Context, i int) error {
		key := rangeName(query, ranges[i])
		text, err := f.Objects.Get(ctx, key)
		if err != nil {
			return nil
		}
		if all, err := parseRange(key, text, query, ranges[i]); err == nil {
			mu.Lock()
			defer mu.Unlock()
			f.ranged[key] = all
		}
		return nil
	})
	if err != nil {
		return err
	}
	var alone []int64
	for _, n := range there.numbers[query] {
		if f.ranged[rangeName(query, n-n%rangeSize)] == nil {
			alone = append(alone, n)
		}
	}
	read := make([]*manifest, len(alone))
	err = parallel(ctx, readAhead, len(alone), func(ctx context.Context, i int) error {
		read[i], _ = f.manifest(ctx, query, alone[i])
		return nil
	})
	for i, m := range read {
		if m != nil {
			f.alone[manifestName(query, alone[i])] = m
		}
	}
	return err
}
