package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"sluice/batch"
)

const noConditionsHint = "put the checkpoint on a store that enforces If-None-Match and If-Match on PUT (Amazon S3 and most that speak like it, in a current version; no caching proxy in between), or in a folder: file:///…"

// Probe asks a store whether it enforces conditions, by creating an object twice and by replacing it at a stale
// version. A store that answers yes to everything lets every run win every batch; it is a NotSetUp fault, and so is
// one that refuses everything. The object is removed again.
//
// One client that is refused does not prove that two are never both accepted
// (https://github.com/rustfs/rustfs/issues/1659): exactly-once rests on the table's own conditional commit as well.
func Probe(ctx context.Context, s Store) error {
	key := "lock/probe-" + newNonce()
	err := probe(ctx, s, key)
	removed := s.Delete(context.WithoutCancel(ctx), key)
	if err == nil && removed != nil {
		err = fmt.Errorf("remove the probe: %w", removed)
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s, err)
	}
	return nil
}

func probe(ctx context.Context, s Store, key string) error {
	first, second, third := []byte("1 "+key), []byte("2 "+key), []byte("3 "+key)
	version, err := PutOwned(ctx, s, key, first)
	if errors.Is(err, ErrConflict) {
		return unsafe("it refuses to create an object that is not there", err)
	}
	if err != nil {
		return err
	}
	if err := refused(ctx, s, key, first, "it created an object that was there", func() error {
		_, err := s.PutIfAbsent(ctx, key, second)
		return err
	}); err != nil {
		return err
	}
	if _, err := replaceOwned(ctx, s, key, second, version); errors.Is(err, ErrConflict) {
		return unsafe("it refuses to replace an object at its current version", err)
	} else if err != nil {
		return err
	}
	return refused(ctx, s, key, second, "it replaced an object at a version that was gone", func() error {
		_, err := s.PutIfMatch(ctx, key, third, version)
		return err
	})
}

// refused makes a write whose condition does not hold. What is there afterwards decides: an error alone may be any.
func refused(ctx context.Context, s Store, key string, want []byte, otherwise string, write func() error) error {
	err := write()
	there, _, readErr := s.Get(ctx, key)
	switch {
	case errors.Is(readErr, ErrNotFound):
		return unsafe("it does not keep what it accepted", readErr)
	case readErr != nil:
		return readErr
	case err == nil || !bytes.Equal(there, want):
		return unsafe(otherwise, nil)
	case !errors.Is(err, ErrConflict):
		return err
	}
	return nil
}

func unsafe(what string, err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: "the store does not enforce conditional writes: " + what, Err: err, Hint: noConditionsHint}
}

// newNonce is 128 random bits.
func newNonce() string { return rand.Text() }
