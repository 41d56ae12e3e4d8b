package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"sluice/batch"
	"sluice/objectstore"
	"sluice/objectstore/s3test"
	"sluice/offsets"
)

// told fails the test unless an error has the class, a hint, and the words.
func told(t *testing.T, what string, err error, class batch.Class, words ...string) {
	t.Helper()
	if err == nil || batch.ClassOf(err) != class || batch.HintOf(err) == "" || errors.Is(err, objectstore.ErrNotFound) {
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
	for name, s := range map[string]objectstore.Store{"folder": newFolder(t), "bucket": newBucket(t)} {
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
	huge := bytes.Repeat([]byte("x"), 32<<20+1)
	for name, s := range map[string]objectstore.Store{"folder": newFolder(t), "bucket": newBucket(t)} {
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
			m := objectstore.NewMemory("m")
			if err := m.Put(t.Context(), key, []byte(garbage)); err != nil {
				t.Fatal(err)
			}
			told(t, fmt.Sprintf("%s %.20q", key, garbage), read(NewLog(m)), batch.Inconsistent, key, "mem://m")
		}
		m := objectstore.NewMemory("m")
		if err := m.Put(t.Context(), leaseKey, []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadHolder(t.Context(), m); err != nil {
			t.Errorf("a polite lock that is damaged stops nobody: %v", err)
		}
	}
}

func TestAFolderByALinkIsTheFolder(t *testing.T) {
	root := t.TempDir()
	l := open(t, root)
	for n := range int64(3) {
		plan := planOf(2)
		plan.Batch = n
		if err := NewLog(l).WritePlan(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	linked, apart := filepath.Join(dir, "link"), filepath.Join(dir, "apart")
	for _, err := range []error{os.Symlink(root, linked), os.Mkdir(apart, 0o700), os.Symlink(filepath.Join(root, "offsets"), filepath.Join(apart, "offsets"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]objectstore.Store{"the whole": open(t, linked), "a folder in it": open(t, apart)} {
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

// Opening a pipe waits for whoever writes to it: a run must not.
func TestObjectsThatAreNoFilesAreTold(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, "metadata")); err != nil {
			t.Fatal(err)
		}
		_, err := NewLog(open(t, dir)).Query(t.Context())
		told(t, name, err, batch.NotSetUp, "metadata", "is no file")
	}
}

// Whoever puts one checkpoint into the folder of another must not lose it to the other's clearing away.
func TestACheckpointInsideAnotherIsLeftAlone(t *testing.T) {
	for _, inner := range []string{"b", "runs/b", "offsets/b", "commits/7/b", "progress"} {
		outer := t.TempDir()
		l := NewLog(open(t, outer))
		other := filepath.Join(outer, inner)
		o := NewLog(open(t, other))
		for n := range int64(5) {
			for _, log := range []*Log{l, o} {
				plan := planOf(1)
				plan.Batch = n
				if err := errors.Join(log.WritePlan(t.Context(), plan), log.WriteCommit(t.Context(), n)); err != nil {
					t.Fatalf("%s: %v", inner, err)
				}
			}
		}
		before := treeOf(t, other)
		l.Retain = 2
		if err := l.Purge(t.Context(), 4); err != nil {
			t.Error(err)
		}
		for range map[bool]int{true: KeptRuns + 50}[inner == "runs/b"] { // it is what clearing away runs lists
			if err := l.WriteRun(t.Context(), uuid.Must(uuid.NewV7()).String(), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if after := treeOf(t, other); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: got %v, had %v", inner, after, before)
		}
		state, err := o.Last(t.Context())
		if err != nil || state.Commit != 4 {
			t.Errorf("%s: got %+v, %v", inner, state, err)
		}
	}
}

// serve starts a bucket of this process and returns its endpoint, with the credentials for it in the environment.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(&s3test.Bucket{PageSize: 3})
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return server.URL
}

func open(t *testing.T, address string) objectstore.Store {
	t.Helper()
	s, err := objectstore.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newFolder(t *testing.T) objectstore.Store {
	return open(t, filepath.Join(t.TempDir(), "ckpt"))
}

func newBucket(t *testing.T) objectstore.Store {
	return open(t, "s3://bkt/ck/orders?region=eu-central-1&use_path_style=true&endpoint="+serve(t))
}

// treeOf lists what is below a folder.
func treeOf(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFoldersInABucketMayHaveAnyName(t *testing.T) {
	server := serve(t)
	for _, folder := range []string{"a b", "größe/ü", "50%25", "a+b=c&d", "it's", "x/", "日本"} {
		s, err := objectstore.Open(t.Context(), "s3://bkt/"+folder+"?region=us-east-1&use_path_style=true&endpoint="+server)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		l := NewLog(s)
		if err := errors.Join(l.WritePlan(t.Context(), planOf(1)), l.WriteCommit(t.Context(), 0), objectstore.Probe(t.Context(), s, ProbePrefix)); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		if state, err := NewLog(s).Last(t.Context()); err != nil || state.Commit != 0 || state.Plan == nil {
			t.Errorf("%s: got %+v, %v", folder, state, err)
		}
	}
	for _, address := range []string{"s3://bkt/a%zz", "s3://me:hunter2@bkt/50%", "s3://bkt/a//b", "s3://bkt/../b", "s3://bkt/%00", "file:///a%zz"} {
		_, err := objectstore.Open(t.Context(), address)
		if !errors.Is(err, objectstore.ErrURL) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: got %v, want that it is a bad address", address, err)
		}
	}
}
