// Package checkpoint is the durable log of a query on object storage: what was planned, what was done, what the query
// belongs to, and who is at it. It is a Spark checkpoint (Structured Streaming's HDFSMetadataLog, OffsetSeqLog and
// CommitLog), so that a query can move from Spark to sluice and back with its offsets and its identity; what is ours
// alone hides where Spark does not look.
//
//	metadata              {"id":"<uuid>"}                                         once, create-only
//	sources/0/0           0x00 v1 \n start offsets                                once, create-only, before offsets/0
//	offsets/<N>           v1 \n metadata \n end offsets: the plan of batch N      create-only, before batch N
//	commits/<N>           v1 \n {"nextBatchWatermarkMs":0}                        create-only, after the table commit
//	identity.json         query name, cluster, sink, table UUIDs, probed store    create, then compare-and-swap
//	lock/lease.json       the polite lock                                         create, then compare-and-swap
//	progress/<N>.json     the report of batch N                                   after its commit
//	runs/<run-id>.json    the report of a run                                     at its start and end
//
// Log writes all of these but the lease, which is Lease's. Both stand on an objectstore.Store.
//
// Create-only is a conditional put of one small object, never a rename, never an overwrite. No error of a write is
// believed: objectstore.PutOwned reads the key back, and the bytes that are there decide. The nonce in a plan makes its bytes
// unlike any other run's, so offsets/<N> alone decides who owns batch N.
//
// Correctness never rests on listing order, on clocks or on the lease. What it rests on is create-only puts here and
// the conditional commit of the table, which is the authority: see the runner's recovery.
package checkpoint
