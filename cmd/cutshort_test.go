package cmd_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What only looks has nothing that a next run could go on from.
func TestACommandThatIsStoppedSaysSoInItsOwnWords(t *testing.T) {
	t.Parallel()
	for _, verb := range [][]string{{"plan"}, {"validate"}, {"peek", "--topic"}, {"verify", "--source"}} {
		t.Run(verb[0], func(t *testing.T) {
			t.Parallel()
			k := embedded(t, "orders")
			p := newPipeline(t, k)
			k.fill(t, "orders", 5, 0, 1)
			p.run(t)
			asked, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			k.cluster.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
				k.cluster.SleepControl(func() { close(asked); <-release })
				return nil, nil, false
			})
			r := started(t, child(p.args(verb[0], verb[1:]...)...))
			<-asked
			r.signal(terminate)
			o := r.wait().wants(143)
			if said := o.stdout + o.stderr; !strings.Contains(said, verb[0]+" was stopped") || strings.Contains(said, "next run goes on") {
				t.Errorf("got %s", said)
			}
		})
	}
}

func TestASignalEndsTheWaitForAJobFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	c := child("sluice", "run", "--job", path)
	r := started(t, c)
	r.signal(terminate)
	if o := r.wait(); o.code != 143 && o.code != -1 { // -1: the signal came before the program listened
		t.Errorf("got exit code %d, want 143\n%s", o.code, o.stderr)
	}
}

func TestADeviceIsNoJobFile(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"run", "validate"} {
		call(t, nil, "sluice", verb, "--output", "json", "--job", "/dev/zero").fails(64, "/dev/zero", "a device")
	}
	file := write(t, t.TempDir(), "job.yaml", "name: ${file:/dev/zero}\n")
	call(t, nil, "sluice", "run", "--output", "json", "--job", file).fails(64, "/dev/zero", "a device")
}

func TestSecretsInAddressesAreNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, &kafka{addr: "nobody.invalid:9092"})
	for _, checkpoint := range []string{"s3://b/x?access_key=AKEY&secret_key=SEKRET", "file://user:SEKRET@/x", "s3://b/x?nonsense=SEKRET"} {
		o := call(t, nil, p.with("--checkpoint", checkpoint).args("run")...).wants(64)
		if said := o.stdout + o.stderr; strings.Contains(said, "SEKRET") || strings.Contains(said, "AKEY") || !strings.Contains(said, "checkpoint") {
			t.Errorf("%s: got %s", checkpoint, said)
		}
	}
}
