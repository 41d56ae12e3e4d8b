package objectstore

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"sluice/objectstore/answer"
)

const (
	// partBytes is the size of a part, the least that S3 takes: 10,000 parts make 48 GiB.
	partBytes = 5 << 20
	// partsAtOnce keep a line busy and memory small.
	partsAtOnce = 2

	// UploadMemory is what an upload to a cloud holds at most: the parts on their way and the one that is being filled.
	UploadMemory = (partsAtOnce + 1) * partBytes
)

// parts is what a cloud offers for an object that comes in parts.
type parts interface {
	// whole puts an object of less than a part.
	whole(ctx context.Context, data []byte) error
	// begin is called once before the first part.
	begin(ctx context.Context) error
	// ordered says that part n+1 must not be sent before part n has arrived.
	ordered() bool
	// part takes part n, counted from 0. The data may be used until it returns.
	part(ctx context.Context, n int, data []byte) error
	// complete makes an object of the n parts that have arrived and a last one.
	complete(ctx context.Context, n int, last []byte) error
	// abort forgets the parts, as well as the cloud can.
	abort(ctx context.Context)
	// size is the size of the object that is there.
	size(ctx context.Context) (int64, error)
}

// partUpload cuts a stream into parts, of which some are on their way while the next is filled.
type partUpload struct {
	// ctx ends with the upload; group's with the first part that fails.
	ctx    context.Context
	cancel context.CancelFunc
	group  *errgroup.Group
	inside context.Context
	to     parts

	spare   chan []byte // buffers that are free
	filling []byte
	sent    int
	bytes   int64
	begun   bool
	ended   bool
}

func newPartUpload(ctx context.Context, to parts) *partUpload {
	ctx, cancel := context.WithCancel(ctx)
	group, inside := errgroup.WithContext(ctx)
	if to.ordered() {
		group.SetLimit(1)
	}
	u := &partUpload{ctx: ctx, cancel: cancel, group: group, inside: inside, to: to, spare: make(chan []byte, partsAtOnce+1)}
	for range partsAtOnce + 1 {
		u.spare <- nil // made when it is needed: most objects are small
	}
	return u
}

// Write takes bytes, and waits while all buffers are on their way.
func (u *partUpload) Write(b []byte) (n int, err error) {
	if u.ended {
		return 0, errUploadEnded
	}
	for len(b) > 0 {
		if len(u.filling) == partBytes {
			if err := u.send(); err != nil {
				return n, err
			}
		}
		if u.filling == nil {
			if u.filling, err = u.buffer(); err != nil {
				return n, err
			}
		}
		u.filling = grown(u.filling, len(b))
		taken := min(len(b), partBytes-len(u.filling))
		u.filling = append(u.filling, b[:taken]...)
		b, n, u.bytes = b[taken:], n+taken, u.bytes+int64(taken)
	}
	return n, nil
}

var errUploadEnded = errors.New("the upload has ended")

// buffer waits for one that is free.
func (u *partUpload) buffer() ([]byte, error) {
	select {
	case b := <-u.spare:
		if b == nil {
			b = []byte{}
		}
		return b[:0], nil
	case <-u.inside.Done():
		return nil, u.failure()
	}
}

// grown makes room for more, up to a part and never beyond: what a part does not need counts against the memory of a run.
func grown(b []byte, more int) []byte {
	need := min(len(b)+more, partBytes)
	if need <= cap(b) {
		return b
	}
	return append(make([]byte, 0, min(max(need, 4*cap(b), 64<<10), partBytes)), b...)
}

// failure is why no part is taken any more.
func (u *partUpload) failure() error {
	if err := context.Cause(u.ctx); err != nil {
		return err
	}
	return u.group.Wait()
}

// send lets the part that is full go.
func (u *partUpload) send() error {
	if !u.begun {
		if err := u.to.begin(u.ctx); err != nil {
			return err
		}
		u.begun = true
	}
	data, n := u.filling, u.sent
	u.filling, u.sent = nil, u.sent+1
	u.group.Go(func() error {
		if err := u.to.part(u.inside, n, data); err != nil {
			return fmt.Errorf("part %d: %w", n, err)
		}
		u.spare <- data
		return nil
	})
	return nil
}

// Close is Upload's.
func (u *partUpload) Close() error {
	if u.ended {
		return errUploadEnded
	}
	u.ended = true
	defer u.cancel()
	if !u.begun {
		return u.settled(u.to.whole(u.ctx, u.filling))
	}
	err := u.group.Wait()
	if err == nil {
		err = context.Cause(u.ctx)
	}
	if err != nil {
		u.forget()
		return err
	}
	return u.settled(u.to.complete(u.ctx, u.sent, u.filling))
}

// settled finds out what an error of the last request means: a client library that repeats an unanswered one is told
// that there is no such upload any more. Nobody else has the key, so an object of the right size is ours.
func (u *partUpload) settled(err error) error {
	if err == nil {
		return nil
	}
	if kind := answer.Of(err); kind != answer.Unknown {
		u.forget()
		return err
	}
	ctx := context.WithoutCancel(u.ctx)
	there, sizeErr := u.to.size(ctx)
	switch {
	case sizeErr == nil && there == u.bytes:
		return nil
	case errors.Is(sizeErr, ErrNotFound):
		u.forget()
		return err
	}
	return marked(ErrAmbiguous, err)
}

// Abort is Upload's.
func (u *partUpload) Abort() {
	if u.ended {
		return
	}
	u.ended = true
	u.cancel()
	_ = u.group.Wait()
	u.forget()
}

func (u *partUpload) forget() {
	if u.begun {
		u.to.abort(context.WithoutCancel(u.ctx))
	}
}
