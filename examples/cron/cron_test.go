// Package cron_test runs the wrapper as cron would, with a stub in the place of sluice.
package cron_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestEachExitCodeIsAnsweredAsItShouldBe(t *testing.T) {
	for _, c := range []struct {
		codes  []int // of the first try and the second
		tries  int
		exit   int
		alerts int // at the first failure, with ALERT_AFTER=3
		logged string
	}{
		{[]int{0}, 1, 0, 0, "a batch"},
		{[]int{11}, 1, 0, 0, "another run of the job is active"},
		{[]int{130}, 1, 130, 0, "stopped by a signal"},
		{[]int{143}, 1, 143, 0, "stopped by a signal"},
		{[]int{1, 0}, 2, 0, 0, "exit code 1: failed, and is safe to run again; second try"},
		{[]int{1, 11}, 2, 0, 0, "another run of the job is active"},
		{[]int{1, 1}, 2, 1, 0, "1 in a row"},
		{[]int{2, 2}, 2, 2, 0, "crashed"},
		{[]int{15, 15}, 2, 15, 0, "outcome of a commit is unknown"},
		{[]int{15, 0}, 2, 0, 0, "outcome of a commit is unknown"},
		{[]int{137, 137}, 2, 137, 0, "killed"},
		{[]int{99, 99}, 2, 99, 0, "does not know"},
		{[]int{1, 12}, 2, 12, 1, "records are gone"},
		{[]int{10}, 1, 10, 1, "something is not set up"},
		{[]int{12}, 1, 12, 1, "records are gone"},
		{[]int{13}, 1, 13, 1, "checkpoint and table disagree"},
		{[]int{14}, 1, 14, 1, "cannot be read"},
		{[]int{64}, 1, 64, 1, "wrong flags or a wrong job file"},
		{[]int{127}, 1, 127, 1, "could not be started"},
	} {
		t.Run(strings.Trim(fmt.Sprint(c.codes), "[]"), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.exits(c.codes...)
			code, mail := h.cron("--max-duration", "1h")
			if code != c.exit {
				t.Errorf("got exit code %d, want %d", code, c.exit)
			}
			if mail != "" {
				t.Errorf("got mail %q, want none", mail)
			}
			if want := slices.Repeat([]string{"run --job " + h.path("orders.yaml") + " --max-duration 1h\n"}, c.tries); !slices.Equal(h.calls(), want) {
				t.Errorf("got calls %q, want %q", h.calls(), want)
			}
			if got := h.alerts(); len(got) != c.alerts {
				t.Errorf("got alerts %q, want %d", got, c.alerts)
			}
			log := h.read("log/orders.log")
			for _, part := range []string{"a batch\n", "a warning\n", c.logged} {
				if !strings.Contains(log, part) {
					t.Errorf("%q is not in the log:\n%s", part, log)
				}
			}
		})
	}
}

func TestAFailureThatTheNextRunMayCureIsToldAfterSomeInARow(t *testing.T) {
	h := newHost(t, "ALERT_AFTER=3")
	h.exits(1)
	for failures, want := range []int{0, 0, 1, 1, 1} { // told once, not with every run
		if code, _ := h.cron(); code != 1 {
			t.Fatalf("got exit code %d, want 1", code)
		}
		if got := h.alerts(); len(got) != want {
			t.Fatalf("after %d failures: got %q, want %d alerts", failures+1, got, want)
		}
	}
	h.exits(11) // says nothing about the job
	h.cron()
	h.exits(0)
	if code, mail := h.cron(); code != 0 || mail != "" {
		t.Errorf("got exit code %d and mail %q", code, mail)
	}
	if got := h.alerts(); len(got) != 2 || got[0] != "subject orders/1: sluice orders: exit 1, failed, and is safe to run again" || got[1] != "subject orders/0: sluice orders: works again" {
		t.Errorf("got %q, want the failure and its end", got)
	}
	h.cron()
	h.exits(1)
	h.cron()
	h.cron()
	if got := h.alerts(); len(got) != 2 {
		t.Errorf("got %q, want no alert: counting began anew", got)
	}
}

