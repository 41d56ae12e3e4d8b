package checkpoint

import (
	"bytes"
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

// SparkStop is how far a query of Spark's is by its checkpoint alone, for one of its sources.
type SparkStop struct {
	// Query is the id in metadata, empty where that is missing.
	Query string
	// Planned is the newest plan, batch.None if there is none, and Committed the newest marker. The plan is known to have been
	// written out if Committed is Planned; what became of a plan above it the checkpoint does not tell.
	Planned, Committed int64
	// Before is where the newest plan begins, as far as that is known, and End where it ends; nil where it is not known.
	// Where nothing was planned Before is where the query was pinned to start.
	Before, End offsets.Offsets
	// PlannedMs is when the newest plan was made, in milliseconds since 1970; 0 if unknown.
	PlannedMs int64
	// Version is the format of the log of offsets.
	Version int
	// Sources says what the query reads, by position, and Source is the one that Before and End are of.
	Sources []string
	Source  int
	// State names a file of the query's state, empty if it has none.
	State string
}

// ErrManySources is wrapped by the fault of a checkpoint of several sources of which none was chosen.
var ErrManySources = errors.New("it has several sources")

// ReadSpark reads how far a query of Spark's is, strictly, and of any number of sources: source is the position of the one that
// is asked for, -1 for the only one. Nothing is written. A folder that holds no checkpoint is a NotSetUp fault; one that is
// damaged, has no Kafka offsets in that position, or several sources of which none was chosen, an Inconsistent one.
func ReadSpark(ctx context.Context, store objectstore.Store, source int) (*SparkStop, error) {
	l := NewLog(store)
	stop := &SparkStop{Source: source}
	var err error
	if stop.Query, err = l.readQuery(ctx); err != nil && !errors.Is(err, objectstore.ErrNotFound) {
		return nil, err
	}
	// Markers first: a query that goes on meanwhile then only looks as if its last plan were open.
	if l.markers, err = l.list(ctx, markersDir); err != nil {
		return nil, err
	}
	if l.plans, err = l.list(ctx, plansDir); err != nil {
		return nil, err
	}
	if stop.Planned, stop.Committed = newest(l.plans), newest(l.markers); stop.Planned == batch.None {
		return stop, l.unplanned(ctx, stop)
	}
	if stop.Committed > stop.Planned {
		return nil, l.damaged(planKey(stop.Planned), fmt.Errorf("it is the newest plan, and %s marks a later one as done: plans were lost", markerKey(stop.Committed)),
			"restore offsets/ from a backup")
	}
	if err := l.sparksEnd(ctx, stop); err != nil {
		return nil, err
	}
	keys, err := store.List(ctx, stateProbe, "")
	if err == nil && len(keys) > 0 {
		stop.State = keys[0]
	}
	return stop, err
}

// unplanned is for a checkpoint without a plan: it may have been pinned where it starts.
func (l *Log) unplanned(ctx context.Context, stop *SparkStop) (err error) {
	if stop.Committed != batch.None {
		return l.damaged(markerKey(stop.Committed), errors.New("there is no plan at all: offsets/ was lost"), "restore offsets/ from a backup")
	}
	if stop.Source < 0 {
		stop.Source = 0
	}
	stop.Before, err = l.pinned(ctx, strconv.Itoa(stop.Source))
	if stop.Query == "" && stop.Before == nil && err == nil {
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s holds no checkpoint of Spark's: there is neither metadata nor offsets/", l.store),
			Hint: "give the folder of checkpointLocation, with the parameters of its store as in the job's checkpoint"}
	}
	return err
}

// pinned is where a source was pinned to start; nil if it was not.
func (l *Log) pinned(ctx context.Context, source string) (offsets.Offsets, error) {
	return l.pin(ctx, "sources/"+source+"/0", "restore it from a backup, or choose the source that is Kafka")
}

// sparksEnd reads where the newest plan begins and ends.
func (l *Log) sparksEnd(ctx context.Context, stop *SparkStop) error {
	e, lines, err := l.sparksEntry(ctx, stop.Planned)
	if err != nil {
		return err
	}
	stop.Version, stop.PlannedMs = e.version, e.timestamp
	for _, line := range lines {
		stop.Sources = append(stop.Sources, e.describe(line))
	}
	switch {
	case stop.Source < 0 && len(lines) > 1:
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s is the checkpoint of a query with %d sources: %s", l.store, len(lines), strings.Join(stop.numbered(), "; ")),
			Hint: "choose the one that the job reads, by its position", Err: ErrManySources}
	case stop.Source < 0:
		stop.Source = 0
	case stop.Source >= len(lines):
		return &batch.Fault{Class: batch.Inconsistent, Message: fmt.Sprintf("%s has no source %d: %s", l.store, stop.Source, strings.Join(stop.numbered(), "; ")),
			Hint: "choose one of them, by its position"}
	}
	if stop.End, err = l.positionsOf(e, lines[stop.Source], stop.Planned); err != nil {
		return err
	}
	id := strconv.Itoa(stop.Source)
	if e.version == 2 {
		id = e.source
	}
	return l.sparksStart(ctx, stop, id)
}

