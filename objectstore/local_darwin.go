package objectstore

import "golang.org/x/sys/unix"

// renameExclusive renames unless the new name exists.
func renameExclusive(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
