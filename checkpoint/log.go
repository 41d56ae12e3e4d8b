package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/offsets"
)

// The names in a checkpoint's folder.
const (
	queryKey    = "metadata"
	originKey   = "sources/0/0"
	identityKey = "identity.json"
	plansDir    = "offsets/"
	markersDir  = "commits/"
	progressDir = "progress/"
	runsDir     = "runs/"
	// stateProbe is where every stateful query of Spark's has files: the first partition of its first operator.
	stateProbe = "state/0/0/"
)

// Log is the durable record of a query. It satisfies runner.Log. It is used by one goroutine at a time; any number of
// processes may have a Log on the same checkpoint.
//
// A run with nothing to do costs, beside the lease: GET of metadata, identity.json, the newest plan and sources/0/0, and
// one LIST each of commits/ and offsets/. A batch costs a PUT and a GET for the plan, a PUT for the marker and one for
// the report.
type Log struct {
	// Retain is how many of the newest entries Purge keeps; at least 2 are kept, which Spark needs to start.
	Retain int

	store objectstore.Store
	// plans and markers are the numbers known to exist, ascending; listed says that Last has asked.
	plans, markers []int64
	listed         bool
	// tail is the newest entry, which the next one carries forward, and tailBatch its number; nil before Last.
	tail      *entry
	tailBatch int64
	// mark is the newest marker, which the next one carries forward; nil until something is written.
	mark *marker
	// identity is identity.json as last read or written.
	identity stored
	// probed says that the store has proved that it enforces conditions.
	probed bool
}

// stored is an object as it was last seen: the zero value if it was never asked for, without version if it was not
// there.
type stored struct {
	asked   bool
	data    []byte
	version objectstore.Version
}

// DefaultRetain is how many entries Purge keeps unless told otherwise, as in Spark (spark.sql.streaming.minBatchesToRetain).
const DefaultRetain = 100

// NewLog is the log in a store. Nothing is asked of the store yet.
func NewLog(store objectstore.Store) *Log { return &Log{Retain: DefaultRetain, store: store} }

// Query returns the query's id; empty if the checkpoint has none yet. A folder with plans or markers but without
// metadata is an Inconsistent fault: a new id would switch off everything in the table that tells a batch written
// before from a new one (SPARK-55058).
func (l *Log) Query(ctx context.Context) (string, error) {
	id, err := l.readQuery(ctx)
	if !errors.Is(err, objectstore.ErrNotFound) {
		return id, err
	}
	entry, err := l.anyEntry(ctx)
	if entry == "" || err != nil {
		return "", err
	}
	// An entry is younger than the id: a run that began after our first look may have written both.
	if id, err = l.readQuery(ctx); !errors.Is(err, objectstore.ErrNotFound) {
		return id, err
	}
	return "", &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("%s has %s but no object metadata, which names the query", l.store, entry),
		Hint:    `restore metadata from a backup, or write it again by hand: {"id":"…"} with the id that the table's properties name (sluice.query.<id>)`}
}

// readQuery reads the id; ErrNotFound if there is none.
func (l *Log) readQuery(ctx context.Context) (string, error) {
	text, _, err := l.store.Get(ctx, queryKey)
	if err != nil {
		return "", err
	}
	id, err := parseQuery(text)
	if err != nil {
		return "", l.damaged(queryKey, err, `restore it from a backup, or write it again by hand: {"id":"…"}; the table's properties name the id (sluice.query.<id>)`)
	}
	return id, nil
}

// anyEntry names the newest marker or plan; empty if there is none.
func (l *Log) anyEntry(ctx context.Context) (string, error) {
	for _, dir := range []string{markersDir, plansDir} {
		numbers, err := l.list(ctx, dir)
		if err != nil {
			return "", err
		}
		if len(numbers) > 0 {
			return fmt.Sprintf("%s%d", dir, numbers[len(numbers)-1]), nil
		}
	}
	return "", nil
}

// CreateQuery writes the id if there is none and returns the one that is there in the end. It does not look for entries
// of an earlier query: Query has.
func (l *Log) CreateQuery(ctx context.Context, id string) (string, error) {
	if err := checkQuery(id); err != nil {
		return "", fmt.Errorf("create query: %w", err)
	}
	if err := l.ensureProbed(ctx); err != nil {
		return "", err
	}
	_, err := objectstore.PutOwned(ctx, l.store, queryKey, marshalQuery(id))
	if errors.Is(err, objectstore.ErrConflict) {
		return l.Query(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("create query: %w", err)
	}
	return id, nil
}

// PinStart writes where the query starts, once, and returns what is there in the end.
func (l *Log) PinStart(ctx context.Context, start offsets.Offsets) (offsets.Offsets, error) {
	text, err := marshalOrigin(start)
	if err == nil {
		_, err = parseOrigin(text) // a symbolic offset must not get there
	}
	if err == nil {
		err = l.ensureProbed(ctx)
	}
	if err == nil {
		_, err = objectstore.PutOwned(ctx, l.store, originKey, text)
	}
	if errors.Is(err, objectstore.ErrConflict) {
		pinned, readErr := l.origin(ctx)
		if pinned != nil || readErr != nil {
			return pinned, readErr
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pin start: %w", err)
	}
	return start.Clone(), nil
}

// origin reads where the query was pinned to start; nil if it was not.
func (l *Log) origin(ctx context.Context) (offsets.Offsets, error) {
	return l.pin(ctx, originKey, "restore it from a backup, or delete it if the query has committed a batch: it is needed for the first one alone")
}

// pin reads where a source was pinned to start; nil if it was not. hint is what to do about one that cannot be read.
func (l *Log) pin(ctx context.Context, key, hint string) (offsets.Offsets, error) {
	text, _, err := l.store.Get(ctx, key)
	if errors.Is(err, objectstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	start, err := parseOrigin(text)
	if err != nil {
		return nil, l.damaged(key, fmt.Errorf("it is not the start of a Kafka source: %w", err), hint)
	}
	return start, nil
}

// list returns the batch numbers in a folder, ascending. Names that are no plain numbers are not ours: temporary and
// checksum files of Spark's.
func (l *Log) list(ctx context.Context, dir string) ([]int64, error) {
	keys, err := l.store.List(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, key := range keys {
		if n, err := parseNumber(strings.TrimPrefix(key, dir)); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func planKey(n int64) string     { return plansDir + strconv.FormatInt(n, 10) }
func markerKey(n int64) string   { return markersDir + strconv.FormatInt(n, 10) }
func progressKey(n int64) string { return progressDir + strconv.FormatInt(n, 10) + ".json" }

// newest is the last number, batch.None if there is none.
func newest(numbers []int64) int64 {
	if len(numbers) == 0 {
		return batch.None
	}
	return numbers[len(numbers)-1]
}

// insert adds a number to an ascending list that may have it.
func insert(numbers []int64, n int64) []int64 {
	i, found := slices.BinarySearch(numbers, n)
	if found {
		return numbers
	}
	return slices.Insert(numbers, i, n)
}

// damaged is the fault of an object that cannot be read as what it should be.
func (l *Log) damaged(key string, err error, hint string) error {
	return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s in %s cannot be used", key, l.store), Err: err, Hint: hint}
}
