// Package substrait stands in for the module of this name, of which github.com/substrait-io/substrait-go needs one thing: the
// catalogue of functions. That of the module has hundreds, and iceberg-go has all of them parsed when a program starts: 130 ms and
// 32 MB of each run of sluice, even of one that has nothing to do. Here are those that iceberg-go's row filters name
// (table/substrait in iceberg-go), as the module defines them, at version 0.87.0.
package substrait

import "embed"

//go:embed extensions/*.yaml
var extensions embed.FS

// GetSubstraitExtensionsFS is the folder extensions, with a YAML file for each set of functions.
func GetSubstraitExtensionsFS() embed.FS { return extensions }
