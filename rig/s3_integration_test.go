//go:build integration

package rig

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

func TestOneOfManyConditionalWritesOfAKeyWins(t *testing.T) {
	bucket := S3(t).Open(t)
	ctx := context.Background()
	var winners atomic.Int32
	var writers sync.WaitGroup
	for range 16 {
		writers.Go(func() {
			err := bucket.WriteAll(ctx, "key", []byte("value"), &blob.WriterOptions{IfNotExist: true})
			switch {
			case err == nil:
				winners.Add(1)
			case !errors.Is(err, gcerrors.ErrFailedPrecondition):
				t.Errorf("got %v, want a failed precondition", err)
			}
		})
	}
	writers.Wait()
	if got := winners.Load(); got != 1 {
		t.Errorf("got %d winners, want 1", got)
	}
	if got, err := bucket.ReadAll(ctx, "key"); err != nil || string(got) != "value" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEachTestHasAFolderOfItsOwn(t *testing.T) {
	first, second := S3(t), S3(t)
	ctx := context.Background()
	if err := first.Open(t).WriteAll(ctx, "key", nil, nil); err != nil {
		t.Fatal(err)
	}
	if object, err := second.Open(t).List(nil).Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, %v in a fresh folder", object, err)
	}
}

func TestTheEnvironmentAloneReachesTheServer(t *testing.T) {
	b := S3(t)
	bucket, err := blob.OpenBucket(context.Background(), "s3://"+b.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer bucket.Close()
	if err := bucket.WriteAll(context.Background(), b.Prefix+"/key", []byte("value"), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Open(t).ReadAll(context.Background(), "key"); err != nil || string(got) != "value" {
		t.Errorf("got %q, %v", got, err)
	}
}
