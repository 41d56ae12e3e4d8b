// Package faultproxy stands between a program under test and a real server, passes requests on, and spoils some of them
// in the ways that real servers and networks are documented to fail: answers that are late, lost, cut short or of another
// kind, to requests that were carried out and to requests that were not. It never lies: an answer of success is the
// server's own.
//
// Proxy speaks HTTP: to an object store, signatures stay valid since the Host that was signed is passed on, or to a REST
// catalog. Postgres speaks PostgreSQL's protocol, Kafka that of
// Kafka's brokers. What happens to which request says a Plan: the n-th request that a fault
// fits, or faults drawn from a seed. The same seed and the same requests give the same faults.
//
// It is for tests alone.
package faultproxy
