package cmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/cmd"
)

// tellDemo carries the demo out in this process; its runs are processes of their own.
func tellDemo(t *testing.T, environ []string, args ...string) *outcome {
	t.Helper()
	return call(t, slices.Concat(os.Environ(), []string{asSluice + "=1"}, environ), append([]string{"sluice", "demo"}, args...)...)
}

func TestTheDemoTellsTheWholeStoryInObjects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	// What is set for somebody's job must not reach the demo's.
	o := tellDemo(t, []string{"SLUICE_CHECKPOINT=" + elsewhere, "SLUICE_SINK_ICEBERG_TABLE=prod.orders"}, "--output", "json", "--dir", dir).wants(0)
	if _, err := os.Stat(elsewhere); err == nil {
		t.Errorf("the demo wrote to %s", elsewhere)
	}
	var order []string
	for line := range strings.Lines(o.stdout) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch object["type"] {
		case "demo":
			order = append(order, fmt.Sprint("step ", object["step"]))
		case "batch":
			order = append(order, fmt.Sprint("batch ", object["batchId"], " of ", object["numInputRows"], " replayed ", at(object, "sluice.replayed")))
		default:
			order = append(order, fmt.Sprint(object["type"]))
		}
	}
	want := []string{"step 1",
		"step 2", "batch 0 of 2000 replayed false", "batch 1 of 2000 replayed false", "batch 2 of 2000 replayed false", "summary",
		"step 3", "batch 3 of 2000 replayed false",
		"step 4",
		"step 5", "batch 4 of 2000 replayed true", "batch 5 of 2000 replayed false", "batch 6 of 500 replayed false", "summary",
		"step 6", "peek", "step 7", "deadletters", "step 8", "replay", "step 9", "verify", "step 10"}
	if !slices.Equal(order, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	o.has("verify", "ok", true, "rows", 12500, "duplicates", 0, "missing", 0, "batches", 7, "deadLetters", 7, "replayed", 7)
	steps := o.objects("demo")
	for _, step := range []int{2, 3, 5, 6, 7, 8, 9} {
		if command, _ := steps[step-1]["command"].(string); !strings.HasPrefix(command, "sluice ") || !strings.Contains(command, filepath.Join(dir, "orders.yaml")) {
			t.Errorf("step %d: got command %q", step, command)
		}
	}
	if next := fmt.Sprint(steps[9]["next"]); !strings.Contains(next, "rm -r "+dir) {
		t.Errorf("got %s, want it to say how to remove %s", next, dir)
	}
	// The folder is left, and the commands that were shown work on it.
	call(t, nil, "sluice", "peek", "--job", filepath.Join(dir, "orders.yaml"), "--output", "json", "--limit", "3").wants(0)
}

func TestTheDemoAsText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	o := tellDemo(t, nil, "--dir", dir).wants(0)
	for _, part := range []string{"1. A topic with orders, and a job\n", "   $ sluice run --job " + dir + "/orders.yaml\n", "\n     Killed\n", "batch 4, replayed: 2,000 records",
		"   $ sluice verify --source --job ", "ok, every row is there once", "12,500", "7 new rows of 7 dead letters", "channel", "rm -r " + dir} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("%q is missing in\n%s", part, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "\x1b") || strings.Contains(o.stdout, " \n") {
		t.Errorf("got colours or trailing spaces where no terminal is:\n%q", o.stdout)
	}
}

func TestTheDemoNeedsAFolderOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "orders.yaml")
	if err := os.WriteFile(mine, []byte("name: mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tellDemo(t, nil, "--output", "json", "--dir", dir).fails(64, dir+" is not empty")
	if got, err := os.ReadFile(mine); err != nil || string(got) != "name: mine\n" {
		t.Errorf("got %q, %v, want the file as it was", got, err)
	}
	tellDemo(t, nil, "--output", "json", "--dir", mine).fails(10, mine, "--dir")
}

// onLine calls do before it passes a line on that holds mark.
type onLine struct {
	io.Writer
	mark string
	do   func()
}

func (w *onLine) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.mark) {
		w.do()
	}
	return w.Writer.Write(p)
}

func TestADemoWhoseProofFailsFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	var stdout, stderr lockedBuffer
	removed := ""
	out := &onLine{&stdout, `"step":9`, func() {
		files, err := filepath.Glob(filepath.Join(dir, "lake", "sales.db", "orders", "data", "*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no data files: %v", err)
		}
		removed = files[0]
		if err := os.Remove(removed); err != nil {
			t.Fatal(err)
		}
	}}
	code := cmd.Main([]string{"sluice", "demo", "--output", "json", "--dir", dir}, append(os.Environ(), asSluice+"=1"), out, &stderr)
	o := &outcome{t: t, line: "demo without " + removed, code: code, stdout: stdout.String(), stderr: stderr.String()}
	o.fails(13, "verify did not end well").has("verify", "ok", false)
}

func TestASignalEndsTheDemoAndWhatItStarted(t *testing.T) {
	for _, c := range []struct {
		mark   string
		signal os.Signal
		flags  []string
		want   int
	}{
		{`"step":2`, syscall.SIGTERM, nil, 143},
		{`"batchId":1`, os.Interrupt, nil, 130},
		{`"step":10`, os.Interrupt, []string{"--hold"}, 0}, // the end that it is meant to have
	} {
		dir := filepath.Join(t.TempDir(), "demo")
		p := child(append([]string{"sluice", "demo", "--output", "json", "--dir", dir}, c.flags...)...)
		out, in := io.Pipe()
		p.Stdout = in
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Process.Kill() }) // it has ended, unless the test failed
		go func() { in.CloseWithError(p.Wait()) }()
		job, signalled := filepath.Join(dir, "orders.yaml"), false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if signalled || !strings.Contains(lines.Text(), c.mark) {
				continue
			}
			if c.want == 0 { // held: the broker is there for whoever wants to try
				call(t, nil, "sluice", "run", "--output", "json", "--job", job).wants(0).has("summary", "caughtUp", true, "batches", 0)
			}
			signalled = true
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.ProcessState.ExitCode(); got != c.want || !signalled {
			t.Errorf("%s at %s: got exit code %d (signalled: %v), want %d", c.signal, c.mark, got, signalled, c.want)
		}
		if conn, err := net.Dial("tcp", brokerIn(t, job)); err == nil {
			conn.Close()
			t.Errorf("%s at %s: the broker is still there", c.signal, c.mark)
		}
	}
}

// brokerIn is the address in a job file.
func brokerIn(t *testing.T, job string) string {
	t.Helper()
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	addr := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(string(text))
	if addr == "" {
		t.Fatalf("no address in %s", text)
	}
	return addr
}
