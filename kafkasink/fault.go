package kafkasink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
)

// elsewhere is the other way on where a topic cannot be written to.
const elsewhere = ", or let dead letters go elsewhere (deadLetter.table)"

// explain says what an error means to whoever started the run. doing is what was attempted.
func (t *Topic) explain(doing string, err error) error {
	var fault *batch.Fault
	if errors.As(err, &fault) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	class, hint := t.meaning(err)
	return &batch.Fault{Class: class, Message: doing, Hint: hint, Err: err}
}

func (t *Topic) meaning(err error) (batch.Class, string) {
	name := t.options.Topic
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return batch.NotSetUp, "grant the principal that sluice connects as the ACLs Write and Describe on topic " + name +
			" (brokers before Kafka 3.0 ask for IdempotentWrite on the cluster besides)" + elsewhere
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism):
		return batch.NotSetUp, "mend the sasl properties of source.kafka, which are those of dead letters too"
	case errors.Is(err, kerr.InvalidTopicException):
		return batch.NotSetUp, "correct deadLetter.topic"
	case errors.Is(err, kerr.InvalidRecord), errors.Is(err, kerr.PolicyViolation), errors.Is(err, kerr.InvalidTimestamp):
		return batch.NotSetUp, "change the settings of topic " + name + ", which refuse the record (a compacted topic takes none without a key)" + elsewhere
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return batch.Failed, "run again: a topic that is gone is made again; nothing of the batch is in the table, and its dead letters are written again"
	case errors.Is(err, kgo.ErrRecordTimeout), kerr.IsRetriable(err):
		return batch.Failed, "run again when the brokers of the topic answer and enough of its replicas are in sync; nothing of the batch is in the table"
	}
	return batch.Failed, "run again; nothing of the batch is in the table"
}

// tooLarge is the fault of a dead letter that no batch of the topic may hold.
func (t *Topic) tooLarge(from origin, r *kgo.Record, err error) error {
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	const mebibyte = 1 << 20
	enough := (size + size/16 + mebibyte) / mebibyte * mebibyte // what each record and batch takes besides, and then some
	return &batch.Fault{Class: batch.BadRecords, Err: err,
		Message: fmt.Sprintf("record %s is no row, and too large for the topic of dead letters %s: with its headers it has %d bytes", from, t.options.Topic, size),
		Hint: fmt.Sprintf("raise the topic's limit (kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s --add-config max.message.bytes=%d) and run again%s; nothing of the batch is in the table",
			t.options.Servers, t.options.Topic, enough, elsewhere)}
}
