//go:build !unix

package objectstore

import (
	"context"
	"errors"
	"os"
)

// lock is not to be had here: checkpoints on this system's file systems are not supported.
func lock(_ context.Context, _ *os.File) error { return errors.ErrUnsupported }
