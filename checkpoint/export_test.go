package checkpoint

import "testing"

// OpenFakeS3 opens a checkpoint in a bucket of this process, for tests outside the package.
func OpenFakeS3(t *testing.T) Store { return openFake(t, &fakeS3{pageSize: 3}) }

// ParseValue is parseValue for tests outside the package.
var ParseValue = parseValue
