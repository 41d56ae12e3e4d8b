//go:build integration && linux

package cmd_test

import (
	"net/http"
	"testing"
	"time"

	"sluice/rig"
	"sluice/rig/faultproxy"
)

// Maintenance fails at any one request to the store as a run does. What it cannot remove becomes an orphan.
var maintainedBlows = []blow{
	always(faultproxy.Reset(false), 0),
	always(faultproxy.Reset(true), 0),
	always(faultproxy.Status(http.StatusInternalServerError, true), 0),
	always(faultproxy.Status(http.StatusServiceUnavailable, false), 0),
	always(faultproxy.Status(http.StatusGatewayTimeout, true), 0),
	always(faultproxy.Busy(), 0),
	always(faultproxy.CutAnswer(), 0),
	always(faultproxy.CutRequest(), 0),
	always(faultproxy.Skewed(time.Hour), 0, 10),
	mute(faultproxy.Expired(), 10, 0),
	killing(false),
	killing(true),
}

// The catalog lies about a commit of maintenance: it was applied, and the answer is a conflict or an error; or it does not know
// the table for a moment. 1 and 15 say that it may be run again, 10 that there is no such table.
var lyingBlows = []blow{
	always(faultproxy.CommitConflict(false), 0),
	always(faultproxy.CommitConflict(true), 0),
	always(faultproxy.Reset(false), 0, 1),
	always(faultproxy.Reset(true), 0, 1),
	always(faultproxy.Status(http.StatusInternalServerError, true), 0, 1),
	always(faultproxy.Status(http.StatusInternalServerError, false), 0, 1),
	always(faultproxy.Status(http.StatusBadGateway, true), 0, 1),
	always(faultproxy.Status(http.StatusServiceUnavailable, false), 0, 1),
	always(faultproxy.Status(http.StatusServiceUnavailable, true), 0, 1),
	always(faultproxy.Status(http.StatusGatewayTimeout, true), 0, 1),
	always(faultproxy.Forgotten(), 0, 1, 10, 13, 15),
	always(faultproxy.CutAnswer(), 0, 1),
	killing(false),
	killing(true),
}

// maintained makes ready a table of many small files, manifests and snapshots, and is the maintenance of it.
func maintained(t *testing.T, p *pipeline) []string {
	p.with("--max-offsets-per-trigger", "1").run(t)
	return []string{"maintain", "--older-than", "1ms", "--retain-last", "1"}
}

// At each request of maintenance to a real S3 server something goes wrong once: a table whose files are exchanged has every row
// once, for verify and for foreign engines, and goes on growing.
func TestMaintenanceStruckAtAnyRequestToS3LosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	bucket := rig.S3(t)
	rig.Python(t)
	g := onS3(bucket, t.TempDir())
	g.verb, g.few = maintained, 1
	sweepAll(t, seed, maintainedBlows, g)
}

// The same at each request to a catalog, which lies.
func TestMaintenanceStruckAtAnyRequestToARESTCatalogLosesAndDoublesNothing(t *testing.T) {
	seed := seed(t)
	c := rig.REST(t)
	rig.Python(t)
	g := onREST(c)
	g.verb, g.few = maintained, 1
	sweepAll(t, seed, lyingBlows, g)
}
