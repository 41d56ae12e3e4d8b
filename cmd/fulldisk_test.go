package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bulky appends n records of 10 KB that no codec makes smaller.
func (k *kafka) bulky(t testing.TB, n int) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{})
	for range n {
		value := make([]byte, 10_000)
		random.Read(value)
		k.produce(t, &kgo.Record{Topic: "orders", Value: value})
	}
}

// disk is a small disk at a folder, for root alone; its size may change.
func disk(t testing.TB, dir string, bytes int) (resize func(bytes int)) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := func(flags uintptr, bytes int) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%d", bytes)); err != nil {
			t.Fatalf("mount a disk at %s: %v", dir, err)
		}
	}
	mount(0, bytes)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return func(bytes int) { mount(syscall.MS_REMOUNT, bytes) }
}

// wantFull fails the test unless a run ended for want of space, said so once, and left no data file that nothing refers
// to.
func wantFull(t testing.TB, p *pipeline, o *outcome, words ...string) {
	t.Helper()
	o.wants(1)
	if strings.Count(o.stderr, "sluice: ") != 1 || !strings.Contains(o.stderr, "Try: ") {
		t.Errorf("got\n%s\nwant one error", o.stderr)
	}
	for _, word := range words {
		if strings.Contains(o.stderr, word) {
			return
		}
	}
	t.Errorf("got\n%s\nwant it to say one of %q", o.stderr, words)
}

var noSpace = []string{"no space left", "disk is full", "database or disk is full"}

func TestAFullDiskForTheTable(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.bulky(t, 150)
	p := newPipeline(t, k).brief()
	grow := func(int) {}
	run := func() *outcome { return p.do(t, "run") }
	words := noSpace
	if os.Geteuid() == 0 {
		grow = disk(t, p.dir, 1<<20)
	} else {
		words = []string{"file too large"}
		run = func() *outcome { return limited(t, 1<<20, p.args("run")...) }
	}
	wantFull(t, p, run(), words...)
	if found := filesIn(t, p.dir, "*.parquet"); len(found) > 0 {
		t.Errorf("left %v", found)
	}
	if s := p.table(t).CurrentSnapshot(); s != nil {
		t.Errorf("the table has %v", s)
	}
	grow(64 << 20)
	p.run(t).has("summary", "batches", 1, "records", 150)
	p.wantAll(t, "orders")
}

func TestAFullDiskForTheCheckpoint(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.fill(t, "orders", 5, 0, 1)
	p := newPipeline(t, k).brief().with("--checkpoint", filepath.Join(t.TempDir(), "state"))
	grow := func(int) {}
	run := func() *outcome { return p.do(t, "run") }
	words := noSpace
	if os.Geteuid() == 0 {
		grow = disk(t, p.flag("--checkpoint"), 4096) // room for one page: a folder or an object
	} else {
		words = []string{"file too large"}
		run = func() *outcome { return limited(t, 16, p.args("run")...) }
	}
	wantFull(t, p, run(), words...)
	p.leftNoBatch(t, "it")
	grow(1 << 20)
	p.run(t).has("summary", "batches", 1, "records", 10)
	p.wantAll(t, "orders")
}

// A disk that fills up at any point of a run, for catalog, table and checkpoint together. The next run, on a larger
// disk, finds nothing half-done.
func TestADiskThatFillsUpAnywhere(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.bulky(t, 5)
	if os.Geteuid() != 0 { // a limit on the size of each file fills no disk, but it breaks a write of each kind
		for _, bytes := range []uint64{1, 100, 1000, 4096, 20_000, 40_000, 100_000} {
			p := newPipeline(t, k).brief()
			limited(t, bytes, p.args("run", "--max-offsets-per-trigger", "2")...)
			p.run(t)
			p.wantAll(t, "orders")
		}
		return
	}
	failed := 0
	for bytes := 8 << 10; ; bytes += 44 << 10 {
		p := newPipeline(t, k).brief()
		grow := disk(t, p.dir, bytes)
		o := p.do(t, "run", "--max-offsets-per-trigger", "2")
		if o.code != 0 {
			wantFull(t, p, o, noSpace...)
			failed++
		}
		grow(64 << 20)
		p.run(t)
		p.wantAll(t, "orders")
		if o.code == 0 {
			break
		}
	}
	if failed < 3 {
		t.Errorf("the disk was full %d times", failed)
	}
}

func TestALimitOnTheSizeOfFilesIsSaidSo(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.bulky(t, 20)
	p := newPipeline(t, k).brief()
	wantFull(t, p, limited(t, 100_000, p.args("run")...), "file too large")
	p.run(t).has("summary", "records", 20)
	p.wantAll(t, "orders")
}

// limited carries a command line out in a process that may write no file larger than so many bytes.
func limited(t testing.TB, bytes uint64, args ...string) *outcome {
	t.Helper()
	r := prepared(t, child(args...))
	r.cmd.Env = append(r.cmd.Env, fmt.Sprintf("%s=%d", fileSize, bytes))
	r.start()
	return r.wait()
}

func (p *pipeline) flag(name string) string {
	for i, flag := range p.flags {
		if flag == name {
			return p.flags[i+1]
		}
	}
	return ""
}

// A disk that fills up at any point of a compaction: it says so, every row is there, and the next one, on a larger disk, finishes.
func TestADiskThatFillsUpWhileATableIsCompacted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	k := embedded(t, "orders")
	k.bulky(t, 5)
	failed := 0
	for room := 0; ; room += 28 << 10 {
		p := newPipeline(t, k).brief()
		grow := disk(t, p.dir, 64<<20)
		p.run(t, "--max-offsets-per-trigger", "1")
		var used syscall.Statfs_t
		if err := syscall.Statfs(p.dir, &used); err != nil {
			t.Fatal(err)
		}
		grow(int(used.Blocks-used.Bfree)*int(used.Bsize) + room)
		o := p.do(t, "maintain", "--compact")
		if o.code != 0 {
			wantFull(t, p, o, noSpace...)
			failed++
		}
		grow(64 << 20) // SQLite cannot even be read on a full disk
		p.do(t, "verify", "--source").wants(0).has("verify", "ok", true, "verdict", "proved", "rows", 5, "duplicates", 0, "missing", 0)
		p.do(t, "maintain", "--compact").wants(0)
		if files, err := p.table(t).Scan().PlanFiles(t.Context()); err != nil || len(files) != 1 {
			t.Errorf("with %d bytes of room: the table has %d files, %v; want one", room, len(files), err)
		}
		p.run(t)
		p.wantAll(t, "orders")
		if o.code == 0 {
			break
		}
	}
	if failed < 3 {
		t.Errorf("the disk was full %d times", failed)
	}
}
