package lakesink

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/laketest"
)

// wider is the raw columns and one more.
func wider() columns.Schema {
	return append(rawSchema(), columns.Field{Name: "note", Type: columns.Type{Kind: columns.String}, Required: true, Doc: "of late"})
}

func evolve(s *Iceberg, n int64, schema columns.Schema) ([]string, error) {
	_, changes, err := s.Evolve(context.Background(), commitOf(s, queryID, planN(n), nil), schema)
	return changes, err
}

func schemas(t *testing.T, c catalog.Catalog) int { return len(load(t, c).Metadata().Schemas()) }

func TestAnUpdateOfTheSchemaIsMadeOnceWhateverItsAnswer(t *testing.T) {
	for _, mode := range []laketest.Mode{laketest.AnswerLost, laketest.NotApplied} {
		_, c := newTable(t)
		broken := laketest.Wrap(c, laketest.BreakWhen(func(name string) bool { return strings.HasSuffix(name, " schema") }, mode))
		changes, err := evolve(newSink(broken), 0, wider())
		if err != nil || len(changes) != 1 || changes[0] != "add note string" || !broken.Script.Broke() {
			t.Errorf("%v: got %q, %v", mode, changes, err)
		}
		f, ok := load(t, c).Schema().FindFieldByName("note")
		if !ok || f.Required || f.Doc != "of late" || f.ID != load(t, c).Metadata().LastColumnID() || schemas(t, c) != 2 {
			t.Errorf("%v: got %+v in %d schemas", mode, f, schemas(t, c))
		}
		before := len(broken.Script.Effects())
		if changes, err := evolve(newSink(broken), 0, wider()); err != nil || changes != nil || len(broken.Script.Effects()) != before {
			t.Errorf("%v: again: got %q, %v, and effects %v", mode, changes, err, broken.Script.Effects()[before:])
		}
	}
}

func TestAnUpdateOfTheSchemaThatNobodyCanSeeIsUnknownAndHarmless(t *testing.T) {
	for _, mode := range []laketest.Mode{laketest.AnswerLost, laketest.NotApplied} {
		s, c := newTable(t)
		broken := laketest.Wrap(c, laketest.BreakWhen(func(name string) bool { return strings.HasSuffix(name, " schema") }, mode))
		broken.FailLoad = func() error {
			if broken.Script.Broke() {
				return errors.New("connection refused")
			}
			return nil
		}
		_, err := evolve(newSink(broken), 0, wider())
		wantClass(t, err, batch.UnknownOutcome, "may or may not have been altered", "connection refused", "injected failure")
		if _, err := evolve(s, 0, wider()); err != nil || schemas(t, c) != 2 {
			t.Errorf("%v: got %v and %d schemas", mode, err, schemas(t, c))
		}
		mustApply(t, s, queryID, planN(0))
	}
}

// A catalog that says no each time is not asked for ever.
func TestAnUpdateOfTheSchemaThatIsNotAcceptedIsGivenUp(t *testing.T) {
	_, c := newTable(t)
	asked := 0
	o := testOptions()
	o.Attempts = 3
	_, err := evolve(New(deaf{c, &asked}, o), 0, wider())
	wantClass(t, err, batch.Failed, "was not altered for batch 0", "3 attempts", "forbidden")
	if asked != 3 || schemas(t, c) != 1 {
		t.Errorf("asked %d times, %d schemas", asked, schemas(t, c))
	}
}

// deaf accepts no commit.
type deaf struct {
	catalog.Catalog
	asked *int
}

func (r deaf) CommitTable(context.Context, table.Identifier, []table.Requirement, []table.Update) (table.Metadata, string, error) {
	*r.asked++
	return nil, "", errors.New("forbidden")
}

// Whoever was overtaken alters nothing: not before it asks, nor with an update that was on its way meanwhile.
func TestARunThatWasOvertakenAltersNothing(t *testing.T) {
	s, c := newTable(t)
	mustApply(t, s, queryID, planN(0))
	for _, n := range []int64{0, -1} {
		plan := planN(0)
		plan.Batch += n
		_, _, err := s.Evolve(context.Background(), commitOf(s, queryID, plan, nil), wider())
		wantClass(t, err, batch.Fenced, "overtaken")
	}
	late := laketest.Wrap(c, &laketest.Script{})
	late.BeforeCommit = func(table.Identifier) {
		late.BeforeCommit = nil
		mustApply(t, s, queryID, planN(1))
	}
	_, err := evolve(newSink(late), 1, wider())
	wantClass(t, err, batch.Fenced, "overtaken")
	if schemas(t, c) != 1 {
		t.Error("the table was altered")
	}
	other := commitOf(s, queryID, planN(2), nil)
	other.TableUUID = "00000000-0000-4000-8000-000000000000"
	_, _, err = s.Evolve(context.Background(), other, wider())
	wantClass(t, err, batch.Inconsistent, "is not the one that batch 2 was made for")
}

