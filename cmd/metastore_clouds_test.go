//go:build clouds && linux

package cmd_test

import (
	"strings"
	"testing"

	"sluice/rig"
)

// The life of a table in a real Hive metastore.
func TestATableInARealHiveMetastore(t *testing.T) {
	m := rig.Hive(t)
	k, topic := real(t, 3)
	p := reading(t, k, topic).with("--catalog-type", "hive", "--catalog-uri", m.URI, "--warehouse", m.Warehouse, "--table", m.Table("orders"), "--checkpoint", t.TempDir())
	k.varied(t, topic, 3, 100)
	p.do(t, "validate").wants(0).has("validate", "ok", true)
	p.run(t, "--max-offsets-per-trigger", "120").has("summary", "batches", 3, "records", 300, "lag", 0)
	k.varied(t, topic, 3, 10)
	p.run(t).has("summary", "records", 30, "firstBatch", 3)
	p.do(t, "status").wants(0).has("status", "lastCommit", 3, "tableBatch", 3, "lag", 0)
	p.exact(t, 330)
	if seen := p.do(t, "peek").wants(0).stdout; !strings.Contains(seen, topic) {
		t.Errorf("got %s, want rows", seen)
	}
	p.do(t, "maintain").wants(0)
	p.exact(t, 330)
}
