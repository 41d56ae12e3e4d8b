package maintain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
)

// ExpireOptions say which snapshots may go: those that are older than OlderThan and not among the RetainLast newest of a
// branch. Zero values leave it to the table's properties (history.expire.max-snapshot-age-ms and
// history.expire.min-snapshots-to-keep), and these to Iceberg's defaults, five days and one snapshot. What a branch or tag says
// for itself counts before both.
type ExpireOptions struct {
	OlderThan  time.Duration
	RetainLast int
	// Abandoned are ids of queries that do not run any more: no history is kept for them.
	Abandoned []string
}

// Held says how many snapshots stay for the sake of somebody's bookkeeping alone.
type Held struct {
	// Query is the id by which the bookkeeping names its owner, Name a name for people, if there is one.
	Query, Name string
	Snapshots   int
}

// retention is which snapshots and references of a table go.
type retention struct {
	expired []int64
	refs    []string
	held    []Held
	// old is how many snapshots are older than the limit that counts for them.
	old int
}

// rules are the table's and the caller's limits.
type rules struct {
	m         table.Metadata
	now       int64
	maxAge    int64
	minKeep   int
	maxRefAge int64
	// young are the snapshots that are within their limit.
	young map[int64]bool
}

func rulesOf(m table.Metadata, o ExpireOptions, now time.Time) *rules {
	p := m.Properties()
	r := &rules{m: m, young: map[int64]bool{}, now: now.UnixMilli(), minKeep: o.RetainLast, maxRefAge: p.GetInt64(table.MaxRefAgeMsKey, table.MaxRefAgeMsDefault),
		maxAge: p.GetInt64(table.MaxSnapshotAgeMsKey, table.MaxSnapshotAgeMsDefault)}
	if o.OlderThan > 0 {
		r.maxAge = o.OlderThan.Milliseconds()
	}
	if r.minKeep == 0 {
		r.minKeep = p.GetInt(table.MinSnapshotsToKeepKey, table.MinSnapshotsToKeepDefault)
	}
	return r
}

// retained decides, without asking anybody, what of a table's history goes.
func retained(m table.Metadata, o ExpireOptions, now time.Time) (*retention, error) {
	marks, err := marksOf(m, o.Abandoned)
	if err != nil {
		return nil, err
	}
	r, out := rulesOf(m, o, now), &retention{}
	keep := map[int64]bool{}
	walks := map[string][]table.Snapshot{}
	refs := maps.Collect(m.Refs())
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		ref := refs[name]
		walk, _ := table.AncestorsOfChecked(ref.SnapshotID, m.SnapshotByID)
		if r.agedOut(name, &ref) && !marks.only(walk, m) {
			out.refs = append(out.refs, name)
			continue
		}
		walks[name] = walk
		r.keepRef(keep, &ref, walk)
	}
	r.keepLoose(keep, walks)
	out.held = marks.keep(keep, walks, m)
	for _, s := range m.Snapshots() {
		if !keep[s.SnapshotID] {
			out.expired = append(out.expired, s.SnapshotID)
		}
		if !r.young[s.SnapshotID] {
			out.old++
		}
	}
	return out, nil
}

// agedOut reports whether a branch or tag has outlived what it, or the table, allows it. The main branch never does.
func (r *rules) agedOut(name string, ref *table.SnapshotRef) bool {
	head := r.m.SnapshotByID(ref.SnapshotID)
	return name != table.MainBranch && head != nil && r.now-head.TimestampMs > *cmp.Or(ref.MaxRefAgeMs, &r.maxRefAge)
}

// keepRef keeps the head of a branch or tag, and of a branch what is young or among the newest.
func (r *rules) keepRef(keep map[int64]bool, ref *table.SnapshotRef, walk []table.Snapshot) {
	keep[ref.SnapshotID] = true
	if ref.SnapshotRefType != table.BranchRef {
		r.young[ref.SnapshotID] = r.young[ref.SnapshotID] || len(walk) > 0 && r.now-walk[0].TimestampMs <= r.maxAge
		return
	}
	for n := range walk {
		old := r.now-walk[n].TimestampMs > *cmp.Or(ref.MaxSnapshotAgeMs, &r.maxAge)
		if old && n >= *cmp.Or(ref.MinSnapshotsToKeep, &r.minKeep) {
			return // the history is kept without gaps
		}
		r.young[walk[n].SnapshotID] = r.young[walk[n].SnapshotID] || !old
		keep[walk[n].SnapshotID] = true
	}
}

