//go:build integration

package objectstore_test

import (
	"testing"

	"sluice/objectstore"
	"sluice/objectstore/storetest"
	"sluice/rig"
)

func TestRealS3IsAStore(t *testing.T) {
	open := func(t *testing.T) objectstore.Folder {
		s, err := objectstore.Open(t.Context(), rig.S3(t).URL)
		noError(t, err)
		return s
	}
	storetest.Conform(t, func(t *testing.T) objectstore.Store { return open(t) })
	storetest.ConformFiles(t, open)
}
