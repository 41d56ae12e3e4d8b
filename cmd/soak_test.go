//go:build integration && soak && linux

package cmd_test

import (
	"flag"
	"testing"
)

var soakKills = flag.Int("kills", 4000, "`how often` TestSoakKills kills the program, over all lanes")

// The program is killed thousands of times. Every lane keeps its topic, table and checkpoint from one round to the next, so
// that what a kill leaves behind has time to do harm.
func TestSoakKills(t *testing.T) { killAll(t, *soakKills) }