// keepLoose keeps young snapshots that no branch or tag leads to: staged ones, and those that were rolled back.
func (r *rules) keepLoose(keep map[int64]bool, walks map[string][]table.Snapshot) {
	led := map[int64]bool{}
	for _, walk := range walks {
		for _, s := range walk {
			led[s.SnapshotID] = true
		}
	}
	for _, s := range r.m.Snapshots() {
		if !led[s.SnapshotID] && r.now-s.TimestampMs <= r.maxAge {
			keep[s.SnapshotID], r.young[s.SnapshotID] = true, true
		}
	}
}

// mark is somebody's bookkeeping in the history: whoever it is of walks from the head to the newest snapshot that has it, and
// takes what it does not find for not done. Streams have come twice, or stopped for good, after routine expiry
// (https://github.com/apache/iceberg/issues/5846).
type mark struct {
	owner, name string
	// snapshot is that of a ledger, 0 where the newest snapshot that names the owner is meant.
	snapshot int64
}

// in finds the mark in a walk from a head; -1 if it is not there.
func (k *mark) in(walk []table.Snapshot) int {
	if k.snapshot != 0 {
		if at := slices.IndexFunc(walk, func(s table.Snapshot) bool { return s.SnapshotID == k.snapshot }); at >= 0 {
			return at
		}
	}
	return slices.IndexFunc(walk, func(s table.Snapshot) bool { return slices.Contains(owners(&s), k.owner) })
}

type marks []mark

// The keys by which writers find in a snapshot's summary what they have done: ours, Spark's, and the one by which Flink's
// committer knows its operator, whose job ids change with every start.
const (
	keyQuery = "sluice.query-id"
	keyName  = "sluice.query-name"
	keySpark = "spark.sql.streaming.queryId"
	keyFlink = "flink.operator-id"
)

// owners are those whose bookkeeping a snapshot has.
func owners(s *table.Snapshot) (ids []string) {
	p := iceberg.Properties{}
	if s.Summary != nil && s.Summary.Properties != nil {
		p = s.Summary.Properties
	}
	for _, id := range []string{p[keyQuery], p[keySpark]} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if id := p[keyFlink]; id != "" {
		ids = append(ids, "flink operator "+id)
	}
	return ids
}

// marksOf are the marks of a table: the ledgers', and those of whoever keeps books in summaries alone.
func marksOf(m table.Metadata, abandoned []string) (marks, error) {
	names, err := batch.LedgerQueries(m.Properties())
	if err != nil {
		return nil, unreadableLedger(err)
	}
	all := map[string]mark{}
	for id, name := range names {
		ledger, err := batch.ParseLedger(m.Properties(), id)
		if err != nil {
			return nil, unreadableLedger(err)
		}
		all[id] = mark{owner: id, name: name}
		if ledger != nil {
			all[id] = mark{id, name, ledger.Snapshot}
		}
	}
	for _, s := range m.Snapshots() {
		for _, id := range owners(&s) {
			if _, known := all[id]; !known {
				all[id] = mark{owner: id, name: s.Summary.Properties[keyName]}
			}
		}
	}
	var out marks
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(abandoned, id) {
			out = append(out, all[id])
		}
	}
	return out, nil
}

func unreadableLedger(err error) error {
	return inconsistent("the bookkeeping of the table cannot be read", "somebody changed the table's sluice.query.* properties, or a newer sluice wrote them: restore them, or use that version; nothing was changed", err)
}

// only reports whether a walk has a mark that the main branch lacks: then its branch or tag stays, whatever its age.
func (all marks) only(walk []table.Snapshot, m table.Metadata) bool {
	var main []table.Snapshot
	if head := m.CurrentSnapshot(); head != nil {
		main, _ = table.AncestorsOfChecked(head.SnapshotID, m.SnapshotByID)
	}
	for k := range all {
		if all[k].in(walk) >= 0 && all[k].in(main) < 0 {
			return true
		}
	}
	return false
}

// keep keeps, of every walk, all down to each mark, and a ledger's snapshot wherever it is. It returns what stays for that
// alone.
func (all marks) keep(keep map[int64]bool, walks map[string][]table.Snapshot, m table.Metadata) []Held {
	var held []Held
	for k := range all {
		h := Held{Query: all[k].owner, Name: all[k].name}
		hold := func(id int64) {
			if !keep[id] {
				keep[id] = true
				h.Snapshots++
			}
		}
		for _, name := range slices.Sorted(maps.Keys(walks)) {
			for _, s := range walks[name][:all[k].in(walks[name])+1] {
				hold(s.SnapshotID)
			}
		}
		if m.SnapshotByID(all[k].snapshot) != nil {
			hold(all[k].snapshot)
		}
		if h.Snapshots > 0 {
			held = append(held, h)
		}
	}
	return held
}
