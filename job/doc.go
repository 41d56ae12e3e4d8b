// Package job is the job file: strict YAML, environment variables and flags become one validated Job, or one error
// that lists everything that is wrong with them.
//
// Every key of a job stands in one table (keys.go). Decoding, defaults, names of environment variables, flags,
// suggestions for misspelt keys, the printed configuration, the reference table in the documentation and what may
// change between runs all follow from that table.
//
// Precedence: defaults, then the file, then SLUICE_… variables, then flags and --set. A value that is wrong is an
// error also where another layer overrides it. In the file, and only there, ${VAR}, ${VAR:-default} and ${file:path}
// stand for text from elsewhere; that text is never read as YAML.
package job
