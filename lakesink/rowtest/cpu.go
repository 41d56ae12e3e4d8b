package rowtest

import (
	"syscall"
	"time"
)

// CPU is the time that all threads of this process have been computing, for benchmarks: ratios of it say something on a machine
// that has other work too.
func CPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // RUSAGE_SELF with a valid pointer cannot fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
