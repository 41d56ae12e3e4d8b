package progress

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// PeakMemory is the largest resident set of this process so far, in bytes; 0 where the system does not tell.
func PeakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		if _, rest, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
			line, _, _ := bytes.Cut(rest, []byte("kB"))
			if kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss << 10 // kibibytes on Linux, bytes on macOS: an upper bound there
}
