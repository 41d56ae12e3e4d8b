package kafkasrc

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/kafkaauth"
)

// denied is the fault of a client that is not let in, or that speaks another protocol than the listener: what no repetition
// changes, and what a person has to mend. nil if err is none of that.
func (s *Source) denied(seeds string, err error) *batch.Fault {
	if f := s.loginDenied(seeds, err); f != nil {
		f.Err = err
		return f
	}
	hint := s.tlsHint(err)
	if hint == "" {
		return nil
	}
	message := seeds + " does not answer"
	if failures := s.dials.failures(err); failures != "" {
		message += "; cannot connect to " + failures
	}
	return &batch.Fault{Class: batch.NotSetUp, Message: message, Hint: hint, Err: err}
}

// loginDenied is about SASL.
func (s *Source) loginDenied(seeds string, err error) *batch.Fault {
	var outage *kafkaauth.Outage
	switch {
	case errors.As(err, &outage):
		return &batch.Fault{Message: "log in to " + seeds, Hint: outage.Hint}
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("%s does not let in %s", seeds, s.settings.login.Describe()), Hint: s.loginHint()}
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("the listener of %s does not have %s", seeds, s.settings.login.Mechanism),
			Hint: "Set sasl.mechanism to one that the listener has (sasl.enabled.mechanisms of the brokers), or bootstrap.servers to a listener that has this one."}
	case s.unasked(err):
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("the listener of %s has no SASL", seeds),
			Hint: "Set security.protocol to " + s.withoutSASL() + ", or bootstrap.servers to a listener with SASL."}
	}
	return nil
}

func (s *Source) withoutSASL() string {
	if s.settings.tls {
		return "SSL"
	}
	return "PLAINTEXT"
}

// loginHint says what to mend, by how the client logs in.
func (s *Source) loginHint() string {
	switch m := s.settings.login.Mechanism; m {
	case kafkaauth.OAuthBearer:
		if strings.HasPrefix(s.settings.login.OAuth.Endpoint, "file:") {
			return "Have the token in the file replaced before it expires. If it is good yet, have its issuer, audience and scope compared with what the brokers want (sasl.oauthbearer.expected.*)."
		}
		return "Have the token's issuer, audience, scope and expiry compared with what the brokers want (sasl.oauthbearer.expected.*); their log says what they did not take."
	case kafkaauth.MSKIAM:
		return "Give the role the permission kafka-cluster:Connect on the cluster, and check the clock and the region."
	case kafkaauth.Plain:
		return "Mend the user name and password in sasl.jaas.config."
	default:
		return "Mend the user name and password in sasl.jaas.config, or give the user credentials for " + m + " (kafka-configs.sh --alter --entity-type users): a cluster keeps them by mechanism."
	}
}

// tlsHint says what to mend about TLS, empty if err is about something else.
func (s *Source) tlsHint(err error) string {
	var expired x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var firstRead *kgo.ErrFirstReadEOF
	switch {
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return "Have the certificate of the broker's listener renewed (or set this machine's clock); nothing in security.protocol or the ssl properties helps."
	case errors.As(err, &authority):
		return "Put the authority that signed the broker's certificate into ssl.truststore.location, and check that security.protocol and bootstrap.servers name the right listener."
	case errors.As(err, &host):
		return "Name the brokers in bootstrap.servers and advertised.listeners as their certificates do, or turn the check off with an empty ssl.endpoint.identification.algorithm; security.protocol is right."
	case alerted(err):
		return "Give a certificate that the listener trusts in ssl.keystore.location, or set security.protocol and bootstrap.servers to a listener that asks for none."
	case tlsRejected(err):
		return "Check security.protocol and the ssl properties against the broker's listener."
	case !s.connected && (errors.As(err, &firstRead) || answersTLS(err)): // later it is a broker that shuts down
		return s.protocolHint()
	}
	return ""
}

// answersTLS says that what came in answer to plain bytes is an alert of TLS. franz-go has no type for that; a test pins
// its text.
func answersTLS(err error) bool { return strings.Contains(err.Error(), "tls alert record") }

// protocolHint is for a listener that hangs up at the first word, which brokers do on all that they do not expect.
func (s *Source) protocolHint() string {
	switch {
	case s.settings.tls:
		return "Check security.protocol and the ssl properties against the broker's listener: it hangs up on TLS, so it may want PLAINTEXT or SASL_PLAINTEXT."
	case s.settings.sasl:
		return "Check security.protocol against the broker's listener: it hangs up on a login without TLS, so it may want SASL_SSL."
	}
	return "Check security.protocol and the ssl properties against the broker's listener: it hangs up on what is neither TLS nor a login, so it may want SSL, SASL_SSL or SASL_PLAINTEXT."
}
