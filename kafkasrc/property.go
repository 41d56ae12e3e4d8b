package kafkasrc

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/kafkaauth"
	"sluice/spelling"
	"sluice/tlsfile"
)

// settings is what the client properties come to. Times that are zero were not given.
type settings struct {
	seeds    []string
	clientID string
	rack     string
	// sasl and tls are what security.protocol comes to; badProtocol says that it is none.
	sasl, tls, badProtocol bool
	login                  kafkaauth.Login
	files                  tlsfile.Files
	isolation              batch.Isolation

	requestTimeout, apiTimeout time.Duration
	backoff, maxBackoff        time.Duration
	setupTimeout, maxSetup     time.Duration
	metadataMaxAge             time.Duration
	connectionsIdle            time.Duration
	fetchWait                  time.Duration
	fetchBytes, fetchMin       int
	receiveBuffer, sendBuffer  int
}

// property is one client property that is understood. The error of set never quotes the value: it may be secret, and
// who reports it knows.
type property struct {
	set func(s *settings, value string) error
	// doc says what the values are, for the documentation.
	doc string
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
		fetchMin:       1,
		isolation:      batch.ReadCommitted,
	}
	var faults []PropertyFault
	names := slices.Sorted(maps.Keys(client))
	for _, name := range names {
		if f := s.apply(name, client[name]); f != nil {
			faults = append(faults, *f)
		}
	}
	return s, append(faults, s.conflicts(names, faults)...)
}

// conflicts is about properties that do not go together. Those that are faulty by themselves are not reported twice.
func (s *settings) conflicts(names []string, faulty []PropertyFault) []PropertyFault {
	if s.badProtocol {
		return nil
	}
	if first := firstOf(names, "ssl."); first != "" && !s.tls && s.files != (tlsfile.Files{}) {
		return []PropertyFault{{Name: first, Message: "has no effect, since security.protocol is neither SSL nor SASL_SSL"}}
	}
	if first := firstOf(names, "sasl."); first != "" && !s.sasl {
		return []PropertyFault{{Name: first, Message: "has no effect, since security.protocol is neither SASL_PLAINTEXT nor SASL_SSL"}}
	}
	if !s.sasl || slices.ContainsFunc(faulty, func(f PropertyFault) bool { return strings.HasPrefix(f.Name, "sasl.") }) {
		return nil
	}
	var faults []PropertyFault
	for _, f := range s.login.Validate() {
		faults = append(faults, PropertyFault{Name: f.Property, Value: f.Value, Message: f.Message})
	}
	return faults
}

// firstOf is the first name with the prefix that has a meaning here, empty if none has.
func firstOf(names []string, prefix string) string {
	for _, name := range names {
		if _, ok := properties[name]; ok && strings.HasPrefix(name, prefix) {
			return name
		}
	}
	return ""
}

func (s *settings) apply(name, value string) *PropertyFault {
	if why, ok := refused[name]; ok {
		return &PropertyFault{Name: name, Message: "cannot be set: " + why}
	}
	if _, ok := idle[name]; ok {
		return nil
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

// sparks is what Spark puts before the names of client properties.
const sparks = "kafka."

func unknownProperty(name string) *PropertyFault {
	f := &PropertyFault{Name: name, Message: "is unknown to sluice"}
	known := slices.Concat(slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(idle)), slices.Collect(maps.Keys(refused)))
	if bare, ok := strings.CutPrefix(name, sparks); ok {
		f.Message = "has Spark's prefix kafka., which is not needed here"
		name = bare
	}
	f.Nearest = spelling.Best(name, known, max(1, len(name)/3))
	return f
}
