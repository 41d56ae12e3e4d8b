package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/columns"
	"sluice/offsets"
	"sluice/runner"
)

// kafka is an in-memory topic "t": a strict fake of what a source promises.
type kafka struct {
	mu      sync.Mutex
	cluster string
	topicID string
	start   map[int32]int64
	// records holds the offsets that carry a record, in order; end is the next offset to be given out.
	records map[int32][]int64
	end     map[int32]int64
	// epoch is that of every leader, cut where a log was cut when it changed.
	epoch int32
	cut   map[int32]int64
}

func newKafka() *kafka {
	return &kafka{cluster: "cluster-1", topicID: "topic-1", start: map[int32]int64{}, records: map[int32][]int64{}, end: map[int32]int64{}, epoch: 1}
}

// produce adds n records and, after them, one offset without a record, as a transaction's marker would be.
func (k *kafka) produce(partition int32, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range n {
		k.records[partition] = append(k.records[partition], k.end[partition])
		k.end[partition]++
	}
	k.end[partition]++
}

func (k *kafka) view() *offsets.View {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := &offsets.View{ClusterID: k.cluster, TopicIDs: map[string]string{"t": k.topicID}, Partitions: map[offsets.TopicPartition]offsets.Bounds{}}
	for p, end := range k.end {
		v.Partitions[offsets.TopicPartition{Topic: "t", Partition: p}] = offsets.Bounds{Start: k.start[p], End: end, HighWatermark: end, LeaderEpoch: k.epoch}
	}
	return v
}

// source is one run's connection to kafka; everything it asks passes the gate.
type source struct {
	*kafka
	gate *gate
	// latest makes a new query start at the end.
	latest bool
}

func (s *source) Start(context.Context) (start offsets.Offsets, err error) {
	err = s.gate.pass("broker: start", func() error {
		start = offsets.Offsets{}
		for tp, b := range s.view().Partitions {
			start[tp] = b.Start
			if s.latest {
				start[tp] = b.End
			}
		}
		return nil
	})
	return start, err
}

func (s *source) View(context.Context, batch.Isolation, offsets.Offsets) (v *offsets.View, err error) {
	err = s.gate.pass("broker: view", func() error { v = s.view(); return nil })
	return v, err
}

func (s *source) Cuts(_ context.Context, reached offsets.Offsets, epochs map[offsets.TopicPartition]int32) (cuts offsets.Offsets, told bool, err error) {
	err = s.gate.pass("broker: epochs", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		cuts = offsets.Offsets{}
		for tp, at := range reached {
			if cut, ok := s.cut[tp.Partition]; ok && epochs[tp] < s.epoch && cut < at {
				cuts[tp] = cut
			}
		}
		return nil
	})
	return cuts, true, err
}

func (s *source) Read(_ context.Context, task *batch.Task) (runner.Reader, error) {
	r := &reader{source: s, task: task, piece: -1, positions: make([]int64, len(task.Pieces)), lost: make([][]batch.Loss, len(task.Pieces))}
	for i, p := range task.Pieces {
		r.positions[i] = p.From
	}
	return r, nil
}

type reader struct {
	source    *source
	task      *batch.Task
	piece     int
	positions []int64
	lost      [][]batch.Loss
}

// gone is what of a piece the log does not have, nil for nothing.
func (k *kafka) gone(p batch.Piece) *batch.Loss {
	lost := &batch.Loss{Topic: p.Topic, Partition: p.Partition, From: p.From, Until: p.Until, TopicID: p.TopicID}
	end, there := k.end[p.Partition]
	switch {
	case p.TopicID != "" && p.TopicID != k.topicID: // Spark's plans know of no ids
		lost.Cause = batch.Recreated
	case !there:
		lost.Cause = batch.Missing
	case p.From < k.start[p.Partition]:
		lost.Cause, lost.Until = batch.Retention, min(p.Until, k.start[p.Partition])
	case p.Until > end:
		lost.Cause, lost.From = batch.Diverged, max(p.From, end)
	default:
		return nil
	}
	return lost
}

