// Command weigh runs a program and writes what that took to a file: weigh FILE PROGRAM [ARGUMENT…]. It ends with the
// program's exit code.
//
// Linux counts the memory of the process that starts a program towards the program's own peak (rusage survives exec), so
// a starter has to be small for the figure to be the program's. This one holds about 3 MB.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// usage is what is written, as JSON: nanoseconds, and bytes.
type usage struct {
	Wall   time.Duration `json:"wall"`
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Peak   int64         `json:"peak"`
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: weigh FILE PROGRAM [ARGUMENT...]")
		os.Exit(64)
	}
	code, err := weigh(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "weigh:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func weigh(file string, argv []string) (code int, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err = cmd.Run()
	wall := time.Since(began)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return 0, err
	}
	peak := int64(0)
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = int64(r.Maxrss) << 10
	}
	text, err := json.Marshal(usage{wall, cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime(), peak})
	if err != nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), os.WriteFile(file, text, 0o600)
}
