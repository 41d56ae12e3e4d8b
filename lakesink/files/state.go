package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sluice/batch"
)

// state is one reading of the folder's bookkeeping.
type state struct {
	// schema is the columns in force, nil if the folder is not there.
	schema *Schema
	// manifests lists, by query, the numbers of the manifests that stand alone, in order.
	manifests map[string][]int64
	// replays lists, by query, the numbers of its replays.
	replays map[string][]int64
	// claim is the query whose files Spark is told of, empty if it is told of none.
	claim string
	// turn is what Spark has written beyond the manifests of the query that was asked for; nil for nothing. crossed is why the
	// two do not fit together, an Inconsistent fault; nil where they do.
	turn    *turn
	crossed error
}

// look reads what the folder is and lists what is in it. A folder that is not there is a state without schema.
func (f *Folder) look(ctx context.Context) (*state, error) {
	for attempt := 1; ; attempt++ {
		s, err := f.lookOnce(ctx)
		if errors.Is(err, fs.ErrNotExist) && attempt < lookAttempts {
			continue // what was listed has been made one with others meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read folder %s: %w", f.options.Location, err)
		}
		f.mu.Lock()
		f.newest = s.schema
		f.mu.Unlock()
		return s, nil
	}
}

// lookAttempts is how often the folder is listed where what a listing names is gone when it is read.
const lookAttempts = 4

func (f *Folder) lookOnce(ctx context.Context) (*state, error) {
	s := &state{manifests: map[string][]int64{}, replays: map[string][]int64{}}
	text, err := f.options.Objects.Get(ctx, folderKey)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if s.schema, err = parseSchema(text); err != nil {
		return nil, f.damaged(folderKey, err)
	}
	keys, err := f.options.Objects.List(ctx, bookFolder, "")
	if err != nil {
		return nil, err
	}
	altered := int64(0)
	for _, key := range keys {
		if key == claimKey {
			if s.claim, err = f.claimed(ctx); err != nil {
				return nil, err
			}
		}
		folder, n, ok := numbered(key)
		query := strings.TrimSuffix(strings.TrimPrefix(folder, bookFolder), "/")
		replays, isReplay := strings.CutSuffix(query+"/", "/"+replayFolder)
		switch {
		case ok && isReplay && !strings.Contains(replays, "/"):
			s.replays[replays] = append(s.replays[replays], n)
		case !ok || query == "" || strings.Contains(query, "/"): // folder.json, and what is not ours
		case folder == schemaPart:
			altered = max(altered, n)
		default:
			s.manifests[query] = append(s.manifests[query], n)
		}
	}
	for _, numbers := range s.manifests {
		slices.Sort(numbers)
	}
	return s, f.readAltered(ctx, s, int(altered))
}

func (f *Folder) claimed(ctx context.Context) (string, error) {
	text, err := f.options.Objects.Get(ctx, claimKey)
	if err != nil {
		return "", err
	}
	var c claim
	if err := json.Unmarshal(text, &c); err != nil || c.V != formatVersion || c.Query == "" {
		return "", f.damaged(claimKey, errors.Join(err, fmt.Errorf("format version %d, query %q", c.V, c.Query)))
	}
	return c.Query, nil
}

// readAltered reads the columns after the newest change.
func (f *Folder) readAltered(ctx context.Context, s *state, altered int) error {
	if altered == 0 {
		return nil
	}
	text, err := f.options.Objects.Get(ctx, schemaKey(altered))
	if err != nil {
		return err
	}
	schema, err := parseSchema(text)
	if err == nil && (schema.ID != altered || schema.Folder != s.schema.Folder) {
		err = fmt.Errorf("it is change %d of the folder with UUID %s, and this one is %s", schema.ID, schema.Folder, s.schema.Folder)
	}
	if err != nil {
		return f.damaged(schemaKey(altered), err)
	}
	s.schema = schema
	return nil
}

// manifest reads the manifest of one batch.
func (f *Folder) manifest(ctx context.Context, query string, n int64) (*Manifest, error) {
	text, err := f.options.Objects.Get(ctx, manifestKey(query, n))
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(text, query, n)
	if err != nil {
		return nil, f.damaged(manifestKey(query, n), err)
	}
	return m, nil
}

// before is the manifest that a manifest follows, alone or in its range, nil for the first. fs.ErrNotExist: it is gone.
func (f *Folder) before(ctx context.Context, m *Manifest) (*Manifest, error) {
	if m.Previous == batch.None {
		return nil, nil
	}
	before, err := f.manifest(ctx, m.Query, m.Previous)
	if errors.Is(err, fs.ErrNotExist) {
		return f.inRange(ctx, m.Query, m.Previous)
	}
	return before, err
}

// tip is the newest manifest of a query that counts, nil if there is none; what Spark has written after it is in s afterwards.
func (f *Folder) tip(ctx context.Context, s *state, query string) (newest *Manifest, err error) {
	s.turn, s.crossed = nil, nil
	if query == "" {
		return nil, nil
	}
	if s.schema != nil {
		if newest, err = f.newestOf(ctx, s, query); err != nil {
			return nil, err
		}
	}
	if !f.follows(s, query) {
		return newest, nil
	}
	counts, t, err := f.turnAfter(ctx, s, newest)
	if batch.ClassOf(err) == batch.Inconsistent {
		s.crossed = err
		return newest, nil
	}
	if err != nil {
		return nil, err
	}
	s.turn = t
	f.mu.Lock()
	f.turn = t
	f.mu.Unlock()
	return counts, nil
}

