package cmd_test

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const atOnce = 10

// together carries out ten runs at the same moment, each by do, and fails the test unless each ends well or stands
// back, and one of them ends well.
func together(t *testing.T, do func() *outcome) {
	t.Helper()
	var all sync.WaitGroup
	begin := make(chan struct{})
	outcomes := make([]*outcome, atOnce)
	for i := range outcomes {
		all.Go(func() {
			<-begin
			outcomes[i] = do()
		})
	}
	close(begin)
	all.Wait()
	done := 0
	for _, o := range outcomes {
		switch o.code {
		case 0:
			done++
		case 11:
		default:
			t.Errorf("got exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	if done == 0 {
		t.Error("none of the runs went on to the end")
	}
}

// Ten starts of one job at the same moment, in a query's first run and in later ones: every record once.
func TestTenStartsAtOnceWriteEveryRecordOnce(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"a folder":       {"--wait", "1500ms"},
		"hadoop catalog": {"--wait", "0s", "--catalog-type", "hadoop"},
		"memory":         {"--wait", "0s", "--checkpoint", "mem://" + t.Name()},
	} {
		k := embedded(t, "orders")
		p := newPipeline(t, k).with(more...)
		for range 2 {
			k.fill(t, "orders", 15, 0, 1)
			together(t, func() *outcome { return p.do(t, "run", "--max-offsets-per-trigger", "10") })
			p.run(t).has("summary", "caughtUp", true) // the last one may have stood back
			o := p.do(t, "verify", "--source").wants(0)
			if o.has("verify", "verdict", "proved", "duplicates", 0, "missing", 0); t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

func TestTenProcessesAtOnceWriteEveryRecordOnce(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 15, 0, 1)
	together(t, func() *outcome {
		r := prepared(t, child(p.args("run", "--max-offsets-per-trigger", "10")...))
		r.start()
		return r.wait()
	})
	p.run(t)
	p.wantAll(t, "orders")
}

// While one run is in the middle of its work all others stand back.
func TestWhileOneRunIsInItsSecondBatchTheOthersStandBack(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k).without("--subscribe").with("--assign", `{"orders":[0]}`, "--max-offsets-per-trigger", "10")
	k.fill(t, "orders", 30, 0)
	held, release := make(chan struct{}), make(chan struct{})
	holding := sync.OnceFunc(func() { close(held) })
	k.cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		if req.(*kmsg.FetchRequest).Topics[0].Partitions[0].FetchOffset >= 10 {
			holding()
			k.cluster.SleepControl(func() { <-release })
		}
		return nil, nil, false
	})
	first := make(chan *outcome)
	go func() { first <- p.do(t, "run") }()
	<-held
	var others sync.WaitGroup
	for range atOnce - 1 {
		others.Go(func() { p.do(t, "run", "--wait", "500ms").fails(11, "is in use by run") })
	}
	others.Wait()
	p.do(t, "status").wants(0).has("status", "lastCommit", 0, "uncommitted.batch", 1, "lease.released", false)
	close(release)
	(<-first).wants(0).has("summary", "batches", 3, "records", 30)
	p.wantAll(t, "orders")
}

// Stops the process itself, as a laptop that sleeps does, for less than its lease lives.
func TestWhileOneRunIsStoppedTheOthersStandBack(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	p := newPipeline(t, k)
	k.fill(t, "orders", 10, 0, 1)
	p.standBack(t)
	p.wantAll(t, "orders")
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// firstBatch passes on what is written and notices the report of the first batch.
type firstBatch struct {
	to   io.Writer
	once sync.Once
	seen func()
}

func (f *firstBatch) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte(`{"type":"batch"`)) {
		f.once.Do(f.seen)
	}
	return f.to.Write(p)
}

// standBack starts ten runs as processes and stops the first one that has a batch in the table, with SIGSTOP. The nine
// others must stand back; then that one goes on and must end well. There must be enough for many batches of 2.
func (p *pipeline) standBack(t *testing.T) {
	t.Helper()
	winners, ended := make(chan *running, atOnce), make(chan *running, atOnce)
	for range atOnce {
		r := prepared(t, child(p.args("run", "--max-offsets-per-trigger", "2", "--wait", "1s")...))
		r.cmd.Env = append(r.cmd.Env, p.environ...)
		r.cmd.Stdout = &firstBatch{to: &r.out, seen: func() { winners <- r }}
		r.start()
		go func() {
			r.wait()
			ended <- r
		}()
	}
	winner := <-winners
	winner.signal(syscall.SIGSTOP)
	for range atOnce - 1 {
		if r := <-ended; r == winner {
			t.Fatalf("the run ended before it was stopped: %s", r.stderr)
		} else {
			r.fails(11, "is in use by run")
		}
	}
	winner.signal(syscall.SIGCONT)
	(<-ended).wants(0).has("summary", "caughtUp", true)
}
