package hivecatalog

import (
	"context"
	"fmt"

	"sluice/lakesink/hivecatalog/thrift"
)

// Fields of the structs of hive_metastore.thrift.
const (
	tableName, tableDatabase, tableOwner, tableCreated, tableAccessed int16 = 1, 2, 3, 4, 5
	tableRetention, tableStorage, tablePartitioned, tableParameters   int16 = 6, 7, 8, 9
	tableKind                                                         int16 = 12

	databaseName, databaseText, databaseLocation, databaseParameters int16 = 1, 2, 3, 4
	databaseOwner                                                    int16 = 6
)

// name is a table's.
type name struct{ database, table string }

func (n name) String() string { return n.database + "." + n.table }

// result is what a method returned, which must be a struct.
func result(value any, err error) (thrift.Struct, error) {
	if err != nil {
		return nil, err
	}
	s, ok := value.(thrift.Struct)
	if !ok {
		return nil, fmt.Errorf("%w: it answers with nothing", thrift.ErrStranger)
	}
	return s, nil
}

// table is a table's record. get_table is older, but gone from Hive 4.0.1
// (https://github.com/apache/iceberg-python/issues/1222); this one is there since 2.3.
func (k *conn) table(ctx context.Context, n name) (thrift.Struct, error) {
	got, err := result(k.call(ctx, "get_table_req", thrift.Struct{1: thrift.Struct{1: n.database, 2: n.table}}))
	if err != nil {
		return nil, err
	}
	if got = got.Struct(1); got == nil {
		return nil, fmt.Errorf("%w: table %s is answered with nothing", thrift.ErrStranger, n)
	}
	return got, nil
}

func (k *conn) createTable(ctx context.Context, record thrift.Struct) error {
	_, err := k.call(ctx, "create_table", thrift.Struct{1: record})
	return err
}

// alterTable replaces a table's record, while the record's metadata is the one that is expected. Statistics are not gathered:
// the server would list all files.
func (k *conn) alterTable(ctx context.Context, n name, record thrift.Struct, expected string) error {
	environment := map[string]string{"DO_NOT_UPDATE_STATS": "true", "expected_parameter_key": metadataLocation, "expected_parameter_value": expected}
	_, err := k.call(ctx, "alter_table_with_environment_context", thrift.Struct{1: n.database, 2: n.table, 3: record, 4: thrift.Struct{1: environment}})
	return err
}

// dropTable leaves the files.
func (k *conn) dropTable(ctx context.Context, n name) error {
	_, err := k.call(ctx, "drop_table", thrift.Struct{1: n.database, 2: n.table, 3: false})
	return err
}

// tables are the names of a database's tables, of any kind.
func (k *conn) tables(ctx context.Context, database string) ([]string, error) {
	return texts(k.call(ctx, "get_all_tables", thrift.Struct{1: database}))
}

func (k *conn) databases(ctx context.Context) ([]string, error) {
	return texts(k.call(ctx, "get_all_databases", nil))
}

func texts(value any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	list, _ := value.(thrift.List)
	all := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all, nil
}

func (k *conn) database(ctx context.Context, database string) (thrift.Struct, error) {
	return result(k.call(ctx, "get_database", thrift.Struct{1: database}))
}

func (k *conn) createDatabase(ctx context.Context, record thrift.Struct) error {
	_, err := k.call(ctx, "create_database", thrift.Struct{1: record})
	return err
}

func (k *conn) alterDatabase(ctx context.Context, database string, record thrift.Struct) error {
	_, err := k.call(ctx, "alter_database", thrift.Struct{1: database, 2: record})
	return err
}

// dropDatabase drops an empty one.
func (k *conn) dropDatabase(ctx context.Context, database string) error {
	_, err := k.call(ctx, "drop_database", thrift.Struct{1: database, 2: true, 3: false})
	return err
}
