//go:build integration

package rig

import (
	"context"
	"testing"

	restcatalog "github.com/apache/iceberg-go/catalog/rest"
)

func TestForeignEnginesReadATableThroughTheRESTCatalog(t *testing.T) {
	readTable, lake := Python(t), REST(t)
	c, err := restcatalog.NewCatalog(context.Background(), "rest", lake.URI)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, folder := writtenIn(t, c, lake.Namespace)
	if want := lake.Warehouse + "/" + lake.Namespace + "/orders"; folder != want {
		t.Errorf("got the table in %s, want %s", folder, want)
	}
	reading := readTable("--rest", lake.URI, "--table", lake.Table("orders"), "--filter", "partition = 1 and offset > 10")
	agree(t, reading, rows, 5)
	for name, engine := range reading.Engines {
		if engine.Reads != "rest" {
			t.Errorf("%s read by %s, want it to ask the catalog", name, engine.Reads)
		}
	}
}
