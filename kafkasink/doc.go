// Package kafkasink writes dead letters to a topic, at least once.
//
// # What is promised
//
// A Writer that was closed without an error has all its records on all in-sync replicas (acks=all). Whatever cuts a batch
// short before that, its plan is carried out again, and writes all of them again: no dead letter is lost, some are there
// more than once. A topic remembers no batch, so that none is committed, and none is compared: its Applied is always that
// of a table without the query. An attempt that came to nothing leaves its dead letters behind; records that are rows in
// the end, since the job was changed before the plan was finished, may be among them.
//
// # What a dead letter looks like
//
// Key, value and headers are the record's own. Behind its headers stand ours, in one run and in the order of Headers; with
// them each dead letter says which record it is, and why. A record that carries such headers already, a dead letter of a
// dead letter, keeps them: the last ones count. The time is that of the writing and not the record's, which is in a header:
// retention goes by that time, and would remove at once what was read late.
package kafkasink
