//go:build integration && clouds && linux

package cmd_test

import (
	"path/filepath"
	"testing"

	"sluice/rig"
)

// cloudKills is how often the program is killed on each cloud.
const cloudKills = 12

// inCloud keeps warehouse and checkpoint on a server that speaks like a cloud's; the catalog stays a local file.
func (p *pipeline) inCloud(c rig.Cloud) *pipeline {
	return p.with("--warehouse", c.Warehouse+"/lake", "--checkpoint", c.Folder+"/state", "--catalog-uri", filepath.Join(p.dir, "catalog.db"))
}

func TestARunOnACloudKilledAtAnyMomentLosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	broker, gcs, azure := rig.Kafka(t), rig.GCS(t), rig.Azure(t)
	for _, l := range []lane{
		{name: "GCS", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.inCloud(gcs) }, store: "STORAGE_EMULATOR_HOST"},
		{name: "Azure", prepare: func(t *testing.T, p *pipeline) *pipeline { return p.inCloud(azure) }, store: "AZURE_STORAGE_DOMAIN"},
	} {
		t.Run(l.name, func(t *testing.T) {
			l.random = drawn(t, seed)
			l.kafka, l.topic = connected(t, broker.Addr), broker.CreateTopic(t, 3, nil)
			l.run(t, cloudKills)
		})
	}
}
