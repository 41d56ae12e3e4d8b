// Package kafkasrc says which partitions and offsets exist in Kafka, and reads closed ranges of them into columns.
//
// # Reading exactly a range
//
// A range [From, Until) is done when the batch position has reached Until: the last offset of the last record batch
// read, plus one. It is never inferred from the records that were delivered, since control markers, aborted
// transactions, compacted holes and empty batches leave offsets that carry none. Every Fetch is a request of ours
// (franz-go gives connections, TLS and metadata): no consumer group, no reset of offsets, no creation of topics.
// The next Fetch is on its way while the last answer is decoded.
// Small pieces of several partitions that one broker leads are asked for in one Fetch.
//
// # Isolation
//
// Under read_committed the end of a partition is its last stable offset, and records of aborted transactions are left
// out by the list of aborted transactions that comes with each answer (KIP-98). Under read_uncommitted the end is the
// high watermark and only control markers are left out.
//
// # Loss
//
// Nothing is skipped. A log start beyond the position, an offset that the broker does not have, a topic whose id has
// changed (KIP-516) and a topic that is gone end the reading with a DataLoss fault that wraps a Loss.
//
// # Memory
//
// A Reader holds two answers of Options.FetchBytes, the largest record batch in decompressed form (at most
// Options.MaxBatchBytes) and one block of records. An answer that is larger, since brokers send a record batch whole
// (KIP-74), is held alone: the next Fetch waits until it is decoded.
package kafkasrc
