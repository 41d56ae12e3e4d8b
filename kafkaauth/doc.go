// Package kafkaauth proves to Kafka brokers who connects: SASL by PLAIN, SCRAM, OAUTHBEARER and AWS_MSK_IAM, configured by the
// properties of Java's clients and their JAAS texts.
//
// A Login is checked without a broker by Validate and becomes a mechanism by New. Every connection, and every session
// that a broker ends after its time (KIP-368), asks the mechanism anew; tokens and credentials that expire are renewed
// then, before they do. What goes wrong outside of the brokers is an OutsideFault, or a batch.Fault where asking again
// cannot help. Neither it nor anything else of this package holds a secret in its text.
package kafkaauth
