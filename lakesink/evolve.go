package lakesink

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
)

// Evolution says what Evolve would alter so that the table takes rows of the schema; nothing where there is no table. What
// cannot be altered is one Inconsistent fault that lists everything.
func (i *Iceberg) Evolution(ctx context.Context, schema columns.Schema) ([]string, error) {
	ctx, cancel := i.soon(ctx)
	defer cancel()
	t, err := i.load(ctx)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, explain(fmt.Sprintf("open table %s", i.TableName()), late(ctx, err))
	}
	_, changes, err := i.evolved(t, schema)
	return changes, err
}

// Evolve alters the table, by one update of its schema, so that it takes rows of the schema: it adds columns, also inside
// of structs, lists and maps, widens types as Iceberg allows, and makes optional what the rows may leave empty. Columns
// keep their ids; new ones are optional, without a default, and stand at the end. It returns a reading of the table as it
// is afterwards, and what was altered. Nothing is asked of the catalog where the table takes the rows.
//
// The update is conditional on the table's UUID, on its schema, and on the snapshot at which c's batch was seen to be the
// next one: a run that was overtaken alters nothing (Fenced). Its answer is not believed: after any, the table is read
// again, and what it lacks then is decided anew. So it is safe to repeat, and to race. UnknownOutcome: the table may have
// been altered, which harms nothing, and could not be read afterwards.
func (i *Iceberg) Evolve(ctx context.Context, c *batch.Commit, schema columns.Schema) (*batch.Table, []string, error) {
	d := &deal{sink: i, commit: c}
	t, err := d.read(ctx)
	if err != nil {
		return nil, nil, explain(fmt.Sprintf("open table %s", i.TableName()), err)
	}
	var done []string
	for attempts := 0; ; {
		wider, changes, err := i.evolved(t, schema)
		if err != nil {
			return nil, nil, err
		}
		if len(changes) == 0 {
			reading, err := i.reading(t, c.Query)
			return reading, done, err
		}
		if err := d.mayEvolve(t); err != nil {
			return nil, nil, err
		}
		if d.tired {
			err = d.evolveAgain(ctx, attempts)
		} else if err = context.Cause(ctx); err == nil {
			d.alter(ctx, t, wider)
			done, attempts = changes, attempts+1
		}
		if err != nil {
			return nil, nil, err
		}
		if t, err = d.reloadAltered(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// mayEvolve says whether the batch is the one that the table waits for.
func (d *deal) mayEvolve(t *table.Table) error {
	applied, there, err := d.standing(t)
	if err == nil && there {
		return d.overtaken(applied)
	}
	return err
}

// evolveAgain bounds the attempts, and waits after one that was in vain.
func (d *deal) evolveAgain(ctx context.Context, attempts int) error {
	d.tired = false
	var err error
	if attempts < d.sink.options.Attempts {
		if err = d.sink.options.Sleep(ctx, d.sink.options.Backoff(attempts)); err == nil {
			return nil
		}
	}
	return errors.Join(&batch.Fault{Class: batch.Failed, Err: d.answer,
		Message: fmt.Sprintf("table %s was not altered for batch %d: the update of its schema was not accepted in %d attempts", d.sink.TableName(), d.commit.Plan.Batch, attempts),
		Hint:    "run again; if it repeats, see whether this user may alter the table, and whether other writers commit to it all the time"}, err)
}

// alter sends the update. What the catalog answers is remembered and not believed.
func (d *deal) alter(ctx context.Context, t *table.Table, wider *iceberg.Schema) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.sink.options.Timeout)
	defer cancel()
	m := t.Metadata()
	d.tired = true
	_, _, d.answer = d.sink.catalog.CommitTable(ctx, d.sink.table,
		append(d.sink.unmoved(t), table.AssertTableUUID(m.TableUUID()), table.AssertCurrentSchemaID(t.Schema().ID), table.AssertLastAssignedFieldID(m.LastColumnID())),
		[]table.Update{table.NewAddSchemaUpdate(wider), table.NewSetCurrentSchemaUpdate(-1)})
}

// reloadAltered reads the table after an update, also if ctx has been cancelled.
func (d *deal) reloadAltered(ctx context.Context) (*table.Table, error) {
	detached := context.WithoutCancel(ctx)
	var failure error
	for attempt := range reloads {
		if attempt > 0 {
			if ctx.Err() != nil {
				break
			}
			if err := d.sink.options.Sleep(detached, d.sink.options.Backoff(attempt)); err != nil {
				return nil, err
			}
		}
		t, err := d.read(detached)
		if err == nil || isMissing(err) {
			return t, d.dropped(err)
		}
		failure = err
	}
	return nil, &batch.Fault{Class: batch.UnknownOutcome,
		Message: fmt.Sprintf("table %s may or may not have been altered for batch %d, and cannot be read; no row of the batch is in it", d.sink.TableName(), d.commit.Plan.Batch),
		Hint:    "run again when catalog and store answer: the next run goes on either way",
		Err:     errors.Join(d.answer, failure)}
}

// evolved is the table's schema as it has to be for rows of the given one, and what is altered by that in words; no changes
// where it takes them. What stands in the way and is not to be altered is an Inconsistent fault.
func (i *Iceberg) evolved(t *table.Table, rows columns.Schema) (*iceberg.Schema, []string, error) {
	e := &evolution{last: t.Metadata().LastColumnID(), fixed: map[int]bool{}}
	for _, id := range t.Schema().IdentifierFieldIDs {
		e.fixed[id] = true
	}
	fields := e.fields("", t.Schema().Fields(), rows)
	wider := iceberg.NewSchemaWithIdentifiers(t.Schema().ID+1, t.Schema().IdentifierFieldIDs, fields...)
	if len(e.changes) > 0 && len(e.differences) == 0 {
		if _, err := iceberg.IndexByName(wider); err != nil { // names with dots may meet those of columns inside of others
			e.differ("two columns would have one path, since names with dots meet those of columns inside of others (%v): set value.onUnknownField to ignore or deadLetter, and the next run finishes the batch", err)
		}
	}
	hint := "value.onUnknownField addColumn adds columns, widens int to long, float to double and decimals, and makes columns optional; for the rest change value.schema to what the table has, alter the table by other means, or begin another query with another table"
	if len(e.differences) == 0 {
		var wrote []parquetfile.Field
		wrote, e.differences = fit(wider, rows)
		e.differences = append(e.differences, i.layoutDifferences(t, wrote)...)
		if len(i.askedDifferences(t, wrote)) == len(e.differences) {
			hint = layoutHint
		}
	}
	if len(e.differences) == 0 {
		return wider, e.changes, nil
	}
	return nil, nil, &batch.Fault{Class: batch.Inconsistent,
		Message: fmt.Sprintf("table %s does not take the rows, and sluice does not alter it so that it would: %s", i.TableName(), strings.Join(e.differences, "; ")),
		Hint:    hint}
}

// evolution is the change of a schema in the making.
type evolution struct {
	// last is the highest id that a column has, or had.
	last int
	// fixed are the columns that must stay required.
	fixed                map[int]bool
	changes, differences []string
}

func (e *evolution) change(format string, a ...any) {
	e.changes = append(e.changes, fmt.Sprintf(format, a...))
}

func (e *evolution) differ(format string, a ...any) {
	e.differences = append(e.differences, fmt.Sprintf(format, a...))
}

// fields are those of a struct as they have to be, the new ones at the end.
func (e *evolution) fields(prefix string, has []iceberg.NestedField, rows []columns.Field) []iceberg.NestedField {
	all := make([]iceberg.NestedField, len(has), len(has)+len(rows))
	names := map[string]string{}
	for k, f := range has {
		names[strings.ToLower(f.Name)] = f.Name
		switch row := find(rows, f.Name); {
		case row >= 0:
			f = e.field(prefix+f.Name, f, &rows[row])
		case f.Required:
			e.differ("column %s%s of the table is required and the rows do not have it", prefix, f.Name)
		}
		all[k] = f
	}
	for k := range rows {
		row := &rows[k]
		twin, twice := names[strings.ToLower(row.Name)]
		switch {
		case twin == row.Name && twice:
		case twice:
			e.differ("the table has no column %s%s, and a column %s%s: the two would differ by case only, and Spark, Hive and Trino could read neither", prefix, row.Name, prefix, twin)
		default:
			names[strings.ToLower(row.Name)] = row.Name
			all = e.add(prefix, all, row)
		}
	}
	return all
}

// add puts a column at the end.
func (e *evolution) add(prefix string, all []iceberg.NestedField, row *columns.Field) []iceberg.NestedField {
	optional := *row
	optional.Required = false
	added, err := icebergFields([]columns.Field{optional}, &e.last)
	if err != nil {
		e.differ("column %s%s: %v", prefix, row.Name, err)
		return all
	}
	e.change("add %s%s %s", prefix, row.Name, fullName(row.Type))
	return append(all, added...)
}

// fullName is typeName with what is inside.
func fullName(t columns.Type) string {
	if len(t.Fields) == 0 {
		return typeName(t)
	}
	parts := make([]string, len(t.Fields))
	for k, f := range t.Fields {
		if parts[k] = fullName(f.Type); t.Kind == columns.Struct {
			parts[k] = f.Name + ": " + parts[k]
		}
	}
	return typeName(t) + "<" + strings.Join(parts, ", ") + ">"
}

// field is one column as it has to be.
func (e *evolution) field(path string, f iceberg.NestedField, row *columns.Field) iceberg.NestedField {
	if f.Required && !row.Required {
		if f.Required = e.fixed[f.ID]; f.Required {
			e.differ("column %s identifies the table's rows, and may be empty in the rows of the job", path)
		} else {
			e.change("make %s optional", path)
		}
	}
	f.Type = e.retype(path, f.Type, row.Type)
	return f
}

// retype is the type of a column as it has to be.
func (e *evolution) retype(path string, t iceberg.Type, row columns.Type) iceberg.Type {
	has := newTableField("", 0, false, t)
	switch {
	case has.foreign == "" && !takes(&has, row) && widens(row, has.kind):
		to, err := icebergType(row, &e.last)
		if err == nil {
			e.change("widen %s from %s to %s", path, has.typeName(), typeName(row))
			return to
		}
	case !takes(&has, row):
		e.differ("column %s is %s in the table and %s in the rows", path, has.typeName(), typeName(row))
		return t
	}
	switch t := t.(type) {
	case *iceberg.StructType:
		return &iceberg.StructType{FieldList: e.fields(path+".", t.FieldList, row.Fields)}
	case *iceberg.ListType:
		element := e.field(path+".element", t.ElementField(), &row.Fields[0])
		return &iceberg.ListType{ElementID: element.ID, Element: element.Type, ElementRequired: element.Required}
	case *iceberg.MapType:
		// A key stays as it is: two keys that differ would become one.
		value := e.field(path+".value", t.ValueField(), &row.Fields[1])
		key := newTableField("key", t.KeyID, true, t.KeyType)
		if !takes(&key, row.Fields[0].Type) {
			e.differ("the key of column %s is %s in the table and %s in the rows", path, key.typeName(), typeName(row.Fields[0].Type))
		}
		return &iceberg.MapType{KeyID: t.KeyID, KeyType: t.KeyType, ValueID: value.ID, ValueType: value.Type, ValueRequired: value.Required}
	}
	return t
}