// newestOf is the newest manifest of a query, nil if there is none.
func (f *Folder) newestOf(ctx context.Context, s *state, query string) (*Manifest, error) {
	numbers := s.manifests[query]
	if len(numbers) == 0 {
		return f.newestRanged(ctx, query)
	}
	m, err := f.manifest(ctx, query, numbers[len(numbers)-1])
	if err == nil && m.Folder != s.schema.Folder {
		return nil, f.otherFolder(m, s.schema.Folder)
	}
	return m, err
}

// broken is why the query's manifests are not whole, as far as the listing and the newest tell: nil where they seem so. Ranges are
// asked only where one is missing: somebody may have gone back to a batch of before they were made.
func (f *Folder) broken(ctx context.Context, s *state, newest *Manifest) (broken, err error) {
	ranged := map[int64][]*Manifest{}
	for _, n := range numbersOf(newest.Alone) {
		if _, alone := slices.BinarySearch(s.manifests[newest.Query], n); alone {
			continue
		}
		all, known := ranged[rangeStart(n)]
		if !known {
			if all, err = f.rangeOf(ctx, newest.Query, n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			ranged[rangeStart(n)] = all
		}
		if !slices.ContainsFunc(all, func(m *Manifest) bool { return m.Batch == n }) {
			return f.lost(newest, n), nil
		}
	}
	return nil, nil
}

// lost is the fault of a manifest that is gone from among others.
func (f *Folder) lost(newest *Manifest, n int64) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("the manifest of batch %d of query %s is gone from %s, where batch %d builds on it: the files of that batch and of those before it are on no list", n, newest.Query, f.options.Location, newest.Batch),
		Hint: fmt.Sprintf("bring %s back, from a backup or a version that the store keeps; if it is lost, move all manifests with higher numbers out of %s%s/ as well, and run again: the run says what the choices are",
			manifestKey(newest.Query, n), bookFolder, newest.Query)}
}

// otherFolder is the fault of a manifest that was made for a folder which is not there any more.
func (f *Folder) otherFolder(m *Manifest, uuid string) error {
	return &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s in %s is of the folder with UUID %s, and this one has %s: it was emptied and made again while a run was writing to it, or copied together from two", manifestKey(m.Query, m.Batch), f.options.Location, m.Folder, uuid),
		Hint:    fmt.Sprintf("bring the old folder back; or, if its rows are not wanted any more, move %s%s/ away, and run again: the run says what the choices are", bookFolder, m.Query)}
}

// Table reads the folder afresh and says what was applied of the query. A folder that is not there is no error; one that
// cannot be read is.
func (f *Folder) Table(ctx context.Context, query string) (*batch.Table, error) {
	ctx, cancel := f.soon(ctx)
	defer cancel()
	for attempt := 1; ; attempt++ {
		t, err := f.table(ctx, query)
		again := errors.Is(err, fs.ErrNotExist) || err == nil && t.Applied.Broken != nil // by a run that makes a range, or by somebody
		if again && attempt < lookAttempts {
			continue
		}
		return t, late(ctx, err)
	}
}

// late adds the bound that was reached to an error of a context that ended by it.
func late(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func (f *Folder) table(ctx context.Context, query string) (*batch.Table, error) {
	s, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := f.tip(ctx, s, query)
	if err != nil {
		return nil, err
	}
	applied, err := s.applied(newest)
	if err != nil {
		return nil, f.damaged(manifestKey(query, newest.Batch), err)
	}
	applied.Broken = s.crossed
	if s.schema == nil && query != "" && s.turn == nil && s.crossed == nil { // of Spark's, and the job does not ask to go on there
		if applied.Broken = f.foreignSpark(ctx); applied.Broken != nil && batch.ClassOf(applied.Broken) != batch.Inconsistent {
			return nil, applied.Broken
		}
	}
	if s.schema == nil {
		return &batch.Table{Folder: true, Applied: *applied}, nil
	}
	t := &batch.Table{Exists: true, Folder: true, UUID: s.schema.Folder, Location: f.options.Location, SchemaID: s.schema.ID, Columns: rowsOf(s.schema.Columns), Applied: *applied, Queries: map[string]string{}}
	if s.claim != "" && query != "" && s.claim != query {
		t.Applied.Broken = f.claimedBy(s.claim)
	}
	for id := range s.manifests {
		m := newest
		if id != query {
			if m, err = f.newestOf(ctx, s, id); err != nil {
				return nil, err
			}
		}
		if m != nil {
			t.Queries[id] = m.Name
		}
	}
	if newest == nil {
		return t, nil
	}
	t.Queries[query] = newest.Name
	if err := f.replayedOf(ctx, s, t.Applied.Ledger); err != nil {
		return nil, err
	}
	if t.Applied.Broken == nil {
		t.Applied.Broken, err = f.broken(ctx, s, newest)
	}
	return t, err
}