func TestASuccessBetweenFailuresBeginsTheCountAnew(t *testing.T) {
	h := newHost(t, "ALERT_AFTER=2")
	for range 3 {
		h.exits(1)
		h.cron()
		h.exits(0)
		h.cron()
	}
	if got := h.alerts(); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}

func TestAnAlertIsRepeatedInTimeAndWhenTheReasonChanges(t *testing.T) {
	h := newHost(t)
	for _, code := range []int{13, 13, 12, 12, 13} {
		h.exits(code)
		h.cron()
	}
	want := []string{"orders/13", "orders/12", "orders/13"}
	for i, subject := range h.alerts() {
		if i >= len(want) || !strings.Contains(subject, want[i]) {
			t.Errorf("got %q, want %q", h.alerts(), want)
		}
	}
	h.settings = append(h.settings, "ALERT_EVERY=0")
	h.cron()
	h.cron()
	if got := h.alerts(); len(got) != 5 {
		t.Errorf("got %q, want 5: each run with ALERT_EVERY=0", got)
	}
}

func TestAnAlertTellsWhatAHumanNeeds(t *testing.T) {
	h := newHost(t)
	h.exits(13)
	h.cron()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"sluice orders: exit 13, checkpoint and table disagree", "host: " + name, "job: " + h.path("orders.yaml"),
		"failures in a row: 1", "log: " + h.path("log/orders.log"), "a warning\n"} {
		if text := h.read("alerts"); !strings.Contains(text, part) {
			t.Errorf("%q is not in the alert:\n%s", part, text)
		}
	}
}

// Lines of an earlier run, or of an earlier failure, are not what somebody who is woken up needs.
func TestAnAlertTellsOfThisRunAlone(t *testing.T) {
	for _, settings := range [][]string{nil, {"LOG_TO=syslog"}} {
		h := newHost(t, settings...)
		h.settings = append(h.settings, "PATH="+h.dir+":$PATH")
		h.write("logger", "#!/bin/bash\nexec cat >/dev/null\n")
		for _, says := range []string{"sluice: an old error", "sluice: read orders-3 at 5:\tthe broker is gone"} {
			h.write("sluice", "#!/bin/bash\necho 'sluice: the first of two'\necho '"+says+"' >&2\necho 'Try: something else' >&2\nexit 10\n")
			h.settings = append(h.settings, "ALERT_EVERY=0")
			if code, mail := h.cron(); code != 10 || mail != "" {
				t.Fatalf("%v: got exit code %d and mail %q", settings, code, mail)
			}
		}
		all := h.read("alerts")
		last := all[max(0, strings.LastIndex(all, "subject ")):]
		want := "subject orders/10: sluice orders: exit 10, something is not set up: topic, table, catalog, or a permission: read orders-3 at 5: the broker is gone\n"
		if !strings.Contains(last, want) || !strings.Contains(last, "Try: something else\n") || strings.Contains(last, "old error") {
			t.Errorf("%v: got\n%s\nwant its subject to be %s", settings, last, want)
		}
	}
}

func TestASubjectIsNotTooLong(t *testing.T) {
	h := newHost(t)
	h.write("sluice", "#!/bin/bash\necho 'sluice: "+strings.Repeat("words and ", 100)+"' >&2\nexit 13\n")
	h.cron()
	if got := h.alerts(); len(got) != 1 || len(got[0]) > 300 || !strings.HasSuffix(got[0], "words and ...") {
		t.Errorf("got %q", got)
	}
}

func TestNothingIsLeftInTheTemporaryFolder(t *testing.T) {
	h := newHost(t)
	h.exits(10)
	c := h.wrapper()
	c.Env = append(c.Env, "TMPDIR="+t.TempDir())
	if code, mail := end(t, c); code != 10 || mail != "" {
		t.Errorf("got exit code %d and mail %q", code, mail)
	}
	left, err := os.ReadDir(strings.TrimPrefix(c.Env[len(c.Env)-1], "TMPDIR="))
	if err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want nothing", left, err)
	}
}

// A temporary folder that is full or missing costs the lines in the alert, not the run.
func TestWithoutATemporaryFolderTheRunGoesOn(t *testing.T) {
	h := newHost(t)
	h.exits(0)
	c := h.wrapper()
	c.Env = append(c.Env, "TMPDIR="+h.path("none"))
	if code, _ := end(t, c); code != 0 || !strings.Contains(h.read("log/orders.log"), "a batch\na warning\n") {
		t.Errorf("got exit code %d and log\n%s", code, h.read("log/orders.log"))
	}
	if _, err := os.Stat(os.DevNull); err != nil {
		t.Error(err)
	}
}

