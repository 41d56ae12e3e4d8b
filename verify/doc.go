// Package verify is the judge: it proves, from a table, a checkpoint and Kafka, which records of a query are in the
// table exactly once. It shares no code with what writes tables: it reads them through iceberg-go, counts for itself,
// and takes from sluice only the vocabulary (offsets, batch).
//
// # What is proven, by which evidence
//
// Five witnesses are heard, and a Problem names the two that contradict each other:
//
//   - The rows. Every data file of the current snapshot is read, projected to the columns of topic, partition and
//     offset, and counted in compressed bitmaps: an offset that is there more often than queries have read it is a
//     duplicate, one that no query has read is unexpected. Both are exact, whatever the other witnesses say.
//   - The ledgers, one table property for each query. They say which offsets a query has read, [First, Next) of each
//     partition, and how many of its records became rows. Rows that are fewer than that are missing, rows that are more
//     are unexpected. A ledger is itself checked against the snapshot that it names: the summary's query, batch and
//     plan, the sequence number, and whether that snapshot is part of the table's history.
//   - The manifests. Every data file must be there once, be readable, have the size and the number of rows that its
//     entry claims, and hold no offset outside the entry's bounds (readers that filter would skip such rows).
//   - The checkpoint. Its newest plan and commit must fit the ledger: the same batch, plan hash, offsets, topic ids and
//     table UUID, by the rules with which a run recovers.
//   - Kafka, if a Source is given. Every record that Kafka still holds in a ledger's range must be a row, apart from as
//     many as the ledger counts as dead letters or dropped. This alone finds a record that nobody ever wrote and
//     nobody counted, and this alone names the missing offsets with certainty. Partition.Compared says how much of what
//     was read Kafka could still be held against. What a ledger read of a topic that was created again since is not
//     compared with the new one; what other ledgers read of the new one is.
//
// Several queries may have read the same offsets into one table: an offset may then be there once for each of them, and
// rows are compared with the sum of their ledgers. Which of them a missing row belonged to cannot be told. No witness
// contradicts another then, but whoever reads the table sees the records twice, so that this is a Problem as well
// (ReadTwice), unless the topic's ids say that they are not the same records.
//
// # What others did to the rows
//
// Rows that somebody deleted on purpose are no fault of the query. For every delete or overwrite snapshot in the history
// the files that it changed are read before and after, and delete files that still apply are read with and without:
// that gives the offsets of the rows removed, which are reported apart (DeletedByOthers) and count as accounted for.
// Compaction (replace) and snapshot expiry keep rows and are invisible here.
//
// # What cannot be proven
//
// Report.CannotProve lists what was not or could not be checked, and why:
//
//   - without a Source, that Kafka held no further record, and which offsets of a range never carried a record (aborted,
//     compacted, control markers) rather than a lost one;
//   - offsets that have expired in Kafka, topics that were deleted or created again: table and ledger vouch alone;
//   - rows deleted by a snapshot whose files or whose parent are gone: up to the number that its summary gives, missing
//     rows may be those and are called unproven, neither lost nor there;
//   - rows that Spark wrote under the same query id, which no ledger counts;
//   - which rows went missing before a decision about lost rows (Ledger.Uncounted): the counts include them, and the
//     summary of the snapshot that carried it out, or the plan, says what was chosen, as long as it is there;
//   - that offsets which no query read held nothing: where they lie between what was read, a note names them;
//   - whether a dead letter arrived: only its count is compared;
//   - the content of keys and values: a row is judged by its position alone;
//   - a ledger whose snapshot has expired, where there is no checkpoint to compare it with.
//
// Report.Verdict is Broken if there is a Problem, Unproven if a partition could not be judged whole, else Proved. Proved is
// what table and ledgers prove: with a Source nothing in Kafka contradicts it besides, as far as Compared goes, but that
// Kafka has dropped records since makes nothing unproven. Nearly every topic drops some.
//
// # Cost
//
// One pass over three columns of Parquet, file by file in parallel; twice for files with delete files, and once more for
// the files that a deletion still in the history changed. On two cores some ten million rows take a second
// (BenchmarkTable). Memory is two bytes for each row of the table at most, and a bit where offsets are dense, besides the
// metadata of the table's files. Nothing is written anywhere and repeating is safe, also while a run is active: checkpoint
// and table are read so that they belong together, and if a compaction takes files away in the meantime, the table is read
// again.
package verify
