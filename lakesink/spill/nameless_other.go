//go:build !linux

package spill

import "errors"

// nameless is not to be had here: a file gets a name and loses it at once.
func nameless(string) (File, error) { return nil, errors.ErrUnsupported }
