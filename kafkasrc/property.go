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
	"sluice/spelling"
	"sluice/tlsfile"
)

// settings is what the client properties come to.
type settings struct {
	seeds           []string
	clientID        string
	tls             bool
	files           tlsfile.Files
	requestTimeout  time.Duration
	backoff         time.Duration
	metadataMaxAge  time.Duration
	fetchBytes      int
	isolation       batch.Isolation
	rack            string
	connectionsIdle time.Duration
}

// property is one client property that is understood. The error of set never quotes the value: it may be secret, and
// who reports it knows.
type property struct {
	set func(s *settings, value string) error
	// doc says what the values are, for the documentation.
	doc string
}

// properties holds all that is understood, by its Java name. A new one is a line here.
var properties = map[string]property{
	"bootstrap.servers":                     {set: setSeeds, doc: "`host:port`, several separated by commas"},
	"client.id":                             {set: text(func(s *settings) *string { return &s.clientID }), doc: "the name that brokers log; `sluice` if it is not given"},
	"client.rack":                           {set: text(func(s *settings) *string { return &s.rack }), doc: "the rack of this machine: records come from a replica in it where there is one"},
	"security.protocol":                     {set: setProtocol, doc: "`PLAINTEXT`, which is the default, or `SSL`"},
	"isolation.level":                       {set: setIsolation, doc: "`read_committed`, which is the default, or `read_uncommitted`"},
	"request.timeout.ms":                    {set: millis(func(s *settings) *time.Duration { return &s.requestTimeout }), doc: "how long one request may take; 30000"},
	"retry.backoff.ms":                      {set: millis(func(s *settings) *time.Duration { return &s.backoff }), doc: "the pause before the first retry; 100"},
	"metadata.max.age.ms":                   {set: millis(func(s *settings) *time.Duration { return &s.metadataMaxAge }), doc: "how old the list of brokers and leaders may be; 300000"},
	"connections.max.idle.ms":               {set: millis(func(s *settings) *time.Duration { return &s.connectionsIdle }), doc: "when a connection that is not used is closed"},
	"fetch.max.bytes":                       {set: setFetchBytes, doc: "how much one Fetch asks for; the smaller of this and the next"},
	"max.partition.fetch.bytes":             {set: setFetchBytes, doc: "the same"},
	"ssl.truststore.type":                   {set: setPEM, doc: "`PEM`"},
	"ssl.truststore.location":               {set: text(func(s *settings) *string { return &s.files.Trust }), doc: "a PEM file with the certificates to trust; those of the system if it is not given"},
	"ssl.truststore.certificates":           {set: text(func(s *settings) *string { return &s.files.TrustPEM }), doc: "the certificates themselves, in PEM"},
	"ssl.keystore.type":                     {set: setPEM, doc: "`PEM`"},
	"ssl.keystore.location":                 {set: text(func(s *settings) *string { return &s.files.Key }), doc: "a PEM file with this client's certificate chain and its private key, not encrypted"},
	"ssl.keystore.certificate.chain":        {set: text(func(s *settings) *string { return &s.files.ChainPEM }), doc: "the certificate chain itself, in PEM"},
	"ssl.keystore.key":                      {set: text(func(s *settings) *string { return &s.files.KeyPEM }), doc: "the private key itself, in PEM; a secret"},
	"ssl.endpoint.identification.algorithm": {set: setEndpointCheck, doc: "`https`, which is the default; an empty text turns the check of the host name off"},
}

// refused holds the properties that sluice decides itself, with the reason.
var refused = map[string]string{
	"auto.offset.reset":        "an offset that is gone is data loss, never a silent reset; where a query begins is source.startingOffsets",
	"enable.auto.commit":       "progress is kept in the checkpoint and the table, not in a consumer group",
	"group.id":                 "no consumer group is used: progress is kept in the checkpoint and the table",
	"key.deserializer":         "keys are read as bytes; what becomes of them is key.format",
	"value.deserializer":       "values are read as bytes; how they become columns is value.format",
	"interceptor.classes":      "Java classes cannot be loaded",
	"allow.auto.create.topics": "topics are never created by reading",
	"max.poll.records":         "batches are bounded by source.maxOffsetsPerTrigger",
	// Names that librdkafka gives to the same things.
	"metadata.broker.list":     "it is librdkafka's name of bootstrap.servers",
	"ssl.ca.location":          "it is librdkafka's name of ssl.truststore.location",
	"ssl.certificate.location": "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
	"ssl.key.location":         "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
}

