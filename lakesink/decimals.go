package lakesink

import (
	"fmt"

	"github.com/apache/iceberg-go"
)

// oneDecimal checks that the decimals among the values of a spec's fields have one precision and scale: iceberg-go gives all
// of them the same name in the Avro schema of a manifest, and cannot write one with two. Fields that were dropped from the spec
// of a version 1 table count.
func oneDecimal(spec *iceberg.PartitionSpec, schema *iceberg.Schema) error {
	var first iceberg.NestedField
	for _, f := range spec.PartitionType(schema).FieldList {
		if _, ok := f.Type.(iceberg.DecimalType); !ok {
			continue
		}
		if first.Type != nil && !first.Type.Equals(f.Type) {
			return fmt.Errorf("partition fields %s and %s are %s and %s: sluice can only write partitions by decimals of one precision and scale", first.Name, f.Name, first.Type, f.Type)
		}
		first = f
	}
	return nil
}
