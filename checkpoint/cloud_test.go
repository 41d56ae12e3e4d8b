package checkpoint_test

import (
	"testing"

	"sluice/checkpoint"
	"sluice/checkpoint/storetest"
)

func TestCloudIsAStore(t *testing.T) {
	storetest.Conform(t, func(t *testing.T) checkpoint.Store { return checkpoint.OpenFakeS3(t) })
}
