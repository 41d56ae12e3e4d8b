package cron_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/job"
	"sluice/kafkasrc"
)

func TestTheWebhookPostsTheMessageAsJSON(t *testing.T) {
	var posted []byte
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ = io.ReadAll(r.Body) // what came shows below
		w.WriteHeader(status)
	}))
	defer server.Close()
	text := "it's \"red\" \\ 50 % & more\n\tZürich\n"
	post := func(text string) error {
		c := exec.Command("./alert-webhook")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "WEBHOOK_URL=" + server.URL}
		c.Stdin = strings.NewReader(text)
		return c.Run()
	}
	if err := post(text + "\x1b[31m"); err != nil {
		t.Fatal(err)
	}
	var body struct{ Text string }
	if err := json.Unmarshal(posted, &body); err != nil || body.Text != text+"[31m" {
		t.Errorf("got %s, %v, want %q", posted, err, text)
	}
	long := strings.Repeat("0123456789", 100_000) // more than pipes hold
	if err := post(long); err != nil {
		t.Fatalf("a long message: %v", err)
	}
	if err := json.Unmarshal(posted, &body); err != nil || body.Text != long[:3500] {
		t.Errorf("got %d characters, %v, want the first 3500", len(body.Text), err)
	}
	status = http.StatusInternalServerError
	if err := post(text); err == nil {
		t.Error("got no error of a server that refuses")
	}
}

func TestTheScriptsAreWellFormed(t *testing.T) {
	for _, script := range []string{"sluice-cron", "alert-webhook", "cron.conf"} {
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

var schedule = regexp.MustCompile(`^((\*|[0-9]+(-[0-9]+)?)(/[0-9]+)?\s+){5}\S`)

func TestTheCrontabIsOneThatCronTakes(t *testing.T) {
	text, err := os.ReadFile("crontab")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		t.Error("cron ignores a last line without a line end")
	}
	jobs := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case regexp.MustCompile(`^[A-Z_]+=[^$]*$`).MatchString(line):
		case schedule.MatchString(line) && !strings.Contains(line, "%"):
			jobs++
		default:
			t.Errorf("%q is no line of a crontab", line)
		}
	}
	if jobs != 3 {
		t.Errorf("got %d jobs, want 3", jobs)
	}
}

func TestTheSampleJobLoads(t *testing.T) {
	j, err := job.Load(job.Input{File: "orders.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "orders" || j.Sink.Iceberg.Table != "sales.orders" || !slices.Equal(j.Source.Subscribe, []string{"orders"}) {
		t.Errorf("got %s", j)
	}
}

// What the sample shows commented out works when the comment sign is taken away.
func TestTheSampleJobShowsOnlyWhatIsSupported(t *testing.T) {
	text, err := os.ReadFile("orders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    # ([a-z.]+: )`).ReplaceAllString(string(text), "    $1")
	var properties map[string]string
	if _, err := job.Load(job.Input{File: "orders.yaml", ReadFile: func(string) ([]byte, error) { return []byte(shown), nil },
		CheckClient: func(p map[string]string) []job.PropertyProblem { properties = p; return nil }}); err != nil {
		t.Fatal(err)
	}
	if got := kafkasrc.CheckClient(properties); got != nil || properties["security.protocol"] != "SSL" || properties["ssl.keystore.location"] == "" {
		t.Errorf("got %v for %v", got, properties)
	}
}

func TestTheDailyProofUsesTheProgramOfTheSettings(t *testing.T) {
	text, err := os.ReadFile("crontab")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\n17 4 * * *   ")
	if !ok {
		t.Fatal("there is no daily proof")
	}
	for code, want := range map[string]string{"0": "", "13": "proof --job\n"} {
		h := newHost(t)
		h.settings = append(h.settings, "SLUICE=\""+h.write("my sluice", "#!/bin/bash\n[ \"$1\" = verify ] && echo proof \"$3\"\nexit "+code+"\n")+"\"")
		c := exec.Command("/bin/sh", "-c", strings.ReplaceAll(line, "/etc/sluice/cron.conf", h.conf()))
		c.Env = []string{"PATH=/usr/bin:/bin"}
		if _, mail := end(t, c); mail != want {
			t.Errorf("exit code %s: got %q, want %q", code, mail, want)
		}
	}
}

// The lines of the README for a user without root, as they stand there.
func TestTheInstallationWithoutRootWorks(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "### Without root")
	blocks := regexp.MustCompile("(?s)```(?:sh)?\n(.*?)```").FindAllStringSubmatch(part, 3)
	if len(blocks) != 3 {
		t.Fatalf("got %d blocks, want to install, to try and the line of the crontab", len(blocks))
	}
	h := newHost(t)
	h.exits(0)
	shell := func(dir, lines string) (int, string) {
		c := exec.Command("/bin/sh", "-ec", lines)
		c.Dir, c.Env = dir, []string{"HOME=" + h.path("home"), "PATH=/usr/bin:/bin"}
		return end(t, c)
	}
	folder := h.path("examples/cron")
	if code, out := shell(".", "mkdir -p '"+folder+"' $HOME && cp * '"+folder+"'"); code != 0 {
		t.Fatalf("got %d: %s", code, out)
	}
	if code, out := shell(folder, blocks[0][1]); code != 0 || out != "" {
		t.Fatalf("installing: got exit code %d and %q", code, out)
	}
	if code, out := shell(h.dir, blocks[1][1]); code != 0 || !strings.Contains(out, "exit code 0\n") || !strings.HasSuffix(out, "a batch\na warning\n") {
		t.Errorf("trying: got exit code %d and %q", code, out)
	}
	for line := range strings.Lines(blocks[2][1]) {
		times := schedule.FindString(line)
		if code, out := shell(h.dir, line[max(0, len(times)-1):]); times == "" || code != 0 || out != "" || strings.Contains(line, "%") {
			t.Errorf("cron: got %q, exit code %d and %q", line, code, out)
		}
	}
	file := h.path("home/sluice/orders.yaml")
	if calls := h.calls(); len(calls) != 4 || calls[2] != "run --job "+file+" --max-duration 1h\n" || calls[3] != "verify --source --job "+file+"\n" {
		t.Errorf("got calls %q", calls)
	}
	j, err := job.Load(job.Input{File: h.path("home/sluice/orders.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := j.Sink.Iceberg.Catalog.Warehouse, h.path("home/sluice/lake"); got != want || j.Checkpoint != h.path("home/sluice/checkpoints/orders") {
		t.Errorf("got warehouse %s and checkpoint %s, want %s", got, j.Checkpoint, want)
	}
}