// Rows of others that come in between do not keep the table from being altered.
func TestOthersMayCommitWhileTheSchemaIsUpdated(t *testing.T) {
	_, c := newTable(t)
	busy, rivals := laketest.Wrap(c, &laketest.Script{}), 0
	busy.BeforeCommit = func(table.Identifier) {
		if rivals++; rivals <= 3 {
			rival(t, c, 2)
		}
	}
	if changes, err := evolve(newSink(busy), 0, wider()); err != nil || len(changes) != 1 || schemas(t, c) != 2 {
		t.Errorf("got %q, %v, %d schemas", changes, err, schemas(t, c))
	}
	wantOffsets(t, c, 0, 6)
}

// What the table has beside the rows stays as it is, whatever we know of it.
func TestColumnsThatWeHaveNoWordForStay(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		c := openSQLite(t, t.TempDir())
		ctx := context.Background()
		if err := c.CreateNamespace(ctx, catalog.ToIdentifier("db"), nil); err != nil {
			t.Fatal(err)
		}
		p := iceberg.PrimitiveTypes
		fields := []iceberg.NestedField{{ID: 1, Name: "id", Type: p.Int32, Required: true, Doc: "theirs"}, {ID: 2, Name: "s", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 3, Name: "x", Type: p.Int32, Required: true}}}}}
		if version == "3" {
			fields = append(fields, iceberg.NestedField{ID: 4, Name: "ns", Type: p.TimestampNs, WriteDefault: nil})
		}
		made, err := c.CreateTable(ctx, catalog.ToIdentifier(tableName), iceberg.NewSchemaWithIdentifiers(0, []int{1}, fields...), catalog.WithProperties(iceberg.Properties{"format-version": version}))
		if err != nil {
			t.Fatal(err)
		}
		inner := func(required bool, more ...columns.Field) columns.Field {
			return columns.Field{Name: "s", Type: columns.Type{Kind: columns.Struct, Fields: append([]columns.Field{{Name: "x", Type: columns.Type{Kind: columns.Int64}, Required: required}}, more...)}}
		}
		id := columns.Field{Name: "id", Type: columns.Type{Kind: columns.Int64}, Required: true}
		s := newSink(c)
		schema := columns.Schema{id, inner(false, columns.Field{Name: "y.z", Type: columns.Type{Kind: columns.List, Fields: []columns.Field{{Name: "element", Type: columns.Type{Kind: columns.Date}, Required: true}}}})}
		changes, err := evolve(s, 0, schema)
		if got := strings.Join(changes, "; "); err != nil || got != "widen id from int to long; make s.x optional; widen s.x from int to long; add s.y.z list<date>" {
			t.Fatalf("format %s: got %q, %v", version, got, err)
		}
		now := load(t, c).Schema()
		if len(now.Fields()) != len(fields) || now.Fields()[0].Doc != "theirs" || !now.Fields()[0].Required || len(now.IdentifierFieldIDs) != 1 {
			t.Errorf("format %s: got %v", version, now)
		}
		if version == "3" && !now.Fields()[2].Equals(made.Schema().Fields()[2]) {
			t.Errorf("got %v, want it as it was", now.Fields()[2])
		}
		for _, f := range columnsOf(tableFields(now.Fields())) {
			if f.Name == "ns" {
				t.Error("a type that we have no word for is a column of rows")
			}
		}
		id.Required = false
		_, err = evolve(s, 0, columns.Schema{id, inner(false)})
		wantClass(t, err, batch.Inconsistent, "column id identifies the table's rows")
		if version == "3" {
			id.Required = true
			_, err = evolve(s, 0, columns.Schema{id, {Name: "ns", Type: columns.Type{Kind: columns.TimestampTZ}}})
			wantClass(t, err, batch.Inconsistent, "column ns is timestamp_ns in the table and timestamptz in the rows")
		}
	}
}

// Two columns that would have one path by their dots cannot both be there.
func TestNamesWithDotsThatMeetAreRefused(t *testing.T) {
	s, c := newTable(t)
	inner := columns.Field{Name: "a", Type: columns.Type{Kind: columns.Struct, Fields: []columns.Field{{Name: "b", Type: columns.Type{Kind: columns.String}}}}}
	if _, err := evolve(s, 0, append(rawSchema(), inner)); err != nil {
		t.Fatal(err)
	}
	_, err := evolve(s, 0, append(rawSchema(), inner, columns.Field{Name: "a.b", Type: columns.Type{Kind: columns.String}}))
	wantClass(t, err, batch.Inconsistent, "a.b", "names with dots", "deadLetter")
	if _, err := evolve(s, 0, append(rawSchema(), inner, columns.Field{Name: "a.c", Type: columns.Type{Kind: columns.String}})); err != nil {
		t.Error(err)
	}
	if schemas(t, c) != 3 {
		t.Errorf("got %d schemas", schemas(t, c))
	}
}

func TestATableThatCannotBeWrittenIsNotAltered(t *testing.T) {
	s, _ := newTable(t)
	s.options.PartitionBy = partitionBy(t, "topic")
	_, err := evolve(s, 0, wider())
	wantClass(t, err, batch.Inconsistent, "partitioned by nothing", "asks for topic")
	if _, err := s.Evolution(context.Background(), wider()); err == nil {
		t.Error("it is said to be altered")
	}
	none := newSink(openSQLite(t, t.TempDir()))
	if changes, err := none.Evolution(context.Background(), wider()); err != nil || changes != nil {
		t.Errorf("of a table that is not there: got %q, %v", changes, err)
	}
}
