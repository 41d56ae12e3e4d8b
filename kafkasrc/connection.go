package kafkasrc

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
)

// Connection is how another client reaches the cluster that client properties, under their Java names, describe: brokers,
// TLS, time limits. What a client does besides is its own.
func Connection(client map[string]string) ([]kgo.Opt, error) {
	s, err := Options{Client: client}.settings()
	if err != nil {
		return nil, err
	}
	return s.connection(Limits{}.withDefaults(s.backoff))
}

func (s *settings) connection(l Limits) ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(s.seeds...),
		kgo.ClientID(s.clientID),
		kgo.DialTimeout(l.Connect),
		kgo.RequestTimeoutOverhead(s.requestTimeout),
		kgo.MetadataMaxAge(s.metadataMaxAge),
		kgo.RetryBackoffFn(l.backoff),
		kgo.RetryTimeout(l.Control),
		kgo.DisableClientMetrics(),
	}
	if s.connectionsIdle > 0 {
		options = append(options, kgo.ConnIdleTimeout(s.connectionsIdle))
	}
	if s.tls {
		config, err := s.files.Config("client property")
		if err != nil {
			return nil, &batch.Fault{Class: batch.NotSetUp, Message: "read the keys and certificates for Kafka", Err: err, Hint: "Mend the ssl properties of source.kafka, or the files they name."}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	return options, nil
}
