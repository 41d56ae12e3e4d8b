package objectstore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"sluice/objectstore"
	"sluice/objectstore/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Conform(t, func(*testing.T) objectstore.Store { return objectstore.NewMemory("test") })
}

func TestLocalIsAStore(t *testing.T) {
	storetest.Conform(t, func(t *testing.T) objectstore.Store {
		s, err := objectstore.NewLocal(filepath.Join(t.TempDir(), "made by", "the first write"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestOpenByAddress(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"/data/ckpt":                "file:///data/ckpt",
		"/data/ckpt/":               "file:///data/ckpt",
		"ckpt":                      "file://" + here + "/ckpt",
		"file:///data/my%20ckpt":    "file:///data/my ckpt",
		"file://localhost/data":     "file:///data",
		"mem://orders":              "mem://orders",
		"s3://lake/checkpoints/o":   "s3://lake/checkpoints/o",
		"s3://lake/ckpt/?region=eu": "s3://lake/ckpt",
		"s3://lake?prefix=ckpt/o/":  "s3://lake/ckpt/o",
		"s3://lake/a?endpoint=http://u:p@h:9000&use_path_style=true": "s3://lake/a at http://h:9000",
	} {
		s, err := objectstore.Open(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else if s.String() != want {
			t.Errorf("%s: got %s, want %s", address, s, want)
		}
	}
}

func TestOpenRefusesABadAddress(t *testing.T) {
	for _, address := range []string{"", "ftp://host/x", "file://data/x", "file:///x?create_dir=1", "file:///", "s3://lake", "s3:///x",
		"s3://lake/a//b", "s3://lake/../b", "s3://lake/x?no_such_parameter=1", "s3://lake/x?use_path_style=perhaps", "s3://key:secret@lake/x"} {
		s, err := objectstore.Open(t.Context(), address)
		if !errors.Is(err, objectstore.ErrURL) {
			t.Errorf("%q: got %v, %v, want ErrURL", address, s, err)
		}
	}
}

func TestMemoryOfOneNameIsOneStore(t *testing.T) {
	open := func(address string) objectstore.Store {
		s, err := objectstore.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := open("mem://"+t.Name()).Put(t.Context(), "k", []byte("here")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := open("mem://"+t.Name()).Get(t.Context(), "k"); err != nil || string(got) != "here" {
		t.Errorf("same name: got %q, %v, want what was put", got, err)
	}
	if _, _, err := open("mem://other").Get(t.Context(), "k"); !errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("other name: got %v, want ErrNotFound", err)
	}
}
