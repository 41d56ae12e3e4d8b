package progress

import (
	"bytes"
	"os"
	"strconv"
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
	return peakUsage()
}
