package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"sluice/progress"
)

// Terminal makes a pseudo-terminal: what a program writes to tty comes out of its owner's side.
func Terminal(t *testing.T) (owner, tty *os.File) {
	t.Helper()
	owner, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { owner.Close() })
	if err := unix.IoctlSetPointerInt(int(owner.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(owner.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return owner, tty
}

// terminal is the end of a pseudo-terminal that a program writes to.
func terminal(t *testing.T) *os.File {
	t.Helper()
	_, tty := Terminal(t)
	return tty
}

func TestHowToSeeTheRowsIsSaidToWhoeverReadsIt(t *testing.T) {
	for _, c := range []struct {
		name        string
		out         io.Writer
		json, quiet bool
		first, rows int64
		want        bool
	}{
		{name: "the first run, into a file", out: &bytes.Buffer{}, rows: 5, want: true},
		{name: "a later run, into a log", out: &bytes.Buffer{}, first: 7, rows: 5},
		{name: "a later run, on a terminal", out: terminal(t), first: 7, rows: 5, want: true},
		{name: "nothing new, on a terminal", out: terminal(t), first: -1},
		{name: "JSON", out: terminal(t), json: true, rows: 5},
		{name: "quiet", out: terminal(t), quiet: true, rows: 5},
	} {
		set := flag.NewFlagSet("run", flag.ContinueOnError)
		set.Bool(flagQuiet, c.quiet, "")
		p := &process{stdout: c.out, json: c.json}
		if got := p.wantsLook(cli.NewContext(nil, set, nil), &progress.Summary{FirstBatch: c.first, Rows: c.rows}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
