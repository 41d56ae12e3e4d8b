package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/batch"
)

const (
	// A key that is absent after a failed write is written again this often, with pauses of pause, 2*pause, ….
	ownedAttempts = 4
	ownedPause    = 50 * time.Millisecond
)

// PutOwned creates an object and believes no error: after any, the key is read back, and the bytes that are there
// decide.
//
//   - Ours: success. The first request was applied and its answer lost, or the client library repeated it. Where the
//     data holds no nonce, equal bytes may be another run's; then both mean the same and either may count.
//   - Others: ErrConflict.
//   - None: the same bytes are put again, a bounded number of times. They are the same because an earlier request may
//     still be on its way and land later, where it must be harmless.
//   - Unreadable: ErrAmbiguous.
//
// It returns the version of the object that is there. Repeating it with the same data is safe.
func PutOwned(ctx context.Context, s Store, key string, data []byte) (Version, error) {
	return own(ctx, s, key, data, func() (Version, error) { return s.PutIfAbsent(ctx, key, data) },
		func(version Version, exists bool) bool { return !exists })
}

// ReplaceOwned replaces the object at the version given, under the rules of PutOwned: an object that is still at that
// version is what "none" is there.
func ReplaceOwned(ctx context.Context, s Store, key string, data []byte, version Version) (Version, error) {
	return own(ctx, s, key, data, func() (Version, error) { return s.PutIfMatch(ctx, key, data, version) },
		func(current Version, exists bool) bool { return exists && current == version })
}

// own writes until the answer is definite. untouched says whether what is there is what was there before.
func own(ctx context.Context, s Store, key string, data []byte, write func() (Version, error), untouched func(Version, bool) bool) (Version, error) {
	for attempt := 1; ; attempt++ {
		version, err := write()
		if err == nil {
			return version, nil
		}
		// The question what is there must be answered even if ctx has ended. Stores bound their own requests.
		there, current, readErr := s.Get(context.WithoutCancel(ctx), key)
		exists := !errors.Is(readErr, ErrNotFound)
		switch {
		case readErr != nil && exists:
			return "", &undecided{err, "it could not be read back", readErr}
		case exists && bytes.Equal(there, data):
			return current, nil
		case !untouched(current, exists):
			return "", marked(ErrConflict, err)
		case attempt == ownedAttempts || hopeless(err):
			return "", err
		}
		if !pauseFor(ctx, time.Duration(attempt)*ownedPause) {
			return "", &undecided{err, "it is not there yet", context.Cause(ctx)}
		}
	}
}

// undecided is an ErrAmbiguous and nothing else: an answer that says conflict is shown and hidden from errors.Is,
// because the conflict may be with ourselves.
type undecided struct {
	answer error
	what   string
	why    error
}

func (e *undecided) Error() string   { return fmt.Sprintf("%v; %s: %v", e.answer, e.what, e.why) }
func (e *undecided) Unwrap() []error { return []error{ErrAmbiguous, e.why} }

// hopeless reports whether putting the same bytes again cannot help: something has to be set up first, or was waited for
// long enough.
func hopeless(err error) bool {
	return batch.ClassOf(err) == batch.NotSetUp || errors.Is(err, errLockHeld)
}

// pauseFor waits, and reports whether it could wait to the end.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
