//go:build clouds

package objectstore_test

import (
	"testing"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/objectstore/storetest"
	"sluice/rig"
)

var clouds = map[string]func(testing.TB) rig.Cloud{"GCS": rig.GCS, "Azure": rig.Azure}

func openFolder(t *testing.T, address string) objectstore.Folder {
	t.Helper()
	s, err := objectstore.Open(t.Context(), address)
	noError(t, err)
	return s
}

func TestClouds(t *testing.T) {
	for name, cloud := range clouds {
		t.Run(name, func(t *testing.T) {
			storetest.Conform(t, func(t *testing.T) objectstore.Store { return openFolder(t, cloud(t).Folder) })
			storetest.ConformFiles(t, func(t *testing.T) objectstore.Folder { return openFolder(t, cloud(t).Folder) })
		})
	}
}

// A bucket that is not there is never "nothing there yet".
func TestCloudsWithoutTheBucket(t *testing.T) {
	rig.GCS(t)
	rig.Azure(t)
	for _, address := range []string{"gs://no-such-bucket/ck", "azblob://no-such-container/ck"} {
		s := openFolder(t, address)
		_, _, get := s.Get(t.Context(), "metadata")
		_, list := s.List(t.Context(), "", "")
		_, create := s.PutIfAbsent(t.Context(), "metadata", []byte("x"))
		_, opened := s.Open(t.Context(), "data/x")
		for verb, err := range map[string]error{"get": get, "list": list, "create": create, "open": opened} {
			t.Run(address+" "+verb, func(t *testing.T) { wantFault(t, err, batch.NotSetUp, "bucket does not exist", address) })
		}
	}
}

func TestAzureRefusesAWrongKey(t *testing.T) {
	cloud := rig.Azure(t)
	t.Setenv("AZURE_STORAGE_KEY", "bm90IHRoZSBrZXk=")
	_, _, err := openFolder(t, cloud.Folder).Get(t.Context(), "metadata")
	wantFault(t, err, batch.NotSetUp, "permission denied: AuthorizationFailure")
}
