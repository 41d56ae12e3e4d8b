package kafkasrc

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
)

// Connection is how another client reaches the cluster that client properties, under their Java names, describe: brokers,
// TLS, SASL, time limits. What a client does besides is its own.
func Connection(client map[string]string) ([]kgo.Opt, error) {
	s, err := Options{Client: client}.settings()
	if err != nil {
		return nil, err
	}
	return s.connection(Limits{}.withDefaults(&s))
}

func (s *settings) connection(l Limits) ([]kgo.Opt, error) {
	d := &dialer{timeout: l.Connect, longest: l.Connect, receive: s.receiveBuffer, send: s.sendBuffer, failures: map[string]int{}}
	if s.setupTimeout > 0 {
		d.timeout, d.longest = s.setupTimeout, max(s.setupTimeout, s.longestSetup())
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.seeds...),
		kgo.ClientID(s.clientID),
		kgo.Dialer(d.dial),
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
		var err error
		if d.tls, err = s.files.Config("client property"); err != nil {
			return nil, &batch.Fault{Class: batch.NotSetUp, Message: "read the keys and certificates for Kafka", Err: err, Hint: "Mend the ssl properties of source.kafka, or the files they name."}
		}
	}
	if s.sasl {
		s.login.Files = s.files
		mechanism, err := s.login.New()
		if err != nil {
			return nil, &batch.Fault{Class: batch.NotSetUp, Message: "prepare the login to Kafka", Err: err, Hint: "Mend the sasl and ssl properties of source.kafka, or the files they name."}
		}
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}