func TestWithoutAnAlertCommandCronMails(t *testing.T) {
	h := newHost(t, "ALERT=")
	h.exits(12)
	code, mail := h.cron()
	if code != 12 || !strings.Contains(mail, "exit 12, records are gone") || !strings.Contains(mail, "a warning") {
		t.Errorf("got exit code %d and mail %q", code, mail)
	}
	if _, mail := h.cron(); mail != "" {
		t.Errorf("got mail %q, want none: it was told", mail)
	}
}

func TestAnAlertCommandThatFailsLeavesTheMailAndIsTriedAgain(t *testing.T) {
	h := newHost(t, "ALERT='echo the hook is down; exit 7'")
	h.exits(12)
	for range 2 {
		if code, mail := h.cron(); code != 12 || !strings.Contains(mail, "the alert command failed") || !strings.Contains(mail, "exit 12") {
			t.Errorf("got exit code %d and mail %q", code, mail)
		}
	}
	if log := h.read("log/orders.log"); strings.Count(log, "the hook is down\n") != 2 {
		t.Errorf("what the command says is not in the log:\n%s", log)
	}
}

// A command that does not read its input must not be taken for one that failed.
func TestAnAlertCommandNeedNotReadTheMessage(t *testing.T) {
	h := newHost(t, "ALERT=true")
	h.exits(12)
	h.write("log.txt", "")
	if code, mail := h.cron(); code != 12 || mail != "" {
		t.Errorf("got exit code %d and mail %q", code, mail)
	}
}

