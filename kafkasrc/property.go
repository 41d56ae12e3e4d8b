package kafkasrc

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/batch"
)

// settings is what the client properties come to.
type settings struct {
	seeds           []string
	clientID        string
	tls             bool
	files           tlsFiles
	requestTimeout  time.Duration
	backoff         time.Duration
	metadataMaxAge  time.Duration
	fetchBytes      int
	isolation       batch.Isolation
	rack            string
	connectionsIdle time.Duration
}

// property is one client property that is understood.
type property struct {
	set func(s *settings, value string) error
	// secret values never appear in an error.
	secret bool
}

// properties holds all that is understood, by its Java name. A new one is a line here.
var properties = map[string]property{
	"bootstrap.servers":                     {set: setSeeds},
	"client.id":                             {set: text(func(s *settings) *string { return &s.clientID })},
	"client.rack":                           {set: text(func(s *settings) *string { return &s.rack })},
	"security.protocol":                     {set: setProtocol},
	"isolation.level":                       {set: setIsolation},
	"request.timeout.ms":                    {set: millis(func(s *settings) *time.Duration { return &s.requestTimeout })},
	"retry.backoff.ms":                      {set: millis(func(s *settings) *time.Duration { return &s.backoff })},
	"metadata.max.age.ms":                   {set: millis(func(s *settings) *time.Duration { return &s.metadataMaxAge })},
	"connections.max.idle.ms":               {set: millis(func(s *settings) *time.Duration { return &s.connectionsIdle })},
	"fetch.max.bytes":                       {set: setFetchBytes},
	"max.partition.fetch.bytes":             {set: setFetchBytes},
	"ssl.truststore.type":                   {set: setPEM},
	"ssl.truststore.location":               {set: text(func(s *settings) *string { return &s.files.trustFile })},
	"ssl.truststore.certificates":           {set: text(func(s *settings) *string { return &s.files.trustPEM })},
	"ssl.keystore.type":                     {set: setPEM},
	"ssl.keystore.location":                 {set: text(func(s *settings) *string { return &s.files.keyFile })},
	"ssl.keystore.certificate.chain":        {set: text(func(s *settings) *string { return &s.files.chainPEM })},
	"ssl.keystore.key":                      {set: text(func(s *settings) *string { return &s.files.keyPEM }), secret: true},
	"ssl.endpoint.identification.algorithm": {set: setEndpointCheck},
}

// refused holds the properties that sluice decides itself, with the reason.
var refused = map[string]string{
	"auto.offset.reset":        "an offset that is gone is data loss, never a silent reset; use startingOffsets for the first run",
	"enable.auto.commit":       "progress is kept in the checkpoint and the table, not in a consumer group",
	"group.id":                 "no consumer group is used: progress is kept in the checkpoint and the table",
	"key.deserializer":         "keys are read as bytes; use key.format",
	"value.deserializer":       "values are read as bytes; use value.format",
	"interceptor.classes":      "Java classes cannot be loaded",
	"allow.auto.create.topics": "topics are never created by reading",
	"max.poll.records":         "batches are sized by maxOffsetsPerTrigger",
	// Names that librdkafka gives to the same things.
	"metadata.broker.list":     "it is librdkafka's name of bootstrap.servers",
	"ssl.ca.location":          "it is librdkafka's name of ssl.truststore.location",
	"ssl.certificate.location": "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
	"ssl.key.location":         "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
}

// settings applies the client properties, and reports all that is wrong with them at once.
func (o Options) settings() (settings, error) {
	s := settings{
		clientID:       "sluice",
		requestTimeout: 30 * time.Second,
		backoff:        100 * time.Millisecond,
		metadataMaxAge: 5 * time.Minute,
		isolation:      batch.ReadCommitted,
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Client)) {
		if err := s.apply(name, o.Client[name]); err != nil {
			errs = append(errs, fmt.Errorf("client property %s: %w", name, err))
		}
	}
	if _, given := o.Client["bootstrap.servers"]; !given {
		errs = append(errs, errors.New("client property bootstrap.servers: it is required, for example broker1:9092,broker2:9092"))
	}
	if !s.tls && s.files != (tlsFiles{}) {
		errs = append(errs, errors.New("client property security.protocol: ssl properties are given, but it is not SSL"))
	}
	return s, errors.Join(errs...)
}

func (s *settings) apply(name, value string) error {
	if why, ok := refused[name]; ok {
		return fmt.Errorf("it cannot be set: %s", why)
	}
	p, ok := properties[name]
	if !ok {
		return unknownProperty(name)
	}
	if err := p.set(s, strings.TrimSpace(value)); err != nil {
		if p.secret {
			return err
		}
		return fmt.Errorf("%q: %w", value, err)
	}
	return nil
}

func unknownProperty(name string) error {
	if strings.HasPrefix(name, "sasl.") {
		return errNoSASL
	}
	known := slices.Concat(slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(refused)))
	if near := nearest(name, known); len(near) > 0 {
		return fmt.Errorf("it is unknown; the nearest is %s", near[0])
	}
	return fmt.Errorf("it is unknown; known are %s", strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
}

func text(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, value string) error {
		*field(s) = value
		return nil
	}
}

func millis(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n <= 0 {
			return errors.New("a whole number of milliseconds above 0 is needed")
		}
		*field(s) = time.Duration(n) * time.Millisecond
		return nil
	}
}

func setSeeds(s *settings, value string) error {
	for _, seed := range strings.Split(value, ",") {
		seed = strings.TrimSpace(seed)
		if seed == "" {
			continue
		}
		// Listener names as in SSL://host:9093 stand in broker configurations and get pasted here.
		if _, rest, ok := strings.Cut(seed, "://"); ok {
			return fmt.Errorf("write %s without the listener's name", rest)
		}
		if _, port, err := net.SplitHostPort(seed); err != nil || !validPort(port) {
			return fmt.Errorf("%s is not host:port", seed)
		}
		s.seeds = append(s.seeds, seed)
	}
	if len(s.seeds) == 0 {
		return errors.New("host:port is needed, for example broker1:9092,broker2:9092")
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

var errNoSASL = errors.New("SASL is not supported yet; PLAINTEXT and SSL are")

func setProtocol(s *settings, value string) error {
	switch value {
	case "PLAINTEXT":
	case "SSL":
		s.tls = true
	case "SASL_PLAINTEXT", "SASL_SSL":
		return errNoSASL
	default:
		return errors.New("it is neither PLAINTEXT nor SSL")
	}
	return nil
}

func setIsolation(s *settings, value string) error {
	s.isolation = batch.Isolation(value)
	_, err := isolationLevel(s.isolation)
	if err != nil {
		return fmt.Errorf("it is neither %s nor %s", batch.ReadCommitted, batch.ReadUncommitted)
	}
	return nil
}

// setFetchBytes keeps the smaller of the two limits: a Fetch of ours asks for one partition.
func setFetchBytes(s *settings, value string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 || n > maxBatchBytes {
		return fmt.Errorf("a number of bytes between 1 and %d is needed", maxBatchBytes)
	}
	if s.fetchBytes == 0 || int(n) < s.fetchBytes {
		s.fetchBytes = int(n)
	}
	return nil
}

func setPEM(_ *settings, value string) error {
	if value != "PEM" {
		return errors.New("only PEM can be read; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM")
	}
	return nil
}

func setEndpointCheck(s *settings, value string) error {
	switch strings.ToLower(value) {
	case "https":
	case "":
		s.files.anyHost = true
	default:
		return errors.New("it is neither https nor empty (which turns the check of the host name off)")
	}
	return nil
}
