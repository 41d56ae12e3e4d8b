//go:build !linux && !darwin

package objectstore

import "errors"

// renameExclusive is not to be had here: creating needs hard links.
func renameExclusive(_, _ string) error { return errors.ErrUnsupported }
