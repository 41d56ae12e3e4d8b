// Command sluice drains what is in Kafka now into Iceberg tables, exactly once, and exits.
package main

import (
	"io"
	"log"
	"os"

	"sluice/cmd"
)

func main() {
	// Libraries tell the standard log of old files that they could not remove, in a form of its own amid logs of another. Such
	// files harm nothing, and sluice maintain --orphans finds them.
	log.SetOutput(io.Discard)
	os.Exit(cmd.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
}
