package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// describe prints what the results depend on.
func (b *bench) describe(ctx context.Context) {
	b.begin("machine", "what the results depend on")
	b.say("when", time.Now().UTC().Format(time.RFC3339))
	b.say("command", "go run ./bench "+strings.Join(os.Args[1:], " "))
	b.say("commit", commit(ctx, b.root))
	b.say("processor", fmt.Sprintf("%s, %d cores for this process", processor(), b.cores))
	b.say("system", system())
	b.say("go", runtime.Version())
	b.say("broker", "Apache Kafka "+brokerVersion(b.root)+", one broker on this machine at "+b.broker)
	b.say("load average", load())
}

func commit(ctx context.Context, root string) string {
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	hash := git("rev-parse", "--short=12", "HEAD")
	if hash == "" {
		return "unknown"
	}
	if git("status", "--porcelain", "--untracked-files=no") != "" {
		hash += " with changes that are not committed"
	}
	return hash
}

// processor is the model's name, where the system tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func system() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return runtime.GOOS + " " + strings.TrimSpace(string(release))
}

// load says how busy others keep the machine; what is measured is in it too.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// brokerVersion is the version that the rig runs.
func brokerVersion(root string) string {
	var pom struct {
		Dependencies []struct {
			ArtifactID string `xml:"artifactId"`
			Version    string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	text, err := os.ReadFile(filepath.Join(root, "rig", "pom.xml"))
	if err == nil {
		err = xml.Unmarshal(text, &pom)
	}
	for _, d := range pom.Dependencies {
		if err == nil && strings.HasPrefix(d.ArtifactID, "kafka_") {
			return d.Version
		}
	}
	return "(version unknown)"
}

// quietEnough is the part of all cores that must be idle before a measurement of time, if somebody waits for that.
const quietEnough = 0.85

// awaitQuiet waits until the machine is quiet or the time for that is over, and says how idle it is; 1 where the system
// does not tell.
func (b *bench) awaitQuiet(ctx context.Context) (idle float64, err error) {
	deadline := time.Now().Add(b.quiet)
	for {
		before := readTicks()
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return 0, err
		}
		idle = readTicks().idleSince(before)
		if idle >= quietEnough || !time.Now().Before(deadline) {
			return idle, nil
		}
	}
}

// ticks are what all cores did since the system was started.
type ticks struct{ idle, all float64 }

func readTicks() (t ticks) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat: user, nice, system, idle, iowait and more, in ticks.
func parseTicks(text string) (t ticks) {
	line, _, _ := strings.Cut(text, "\n")
	for i, field := range strings.Fields(line) {
		var n float64
		if _, err := fmt.Sscan(field, &n); err != nil {
			continue // the name of the line
		}
		t.all += n
		if i == 4 || i == 5 { // waiting for a disk is idle too
			t.idle += n
		}
	}
	return t
}

func (t ticks) idleSince(before ticks) float64 {
	if t.all <= before.all {
		return 1
	}
	return (t.idle - before.idle) / (t.all - before.all)
}
