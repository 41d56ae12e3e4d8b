package kafkaauth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"sluice/spelling"
	"sluice/tlsfile"
)

// The mechanisms, by their names in sasl.mechanism.
const (
	Plain       = "PLAIN"
	Scram256    = "SCRAM-SHA-256"
	Scram512    = "SCRAM-SHA-512"
	OAuthBearer = "OAUTHBEARER"
	MSKIAM      = "AWS_MSK_IAM"
	kerberos    = "GSSAPI"
)

// Mechanisms lists them.
var Mechanisms = []string{Plain, Scram256, Scram512, OAuthBearer, MSKIAM}

// noKerberos is why GSSAPI cannot be used.
const noKerberos = "Kerberos cannot be used: there is no maintained library for it; brokers that have Kerberos can offer SCRAM or TLS client certificates beside it"

// CheckMechanism is what is wrong with sasl.mechanism. An empty one is GSSAPI to Java.
func CheckMechanism(value string) error {
	switch {
	case slices.Contains(Mechanisms, value):
		return nil
	case value == kerberos:
		return fmt.Errorf("want %s: %s", strings.Join(Mechanisms, ", "), noKerberos)
	}
	return fmt.Errorf("want %s", strings.Join(Mechanisms, ", "))
}

// Login is what the properties of a client say of who connects. The zero value names no mechanism.
type Login struct {
	// Mechanism is sasl.mechanism, JAAS sasl.jaas.config.
	Mechanism, JAAS string
	// Username and Password stand in place of a JAAS text.
	Username, Password string
	// OAuth is about tokens.
	OAuth OAuth
	// Files are the certificates that a token endpoint is known by, besides those of the system.
	Files tlsfile.Files
}

// Fault is what is wrong with a property.
type Fault struct {
	// Property is its name.
	Property string
	// Value says that its value does not fit.
	Value bool
	// Message says what is wrong, without the value.
	Message string
}

// The properties that faults name.
const (
	mechanismName = "sasl.mechanism"
	jaasName      = "sasl.jaas.config"
	userName      = "sasl.username"
	passwordName  = "sasl.password"
)

// module is what one JAAS login module is for, and which options it has.
type module struct {
	class      string
	mechanisms []string
	options    []string
	// prefixes begin the names of further options.
	prefixes []string
}

var modules = []module{
	{class: "org.apache.kafka.common.security.plain.PlainLoginModule", mechanisms: []string{Plain}, options: []string{"username", "password"}},
	{class: "org.apache.kafka.common.security.scram.ScramLoginModule", mechanisms: []string{Scram256, Scram512}, options: []string{"username", "password", "tokenauth"}},
	{class: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", mechanisms: []string{OAuthBearer},
		options: []string{"clientId", "clientSecret", "scope", "refresh_ms", unsecuredLifetime, unsecuredPrincipal, unsecuredScope}, prefixes: []string{extensionPrefix, unsecuredText, unsecuredNumber, unsecuredList, "ssl."}},
	{class: "software.amazon.msk.auth.iam.IAMLoginModule", mechanisms: []string{MSKIAM}, options: mskOptions},
	{class: "com.sun.security.auth.module.Krb5LoginModule", mechanisms: []string{kerberos}},
}

// moduleOf finds a module by its class, also inside of another package, as vendors shade them (kafkashaded.org.apache…).
func moduleOf(class string) *module {
	for i := range modules {
		if m := &modules[i]; class == m.class || strings.HasSuffix(class, "."+m.class) {
			return m
		}
	}
	return nil
}

// Validate reports what is wrong, without asking anybody.
func (l *Login) Validate() []Fault {
	fault := func(property, message string, args ...any) []Fault {
		return []Fault{{Property: property, Message: fmt.Sprintf(message, args...)}}
	}
	switch {
	case l.Mechanism == "" && l.JAAS == "" && l.Username == "":
		return fault(mechanismName, "is required with SASL: want %s (without it, Java's clients use Kerberos)", strings.Join(Mechanisms, ", "))
	case l.Mechanism == "":
		return fault(mechanismName, "is required with SASL: want %s", strings.Join(l.guess(), " or "))
	case l.JAAS != "" && (l.Username != "" || l.Password != ""):
		return fault(jaasName, "is given, and sasl.username or sasl.password too: one of the two can count")
	}
	if l.JAAS != "" {
		if f := l.checkJAAS(); f != nil {
			return []Fault{*f}
		}
	}
	switch l.Mechanism {
	case Plain, Scram256, Scram512:
		return l.checkUser()
	case OAuthBearer:
		if l.Username != "" || l.Password != "" {
			return fault(cmp.Or(userName, passwordName), "is not for %s: want sasl.oauthbearer.client.credentials.client.id and .client.secret", OAuthBearer)
		}
		return l.OAuth.validate(l.options())
	}
	if l.Username != "" || l.Password != "" {
		return fault(userName, "is not for %s", l.Mechanism)
	}
	return nil
}

