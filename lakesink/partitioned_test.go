package lakesink

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/rowtest"
	"sluice/layout"
)

// partitionBy are terms in words.
func partitionBy(t testing.TB, terms ...string) []layout.Term {
	t.Helper()
	parsed := []layout.Term{}
	for _, text := range terms {
		term, err := layout.ParseTerm(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, term)
	}
	return parsed
}

// partitionsOf are the values of a table's live files, as text, with the rows in them, by spec.
func partitionsOf(t testing.TB, tbl *table.Table) map[string]int64 {
	t.Helper()
	fs, err := tbl.FS(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(fs)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, m := range manifests {
		spec := tbl.Metadata().PartitionSpecByID(int(m.PartitionSpecID()))
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			values := e.DataFile().Partition()
			for _, f := range spec.Fields() {
				parts = append(parts, fmt.Sprintf("%s=%v", f.Name, values[f.FieldID]))
			}
			found[strings.Join(parts, " ")] += e.DataFile().Count()
		}
	}
	return found
}

func TestRawRowsArePartitionedByTimeAndTopic(t *testing.T) {
	s, c := newTable(t, func(o *Options) {
		o.PartitionBy = partitionBy(t, "hours(timestamp)", "topic", "bucket(100, partition)")
	})
	ctx := context.Background()
	// Row 0 is of 2026-03-04T04:53:20Z, and each a millisecond after the one before: 400,000 is the first of the next hour.
	plan := planOf(0, 399_000, 402_000)
	results, err := execute(ctx, s, queryID, plan)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, commitOf(s, queryID, plan, results)); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"timestamp_hour=492388 topic=orders partition_bucket=76": 1000, "timestamp_hour=492389 topic=orders partition_bucket=76": 2000,
		"timestamp_hour=492388 topic=orders partition_bucket=56": 1000, "timestamp_hour=492389 topic=orders partition_bucket=56": 2000}
	if got := partitionsOf(t, load(t, c)); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, r := range results {
		if len(r.Files) != 2 {
			t.Errorf("task %d has %d files for two hours", r.Index, len(r.Files))
		}
	}
	for k, hour := range []string{"2026-03-04-04", "2026-03-04-05"} {
		if path := results[0].Files[k].Path; !strings.Contains(path, "/data/timestamp_hour="+hour+"/topic=orders/partition_bucket=") {
			t.Errorf("a file lies at %s", path)
		}
	}
	if rows := scan(t, load(t, c), table.WithRowFilter(iceberg.GreaterThanEqual(iceberg.Reference("timestamp"), "2026-03-04T05:00:00+00:00")), table.WithSelectedFields("offset")); len(rows) != 4000 {
		t.Errorf("a filter on the hour finds %d rows, want 4000", len(rows))
	}
}

// typedPartitions has a column of every kind that partitions can be of.
func typedPartitions() columns.Schema {
	kind := func(name string, k columns.Kind) columns.Field {
		return columns.Field{Name: name, Type: columns.Type{Kind: k}}
	}
	return columns.Schema{kind("n", columns.Int64), kind("bool", columns.Bool), kind("int", columns.Int32), kind("long", columns.Int64), kind("float", columns.Float32), kind("double", columns.Float64),
		kind("date", columns.Date), kind("time", columns.Time), kind("ts", columns.Timestamp), kind("tz", columns.TimestampTZ), kind("text", columns.String),
		kind("binary", columns.Binary), kind("uuid", columns.UUID), {Name: "fixed", Type: columns.Type{Kind: columns.Fixed, Width: 5}},
		{Name: "small", Type: columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}}, {Name: "wide", Type: columns.Type{Kind: columns.Decimal, Precision: 38, Scale: 10}},
		{Name: "address", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "city name", Type: columns.Type{Kind: columns.String}}}}}}
}

