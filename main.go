// Command sluice drains what is in Kafka now into Iceberg tables, exactly once, and exits.
package main

import (
	"os"

	"sluice/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
}
