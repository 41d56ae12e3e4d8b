//go:build unix

package progress

import (
	"runtime"
	"syscall"
)

// peakUsage asks getrusage, which counts kibibytes, but bytes on macOS.
func peakUsage() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
