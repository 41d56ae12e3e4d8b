package verify_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table/substrait"
	"github.com/substrait-io/substrait-go/v8/extensions"
)

// The catalogue of functions in third_party/substrait has what every row filter of iceberg-go asks for, and little more: the whole one is
// parsed at each start of the program.
func TestEveryRowFilterFindsItsFunctions(t *testing.T) {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "text", Type: iceberg.PrimitiveTypes.String}, iceberg.NestedField{ID: 2, Name: "long", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 3, Name: "float", Type: iceberg.PrimitiveTypes.Float32}, iceberg.NestedField{ID: 4, Name: "double", Type: iceberg.PrimitiveTypes.Float64},
		iceberg.NestedField{ID: 5, Name: "flag", Type: iceberg.PrimitiveTypes.Bool}, iceberg.NestedField{ID: 6, Name: "time", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 7, Name: "money", Type: iceberg.DecimalTypeOf(18, 2)}, iceberg.NestedField{ID: 8, Name: "bytes", Type: iceberg.PrimitiveTypes.Binary})
	text, long, float, double := iceberg.Reference("text"), iceberg.Reference("long"), iceberg.Reference("float"), iceberg.Reference("double")
	filters := map[string]iceberg.BooleanExpression{
		"=": iceberg.EqualTo(text, "a"), "!=": iceberg.NotEqualTo(long, int64(1)), "<": iceberg.LessThan(double, 1.5), "<=": iceberg.LessThanEqual(float, float32(1.5)),
		">": iceberg.GreaterThan(iceberg.Reference("time"), iceberg.Timestamp(5)), ">=": iceberg.GreaterThanEqual(long, int64(7)),
		"money": iceberg.GreaterThanEqual(iceberg.Reference("money"), iceberg.Decimal{Scale: 2}), "bytes": iceberg.EqualTo(iceberg.Reference("bytes"), []byte("x")),
		"flag": iceberg.EqualTo(iceberg.Reference("flag"), true), "starts with": iceberg.StartsWith(text, "a"), "not starts with": iceberg.NotStartsWith(text, "a"),
		"in": iceberg.IsIn(long, int64(1), int64(2)), "not in": iceberg.NotIn(text, "a", "b"), "null": iceberg.IsNull(text), "not null": iceberg.NotNull(text),
		"NaN": iceberg.IsNaN(float), "not NaN": iceberg.NotNaN(double),
	}
	filters["and, or, not"] = iceberg.NewNot(iceberg.NewAnd(filters["="], iceberg.NewOr(filters["<"], filters["in"])))
	for name, filter := range filters {
		bound, err := iceberg.BindExpr(schema, filter, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, err := substrait.ConvertExpr(schema, bound, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := extensions.GetDefaultCollection()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(all.GetAllScalarFunctions()), 15; got > want { // is_nan is two, and is_in iceberg-go's own
		t.Errorf("the catalogue has %d functions, want at most %d", got, want)
	}
}
