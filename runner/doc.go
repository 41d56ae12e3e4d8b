// Package runner is the query: it recovers, freezes what is available, plans, executes tasks, commits and reports. It
// owns the interfaces of what it needs (boundary.go); kafkasrc, decode, lakesink and checkpoint satisfy them.
//
// # Write order
//
// For every batch N, each step durable before the next begins:
//
//  1. offsets/N, the plan: create-only, and only once commits/N-1 is there.
//  2. The data files, under names that no other attempt uses.
//  3. The table commit, conditional on the table being at batch N-1, which also writes the ledger.
//  4. commits/N, the marker: create-only.
//
// # Invariants
//
//   - What a batch reads is fixed by its plan. A replay reads the same ranges under the same isolation level.
//   - The table is the authority on what was applied; the checkpoint says what to do next.
//   - Whoever finds another run's work in its place stops and deletes nothing.
//   - Nothing is decided from the error of a write whose outcome is unknown: it is looked up.
//   - The lease and clocks decide nothing but who waits.
package runner
