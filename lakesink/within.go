package lakesink

import (
	"context"
	"fmt"

	"sluice/columns"
)

// Within is what the table has of the columns of a schema, also inside of structs, lists and maps, and the paths of what
// it lacks. Types are not looked at. Where there is no table, that is all of the schema.
func (i *Iceberg) Within(ctx context.Context, schema columns.Schema) (had columns.Schema, lacking []string, err error) {
	ctx, cancel := i.soon(ctx)
	defer cancel()
	t, err := i.load(ctx)
	switch {
	case isMissing(err):
		return schema, nil, nil
	case err != nil:
		return nil, nil, explain(fmt.Sprintf("open table %s", i.TableName()), late(ctx, err))
	}
	had, lacking = amid(tableFields(t.Schema().Fields()), schema, "")
	return had, lacking, nil
}

func amid(has []tableField, schema []columns.Field, prefix string) (had []columns.Field, lacking []string) {
	byName := map[string]*tableField{}
	for k := range has {
		byName[has[k].name] = &has[k]
	}
	for _, f := range schema {
		there := byName[f.Name]
		if there == nil {
			lacking = append(lacking, prefix+f.Name)
			continue
		}
		if len(f.Type.Fields) > 0 && there.kind.Kind == f.Type.Kind {
			inside, less := amid(there.children, f.Type.Fields, prefix+f.Name+".")
			if lacking = append(lacking, less...); len(inside) == 0 { // a struct of nothing is no column
				continue
			}
			f.Type.Fields = inside
		}
		had = append(had, f)
	}
	return had, lacking
}
