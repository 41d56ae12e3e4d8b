//go:build integration && linux

package maintain

import (
	"context"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
)

// peakRSS is the most memory that this process has had since clearPeak.
func peakRSS(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// clearPeak gives memory back that is not in use and begins to look for the peak anew.
func clearPeak(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skipf("the peak of memory cannot be looked for: %v", err)
	}
}

// A thousand files of a mebibyte, of which several go into each file of the target's size at the same time.
func TestManySmallFilesAreCompactedWithinTheMemory(t *testing.T) {
	files, memory := 40, int64(192<<20)
	if *full {
		files = 1000
	}
	s := manyFiles(t, files, 24_000)
	size := liveFiles(t, s.load())[0].FileSizeBytes()
	if size < 900_000 || size > 1_200_000 {
		t.Fatalf("files of %d bytes, want a mebibyte", size)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
	clearPeak(t)
	before := peakRSS(t)
	c, err := Open(s.sink, Options{}).Compact(context.Background(), CompactOptions{MemoryBytes: memory, Workers: 2, TargetFileBytes: int64(files) * size / 4})
	if err != nil || states(c)[Compacted] != len(c.Groups) || len(c.Groups) < 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	grown := peakRSS(t) - before
	t.Logf("%d files of %d bytes: %d MiB more", files, size, grown>>20)
	if grown > memory {
		t.Errorf("a compaction took %d MiB of memory, want at most %d", grown>>20, memory>>20)
	}
}
