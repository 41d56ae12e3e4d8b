package cmd_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// hoarding is a pipeline with dead letters whose table grows, and ten records for it: six rows of which some bring fields, and
// four dead letters, of which two are rows to whoever takes numbers in text.
func hoarding(t testing.TB, k *kafka) *pipeline {
	t.Helper()
	return lettered(t, k, "a INT").with("--set", "value.onUnknownField=addColumn").brief()
}

func (k *kafka) hoard(t testing.TB) {
	t.Helper()
	text := strings.Repeat("Ω≠", 3000) // nothing that a codec makes much of would fill a disk
	k.say(t, `{"a":1}`, `{"a":"2","b":"x"}`, `{"a":3,"b":"`+text+`"}`, `{`, `{"a":4,"c":1}`, `{"a":"`+text+`"}`, `{"a":5,"c":2}`, `{"a":"6"}`, `{"a":7,"d":{"e":1}}`, `{"a":8,"d":{"f":true}}`)
}

// A disk that fills up at any point of runs which write dead letters and alter the table, and of a replay. The next run, on a
// larger disk, finds nothing half-done.
func TestADiskThatFillsUpAnywhereUnderDeadLettersAndEvolution(t *testing.T) {
	t.Parallel()
	k := embedded(t, "orders")
	k.hoard(t)
	two := []string{"--max-offsets-per-trigger", "2"}
	if os.Geteuid() != 0 { // as in TestADiskThatFillsUpAnywhere
		for _, bytes := range []uint64{1, 1000, 4096, 10_000, 20_000, 40_000, 100_000} {
			p := hoarding(t, k)
			limited(t, bytes, p.args("run", two...)...)
			p.run(t)
			p.proves(t, "proved", 6).has("verify", "deadLetters", 4, "deadLettersFound", 4)
		}
		return
	}
	failed := 0
	for bytes := 100 << 10; ; bytes += 36 << 10 {
		p := hoarding(t, k)
		grow := disk(t, p.dir, bytes)
		o := p.do(t, "run", two...)
		if o.code != 0 {
			wantFull(t, p, o, noSpace...)
			failed++
		}
		grow(64 << 20)
		p.run(t)
		p.proves(t, "proved", 6).has("verify", "deadLetters", 4, "deadLettersFound", 4)
		if o.code == 0 {
			p.replaysOnAFullDisk(t, grow)
			break
		}
	}
	if failed < 5 {
		t.Errorf("the disk was full %d times", failed)
	}
}

// replaysOnAFullDisk replays with ever more room, until that is enough.
func (p *pipeline) replaysOnAFullDisk(t testing.TB, grow func(bytes int)) {
	t.Helper()
	mended := p.with("--set", "value.json.numbersInText=true")
	failed := 0
	for room := 0; ; room += 8 << 10 {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(p.dir, &fs); err != nil {
			t.Fatal(err)
		}
		grow(int(fs.Blocks-fs.Bfree)*int(fs.Bsize) + room)
		o := mended.letter(t, "replay")
		grow(64 << 20)
		if o.code == 0 {
			o.has("replay", "deadLetters", 4, "still", 2)
			break
		}
		wantFull(t, p, o, "the disk is full", "no space left")
		failed++
	}
	if failed < 3 {
		t.Errorf("the disk was full in %d replays", failed)
	}
	mended.letter(t, "replay").wants(0).has("replay", "rows", 0, "before", 2)
	p.proves(t, "proved", 8).has("verify", "replayed", 2, "deadLetters", 4, "deadLettersFound", 4)
}
