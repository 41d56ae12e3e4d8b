// Package objectstore keeps objects in a folder of an object store or of a file system, with the promises that a log can
// stand on. It knows nothing of what is kept.
//
// Store is for small objects: seven operations that every object store with conditional writes has. Create-only is a
// conditional put of one object, never a rename, never an overwrite; replacing is a compare-and-swap. No error of a write is
// believed: PutOwned and ReplaceOwned read the key back, and the bytes that are there decide. Probe finds out whether a store
// enforces the conditions that it accepts.
//
// Files is for large objects: uploads that are seen whole or not at all, reads of parts, and listings with sizes and times.
//
// A Folder is both; Open finds it by address, and Memory, Local and Cloud implement it. What the answers of the clouds mean
// is package answer's to know.
package objectstore
