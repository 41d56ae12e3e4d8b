package hivecatalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/hivecatalog/thrift"
)

// Parameters of a table's record, as HiveTableOperations and HMSTablePropertyHelper of Iceberg's own library write them.
const (
	metadataLocation   = "metadata_location"
	previousLocation   = "previous_metadata_location"
	tableType          = "table_type"
	icebergType        = "ICEBERG"
	externalTable      = "EXTERNAL_TABLE"
	storageHandler     = "storage_handler"
	hmsOwner           = "hive.metastore.table.owner"
	engineHive         = "engine.hive.enabled"
	statisticsAccurate = "COLUMN_STATS_ACCURATE"
)

// translated are properties that Hive knows by another name.
var translated = map[string]string{"gc.enabled": "external.table.purge"}

// isIceberg says whether a record is that of a table of Iceberg's.
func isIceberg(record thrift.Struct) bool {
	return strings.EqualFold(record.Texts(tableParameters)[tableType], icebergType)
}

// newRecord is the record of a table that is not there yet.
func (c *Catalog) newRecord(n name, t *table.Table) (thrift.Struct, error) {
	now := int32(c.options.Now().Unix())
	owner := t.Properties().Get(hmsOwner, c.user)
	record := thrift.Struct{tableName: n.table, tableDatabase: n.database, tableOwner: owner, tableCreated: now, tableAccessed: now,
		tableRetention: int32(math.MaxInt32), tablePartitioned: thrift.List{Of: thrift.Record}, tableParameters: map[string]string{"EXTERNAL": "TRUE"}, tableKind: externalTable}
	return c.updated(record, nil, t)
}

// updated is a record with everything that Iceberg's own library writes into it at a commit; what else is in it stays. base is
// the table that it is the record of, nil for none.
func (c *Catalog) updated(record thrift.Struct, base, t *table.Table) (thrift.Struct, error) {
	record = maps.Clone(record)
	parameters := maps.Clone(record.Texts(tableParameters))
	if parameters == nil {
		parameters = map[string]string{}
	}
	if base != nil {
		for key := range base.Properties() {
			if _, kept := t.Properties()[key]; !kept {
				delete(parameters, inHive(key))
			}
		}
	}
	for key, value := range t.Properties() {
		if key != hmsOwner {
			parameters[inHive(key)] = value
		}
	}
	if base != nil {
		parameters[previousLocation] = base.MetadataLocation()
	}
	parameters[tableType], parameters[metadataLocation] = icebergType, t.MetadataLocation()
	parameters["uuid"] = t.Metadata().TableUUID().String()
	delete(parameters, statisticsAccurate)
	parameters["DO_NOT_UPDATE_STATS"] = "true"
	hive := c.ofHive(t)
	delete(parameters, storageHandler)
	if hive {
		parameters[storageHandler] = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"
	}
	if err := c.describe(parameters, t.Metadata()); err != nil {
		return nil, err
	}
	record[tableParameters], record[tableStorage] = parameters, c.storage(t, hive)
	return record, nil
}

// inHive is a property's name in Hive.
func inHive(key string) string {
	if other, ok := translated[key]; ok {
		return other
	}
	return key
}

// ofHive says whether Hive itself is to read the table.
func (c *Catalog) ofHive(t *table.Table) bool {
	return strings.EqualFold(t.Properties().Get(engineHive, c.options.Properties["iceberg."+engineHive]), "true")
}

