//go:build clouds

package checkpoint_test

import (
	"testing"

	"sluice/rig"
)

func TestCloudsHoldAWholeCheckpoint(t *testing.T) {
	for name, cloud := range map[string]func(testing.TB) rig.Cloud{"GCS": rig.GCS, "Azure": rig.Azure} {
		t.Run(name, func(t *testing.T) {
			folder := cloud(t).Folder
			wholeCheckpoint(t, folder+"/whole", folder+"/whole")
			onePlans(t, folder+"/raced")
			leased(t, folder+"/leased")
		})
	}
}