func (r *reader) Next(ctx context.Context) (*columns.Records, error) {
	for r.piece++; r.piece < len(r.task.Pieces); r.piece++ {
		p := r.task.Pieces[r.piece]
		var found []int64
		err := r.source.gate.pass("broker: fetch", func() error {
			r.source.mu.Lock()
			defer r.source.mu.Unlock()
			lost := r.source.gone(p)
			if lost != nil && !r.task.Accepts.Accept(lost.Cause) {
				return &batch.Fault{Class: batch.DataLoss, Message: "gone", Hint: "look"}
			}
			if lost != nil {
				r.lost[r.piece] = append(r.lost[r.piece], *lost)
			}
			for _, o := range r.source.records[p.Partition] {
				if o >= p.From && o < p.Until && (lost == nil || o < lost.From || o >= lost.Until) {
					found = append(found, o)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.positions[r.piece] = p.Until
		if len(found) > 0 {
			return &columns.Records{Topic: p.Topic, Partition: p.Partition, Rows: len(found), Offsets: found}, ctx.Err()
		}
	}
	return nil, io.EOF
}

func (r *reader) Piece() int           { return r.piece }
func (r *reader) Positions() []int64   { return r.positions }
func (r *reader) Lost() [][]batch.Loss { return r.lost }
func (r *reader) ReadBytes() int64     { return 0 }
func (r *reader) Close() error         { return nil }

// decoder makes a row of partition and offset.
type decoder struct{}

func (decoder) Schema() columns.Schema {
	return columns.Schema{{Name: "partition", Type: columns.Type{Kind: columns.Int32}}, {Name: "offset", Type: columns.Type{Kind: columns.Int64}}}
}

func (decoder) Decode(r *columns.Records) (*columns.Batch, error) {
	return &columns.Batch{Rows: r.Rows, Columns: []columns.Array{
		{Kind: columns.Int32, Len: r.Rows, Repeat: true, Int32s: []int32{r.Partition}}, {Kind: columns.Int64, Len: r.Rows, Int64s: r.Offsets}}}, nil
}

// row is what the fake table holds.
type row struct {
	partition int32
	offset    int64
}

// lake is an in-memory table with a compare-and-swap catalog, history and files: the strict fake of what lakesink
// builds on. It has no logic of ours in it.
type lake struct {
	mu        sync.Mutex
	uuid      string
	files     map[string][]row
	snapshots []snapshot
	head      int // index into snapshots, -1 before the first
	props     map[string]string
	version   int
}

type snapshot struct {
	parent int
	query  string
	batch  int64
	files  []string // all live files
}

func newLake() *lake {
	return &lake{uuid: "uuid-1", files: map[string][]row{}, head: -1, props: map[string]string{}}
}

// state is one reading of the table.
type reading struct {
	uuid    string
	head    int
	version int
	props   map[string]string
	history []snapshot
}

func (l *lake) read() reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := reading{uuid: l.uuid, head: l.head, version: l.version, props: maps.Clone(l.props)}
	for at := l.head; at >= 0; at = l.snapshots[at].parent {
		r.history = append(r.history, l.snapshots[at])
	}
	return r
}

var errConflict = errors.New("the table has changed")

// commit appends files and sets properties if the head is still the one that was read. pinned false is what an
// unpinned retry does: it lands on whatever head there is.
func (l *lake) commit(base reading, query string, n int64, files []string, props func(snapshot int) map[string]string, pinned bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uuid != base.uuid || pinned && l.head != base.head {
		return errConflict
	}
	s := snapshot{parent: l.head, query: query, batch: n, files: slices.Clone(files)}
	if l.head >= 0 {
		s.files = append(s.files, l.snapshots[l.head].files...)
	}
	l.snapshots = append(l.snapshots, s)
	l.head = len(l.snapshots) - 1
	maps.Copy(l.props, props(l.head))
	l.version++
	return nil
}

// rows lists what a reader of the table sees; a file that is referred to and gone is an error.
func (l *lake) rows() (map[row]int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[row]int{}
	if l.head < 0 {
		return counts, nil
	}
	for _, f := range l.snapshots[l.head].files {
		rows, ok := l.files[f]
		if !ok {
			return nil, fmt.Errorf("file %s is gone", f)
		}
		for _, r := range rows {
			counts[r]++
		}
	}
	return counts, nil
}

// copy is a world that goes on from here by itself.
func (w *world) copy(t *testing.T) *world {
	t.Helper()
	other := *w
	other.kafka, other.lake, other.store = w.kafka.copy(), w.lake.copy(), copied(t, w.store)
	if w.letters != nil {
		other.letters = map[string]*lake{}
	}
	for name, l := range w.letters {
		other.letters[name] = l.copy()
	}
	if w.topics != nil {
		other.topics = map[string]*letterTopic{}
	}
	for name, l := range w.topics {
		other.topics[name] = &letterTopic{made: l.made, there: l.there, rows: maps.Clone(l.rows)}
	}
	return &other
}

func (k *kafka) copy() *kafka {
	other := &kafka{cluster: k.cluster, topicID: k.topicID, start: maps.Clone(k.start), records: map[int32][]int64{}, end: maps.Clone(k.end)}
	for p, records := range k.records {
		other.records[p] = slices.Clone(records)
	}
	return other
}

// copy shares files and snapshots, which nobody changes.
func (l *lake) copy() *lake {
	return &lake{uuid: l.uuid, files: maps.Clone(l.files), snapshots: slices.Clone(l.snapshots), head: l.head, props: maps.Clone(l.props), version: l.version}
}