// describe are the parameters that show what the metadata holds. Those that are longer than the metastore's column takes are left
// out, as are all where the length is 0.
func (c *Catalog) describe(parameters map[string]string, m table.Metadata) error {
	for _, key := range []string{"current-schema", "current-snapshot-id", "current-snapshot-timestamp-ms", "current-snapshot-summary", "default-partition-spec", "default-sort-order"} {
		delete(parameters, key)
	}
	parameters["snapshot-count"] = strconv.Itoa(len(m.Snapshots()))
	show := func(key string, value any) error {
		text, err := json.Marshal(value)
		if err == nil && len(text) <= c.longest {
			parameters[key] = string(text)
		}
		return err
	}
	if head := m.CurrentSnapshot(); head != nil {
		c.count(parameters, head)
		if c.longest > 0 {
			parameters["current-snapshot-id"], parameters["current-snapshot-timestamp-ms"] = strconv.FormatInt(head.SnapshotID, 10), strconv.FormatInt(head.TimestampMs, 10)
		}
		if head.Summary != nil {
			if err := show("current-snapshot-summary", head.Summary); err != nil {
				return err
			}
		}
	}
	if spec := m.PartitionSpec(); !spec.IsUnpartitioned() {
		if err := show("default-partition-spec", &spec); err != nil {
			return err
		}
	}
	if order := m.SortOrder(); !order.IsUnsorted() {
		if err := show("default-sort-order", order); err != nil {
			return err
		}
	}
	return show("current-schema", m.CurrentSchema())
}

// count are the statistics that Hive's planner reads.
func (c *Catalog) count(parameters map[string]string, head *table.Snapshot) {
	if head.Summary == nil {
		return
	}
	for key, of := range map[string]string{"numFiles": "total-data-files", "numRows": "total-records", "totalSize": "total-files-size"} {
		if n := head.Summary.Properties[of]; n != "" {
			parameters[key] = n
		}
	}
}

// storage is the storage descriptor: columns for who looks, and for Hive the classes that read the table.
func (c *Catalog) storage(t *table.Table, hive bool) thrift.Struct {
	in, out, serde := "org.apache.hadoop.mapred.FileInputFormat", "org.apache.hadoop.mapred.FileOutputFormat", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
	if hive {
		in, out, serde = "org.apache.iceberg.mr.hive.HiveIcebergInputFormat", "org.apache.iceberg.mr.hive.HiveIcebergOutputFormat", "org.apache.iceberg.mr.hive.HiveIcebergSerDe"
	}
	var columns []thrift.Struct
	for _, f := range t.Schema().Fields() {
		columns = append(columns, thrift.Struct{1: f.Name, 2: c.columnType(f.Type), 3: f.Doc})
	}
	return thrift.Struct{1: thrift.Structs(columns...), 2: t.Location(), 3: in, 4: out, 5: false, 6: int32(0),
		7: thrift.Struct{2: serde, 3: map[string]string{}}, 8: thrift.List{Of: thrift.Text}, 9: thrift.List{Of: thrift.Record}, 10: map[string]string{}}
}

// columnType is a type by Hive's name, as HiveSchemaUtil has it.
func (c *Catalog) columnType(t iceberg.Type) string {
	switch t := t.(type) {
	case iceberg.BooleanType, iceberg.Float32Type, iceberg.Float64Type, iceberg.DateType, iceberg.StringType, iceberg.BinaryType, iceberg.Int32Type:
		return t.String()
	case iceberg.Int64Type:
		return "bigint"
	case iceberg.TimeType, iceberg.UUIDType:
		return "string"
	case iceberg.TimestampType, iceberg.TimestampNsType:
		return "timestamp"
	case iceberg.TimestampTzType, iceberg.TimestampTzNsType:
		if c.hive2 {
			return "timestamp"
		}
		return "timestamp with local time zone"
	case iceberg.FixedType:
		return "binary"
	case iceberg.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision(), t.Scale())
	case *iceberg.StructType:
		var fields []string
		for _, f := range t.Fields() {
			fields = append(fields, f.Name+":"+c.columnType(f.Type))
		}
		return "struct<" + strings.Join(fields, ",") + ">"
	case *iceberg.ListType:
		return "array<" + c.columnType(t.Element) + ">"
	case *iceberg.MapType:
		return "map<" + c.columnType(t.KeyType) + "," + c.columnType(t.ValueType) + ">"
	}
	return "unknown"
}