// guess lists the mechanisms that go with what is given.
func (l *Login) guess() []string {
	if j, err := parseJAAS(l.JAAS); err == nil {
		if m := moduleOf(j.module); m != nil {
			return m.mechanisms
		}
	}
	return Mechanisms
}

func (l *Login) checkJAAS() *Fault {
	j, err := parseJAAS(l.JAAS)
	if err != nil {
		return &Fault{Property: jaasName, Value: true, Message: err.Error()}
	}
	m := moduleOf(j.module)
	switch {
	case m == nil:
		return &Fault{Property: jaasName, Message: fmt.Sprintf("has a login module that sluice does not know; that for %s is %s", l.Mechanism, classFor(l.Mechanism))}
	case slices.Contains(m.mechanisms, kerberos):
		return &Fault{Property: jaasName, Message: noKerberos}
	case !slices.Contains(m.mechanisms, l.Mechanism):
		return &Fault{Property: jaasName, Message: fmt.Sprintf("has the login module of %s, and sasl.mechanism is %s, whose is %s", strings.Join(m.mechanisms, " and "), l.Mechanism, classFor(l.Mechanism))}
	}
	for n, name := range j.order {
		if !m.has(name) {
			return &Fault{Property: jaasName, Message: m.unknown(n, name)}
		}
	}
	return nil
}

func classFor(mechanism string) string {
	for _, m := range modules {
		if slices.Contains(m.mechanisms, mechanism) {
			return m.class
		}
	}
	return ""
}

func (m *module) has(option string) bool {
	return slices.Contains(m.options, option) || slices.ContainsFunc(m.prefixes, func(prefix string) bool { return strings.HasPrefix(option, prefix) })
}

// unknown does not show the name: a quote forgotten makes part of a password look like one.
func (m *module) unknown(n int, name string) string {
	text := fmt.Sprintf("has an option that its module does not know, number %d of the list", n+1)
	if near := spelling.Best(name, m.options, 2); near != "" {
		return text + "; did you mean " + near + "?"
	}
	return text + ": want " + strings.Join(m.options, ", ")
}

// options are those of the JAAS text, none if there is none or it does not parse.
func (l *Login) options() map[string]string {
	if l.JAAS != "" {
		if j, err := parseJAAS(l.JAAS); err == nil {
			return j.options
		}
	}
	return map[string]string{}
}

// user is name and password from wherever they are.
func (l *Login) user() (name, password string) {
	if l.JAAS == "" {
		return l.Username, l.Password
	}
	o := l.options()
	return o["username"], o["password"]
}

func (l *Login) checkUser() []Fault {
	name, password := l.user()
	switch {
	case name != "" && password != "":
		if t := l.options()["tokenauth"]; t != "" && t != "true" && t != "false" {
			return []Fault{{Property: jaasName, Message: "has the option tokenauth, which is true or false"}}
		}
		return nil
	case l.JAAS != "":
		return []Fault{{Property: jaasName, Message: "lacks the option username or password"}}
	case name == "" && password == "":
		return []Fault{{Property: jaasName, Message: fmt.Sprintf("is required for %s: want %s required username=\"…\" password=\"…\"; (or sasl.username and sasl.password)", l.Mechanism, classFor(l.Mechanism))}}
	case name == "":
		return []Fault{{Property: userName, Message: "is required beside sasl.password"}}
	}
	return []Fault{{Property: passwordName, Message: "is required beside sasl.username"}}
}

// Describe says who logs in and how, without anything secret.
func (l *Login) Describe() string {
	who := "by " + l.Mechanism
	switch l.Mechanism {
	case Plain, Scram256, Scram512:
		name, _ := l.user()
		who = "user " + name + " by " + l.Mechanism
	case OAuthBearer:
		who += l.OAuth.describe(l.options())
	case MSKIAM:
		who += describeMSK(l.options())
	}
	return who
}

// New is the login as a mechanism of the client. What Validate finds must have been mended; nothing is asked for
// before somebody connects.
func (l *Login) New() (sasl.Mechanism, error) {
	name, password := l.user()
	switch l.Mechanism {
	case Plain:
		return plain.Auth{User: name, Pass: password}.AsMechanism(), nil
	case Scram256:
		return scram.Auth{User: name, Pass: password, IsToken: l.options()["tokenauth"] == "true"}.AsSha256Mechanism(), nil
	case Scram512:
		return scram.Auth{User: name, Pass: password, IsToken: l.options()["tokenauth"] == "true"}.AsSha512Mechanism(), nil
	case OAuthBearer:
		return l.OAuth.mechanism(l.options(), l.Files)
	case MSKIAM:
		return mskMechanism(l.options()), nil
	}
	return nil, fmt.Errorf("sasl.mechanism %s is none of %s", l.Mechanism, strings.Join(Mechanisms, ", "))
}
