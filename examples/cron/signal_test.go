package cron_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestASignalIsPassedOnAndIsNoFailure(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		h := newHost(t)
		fifo := h.path("fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		// It waits in short steps: bash heeds a signal that comes just before it blocks only when that ends.
		h.write("sluice", `#!/bin/bash
trap 'echo "stopping at a safe point"; exit 143' TERM
echo started >`+fifo+`
while :; do sleep 0.1; done
`)
		c := h.wrapper()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(fifo); err != nil || string(text) != "started\n" { // waits for the stub
			t.Fatalf("got %q, %v", text, err)
		}
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // the code tells
		log := h.read("log/orders.log")
		if got := c.ProcessState.ExitCode(); got != 143 || !strings.Contains(log, "stopping at a safe point") || !strings.Contains(log, "stopped by a signal") {
			t.Errorf("%s: got exit code %d and log\n%s", s, got, log)
		}
		if got := h.alerts(); len(got) != 0 {
			t.Errorf("%s: got alerts %q, want none", s, got)
		}
	}
}

// A signal that comes before the wrapper knows whom to pass it on to is passed on as soon as it does.
func TestASignalWhileSluiceIsStartedIsPassedOn(t *testing.T) {
	h := newHost(t)
	h.settings = append(h.settings, "PATH="+h.dir+":$PATH", "export WRAPPER=$$")
	h.write("sh", "#!/bin/bash\nkill -TERM \"$WRAPPER\"\nexec /bin/sh \"$@\"\n") // sluice is started by it
	h.write("sluice", "#!/bin/bash\nexec sleep 600\n")
	code, mail := h.cron()
	if log := h.read("log/orders.log"); code != 143 || mail != "" || !strings.Contains(log, "stopped by a signal") || len(h.alerts()) != 0 {
		t.Errorf("got exit code %d, mail %q, alerts %q and log\n%s", code, mail, h.alerts(), log)
	}
}

// What bash says about a process that was killed is nothing for cron to mail: the log and the alert tell it.
func TestAKilledSluiceIsTriedAgainAndNotMailed(t *testing.T) {
	for _, killed := range []string{"$$", "$PPID"} { // sluice, and the process that was to tell its exit code
		h := newHost(t)
		h.write("sluice", "#!/bin/bash\necho a batch\nkill -KILL "+killed+"\n")
		code, mail := h.cron()
		if log := h.read("log/orders.log"); code != 137 || mail != "" || strings.Count(log, "a batch\n") != 2 || strings.Count(log, "137: killed") != 2 {
			t.Errorf("kill %s: got exit code %d, mail %q and log\n%s", killed, code, mail, log)
		}
	}
}

// A signal while it waits for the second try ends it without one.
func TestASignalBetweenTheTriesEndsTheWrapper(t *testing.T) {
	h := newHost(t, "RETRY_PAUSE=600")
	h.exits(1)
	if err := os.Mkdir(h.path("log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(h.path("log/orders.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(h.path("log/orders.log"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := h.wrapper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	readUntil(t, log, "second try in 600 s")
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the code tells
	if got := c.ProcessState.ExitCode(); got != 1 || len(h.calls()) != 1 || len(h.alerts()) != 0 {
		t.Errorf("got exit code %d, calls %q, alerts %q, want 1, one call, no alert", got, h.calls(), h.alerts())
	}
}
