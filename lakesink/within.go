package lakesink

import (
	"context"
	"fmt"

	"sluice/columns"
)

// Held is what a table has of the columns of a schema.
type Held struct {
	// Columns are those that it has, also inside of structs, lists and maps.
	Columns columns.Schema
	// Lacking are the paths of those that it lacks. Narrower are those of numbers for which it has less room (int for long, a
	// decimal of fewer digits): Columns have the table's type then, if that was asked for.
	Lacking, Narrower []string
}

// Within says what the table has of a schema; all of it, where there is no table. Types are looked at no further: whether
// it takes the rows is for Fits.
func (i *Iceberg) Within(ctx context.Context, schema columns.Schema, asTheTable bool) (*Held, error) {
	ctx, cancel := i.soon(ctx)
	defer cancel()
	t, err := i.load(ctx)
	switch {
	case isMissing(err):
		return &Held{Columns: schema}, nil
	case err != nil:
		return nil, explain(fmt.Sprintf("open table %s", i.TableName()), late(ctx, err))
	}
	h := &Held{}
	h.Columns = h.amid(tableFields(t.Schema().Fields()), schema, "", asTheTable)
	return h, nil
}

func (h *Held) amid(has []tableField, schema []columns.Field, prefix string, asTheTable bool) (had []columns.Field) {
	byName := map[string]*tableField{}
	for k := range has {
		byName[has[k].name] = &has[k]
	}
	for _, f := range schema {
		there := byName[f.Name]
		switch {
		case there == nil:
			h.Lacking = append(h.Lacking, prefix+f.Name)
			continue
		case len(f.Type.Fields) > 0 && there.kind.Kind == f.Type.Kind:
			f.Type.Fields = h.amid(there.children, f.Type.Fields, prefix+f.Name+".", asTheTable)
			if len(f.Type.Fields) == 0 { // a struct of nothing is no column
				continue
			}
		case asTheTable && there.foreign == "" && lessRoom(there.kind, f.Type):
			h.Narrower = append(h.Narrower, prefix+f.Name)
			f.Type = there.kind
		}
		had = append(had, f)
	}
	return had
}

// lessRoom says whether a table's type takes the numbers of a row that fit, without rounding any.
func lessRoom(table, row columns.Type) bool {
	return table.Kind == columns.Int32 && row.Kind == columns.Int64 ||
		table.Kind == columns.Decimal && row.Kind == columns.Decimal && table.Scale == row.Scale && table.Precision < row.Precision
}