// PropertyFault is what is wrong with one client property.
type PropertyFault struct {
	// Name is the property's.
	Name string
	// Value says that the value does not fit, and not that the property cannot be set.
	Value bool
	// Message says what is wrong, without the value, which may be secret.
	Message string
	// Nearest is the property that was probably meant, empty if none is near.
	Nearest string
}

// Error names the property and says what is wrong with it.
func (f *PropertyFault) Error() string {
	text := "client property " + f.Name + ": " + f.Message
	if f.Nearest != "" {
		text += "; did you mean " + f.Nearest + "?"
	}
	return text
}

// CheckClient reports all that is wrong with client properties under their Java names, in the order of their names. That
// bootstrap.servers is missing is not among it: not every use of a job needs brokers.
func CheckClient(client map[string]string) []PropertyFault {
	_, faults := readClient(client)
	return faults
}

// settings applies the client properties, and reports all that is wrong with them at once.
func (o Options) settings() (settings, error) {
	s, faults := readClient(o.Client)
	var errs []error
	for i := range faults {
		errs = append(errs, &faults[i])
	}
	if _, given := o.Client["bootstrap.servers"]; !given {
		errs = append(errs, errors.New("client property bootstrap.servers: is required, for example broker1:9092,broker2:9092"))
	}
	return s, errors.Join(errs...)
}

func readClient(client map[string]string) (settings, []PropertyFault) {
	s := settings{
		clientID:       "sluice",
		requestTimeout: 30 * time.Second,
		backoff:        100 * time.Millisecond,
		metadataMaxAge: 5 * time.Minute,
		isolation:      batch.ReadCommitted,
	}
	var faults []PropertyFault
	names := slices.Sorted(maps.Keys(client))
	for _, name := range names {
		if f := s.apply(name, client[name]); f != nil {
			faults = append(faults, *f)
		}
	}
	if first := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "ssl.") }); !s.tls && s.files != (tlsfile.Files{}) {
		faults = append(faults, PropertyFault{Name: names[first], Message: "has no effect, since security.protocol is not SSL"})
	}
	return s, faults
}

func (s *settings) apply(name, value string) *PropertyFault {
	if why, ok := refused[name]; ok {
		return &PropertyFault{Name: name, Message: "cannot be set: " + why}
	}
	p, ok := properties[name]
	if !ok {
		return unknownProperty(name)
	}
	if err := p.set(s, strings.TrimSpace(value)); err != nil {
		return &PropertyFault{Name: name, Value: true, Message: err.Error()}
	}
	return nil
}

func unknownProperty(name string) *PropertyFault {
	if strings.HasPrefix(name, "sasl.") {
		return &PropertyFault{Name: name, Message: "cannot be set: " + noSASL}
	}
	f := &PropertyFault{Name: name, Message: "is unknown to sluice"}
	known := slices.Concat(slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(refused)))
	f.Nearest = spelling.Best(name, known, max(1, len(name)/3))
	return f
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
			return errors.New("want a whole number of milliseconds above 0")
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
			return fmt.Errorf("want %s, without the listener's name", rest)
		}
		if _, port, err := net.SplitHostPort(seed); err != nil || !validPort(port) {
			return fmt.Errorf("want host:port, which %s is not", seed)
		}
		s.seeds = append(s.seeds, seed)
	}
	if len(s.seeds) == 0 {
		return errors.New("want host:port, for example broker1:9092,broker2:9092")
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

const noSASL = "SASL is not supported in this version; PLAINTEXT is, and SSL with PEM files"

func setProtocol(s *settings, value string) error {
	switch value {
	case "PLAINTEXT":
	case "SSL":
		s.tls = true
	case "SASL_PLAINTEXT", "SASL_SSL":
		s.tls = true // so that nobody is told that the ssl properties have no effect
		return errors.New(noSASL)
	default:
		return errors.New("want PLAINTEXT or SSL")
	}
	return nil
}

func setIsolation(s *settings, value string) error {
	s.isolation = batch.Isolation(value)
	_, err := isolationLevel(s.isolation)
	if err != nil {
		return fmt.Errorf("want %s or %s", batch.ReadCommitted, batch.ReadUncommitted)
	}
	return nil
}

// setFetchBytes keeps the smaller of the two limits: a Fetch of ours asks for one partition.
func setFetchBytes(s *settings, value string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 || n > maxBatchBytes {
		return fmt.Errorf("want a number of bytes between 1 and %d", maxBatchBytes)
	}
	if s.fetchBytes == 0 || int(n) < s.fetchBytes {
		s.fetchBytes = int(n)
	}
	return nil
}

func setPEM(_ *settings, value string) error { return tlsfile.CheckType(value) }

func setEndpointCheck(s *settings, value string) error { return s.files.CheckHost(value) }
