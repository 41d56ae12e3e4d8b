package cmd_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What packages do before main is done by every command, and by the run that finds nothing. It is counted, not timed: a program that
// parses tables of its libraries at each start allocates them.
func TestStartingAllocatesLittle(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := exec.CommandContext(t.Context(), program, "-test.run", "^$")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := start.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const most, each = 12 << 20, 3 << 20
	sum, lines := 0, regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	for _, line := range lines {
		n, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		if sum += n; n > each {
			t.Errorf("package %s allocates %d bytes before main, want at most %d", line[1], n, each)
		}
	}
	if sum > most || sum == 0 || !strings.Contains(string(out), "init sluice/cmd") && !strings.Contains(string(out), "init sluice/job") {
		t.Errorf("%d packages allocate %d bytes before main, want at most %d", len(lines), sum, most)
	}
}
