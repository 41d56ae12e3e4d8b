// Package runner is the query: it recovers, freezes what is available, plans, executes tasks, commits and reports.
// It owns the interfaces of what it needs; kafkasrc, decode, lakesink and checkpoint satisfy them.
package runner