func (s *SparkStop) numbered() []string {
	told := make([]string, len(s.Sources))
	for i, what := range s.Sources {
		told[i] = fmt.Sprintf("%d is %s", i, what)
	}
	return told
}

// sparksStart reads where the newest plan begins: the end of the one before, or where the source was pinned.
func (l *Log) sparksStart(ctx context.Context, stop *SparkStop, id string) (err error) {
	if stop.Planned == 0 {
		stop.Before, err = l.pinned(ctx, id)
		return err
	}
	if !slices.Contains(l.plans, stop.Planned-1) {
		return nil
	}
	before, lines, err := l.sparksEntry(ctx, stop.Planned-1)
	if err != nil {
		return err
	}
	at := stop.Source
	if before.version == 2 {
		at = slices.IndexFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte(id+":")) })
	}
	if at < 0 || at >= len(lines) {
		return l.damaged(planKey(stop.Planned-1), fmt.Errorf("it has no source %s", id), "restore it from a backup")
	}
	if string(trimSource(before.version, lines[at])) == "-" { // it had nothing to read until then
		stop.Before, err = l.pinned(ctx, id)
		return err
	}
	stop.Before, err = l.positionsOf(before, lines[at], stop.Planned-1)
	return err
}

// sparksEntry reads an entry with any number of sources, a line for each.
func (l *Log) sparksEntry(ctx context.Context, n int64) (*entry, [][]byte, error) {
	text, _, err := l.store.Get(ctx, planKey(n))
	if err != nil {
		return nil, nil, vanished(err)
	}
	e, lines, err := parseSources(text)
	if err != nil {
		return nil, nil, l.damaged(planKey(n), err, "restore it from a backup, or give an intact copy of the checkpoint")
	}
	return e, lines, nil
}

// parseSources is parseEntry for any number of sources, whose lines it leaves as they are.
func parseSources(text []byte) (*entry, [][]byte, error) {
	version, rest, err := cutVersion(text)
	if err != nil {
		return nil, nil, err
	}
	if version != 1 && version != 2 {
		return nil, nil, fmt.Errorf("its format is version %d; this program knows 1 and 2", version)
	}
	metadata, sources, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || len(bytes.TrimSpace(sources)) == 0 {
		return nil, nil, errors.New("it is cut off: no line of offsets")
	}
	e := &entry{version: version}
	if err := e.parseMetadata(metadata); err != nil {
		return nil, nil, fmt.Errorf("metadata: %w", err)
	}
	return e, bytes.Split(bytes.TrimSuffix(sources, []byte("\n")), []byte("\n")), nil
}

// positionsOf are the Kafka offsets in a source's line. It leaves the source's id in e.
func (l *Log) positionsOf(e *entry, line []byte, n int64) (offsets.Offsets, error) {
	if err := e.parseSource(line); err != nil {
		return nil, l.damaged(planKey(n), fmt.Errorf("source %.60q: %w", line, err), "choose a source that is Kafka and has offsets; if it is damaged, restore it from a backup")
	}
	return e.end, nil
}

// describe says what a source's line is about.
func (e *entry) describe(line []byte) string {
	own := *e
	switch err := own.parseSource(line); {
	case err == nil && len(own.end) > 0:
		return "Kafka, " + strings.Join(own.end.Topics(), ", ")
	case string(trimSource(e.version, line)) == "-":
		return "one that has no offsets yet"
	}
	return fmt.Sprintf("another than Kafka (%.40s)", trimSource(e.version, line))
}

// trimSource is a source's line without its id.
func trimSource(version int, line []byte) []byte {
	if _, rest, ok := bytes.Cut(line, []byte(":")); ok && version == 2 && line[0] != '{' {
		return rest
	}
	return line
}

// FileLog is the newest batch in the log of Spark's sink of files, _spark_metadata of a folder; batch.None if there is no such log.
// It does not say which query wrote it.
func FileLog(ctx context.Context, folder objectstore.Store) (int64, error) {
	const log = "_spark_metadata/"
	keys, err := folder.List(ctx, log, "")
	if err != nil {
		return batch.None, err
	}
	found := batch.None
	for _, key := range keys {
		if n, err := parseNumber(strings.TrimSuffix(strings.TrimPrefix(key, log), ".compact")); err == nil {
			found = max(found, n)
		}
	}
	return found, nil
}
