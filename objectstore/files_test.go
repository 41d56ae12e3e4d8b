package objectstore_test

import (
	"path/filepath"
	"testing"

	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func TestMemoryHoldsFiles(t *testing.T) {
	storetest.ConformFiles(t, func(*testing.T) objectstore.Folder { return objectstore.NewMemory("test") })
}

func TestLocalHoldsFiles(t *testing.T) {
	storetest.ConformFiles(t, func(t *testing.T) objectstore.Folder {
		s, err := objectstore.OpenShared(t.Context(), filepath.Join(t.TempDir(), "made by", "the first write"))
		noError(t, err)
		return s
	})
}

func TestCloudHoldsFiles(t *testing.T) {
	storetest.ConformFiles(t, func(t *testing.T) objectstore.Folder { return objectstore.OpenFakeS3(t) })
}
