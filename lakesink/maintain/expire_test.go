package maintain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/lakesink/laketest"
)

func (s *small) expire(o ExpireOptions, options Options) *Expiry {
	s.t.Helper()
	e, err := Open(s.sink, options).Expire(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

func TestOldSnapshotsGoWithWhatOnlyTheyHave(t *testing.T) {
	s := filled(t, 6)
	if e := s.expire(ExpireOptions{}, Options{}); e.Snapshots != 0 || e.Old != 0 || snapshots(s.load()) != 6 {
		t.Errorf("of young snapshots: got %+v", e)
	}
	if e := s.expire(ExpireOptions{RetainLast: 3}, Options{Now: later(6), DryRun: true}); e.Snapshots != 3 || e.Kept != 3 || e.Metadata.Files != 3 || e.Metadata.Bytes == 0 || snapshots(s.load()) != 6 {
		t.Errorf("a dry run: got %+v", e)
	}
	if e := s.expire(ExpireOptions{RetainLast: 3}, Options{Now: later(6)}); e.Snapshots != 3 || e.Kept != 3 || e.Metadata.Files != 3 || e.Data.Files != 0 {
		t.Errorf("got %+v", e)
	}
	if e := s.expire(ExpireOptions{OlderThan: 8 * 24 * time.Hour, RetainLast: 1}, Options{Now: later(6)}); e.Snapshots != 0 {
		t.Errorf("older than eight days: got %+v", e)
	}
	if e := s.expire(ExpireOptions{}, Options{Now: later(6)}); e.Snapshots != 0 || e.Old != 3 {
		t.Errorf("our tables keep twenty: got %+v", e)
	}
	if e := s.expire(ExpireOptions{RetainLast: 1}, Options{Now: later(6)}); e.Snapshots != 2 || snapshots(s.load()) != 1 {
		t.Errorf("all but one: got %+v", e)
	}
	if extra := s.superfluous(); len(extra) > 0 {
		t.Errorf("left: %v", extra)
	}
	s.fill(1)
	s.sound()
}

func TestDataFilesGoWithTheLastSnapshotThatHasThem(t *testing.T) {
	s := filled(t, 6)
	s.compact(CompactOptions{})
	before := len(onDisk(t, s.load()))
	if e := s.expire(ExpireOptions{RetainLast: 2}, Options{Now: later(6)}); e.Data.Files != 0 || len(onDisk(t, s.load())) != before {
		t.Errorf("a snapshot before the compaction stayed: got %+v", e)
	}
	e := s.expire(ExpireOptions{RetainLast: 1, Abandoned: []string{smallQuery}}, Options{Now: later(6)})
	if e.Data.Files != 6 || e.Data.Bytes == 0 || len(onDisk(t, s.load())) != 1 {
		t.Errorf("got %+v and %d files, want the six small ones gone", e, len(onDisk(t, s.load())))
	}
	s.sound()
	s.fill(1)
	s.sound()
}

// Commits of others do not push the ledger's snapshot out of the history: https://github.com/apache/iceberg/issues/5846
func TestTheHistoryDownToALedgerStays(t *testing.T) {
	s := filled(t, 3)
	at := s.load().CurrentSnapshot().SnapshotID
	s.others(4)
	e := s.expire(ExpireOptions{RetainLast: 1}, Options{Now: later(6)})
	if e.Snapshots != 2 || e.Old != 7 || s.load().SnapshotByID(at) == nil || len(e.Held) != 1 || e.Held[0] != (Held{smallQuery, "small", 4}) {
		t.Errorf("got %+v", e)
	}
	if a := s.applied(); a.Cut || a.RolledBack || a.Batch != 2 {
		t.Errorf("the query finds %+v", a)
	}
	e = s.expire(ExpireOptions{RetainLast: 1, Abandoned: []string{smallQuery}}, Options{Now: later(6)})
	if e.Snapshots != 4 || len(e.Held) != 0 {
		t.Errorf("without the query: got %+v", e)
	}
	s.sound()
}

func TestWhatIsRetained(t *testing.T) {
	const day = int64(24 * 3600 * 1000)
	now := time.Now().Add(30 * 24 * time.Hour) // the metadata is made now
	// Snapshots 1 to 6 are a line, each a day younger than the one before; 5 is old enough for the limit of two days.
	line := func(extra func(b *table.MetadataBuilder) error, summaries map[int64]iceberg.Properties) table.Metadata {
		return historyOf(t, now.UnixMilli(), day, summaries, 6, extra)
	}
	// led has a branch or tag that is made when its snapshot is the newest.
	led := func(id int64, extra func(b *table.MetadataBuilder) error) table.Metadata {
		return historyOf(t, now.UnixMilli(), day, nil, id, extra)
	}
	// beside has a snapshot 11 that follows another one at the same time, and what comes of it.
	beside := func(other int64, extra func(b *table.MetadataBuilder) error) table.Metadata {
		return historyOf(t, now.UnixMilli(), day, nil, other, func(b *table.MetadataBuilder) error {
			if err := addSnapshot(b, 11, other, 10*other+5, now.UnixMilli()-(6-other)*day, nil); err != nil {
				return err
			}
			return extra(b)
		})
	}
	tag := func(name string, id int64, maxRef int64) func(*table.MetadataBuilder) error {
		return func(b *table.MetadataBuilder) error {
			return table.NewSetSnapshotRefUpdate(name, id, table.TagRef, maxRef, 0, 0).Apply(b)
		}
	}
	branch := func(name string, id int64, maxRef, maxAge int64, min int) func(*table.MetadataBuilder) error {
		return func(b *table.MetadataBuilder) error {
			return table.NewSetSnapshotRefUpdate(name, id, table.BranchRef, maxRef, maxAge, min).Apply(b)
		}
	}
	properties := func(p iceberg.Properties) func(*table.MetadataBuilder) error {
		return func(b *table.MetadataBuilder) error { return b.SetProperties(p) }
	}
	ledger := func(query string, snapshot int64) iceberg.Properties {
		l := &batch.Ledger{Query: query, Name: "orders", Batch: 1, Plan: strings.Repeat("a", 64), Snapshot: snapshot, Sequence: 1}
		p, err := l.Properties()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	none := func(*table.MetadataBuilder) error { return nil }
	twoDays := ExpireOptions{OlderThan: 2*24*time.Hour + time.Hour}
	for name, tc := range map[string]struct {
		m       table.Metadata
		o       ExpireOptions
		expired []int64
		refs    []string
		held    []Held
	}{
		"by age":                      {line(none, nil), twoDays, []int64{1, 2, 3}, nil, nil},
		"by age, and at least five":   {line(none, nil), ExpireOptions{OlderThan: twoDays.OlderThan, RetainLast: 5}, []int64{1}, nil, nil},
		"by the table's properties":   {line(properties(iceberg.Properties{"history.expire.max-snapshot-age-ms": "90000000", "history.expire.min-snapshots-to-keep": "3"}), nil), ExpireOptions{}, []int64{1, 2, 3}, nil, nil},
		"by Iceberg's defaults":       {line(none, nil), ExpireOptions{}, nil, nil, nil},
		"a tag":                       {led(2, tag("v1", 2, 0)), twoDays, []int64{1, 3}, nil, nil},
		"a tag past its limit":        {led(2, tag("v1", 2, day)), twoDays, []int64{1, 2, 3}, []string{"v1"}, nil},
		"a tag within its limit":      {led(2, tag("v1", 2, 9*day)), twoDays, []int64{1, 3}, nil, nil},
		"a branch":                    {led(3, branch("audit", 3, 0, 0, 0)), twoDays, []int64{1, 2}, nil, nil},
		"a branch that keeps two":     {led(3, branch("audit", 3, 0, 0, 2)), twoDays, []int64{1}, nil, nil},
		"a branch that keeps nine d.": {led(3, branch("audit", 3, 0, 9*day, 0)), twoDays, nil, nil, nil},
		"the main branch's own rule":  {line(branch("main", 6, 0, 4*day+1, 0), nil), twoDays, []int64{1}, nil, nil},
		"a ledger":                    {line(properties(ledger("q", 2)), nil), twoDays, []int64{1}, nil, []Held{{"q", "orders", 2}}},
		"an abandoned ledger":         {line(properties(ledger("q", 2)), nil), ExpireOptions{OlderThan: twoDays.OlderThan, Abandoned: []string{"q"}}, []int64{1, 2, 3}, nil, nil},
		"a ledger whose snapshot is gone, and Spark after it": {line(properties(ledger("q", 77)), map[int64]iceberg.Properties{2: {keySpark: "q"}, 3: {keySpark: "q"}}), twoDays, []int64{1, 2}, nil, []Held{{"q", "orders", 1}}},
		"Spark's newest batch":                                {line(none, map[int64]iceberg.Properties{1: {keySpark: "s"}, 2: {keySpark: "s"}}), twoDays, []int64{1}, nil, []Held{{"s", "", 2}}},
		"Flink's newest committer":                            {line(none, map[int64]iceberg.Properties{3: {keyFlink: "op"}}), twoDays, []int64{1, 2}, nil, []Held{{"flink operator op", "", 1}}},
		"a branch past its limit that a ledger needs": {beside(2, func(b *table.MetadataBuilder) error {
			return errors.Join(b.SetProperties(ledger("q", 11)), branch("audit", 11, day, 0, 0)(b))
		}), twoDays, []int64{1, 2, 3}, nil, nil},
		"a branch past its limit":          {beside(2, branch("audit", 11, day, 0, 0)), twoDays, []int64{1, 2, 3, 11}, []string{"audit"}, nil},
		"a snapshot that nothing leads to": {beside(2, none), twoDays, []int64{1, 2, 3, 11}, nil, nil},
		"a young one":                      {beside(5, none), twoDays, []int64{1, 2, 3}, nil, nil},
	} {
		r, err := retained(tc.m, tc.o, now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(r.expired)
		if !slices.Equal(r.expired, tc.expired) || !slices.Equal(r.refs, tc.refs) || !slices.Equal(r.held, tc.held) {
			t.Errorf("%s: got %v, refs %v, held %v; want %v, refs %v, held %v", name, r.expired, r.refs, r.held, tc.expired, tc.refs, tc.held)
		}
	}
}

// historyOf makes a table's metadata with the snapshots 1 to 6, the last one now, each as much younger than the one before. extra
// is done after one of them.
func historyOf(t *testing.T, now, step int64, summaries map[int64]iceberg.Properties, after int64, extra func(*table.MetadataBuilder) error) table.Metadata {
	t.Helper()
	s := emptyMetadata(t)
	for id := int64(1); id <= 6; id++ {
		if err := addSnapshot(s, id, id-1, 10*id, now-(6-id)*step, summaries[id]); err != nil {
			t.Fatal(err)
		}
		if err := table.NewSetSnapshotRefUpdate(table.MainBranch, id, table.BranchRef, 0, 0, 0).Apply(s); err != nil {
			t.Fatal(err)
		}
		if id == after {
			if err := extra(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func emptyMetadata(t *testing.T) *table.MetadataBuilder {
	t.Helper()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "l", Type: iceberg.PrimitiveTypes.Int64})
	m, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "file:///t", iceberg.Properties{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.MetadataBuilderFromBase(m, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func addSnapshot(b *table.MetadataBuilder, id, parent, sequence, at int64, summary iceberg.Properties) error {
	s := &table.Snapshot{SnapshotID: id, SequenceNumber: sequence, TimestampMs: at, ManifestList: "file:///t/metadata/snap.avro", Summary: &table.Summary{Operation: table.OpAppend, Properties: summary}}
	if parent > 0 {
		s.ParentSnapshotID = &parent
	}
	return b.AddSnapshot(s)
}

func TestATableThatForbidsDeletionsIsLeftAlone(t *testing.T) {
	s := filled(t, 3)
	s.change(func(tx *table.Transaction) error { return tx.SetProperties(iceberg.Properties{"gc.enabled": "false"}) })
	if e := s.expire(ExpireOptions{}, Options{Now: later(9)}); e.Skipped == "" || snapshots(s.load()) != 3 {
		t.Errorf("got %+v", e)
	}
	aged(t, s.root(), 9*24*time.Hour)
	o, err := Open(s.sink, Options{}).Orphans(context.Background(), OrphanOptions{Remove: true})
	if err != nil || o.Skipped == "" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestABranchOrTagThatComesMeanwhileStopsAnExpiry(t *testing.T) {
	s := filled(t, 4)
	first := s.load().Metadata().Snapshots()[0].SnapshotID
	wrapped := laketest.Wrap(s.c, &laketest.Script{})
	wrapped.BeforeCommit = func(table.Identifier) {
		wrapped.BeforeCommit = nil
		tbl := s.load()
		_, _, err := s.c.CommitTable(context.Background(), tbl.Identifier(), nil, []table.Update{table.NewSetSnapshotRefUpdate("v1", first, table.TagRef, 0, 0, 0)})
		if err != nil {
			t.Error(err)
		}
	}
	e, err := Open(sinkOf(wrapped), Options{Now: later(9)}).Expire(context.Background(), ExpireOptions{RetainLast: 1})
	if err != nil || e.Snapshots != 2 || s.load().SnapshotByID(first) == nil || s.load().SnapshotByName("v1") == nil {
		t.Errorf("got %+v, %v; the tag leads to %v", e, err, s.load().SnapshotByName("v1"))
	}
	s.sound()
}

func TestAnExpiryStruckAnywhereHarmsNothing(t *testing.T) {
	t.Parallel()
	s := newSmall(t, pairSchema())
	strike(t, "commit expiry, remove data, remove manifest, remove manifest list", func(script *laketest.Script) error {
		s.fill(2)
		s.compact(CompactOptions{MinInputFiles: 2})
		pending := s.stage(pairRows(len(s.rows), 3)) // a run between its files and its commit
		_, err := s.broken(script, Options{Now: later(9)}).Expire(context.Background(), ExpireOptions{RetainLast: 1, Abandoned: []string{smallQuery}})
		s.sound()
		s.commit(pending)
		s.sound()
		return err
	})
	s.expire(ExpireOptions{RetainLast: 1, Abandoned: []string{smallQuery}}, Options{Now: later(9)})
	s.sound()
}

// Nobody knows whether the commit happened: nothing may be deleted.
func TestAnExpiryOfUnknownOutcomeDeletesNothing(t *testing.T) {
	s := filled(t, 4)
	before := len(filesBelow(t, s.root()))
	wrapped := laketest.Wrap(s.c, laketest.BreakWhen(func(name string) bool { return strings.HasSuffix(name, " expiry") }, laketest.AnswerLost))
	wrapped.FailLoad = func() error {
		if wrapped.Script.Broke() {
			return errors.New("the catalog is down")
		}
		return nil
	}
	_, err := Open(sinkOf(wrapped), Options{Now: later(9)}).Expire(context.Background(), ExpireOptions{RetainLast: 1})
	if batch.ClassOf(err) != batch.UnknownOutcome || batch.HintOf(err) == "" {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if after := len(filesBelow(t, s.root())); after != before+1 { // the new metadata
		t.Errorf("there were %d files and are %d", before, after)
	}
	s.sound()
}
