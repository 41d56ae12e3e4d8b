package hivecatalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"sluice/lakesink/hivecatalog/thrift"
)

func databaseOf(namespace table.Identifier) (string, error) {
	if len(namespace) != 1 || namespace[0] == "" {
		return "", &Misuse{"namespace " + strings.Join(namespace, "."), "is no database of a Hive metastore: these have none below them"}
	}
	return namespace[0], nil
}

// missing makes the library's error of the server's about a database.
func missing(err error, database string) error {
	if isRefusal(err, noSuchObject) {
		return fmt.Errorf("%w: %s", catalog.ErrNoSuchNamespace, database)
	}
	return err
}

// placeOf is where a database goes by Hive's convention.
func (c *Catalog) placeOf(database string) string {
	return strings.TrimSuffix(c.options.Warehouse, "/") + "/" + database + ".db"
}

// ListNamespaces are the databases.
func (c *Catalog) ListNamespaces(ctx context.Context, parent table.Identifier) (all []table.Identifier, err error) {
	if len(parent) > 0 {
		_, err := c.LoadNamespaceProperties(ctx, parent)
		return nil, err
	}
	return all, c.ask(ctx, func(k *conn) error {
		names, err := k.databases(ctx)
		all = nil
		for _, database := range names {
			all = append(all, table.Identifier{database})
		}
		return err
	})
}

// CreateNamespace makes a database, in the warehouse where the properties name no location.
func (c *Catalog) CreateNamespace(ctx context.Context, namespace table.Identifier, properties iceberg.Properties) error {
	database, err := databaseOf(namespace)
	if err != nil {
		return err
	}
	record := thrift.Struct{databaseName: database, databaseLocation: c.placeOf(database), databaseOwner: c.user}
	describeDatabase(record, properties)
	return c.tell(ctx, func(k *conn) error {
		err := k.createDatabase(ctx, record)
		if isRefusal(err, alreadyExists) {
			return fmt.Errorf("%w: %w", catalog.ErrNamespaceAlreadyExists, err)
		}
		return err
	})
}

// describeDatabase puts properties into a database's record.
func describeDatabase(record thrift.Struct, properties iceberg.Properties) {
	parameters := map[string]string{}
	for key, value := range properties {
		switch key {
		case "location":
			record[databaseLocation] = value
		case "comment":
			record[databaseText] = value
		default:
			parameters[key] = value
		}
	}
	record[databaseParameters] = parameters
}

// DropNamespace drops an empty database.
func (c *Catalog) DropNamespace(ctx context.Context, namespace table.Identifier) error {
	database, err := databaseOf(namespace)
	if err != nil {
		return err
	}
	err = c.tell(ctx, func(k *conn) error { return k.dropDatabase(ctx, database) })
	if isRefusal(err, invalidOperation) {
		return fmt.Errorf("%w: %w", catalog.ErrNamespaceNotEmpty, err)
	}
	return missing(err, database)
}

// CheckNamespaceExists says whether there is a database.
func (c *Catalog) CheckNamespaceExists(ctx context.Context, namespace table.Identifier) (bool, error) {
	_, err := c.LoadNamespaceProperties(ctx, namespace)
	if errors.Is(err, catalog.ErrNoSuchNamespace) {
		return false, nil
	}
	return err == nil, err
}

// LoadNamespaceProperties are a database's parameters, with its location and comment.
func (c *Catalog) LoadNamespaceProperties(ctx context.Context, namespace table.Identifier) (iceberg.Properties, error) {
	database, err := databaseOf(namespace)
	if err != nil {
		return nil, err
	}
	var record thrift.Struct
	err = c.ask(ctx, func(k *conn) (err error) {
		record, err = k.database(ctx, database)
		return missing(err, database)
	})
	if err != nil {
		return nil, err
	}
	return propertiesOf(record), nil
}

func propertiesOf(record thrift.Struct) iceberg.Properties {
	properties := iceberg.Properties{}
	maps.Copy(properties, record.Texts(databaseParameters))
	for key, field := range map[string]int16{"location": databaseLocation, "comment": databaseText} {
		if text := record.Text(field); text != "" {
			properties[key] = text
		}
	}
	return properties
}

// UpdateNamespaceProperties changes a database's parameters; its record is replaced without a condition, as a metastore has none
// for databases.
func (c *Catalog) UpdateNamespaceProperties(ctx context.Context, namespace table.Identifier, removals []string, updates iceberg.Properties) (summary catalog.PropertiesUpdateSummary, err error) {
	database, err := databaseOf(namespace)
	if err != nil {
		return summary, err
	}
	return summary, c.tell(ctx, func(k *conn) error {
		record, err := k.database(ctx, database)
		if err != nil {
			return missing(err, database)
		}
		properties := propertiesOf(record)
		summary = catalog.PropertiesUpdateSummary{}
		for _, key := range removals {
			if _, there := properties[key]; there {
				delete(properties, key)
				summary.Removed = append(summary.Removed, key)
			} else {
				summary.Missing = append(summary.Missing, key)
			}
		}
		for key, value := range updates {
			properties[key] = value
			summary.Updated = append(summary.Updated, key)
		}
		describeDatabase(record, properties)
		return k.alterDatabase(ctx, database, record)
	})
}
