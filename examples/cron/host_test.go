package cron_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// host is what a machine with cron has: settings, folders, and a program called sluice.
type host struct {
	t   *testing.T
	dir string
	// settings come after the defaults of the tests in cron.conf.
	settings []string
}

func newHost(t *testing.T, settings ...string) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), settings: settings}
	h.write("orders.yaml", "name: orders\n")
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name, content string) string {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(content), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

func (h *host) read(name string) string {
	content, err := os.ReadFile(h.path(name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return string(content)
}

// exits makes a stub that ends with one code after the other, and with the last one from then on.
func (h *host) exits(codes ...int) {
	h.write("sluice", fmt.Sprintf(`#!/bin/bash
echo "$*" >>%[1]s/calls
codes=(%[2]s)
n=$(wc -l <%[1]s/calls)
echo "a batch"
echo "a warning" >&2
exit "${codes[$((n > ${#codes[@]} ? ${#codes[@]} : n)) - 1]}"
`, h.dir, strings.Trim(fmt.Sprint(codes), "[]")))
	if err := os.Remove(h.path("calls")); err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
}

// calls are the command lines that sluice was started with.
func (h *host) calls() []string {
	return slices.Collect(strings.Lines(h.read("calls")))
}

// conf writes cron.conf. Alerts are appended to the file alerts, each behind its subject.
func (h *host) conf() string {
	return h.write("cron.conf", strings.Join(append([]string{
		"SLUICE=" + h.path("sluice"), "LOG_DIR=" + h.path("log"), "STATE_DIR=" + h.path("state"), "RETRY_PAUSE=0",
		`ALERT='{ echo "subject $ALERT_JOB/$ALERT_CODE: $ALERT_SUBJECT"; cat; } >>` + h.path("alerts") + "'"}, h.settings...), "\n")+"\n")
}

// wrapper is sluice-cron with nothing in its environment but what cron gives.
func (h *host) wrapper(args ...string) *exec.Cmd {
	c := exec.Command("./sluice-cron", append([]string{"-c", h.conf(), h.path("orders.yaml")}, args...)...)
	c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.dir, "LOGNAME=sluice", "SHELL=/bin/sh"}
	return c
}

// cron is one start: its exit code, and what it printed, which cron would mail.
func (h *host) cron(args ...string) (code int, mail string) {
	h.t.Helper()
	return end(h.t, h.wrapper(args...))
}

func end(t *testing.T, c *exec.Cmd) (code int, printed string) {
	t.Helper()
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// alerts are the subjects so far.
func (h *host) alerts() []string {
	return regexp.MustCompile(`(?m)^subject .*`).FindAllString(h.read("alerts"), -1)
}

// readUntil reads from a pipe until a text has come by.
func readUntil(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var all []byte
	for piece := make([]byte, 4096); !bytes.Contains(all, []byte(text)); {
		n, err := r.Read(piece)
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
		all = append(all, piece[:n]...)
	}
}
