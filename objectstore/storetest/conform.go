package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/objectstore"
)

// Conform checks that stores are what objectstore.Store says. open returns an empty one on every call.
func Conform(t *testing.T, open func(t *testing.T) objectstore.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, objectstore.Store)
	}{
		{"an absent object is ErrNotFound and nothing else", absent},
		{"an object is read back byte for byte", readBack},
		{"creating twice conflicts and changes nothing", createTwice},
		{"replacing needs the current version", replaceStale},
		{"replacing an object that is gone conflicts", replaceGone},
		{"a state that comes back is not the state that was", comesBack},
		{"put writes whatever is there", putOver},
		{"deleting is safe to repeat", deleteTwice},
		{"a key can be created again after it was deleted", createAgain},
		{"listing is complete, sorted by byte and cut exactly", listing},
		{"of many racing creators of a key one wins", raceCreate},
		{"racing replacements lose no update", raceReplace},
		{"the probe accepts it and leaves nothing behind", probed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func absent(t *testing.T, s objectstore.Store) {
	_, _, err := s.Get(t.Context(), "offsets/0")
	if !errors.Is(err, objectstore.ErrNotFound) || errors.Is(err, objectstore.ErrConflict) || errors.Is(err, objectstore.ErrAmbiguous) {
		t.Errorf("get of an absent object: got %v, want ErrNotFound", err)
	}
	if keys, err := s.List(t.Context(), "offsets/", ""); err != nil || len(keys) != 0 {
		t.Errorf("list of nothing: got %v, %v, want none", keys, err)
	}
}

func readBack(t *testing.T, s objectstore.Store) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for key, data := range map[string][]byte{"sources/0/0": append([]byte{0}, "v1\n{}"...), "empty": {}, "every byte": all, "big": bytes.Repeat(all, 4096)} {
		version := must(s.PutIfAbsent(t.Context(), key, data))(t)
		got, at, err := s.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("get %s: got %d bytes, %v, want the %d written", key, len(got), err, len(data))
		}
		if at != version || at == "" {
			t.Errorf("get %s: got version %q, want %q as its creation said", key, at, version)
		}
	}
}

func createTwice(t *testing.T, s objectstore.Store) {
	version := must(s.PutIfAbsent(t.Context(), "k", []byte("first")))(t)
	if _, err := s.PutIfAbsent(t.Context(), "k", []byte("second")); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("second creation: got %v, want ErrConflict", err)
	}
	expect(t, s, "k", "first", version)
}

func replaceStale(t *testing.T, s objectstore.Store) {
	one := must(s.PutIfAbsent(t.Context(), "k", []byte("one")))(t)
	two := must(s.PutIfMatch(t.Context(), "k", []byte("two"), one))(t)
	if two == one {
		t.Errorf("the version did not change: %q", two)
	}
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("three"), one); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("replacing at a stale version: got %v, want ErrConflict", err)
	}
	expect(t, s, "k", "two", two)
	three := must(s.PutIfMatch(t.Context(), "k", []byte("three"), two))(t)
	expect(t, s, "k", "three", three)
}

func replaceGone(t *testing.T, s objectstore.Store) {
	version := must(s.PutIfAbsent(t.Context(), "k", []byte("one")))(t)
	succeed(t, s.Delete(t.Context(), "k"))
	if _, err := s.PutIfMatch(t.Context(), "k", []byte("two"), version); !errors.Is(err, objectstore.ErrConflict) {
		t.Errorf("replacing what was deleted: got %v, want ErrConflict", err)
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("it came back: got %v, want ErrNotFound", err)
	}
}

// comesBack writes A, B, C quickly, all of one size; the version of A must not pass for that of C. A file system whose
// clock ticks slowly and that hands out an inode again would fall for it.
func comesBack(t *testing.T, s objectstore.Store) {
	a := must(s.PutIfAbsent(t.Context(), "k", []byte("A")))(t)
	b := must(s.PutIfMatch(t.Context(), "k", []byte("B"), a))(t)
	c := must(s.PutIfMatch(t.Context(), "k", []byte("C"), b))(t)
	for _, stale := range []objectstore.Version{a, b} {
		if _, err := s.PutIfMatch(t.Context(), "k", []byte("D"), stale); !errors.Is(err, objectstore.ErrConflict) {
			t.Errorf("replacing at version %q: got %v, want ErrConflict", stale, err)
		}
	}
	expect(t, s, "k", "C", c)
}

func putOver(t *testing.T, s objectstore.Store) {
	for _, data := range []string{"one", "a longer two", "3"} {
		succeed(t, s.Put(t.Context(), "progress/1.json", []byte(data)))
		got, _, err := s.Get(t.Context(), "progress/1.json")
		if err != nil || string(got) != data {
			t.Errorf("got %q, %v, want %q", got, err, data)
		}
	}
}

