// Package files makes batches part of a folder of Parquet files, each exactly once, without a catalog. The rows of a batch
// go into data files that nothing refers to yet; one small object, the batch's manifest, is created after them and alone
// makes them part of the folder.
//
// What is atomic: the creation of the manifest. Its name is the query and the batch, and it is created only if there is none
// (If-None-Match on an object store, link(2) in a local folder), so of any number of runs that try the same batch one
// succeeds. Manifests are never replaced. What may be left over are data files of attempts that were cut short or lost a race:
// no manifest names them. This package deletes no data file.
//
// The folder:
//
//	part-<batch>-<task>-<n>-<attempt>.zstd.parquet   data; the attempt is a fresh UUID, so that no name is used twice
//	_sluice/folder.json                              the folder's UUID and its first columns; created once
//	_sluice/schema/<k>.json                          its columns after the k-th change, from 1
//	_sluice/<query-id>/<batch>.json                  the manifest of a batch
//	_sluice/<query-id>/replays/<n>.json              dead letters that were decoded again
//	_sluice_ranges/<query-id>/<from>-<until>.jsonl   what manifests of many batches said; see Maintain
//	_sluice/spark.json, _spark_metadata/             where Spark is told: the one query, and Spark's own log of a file sink
//
// Where a Spark query has written to the folder on the same checkpoint, its log says which of its files count, until the manifest of
// the next batch does; see Turn.
//
// All names that begin with _ are hidden from Spark, Hive and DuckDB's globs.
package files
