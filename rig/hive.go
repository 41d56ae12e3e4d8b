package rig

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Metastore is a database of its own in a real Hive metastore, which forgets its tables when it is stopped.
type Metastore struct {
	// URI is the metastore's address, thrift://127.0.0.1:port, and Warehouse a local folder for new tables.
	URI, Warehouse string
	// Database is one that no other test, process or run has. It is not made yet.
	Database string
}

var hive = sync.OnceValues(func() ([2]string, error) {
	out, err := command("hive", "start")
	uri, warehouse, _ := strings.Cut(strings.TrimSpace(out), " ")
	return [2]string{uri, warehouse}, err
})

// Hive is a fresh database in the shared Hive metastore, started on first use.
func Hive(tb testing.TB) Metastore {
	tb.Helper()
	started, err := hive()
	if err != nil {
		tb.Fatal(err)
	}
	name := strings.ReplaceAll(fresh(tb), "-", "_")
	return Metastore{URI: started[0], Warehouse: started[1], Database: name[max(0, len(name)-60):]}
}

// Table is the name of a table in the database.
func (m Metastore) Table(name string) string { return fmt.Sprintf("%s.%s", m.Database, name) }
