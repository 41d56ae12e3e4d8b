package lakesink

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/iceberg-go/catalog"

	"sluice/batch"
	"sluice/lakesink/hivecatalog"
	"sluice/lakesink/hivecatalog/thrift"
)

// openHive opens the catalog of a Hive metastore. Nothing is asked yet.
func openHive(_ context.Context, o CatalogOptions) (catalog.Catalog, error) {
	c, err := hivecatalog.Open(hivecatalog.Options{URI: o.URI, Warehouse: o.Warehouse, Properties: o.Properties, Sleep: Sleep})
	if err != nil {
		return nil, explain("open the catalog "+o.String(), err)
	}
	return c, nil
}

const (
	hiveLocked  = "wait for that writer, or see whether it is gone: a lock ends by itself when its holder has given no sign of life for metastore.txn.timeout (5 minutes), if the metastore runs its housekeeping"
	hivePlain   = "check the port in sink.iceberg.catalog.uri: a Hive metastore listens on 9083 as a rule, and is spoken to without TLS, HTTP, SASL and Kerberos"
	hiveVersion = "use a metastore with HIVE-26882, which is 2.3.10, 4.0.0 or newer: without it another writer's commit could be lost, so nothing is committed through this one"
	hiveNoLocks = "let the metastore's database have the tables of transactions (schematool), or, where every writer of the lake goes without locks, set iceberg.engine.hive.lock-enabled to false in sink.iceberg.catalog.properties"
)

// hiveMeaning knows the answers of Hive metastores.
func hiveMeaning(err error) (batch.Class, string, bool) {
	var misuse *hivecatalog.Misuse
	var careless *hivecatalog.Careless
	var foreign *hivecatalog.Foreign
	var broken *hivecatalog.Broken
	var refusal *hivecatalog.Refusal
	switch {
	case errors.As(err, &misuse):
		return batch.NotSetUp, "correct sink.iceberg in the job", true
	case errors.As(err, &careless):
		return batch.NotSetUp, hiveVersion, true
	case errors.As(err, &foreign):
		return batch.NotSetUp, "choose another table, or make it one of Iceberg's", true
	case isHiveLocked(err):
		return batch.Failed, hiveLocked, true
	case errors.Is(err, thrift.ErrStranger), errors.As(err, &broken) && broken.HungUp():
		return batch.NotSetUp, hivePlain, true
	case errors.As(err, &refusal):
		class, hint := hiveRefusal(refusal)
		return class, hint, true
	case broken != nil:
		return batch.Failed, "the metastore is being restarted, or does not answer: run again when it is well", true
	}
	return 0, "", false
}

// hiveRefusal knows what a metastore throws by its words: most is MetaException, whatever the reason.
func hiveRefusal(r *hivecatalog.Refusal) (batch.Class, string) {
	says := func(all ...string) bool {
		for _, words := range all {
			if strings.Contains(r.Message, words) {
				return true
			}
		}
		return false
	}
	switch {
	case says("HIVE_LOCKS", "TXN_LOCK_TBL", "NEXT_LOCK_ID"):
		return batch.NotSetUp, hiveNoLocks
	case says("AccessControlException", "Permission denied", "AccessDenied", "not authorized", "does not have privileges", "HiveAccessControlException"):
		return batch.NotSetUp, "let the metastore's user, or this one (ugi in sink.iceberg.catalog.properties), read and write there: the metastore itself makes the folders of databases and tables"
	case says("No FileSystem for scheme", "ClassNotFoundException", "UnsupportedFileSystemException"):
		return batch.NotSetUp, "give the metastore what it needs to reach the warehouse (hadoop-aws and its credentials for S3): it makes the folders of databases and tables itself"
	case r.Kind == "InvalidObjectException":
		return batch.NotSetUp, "the metastore does not take the name of the database or table, or a column: names have letters, digits and underscores"
	case r.Kind == "unknown method":
		return batch.NotSetUp, "use a metastore of 2.3.10, 4.0.0 or newer"
	}
	return batch.Failed, "run again; if it repeats, see the metastore's log"
}

// isHiveLocked says whether another writer kept the table locked in a metastore.
func isHiveLocked(err error) bool {
	var locked *hivecatalog.Locked
	return errors.As(err, &locked)
}