// writeRows commits rows of any schema as batch n, and returns the files.
func writeRows(t testing.TB, s *Iceberg, schema columns.Schema, n int64, rows ...*columns.Batch) []batch.DataFile {
	t.Helper()
	ctx := context.Background()
	reading, err := s.Table(ctx, queryID)
	if err != nil {
		t.Fatal(err)
	}
	var count int64
	for _, r := range rows {
		count += int64(r.Rows)
	}
	plan := planOf(n, n, n+1)
	task := &batch.Task{Version: batch.FormatVersion, Query: queryID, Batch: n, Plan: plan.Hash, SchemaID: reading.SchemaID, SpecID: reading.SpecID}
	w, err := s.Write(ctx, task, fmt.Sprint("attempt-", n), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, r := range rows {
		if err := w.Write(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	result := batch.TaskResult{Version: batch.FormatVersion, Query: queryID, Batch: n, Plan: plan.Hash, SchemaID: task.SchemaID, SpecID: task.SpecID, Files: files}
	if _, err := s.Commit(ctx, commitOf(s, queryID, plan, []batch.TaskResult{result})); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryKindOfPartitionIsCommittedAndRead(t *testing.T) {
	t.Parallel()
	schema := typedPartitions()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, term := range []string{"bool", "int", "long", "float", "double", "date", "time", "ts", "tz", "text", "binary", "uuid", "fixed", "small", "wide", "`address.city name`",
		"bucket(4, int)", "bucket(4, uuid)", "bucket(4, wide)", "bucket(3, time)", "truncate(3, text)", "truncate(100, long)", "truncate(50, small)", "truncate(2, binary)", "truncate(1000, wide)",
		"years(date)", "months(ts)", "days(tz)", "hours(tz)", "void(int)"} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		o.PartitionBy = partitionBy(t, term)
		s := New(c, o)
		if err := s.Create(context.Background(), schema); err != nil {
			t.Fatalf("%s: %v", term, err)
		}
		rows := rowtest.RandomRows(rng, schema, 12)
		for i := range rows {
			rows[i][0] = int64(i)
		}
		writeRows(t, s, schema, 0, rowtest.Build(schema, rows))
		writeRows(t, s, schema, 1, rowtest.Build(schema, rows[:5]))
		seen := map[int64]int{}
		for _, row := range scan(t, load(t, c), table.WithSelectedFields("n")) {
			seen[row[0].(int64)]++
		}
		for i := range rows {
			if want := 1 + max(0, min(1, 5-i)); seen[int64(i)] != want {
				t.Errorf("%s: row %d is there %d times, want %d", term, i, seen[int64(i)], want)
			}
		}
		if err := s.Create(context.Background(), schema); err != nil {
			t.Errorf("%s: the table does not take the job that made it: %v", term, err)
		}
	}
}

func TestAJobThatContradictsATablesPartitionsIsToldBoth(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.PartitionBy = partitionBy(t, "days(timestamp)", "bucket(16, partition)") })
	for _, terms := range [][]string{{"hours(timestamp)"}, {}, {"days(timestamp)"}, {"days(timestamp)", "bucket(8, partition)"}} {
		o := testOptions()
		o.PartitionBy = partitionBy(t, terms...)
		err := New(c, o).Create(t.Context(), rawSchema())
		wantClass(t, err, batch.Inconsistent, "partitioned by days(timestamp), bucket(16, partition)", "partitionBy asks for")
		if hint := batch.HintOf(err); !strings.Contains(hint, "leave sink.iceberg.partitionBy and sortBy out") || strings.Contains(hint, "addColumn") {
			t.Errorf("got the hint %q, want what to do about partitions", hint)
		}
	}
	for _, terms := range [][]layout.Term{nil, partitionBy(t, "day(timestamp)", "bucket(partition, 16)"), partitionBy(t, "bucket(16, partition)", "days(timestamp)")} {
		o := testOptions()
		o.PartitionBy = terms
		if err := New(c, o).Create(t.Context(), rawSchema()); err != nil {
			t.Errorf("%v: %v", terms, err)
		}
	}
	mustApply(t, s, queryID, planN(0))
}

func TestAPartitionThatCannotBeMakesNoTable(t *testing.T) {
	for term, want := range map[string]string{"days(topic)": "column topic is string", "days(when)": "no column when", "bucket(4, value.x)": "no column value.x"} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		o.PartitionBy = partitionBy(t, term)
		wantClass(t, New(c, o).Create(t.Context(), rawSchema()), batch.NotSetUp, want)
	}
}

func TestASpecOfTwoDecimalsThatAnotherEngineMadeIsRefused(t *testing.T) {
	decimal := func(name string) columns.Field {
		return columns.Field{Name: name, Type: columns.Type{Kind: columns.Decimal, Precision: 9, Scale: 2}}
	}
	schema := append(rawSchema(), decimal("a"), decimal("b"))
	c := openSQLite(t, t.TempDir())
	s := New(c, testOptions())
	if err := s.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	evolveSpec(t, load(t, c), func(u *table.UpdateSpec) { u.AddIdentity("a").AddIdentity("b") })
	wantClass(t, s.Fits(t.Context(), schema), batch.Inconsistent, "are decimals, of which sluice can write one")
}