func TestLogsMayGoToSyslog(t *testing.T) {
	h := newHost(t, "LOG_TO=syslog")
	h.settings = append(h.settings, "PATH="+h.dir+":$PATH")
	if err := syscall.Mkfifo(h.path("journal"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.write("logger", "#!/bin/bash\n{ echo \"logger $*\"; cat; } >"+h.path("journal")+"\n")
	h.exits(13)
	c := h.wrapper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(h.path("journal")) // until logger ends, which is when the wrapper has ended
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the code tells
	for _, part := range []string{"logger -t sluice-orders\n", "a batch\n", "a warning\n", "exit code 13"} {
		if !strings.Contains(string(journal), part) {
			t.Errorf("%q is not in the journal:\n%s", part, journal)
		}
	}
	if got := c.ProcessState.ExitCode(); got != 13 || !strings.Contains(h.read("alerts"), "log: journalctl -t sluice-orders") {
		t.Errorf("got exit code %d and alert\n%s", got, h.read("alerts"))
	}
}

func TestWhatIsWrongWithTheWrapperItselfIsMailed(t *testing.T) {
	h := newHost(t)
	h.exits(0)
	conf, orders := h.conf(), h.path("orders.yaml")
	h.write("file", "")
	state := "STATE_DIR=" + h.path("state") + "\n"
	for _, c := range []struct {
		conf string
		args []string
		exit int
		mail string
	}{
		{conf, nil, 64, "a job file is missing"},
		{conf, []string{"--max-duration", "1h"}, 64, "usage: sluice-cron"},
		{conf, []string{"-x", orders}, 64, "there is no option -x"},
		{conf, []string{"-n", "a/b", orders}, 64, `"a/b" has a /`},
		{h.path("no.conf"), []string{orders}, 64, "cannot read " + h.path("no.conf")},
		{h.write("a.conf", "RETRY_PAUSE=soon\n"), []string{orders}, 64, `one is "soon"`},
		{h.write("b.conf", state+"LOG_TO=nowhere\n"), []string{orders}, 64, `not "nowhere"`},
		{h.write("c.conf", state+"LOG_DIR="+h.path("file")+"/log\n"), []string{orders}, 73, "cannot write the log " + h.path("file") + "/log/orders.log"},
	} {
		code, mail := end(t, exec.Command("./sluice-cron", append([]string{"-c", c.conf}, c.args...)...))
		if code != c.exit || !strings.Contains(mail, c.mail) {
			t.Errorf("%s %q: got exit code %d and %q, want %d and %q", c.conf, c.args, code, mail, c.exit, c.mail)
		}
	}
	if got := h.calls(); len(got) != 0 {
		t.Errorf("got calls %q, want none", got)
	}
}

func TestTheWrapperHasHelp(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		out, err := exec.Command("./sluice-cron", flag).Output()
		if err != nil || !strings.HasPrefix(string(out), "usage: sluice-cron [-c CONF] [-n NAME] JOB.yaml") {
			t.Errorf("%s: got %v and\n%s", flag, err, out)
		}
	}
}

// Files of one name in two folders are two jobs: failures of one are none of the other.
func TestTwoJobsOfOneNameDoNotShareTheirState(t *testing.T) {
	h := newHost(t)
	h.exits(0)
	if err := os.Mkdir(h.path("eu"), 0o755); err != nil {
		t.Fatal(err)
	}
	eu := h.write("eu/orders.yaml", "name: orders\n")
	start := func(args ...string) (int, string) {
		return end(t, exec.Command("./sluice-cron", append([]string{"-c", h.conf()}, args...)...))
	}
	if code, mail := h.cron(); code != 0 || mail != "" {
		t.Fatalf("got exit code %d and mail %q", code, mail)
	}
	code, mail := start(eu)
	if code != 64 || !strings.Contains(mail, eu+" was not run: "+h.path("orders.yaml")+" goes by the name \"orders\"") || !strings.Contains(mail, "-n NAME") {
		t.Errorf("got exit code %d and mail %q", code, mail)
	}
	if code, mail := start("-n", "orders-eu", eu); code != 0 || mail != "" || !strings.Contains(h.read("log/orders-eu.log"), "a batch") {
		t.Errorf("with a name of its own: got exit code %d, mail %q and log %q", code, mail, h.read("log/orders-eu.log"))
	}
	if code, mail := h.cron(); code != 0 || mail != "" {
		t.Errorf("the first: got exit code %d and mail %q", code, mail)
	}
	// A job that has moved is the same job.
	if err := os.Remove(h.path("orders.yaml")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code, mail := start(eu); code != 0 || mail != "" {
			t.Errorf("moved: got exit code %d and mail %q", code, mail)
		}
	}
	if got := len(h.calls()); got != 5 {
		t.Errorf("got %d calls, want 5", got)
	}
}

func TestAProgramThatIsNotThereIsToldAtOnce(t *testing.T) {
	h := newHost(t)
	if code, mail := h.cron(); code != 127 || mail != "" {
		t.Errorf("got exit code %d and mail %q, want 127 and none", code, mail)
	}
	if got := h.alerts(); len(got) != 1 || !strings.Contains(got[0], "could not be started") {
		t.Errorf("got %q", got)
	}
}

func TestADamagedStateIsNoReasonToFail(t *testing.T) {
	h := newHost(t)
	for _, state := range []string{"", "1\n", "x y z\n", "$(touch hacked) 0 0\n"} {
		if err := os.MkdirAll(h.path("state"), 0o755); err != nil {
			t.Fatal(err)
		}
		h.write("state/orders.state", state)
		h.exits(1)
		if code, mail := h.cron(); code != 1 || mail != "" || h.read("state/orders.state") != "1 0 0\n" {
			t.Errorf("%q: got exit code %d, mail %q and state %q", state, code, mail, h.read("state/orders.state"))
		}
	}
}

// What only sluice's owner may read must not become the mode of the table's files.
func TestTheLogIsPrivateAndTheTableIsNot(t *testing.T) {
	h := newHost(t)
	h.write("sluice", "#!/bin/bash\numask\n")
	c := h.wrapper()
	c.Path, c.Args = "/bin/bash", append([]string{"bash", "-c", `umask 022; exec "$@"`, "-"}, c.Args...)
	if code, mail := end(t, c); code != 0 || h.read("log/orders.log") != "0022\n" {
		t.Errorf("got exit code %d, mail %q and umask %q", code, mail, h.read("log/orders.log"))
	}
	if mode, err := os.Stat(h.path("log/orders.log")); err != nil || mode.Mode().Perm() != 0o640 {
		t.Errorf("got log %v, %v", mode, err)
	}
}
