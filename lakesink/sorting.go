package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/batch"
	"sluice/columns"
	"sluice/lakesink/parquetfile"
	"sluice/lakesink/partition"
	"sluice/layout"
)

// newOrder is the sort order of a table, with the ids that its columns have in schema.
func newOrder(terms []layout.Order, schema *iceberg.Schema) (table.SortOrder, error) {
	if len(terms) == 0 {
		return table.UnsortedSortOrder, nil
	}
	var fields []table.SortField
	for _, o := range terms {
		column, err := columnFor(o.Term, schema)
		if err != nil {
			return table.SortOrder{}, fmt.Errorf("sink.iceberg.sortBy %s: %w", o, err)
		}
		f := table.SortField{SourceIDs: []int{column.ID}, Transform: icebergTransform(o.Term), Direction: table.SortASC, NullOrder: table.NullsFirst}
		if o.Descending {
			f.Direction = table.SortDESC
		}
		if o.NullsLast {
			f.NullOrder = table.NullsLast
		}
		fields = append(fields, f)
	}
	return table.NewSortOrder(1, fields)
}

// ordering is how the rows of a task's files are sorted.
type ordering struct {
	// by is nil where they are not.
	by *partition.Order
	// id is the table's sort order that they are in, 0 if it has none such.
	id int
}

// orderOf is how files of the table are sorted: as the job says, else as the table does. An order of a table that we cannot
// make is left aside, as the specification allows; that of a job must be possible.
func (i *Iceberg) orderOf(t *table.Table, fields []parquetfile.Field) (ordering, error) {
	if i.options.SortBy == nil {
		order := t.SortOrder()
		by, err := orderFields(&order, fields)
		if err != nil || len(by) == 0 {
			return ordering{}, nil
		}
		o, err := partition.NewOrder(by)
		if err != nil {
			return ordering{}, nil
		}
		return ordering{o, order.OrderID()}, nil
	}
	if len(i.options.SortBy) == 0 {
		return ordering{}, nil
	}
	wanted, err := newOrder(i.options.SortBy, t.Schema())
	if err != nil {
		return ordering{}, err
	}
	by, err := orderFields(&wanted, fields)
	if err != nil {
		return ordering{}, err
	}
	o := ordering{}
	if o.by, err = partition.NewOrder(by); err != nil {
		return ordering{}, err
	}
	for _, known := range t.Metadata().SortOrders() {
		if sameOrder(&known, &wanted) {
			o.id = known.OrderID()
		}
	}
	return o, nil
}

func sameOrder(a, b *table.SortOrder) bool {
	if a.Len() != b.Len() {
		return false
	}
	for k := range a.Len() {
		x, y := a.Field(k), b.Field(k)
		if x.SourceID() != y.SourceID() || x.Direction != y.Direction || x.NullOrder != y.NullOrder || !x.Transform.Equals(y.Transform) {
			return false
		}
	}
	return true
}

// orderFields are those of a sort order, for rows that are written as the fields say.
func orderFields(order *table.SortOrder, fields []parquetfile.Field) ([]partition.OrderField, error) {
	var out []partition.OrderField
	for _, f := range order.Fields() {
		transform, width, ok := transformOf(f.Transform)
		if !ok || len(f.SourceIDs) > 1 {
			return nil, fmt.Errorf("the sort order has %s, which sluice does not know", f.Transform)
		}
		o := partition.OrderField{Descending: f.Direction == table.SortDESC, NullsLast: f.NullOrder == table.NullsLast}
		o.Transform, o.Width, o.Path = transform, width, []int{partition.Nowhere}
		if at, ok := locate(fields, f.SourceID()); ok {
			o.Path, o.Source, o.From = at.path, at.source, at.from
		}
		out = append(out, o)
	}
	return out, nil
}

// layoutOf is the partition spec and the sort order of a new table.
func (i *Iceberg) layoutOf(schema *iceberg.Schema) (spec *iceberg.PartitionSpec, order table.SortOrder, err error) {
	if spec, err = newSpec(i.options.PartitionBy, schema); err == nil {
		order, err = newOrder(i.options.SortBy, schema)
	}
	if err != nil {
		err = &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("table %s cannot be made: %v", i.TableName(), err), Hint: "correct the job; nothing was made"}
	}
	return spec, order, err
}

// Makeable says whether a table for rows of the schema can be laid out as the options say; a NotSetUp fault where not.
func (i *Iceberg) Makeable(schema columns.Schema) error {
	s, err := icebergSchema(schema)
	if err != nil {
		return err
	}
	_, _, err = i.layoutOf(s)
	return err
}