// evolve changes the table's partition spec as another engine does.
func evolveSpec(t testing.TB, tbl *table.Table, change func(*table.UpdateSpec)) {
	t.Helper()
	tx := tbl.NewTransaction()
	u := tx.UpdateSpec(true)
	change(u)
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// https://github.com/apache/beam/issues/32862, https://github.com/apache/fluss/issues/3638
func TestFilesOfAnOldSpecAreNotCommittedUnderANewOne(t *testing.T) {
	s, c := newTable(t, func(o *Options) { o.PartitionBy = partitionBy(t, "days(timestamp)") })
	ctx := context.Background()
	mustApply(t, s, queryID, planN(0))
	results, err := execute(ctx, s, queryID, planN(1))
	if err != nil {
		t.Fatal(err)
	}
	evolveSpec(t, load(t, c), func(u *table.UpdateSpec) {
		u.RemoveField("timestamp_day").AddField("timestamp", iceberg.HourTransform{}, "timestamp_hour")
	})
	_, err = s.Commit(ctx, commitOf(s, queryID, planN(1), results))
	wantClass(t, err, batch.Failed, "was altered meanwhile")
	follower := New(c, testOptions()) // the next run, of a job that leaves partitions to the table
	mustApply(t, follower, queryID, planN(1))
	wantOffsets(t, c, 20, 0)
	for name := range partitionsOf(t, load(t, c)) {
		if name != "timestamp_day=20516" && name != "timestamp_hour=492388" {
			t.Errorf("a partition %s", name)
		}
	}
	wantClass(t, s.Create(ctx, rawSchema()), batch.Inconsistent, "partitioned by hours(timestamp)", "asks for days(timestamp)")
}

// Version 1 tables keep what was dropped from their spec as void fields.
func TestTheCurrentSpecOfAnEvolvedTableIsFollowed(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		o.PartitionBy, o.TableProperties = partitionBy(t, "days(timestamp)", "topic"), map[string]string{"format-version": version}
		s := New(c, o)
		if err := s.Create(t.Context(), rawSchema()); err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, queryID, planN(0))
		evolveSpec(t, load(t, c), func(u *table.UpdateSpec) { u.RemoveField("timestamp_day") })
		evolveSpec(t, load(t, c), func(u *table.UpdateSpec) {
			u.AddField("partition", iceberg.BucketTransform{NumBuckets: 4}, "p")
		})
		follower := New(c, testOptions())
		mustApply(t, follower, queryID, planN(1))
		mustApply(t, follower, queryID, planN(2))
		wantOffsets(t, c, 30, 0)
		var old, current int64
		for name, n := range partitionsOf(t, load(t, c)) {
			if strings.Contains(name, "topic=orders p=") {
				current += n
			} else if name == "timestamp_day=20516 topic=orders" {
				old += n
			}
		}
		if old != 20 || current != 40 {
			t.Errorf("version %s: got %v", version, partitionsOf(t, load(t, c)))
		}
		o.PartitionBy = partitionBy(t, "topic", "bucket(4, partition)")
		if err := New(c, o).Create(t.Context(), rawSchema()); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

// https://github.com/confluentinc/kafka-connect-storage-cloud/issues/109
func TestARecordWithoutATimestampIsInThePartitionOfNull(t *testing.T) {
	schema := columns.Schema{{Name: "offset", Type: columns.Type{Kind: columns.Int64}}, {Name: "timestamp", Type: columns.Type{Kind: columns.TimestampTZ}}}
	c := openSQLite(t, t.TempDir())
	o := testOptions()
	o.PartitionBy = partitionBy(t, "days(timestamp)")
	s := New(c, o)
	if err := s.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	files := writeRows(t, s, schema, 0, rowtest.Build(schema, [][]any{{int64(0), nil}, {int64(1), int64(-1)}, {int64(2), int64(0)}}))
	got := partitionsOf(t, load(t, c))
	if len(got) != 3 || got["timestamp_day=<nil>"] != 1 || got["timestamp_day=-1"] != 1 || got["timestamp_day=0"] != 1 {
		t.Errorf("got %v", got)
	}
	if filepath.Base(filepath.Dir(files[0].Path)) != "timestamp_day=null" {
		t.Errorf("got %s", files[0].Path)
	}
}

// https://github.com/ClickHouse/ClickHouse/issues/118905
func TestManifestsHaveTheBoundsOfTheirPartitions(t *testing.T) {
	schema := columns.Schema{{Name: "p", Type: columns.Type{Kind: columns.Int32}}}
	c := openSQLite(t, t.TempDir())
	o := testOptions()
	o.PartitionBy = partitionBy(t, "p")
	s := New(c, o)
	if err := s.Create(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	writeRows(t, s, schema, 0, rowtest.Build(schema, [][]any{{int32(1)}, {int32(2)}, {nil}}))
	tbl := load(t, c)
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(fs)
	if err != nil {
		t.Fatal(err)
	}
	p := manifests[0].Partitions()[0]
	if !p.ContainsNull || string(*p.LowerBound) != "\x01\x00\x00\x00" || string(*p.UpperBound) != "\x02\x00\x00\x00" {
		t.Errorf("got %+v", p)
	}
}

// A bound that is an empty text is none for iceberg-go, and readers skip what seems to be a manifest of nulls alone.
func TestManifestsHaveBoundsThatAreEmptyTexts(t *testing.T) {
	schema := columns.Schema{{Name: "p", Type: columns.Type{Kind: columns.String}}}
	for _, version := range []string{"1", "2", "3"} {
		for name, c := range map[string]struct {
			rows          [][]any
			lower, upper  string
			null, without bool
		}{
			"beside another text": {[][]any{{""}, {"b"}}, "", "b", false, false},
			"alone":               {[][]any{{""}}, "", "", false, false},
			"beside a null":       {[][]any{{""}, {nil}}, "", "", true, false},
			"nulls alone":         {[][]any{{nil}}, "", "", true, true},
			"no empty text":       {[][]any{{"a"}, {"b"}, {nil}}, "a", "b", true, false},
		} {
			cat := openSQLite(t, t.TempDir())
			o := testOptions()
			o.PartitionBy, o.TableProperties = partitionBy(t, "p"), map[string]string{"format-version": version}
			s := New(cat, o)
			if err := s.Create(t.Context(), schema); err != nil {
				t.Fatal(err)
			}
			for n := range int64(2) {
				writeRows(t, s, schema, n, rowtest.Build(schema, c.rows))
			}
			tbl := load(t, cat)
			fs, err := tbl.FS(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			manifests, err := tbl.CurrentSnapshot().Manifests(fs)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range manifests {
				p := m.Partitions()[0]
				if c.without != (p.LowerBound == nil && p.UpperBound == nil) || p.ContainsNull != c.null || !c.without && (string(*p.LowerBound) != c.lower || string(*p.UpperBound) != c.upper) {
					t.Errorf("version %s, %s: got %+v", version, name, p)
				}
			}
			if rows := scan(t, tbl); len(rows) != 2*len(c.rows) {
				t.Errorf("version %s, %s: %d rows", version, name, len(rows))
			}
		}
	}
}

// iceberg-go gives all decimals of a manifest one name, so that a manifest with two of them cannot be written.
func TestPartitionsByTwoDecimalsAreRefusedBeforeATableIsMade(t *testing.T) {
	decimal := columns.Type{Kind: columns.Decimal, Precision: 16, Scale: 2}
	wide := columns.Type{Kind: columns.Decimal, Precision: 38, Scale: 2}
	id, fixed := columns.Type{Kind: columns.UUID}, columns.Type{Kind: columns.Fixed, Width: 7}
	schema := columns.Schema{{Name: "a", Type: decimal}, {Name: "b", Type: wide}, {Name: "u", Type: id}, {Name: "v", Type: id}, {Name: "f", Type: fixed}, {Name: "g", Type: fixed}}
	for _, terms := range [][]string{{"a", "b"}, {"a", "truncate(100, a)"}, {"u", "b", "void(a)"}} {
		o := testOptions()
		o.PartitionBy = partitionBy(t, terms...)
		s := New(openSQLite(t, t.TempDir()), o)
		wantClass(t, s.Makeable(schema), batch.NotSetUp, "are decimals, of which sluice can write one")
		wantClass(t, s.Create(t.Context(), schema), batch.NotSetUp, "are decimals, of which sluice can write one")
	}
	for _, terms := range [][]string{{"a", "bucket(4, b)", "bucket(4, v)", "u"}, {"u", "v", "f", "g", "a"}} {
		c := openSQLite(t, t.TempDir())
		o := testOptions()
		o.PartitionBy = partitionBy(t, terms...)
		s := New(c, o)
		if err := s.Create(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
		writeRows(t, s, schema, 0, rowtest.Build(schema, [][]any{{nil, nil, nil, nil, nil, nil}}))
		if n := len(scan(t, load(t, c))); n != 1 {
			t.Errorf("%v: %d rows", terms, n)
		}
	}
}
