package objectstore_test

import (
	"testing"

	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func TestCloudIsAStore(t *testing.T) {
	storetest.Conform(t, func(t *testing.T) objectstore.Store { return objectstore.OpenFakeS3(t) })
}
