package objectstore

import (
	"testing"

	"sluice/objectstore/s3test"
)

// OpenFakeS3 opens a folder in a bucket of this process, for tests outside the package.
func OpenFakeS3(t *testing.T) Folder { return openFake(t, &s3test.Bucket{PageSize: 3}) }
