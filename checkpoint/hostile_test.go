package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/offsets"
)

// told fails the test unless an error has the class, a hint, and the words.
func told(t *testing.T, what string, err error, class batch.Class, words ...string) {
	t.Helper()
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" || errors.Is(err, ErrNotFound) {
		t.Errorf("%s: got %v (%v) with hint %q, want %v and what to do", what, err, batch.ClassOf(err), batch.HintOf(err), class)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got %v, want it to name %q", what, err, word)
		}
	}
}

func planOf(partitions int32) *batch.Plan {
	p := &batch.Plan{Batch: 0, Start: offsets.Offsets{}, End: offsets.Offsets{}, Isolation: batch.ReadCommitted, TimestampMs: 1, LeaderEpochs: map[offsets.TopicPartition]int32{},
		TopicIDs: map[string]string{}}
	for i := range partitions {
		tp := offsets.TopicPartition{Topic: "a.topic.with.quite.a.long.name-" + strings.Repeat("x", 100), Partition: i}
		p.Start[tp], p.End[tp], p.LeaderEpochs[tp], p.TopicIDs[tp.Topic] = 1<<40, 1<<41, 7, "id"
	}
	return p
}

func TestAPlanOfManyPartitionsIsKept(t *testing.T) {
	for name, s := range map[string]Store{"folder": newLocal(t), "bucket": openFake(t, &fakeS3{pageSize: 3})} {
		l, plan := NewLog(s), planOf(10_000)
		if err := l.WritePlan(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		got, err := NewLog(s).ReadPlan(t.Context(), 0)
		if err != nil || !reflect.DeepEqual(got.Start, plan.Start) || !reflect.DeepEqual(got.End, plan.End) || !reflect.DeepEqual(got.LeaderEpochs, plan.LeaderEpochs) || got.Hash != plan.Hash {
			t.Errorf("%s: the plan came back changed, %v", name, err)
		}
	}
}

// A huge object is no object of a checkpoint, and must not take the memory of the run.
func TestAnObjectThatIsTooLargeIsNotRead(t *testing.T) {
	huge := bytes.Repeat([]byte("x"), maxObjectBytes+1)
	f := &fakeS3{pageSize: 3}
	for name, s := range map[string]Store{"folder": newLocal(t), "bucket": openFake(t, f)} {
		if err := s.Put(t.Context(), "offsets/7", huge); err != nil {
			t.Fatal(err)
		}
		_, err := NewLog(s).Last(t.Context())
		told(t, name, err, batch.Inconsistent, "offsets/7", s.String(), "32 MiB")
	}
}

func TestGarbageInsteadOfAnObjectIsToldWithItsName(t *testing.T) {
	for _, garbage := range []string{"", "\xff\xfe\x00", "{\"id\":\"\xc3\x28\"}", "{", "null", "[]", strings.Repeat("[", 100_000), "v1\n{\"batchWatermarkMs\":0}\n{\"\xff\":{\"0\":1}}"} {
		for key, read := range map[string]func(*Log) error{
			"metadata":      func(l *Log) error { _, err := l.Query(t.Context()); return err },
			"identity.json": func(l *Log) error { _, err := l.Identity(t.Context()); return err },
			"sources/0/0":   func(l *Log) error { _, err := l.Last(t.Context()); return err },
			"offsets/3":     func(l *Log) error { _, err := l.Last(t.Context()); return err },
		} {
			m := NewMemory("m")
			if err := m.Put(t.Context(), key, []byte(garbage)); err != nil {
				t.Fatal(err)
			}
			told(t, fmt.Sprintf("%s %.20q", key, garbage), read(NewLog(m)), batch.Inconsistent, key, "mem://m")
		}
		m := NewMemory("m")
		if err := m.Put(t.Context(), leaseKey, []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadHolder(t.Context(), m); err != nil {
			t.Errorf("a polite lock that is damaged stops nobody: %v", err)
		}
	}
}

func TestAFolderByALinkIsTheFolder(t *testing.T) {
	l := newLocal(t)
	for n := range int64(3) {
		plan := planOf(2)
		plan.Batch = n
		if err := NewLog(l).WritePlan(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	linked, err := NewLocal(filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	apart, err := NewLocal(filepath.Join(dir, "apart"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Symlink(l.dir, linked.dir), os.Mkdir(apart.dir, dirMode), os.Symlink(filepath.Join(l.dir, "offsets"), filepath.Join(apart.dir, "offsets"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]*Local{"the whole": linked, "a folder in it": apart} {
		state, err := NewLog(s).Last(t.Context())
		if err != nil || state.Plan == nil || state.Plan.Batch != 2 {
			t.Errorf("%s: got %+v, %v, want plan 2", name, state, err)
		}
		keys, err := s.List(t.Context(), "", "")
		if err != nil || name == "the whole" && len(keys) != 3 {
			t.Errorf("%s: got %v, %v", name, keys, err)
		}
	}
}

func TestPlacesThatAreNoFolderAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		make  func(dir string) error
		words string
	}{
		"a file":           {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a folder"},
		"a pipe":           {func(dir string) error { return syscall.Mkfifo(dir, 0o600) }, "not a folder"},
		"a link nowhere":   {func(dir string) error { return os.Symlink("/nowhere/at/all", dir) }, "/nowhere/at/all"},
		"a link to itself": {func(dir string) error { return os.Symlink(dir, dir) }, "cannot be used"},
	} {
		l := newLocal(t)
		if err := tc.make(l.dir); err != nil {
			t.Fatal(err)
		}
		_, create := PutOwned(t.Context(), l, "offsets/0", []byte("x"))
		told(t, name+", create", create, batch.NotSetUp, l.String(), tc.words)
		told(t, name+", put", l.Put(t.Context(), "runs/x.json", nil), batch.NotSetUp, tc.words)
		told(t, name+", try", Try(t.Context(), l), batch.NotSetUp)
	}
	l := newLocal(t)
	l.dir = filepath.Join(l.dir, strings.Repeat("n", 300))
	told(t, "a long name", l.Put(t.Context(), "k", nil), batch.NotSetUp, "cannot be used")
}

// Opening a pipe waits for whoever writes to it: a run must not.
func TestObjectsThatAreNoFilesAreTold(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		l := newLocal(t)
		path := filepath.Join(l.dir, "metadata")
		if err := errors.Join(os.MkdirAll(l.dir, dirMode), make(path)); err != nil {
			t.Fatal(err)
		}
		_, err := NewLog(l).Query(t.Context())
		told(t, name, err, batch.NotSetUp, "metadata", "is no file")
	}
}

// Whoever puts one checkpoint into the folder of another must not lose it to the other's clearing away.
func TestACheckpointInsideAnotherIsLeftAlone(t *testing.T) {
	for _, inner := range []string{"b", "runs/b", "offsets/b", "commits/7/b", "progress"} {
		outer := newLocal(t)
		l := NewLog(outer)
		other, err := NewLocal(filepath.Join(outer.dir, inner))
		if err != nil {
			t.Fatal(err)
		}
		o := NewLog(other)
		for n := range int64(5) {
			for _, log := range []*Log{l, o} {
				plan := planOf(1)
				plan.Batch = n
				if err := errors.Join(log.WritePlan(t.Context(), plan), log.WriteCommit(t.Context(), n)); err != nil {
					t.Fatalf("%s: %v", inner, err)
				}
			}
		}
		before := treeOf(t, other.dir)
		l.Retain = 2
		if err := l.Purge(t.Context(), 4); err != nil {
			t.Error(err)
		}
		for range map[bool]int{true: KeptRuns + 50}[inner == "runs/b"] { // it is what clearing away runs lists
			if err := l.WriteRun(t.Context(), uuid.Must(uuid.NewV7()).String(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if after := treeOf(t, other.dir); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: got %v, had %v", inner, after, before)
		}
		state, err := o.Last(t.Context())
		if err != nil || state.Commit != 4 {
			t.Errorf("%s: got %+v, %v", inner, state, err)
		}
	}
}

func TestFoldersInABucketMayHaveAnyName(t *testing.T) {
	server := httptest.NewServer(&fakeS3{pageSize: 3, objects: map[string][]byte{}})
	t.Cleanup(server.Close)
	dialFake(t, server.URL) // which sets the environment
	for _, folder := range []string{"a b", "größe/ü", "50%25", "a+b=c&d", "it's", "x/", "日本"} {
		s, err := OpenStore(t.Context(), "s3://bkt/"+folder+"?region=us-east-1&use_path_style=true&endpoint="+server.URL)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		l := NewLog(s)
		if err := errors.Join(l.WritePlan(t.Context(), planOf(1)), l.WriteCommit(t.Context(), 0), Probe(t.Context(), s)); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		if state, err := NewLog(s).Last(t.Context()); err != nil || state.Commit != 0 || state.Plan == nil {
			t.Errorf("%s: got %+v, %v", folder, state, err)
		}
	}
	for _, address := range []string{"s3://bkt/a%zz", "s3://me:hunter2@bkt/50%", "s3://bkt/a//b", "s3://bkt/../b", "s3://bkt/%00", "file:///a%zz"} {
		_, err := OpenStore(t.Context(), address)
		if !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: got %v, want that it is a bad address", address, err)
		}
	}
}