func deleteTwice(t *testing.T, s objectstore.Store) {
	for _, key := range []string{"commits/0", "commits/1", "commits/2"} {
		must(s.PutIfAbsent(t.Context(), key, []byte(key)))(t)
	}
	for range 2 {
		succeed(t, s.Delete(t.Context(), "commits/0", "commits/2", "commits/99"))
		keys, err := s.List(t.Context(), "commits/", "")
		if err != nil || !slices.Equal(keys, []string{"commits/1"}) {
			t.Errorf("got %v, %v, want only commits/1", keys, err)
		}
	}
	succeed(t, s.Delete(t.Context()))
}

func createAgain(t *testing.T, s objectstore.Store) {
	must(s.PutIfAbsent(t.Context(), "offsets/7", []byte("old")))(t)
	succeed(t, s.Delete(t.Context(), "offsets/7"))
	version := must(s.PutIfAbsent(t.Context(), "offsets/7", []byte("new")))(t)
	expect(t, s, "offsets/7", "new", version)
}

func listing(t *testing.T, s objectstore.Store) {
	keys := []string{"metadata", "offsets/0", "offsets/1", "offsets/10", "offsets/2", "offsetsets/1", "sources/0/0", "state/0/0/1.delta", "state/0.1"}
	for _, key := range keys {
		must(s.PutIfAbsent(t.Context(), key, []byte(key)))(t)
	}
	for _, c := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", []string{"metadata", "offsets/0", "offsets/1", "offsets/10", "offsets/2", "offsetsets/1", "sources/0/0", "state/0.1", "state/0/0/1.delta"}},
		{"offsets/", "", []string{"offsets/0", "offsets/1", "offsets/10", "offsets/2"}},
		{"offsets/", "offsets/1", []string{"offsets/10", "offsets/2"}},
		{"offsets/", "offsets/9", nil},
		{"offsets/1", "", []string{"offsets/1", "offsets/10"}},
		{"state/0/0/", "", []string{"state/0/0/1.delta"}},
		{"nothing/", "", nil},
	} {
		got, err := s.List(t.Context(), c.prefix, c.after)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("list %q after %q: got %v, %v, want %v", c.prefix, c.after, got, err, c.want)
		}
	}
}

func raceCreate(t *testing.T, s objectstore.Store) {
	const racers, rounds = 8, 20
	for round := range rounds {
		key := fmt.Sprintf("offsets/%d", round)
		winners := make(chan string, racers)
		together(racers, func(i int) {
			data := strings.Repeat(fmt.Sprint(i), 100)
			if _, err := s.PutIfAbsent(t.Context(), key, []byte(data)); err == nil {
				winners <- data
			} else if !errors.Is(err, objectstore.ErrConflict) {
				t.Errorf("create %s: got %v, want success or ErrConflict", key, err)
			}
		})
		if len(winners) != 1 {
			t.Fatalf("%s has %d winners, want 1", key, len(winners))
		}
		got, _, err := s.Get(t.Context(), key)
		if want := <-winners; err != nil || string(got) != want {
			t.Fatalf("%s: got %q, %v, want the winner's %q", key, got, err, want)
		}
	}
}

func raceReplace(t *testing.T, s objectstore.Store) {
	const racers, each = 4, 10
	must(s.PutIfAbsent(t.Context(), "n", []byte("0")))(t)
	together(racers, func(int) {
		for done := 0; done < each; {
			data, version, err := s.Get(t.Context(), "n")
			if err != nil {
				t.Errorf("get: %v", err)
				return
			}
			var n int
			fmt.Sscan(string(data), &n)
			_, err = s.PutIfMatch(t.Context(), "n", fmt.Append(nil, n+1), version)
			if err == nil {
				done++
			} else if !errors.Is(err, objectstore.ErrConflict) {
				t.Errorf("replace: got %v, want success or ErrConflict", err)
				return
			}
		}
	})
	got, _, err := s.Get(t.Context(), "n")
	if want := fmt.Sprint(racers * each); err != nil || string(got) != want {
		t.Errorf("after %s increments: got %s, %v", want, got, err)
	}
}

func probed(t *testing.T, s objectstore.Store) {
	succeed(t, objectstore.Probe(t.Context(), s, "lock/probe-"))
	if keys, err := s.List(t.Context(), "", ""); err != nil || len(keys) != 0 {
		t.Errorf("got %v, %v, want nothing left", keys, err)
	}
}

// together runs f n times at the same moment.
func together(n int, f func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	group.Wait()
}

func must(version objectstore.Version, err error) func(*testing.T) objectstore.Version {
	return func(t *testing.T) objectstore.Version {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
}

func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, s objectstore.Store, key, want string, version objectstore.Version) {
	t.Helper()
	got, at, err := s.Get(t.Context(), key)
	if err != nil || string(got) != want || at != version {
		t.Errorf("%s: got %q at version %q, %v, want %q at %q", key, got, at, err, want, version)
	}
}
