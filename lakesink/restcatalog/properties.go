package restcatalog

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Names of properties, as Iceberg's Java library and PyIceberg have them.
const (
	keyToken      = "token"
	keyCredential = "credential"
	keyTokenURI   = "oauth2-server-uri"
	keyTokenAlias = "rest.authorization-url"
	keyScope      = "scope"
	keyAudience   = "audience"
	keyResource   = "resource"
	keyAuthType   = "rest.auth.type"
	keyUser       = "rest.auth.basic.username"
	keyPassword   = "rest.auth.basic.password"
	keySigV4      = "rest.sigv4-enabled"
	keyRegion     = "rest.signing-region"
	keyService    = "rest.signing-name"
	keyAccess     = "rest.access-key-id"
	keySecret     = "rest.secret-access-key"
	keySession    = "rest.session-token"
	keyPrefix     = "prefix"
	keyCABundle   = "ssl.cabundle"
	keyClientCert = "ssl.client.cert"
	keyClientKey  = "ssl.client.key"
	keySkipVerify = "rest.tls.skip-verify"
	keySnapshots  = "snapshot-loading-mode"
)

// authKeys are those that say how requests prove who asks; a server's configuration may hold them, too.
var authKeys = []string{keyToken, keyCredential, keyTokenURI, keyTokenAlias, keyScope, keyAudience, keyResource, keyAuthType, keyUser, keyPassword,
	keySigV4, keyRegion, keyService, keyAccess, keySecret, keySession}

// ownKeys are all that iceberg-go is not to see.
var ownKeys = slices.Concat(authKeys, []string{keyPrefix, keyCABundle, keyClientCert, keyClientKey, keySkipVerify, keySnapshots, "uri", "type", "warehouse"})

// Keys are the properties that this package reads, in the order of the documentation.
func Keys() []string {
	return slices.Concat(authKeys, []string{"header.*", keyPrefix, keyCABundle, keyClientCert, keyClientKey, keySkipVerify})
}

// Misuse is an option or a property that cannot be.
type Misuse struct {
	// Key is the option or property, Problem what is wrong with it; it holds no value that may be secret.
	Key, Problem string
}

// Error is the option and what is wrong with it.
func (m *Misuse) Error() string { return m.Key + " " + m.Problem }

// secretsOf are the values that must not come back in an error: servers like to quote what they refuse.
func secretsOf(properties map[string]string) (secrets []string) {
	for _, key := range []string{keyToken, keyCredential, keyPassword, keySecret, keySession} {
		secrets = append(secrets, properties[key])
	}
	if _, secret, ok := strings.Cut(properties[keyCredential], ":"); ok {
		secrets = append(secrets, secret)
	}
	for key, value := range properties {
		if strings.HasPrefix(key, "header.") {
			secrets = append(secrets, value)
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 4 })
}

func isTrue(value string) bool { return strings.EqualFold(value, "true") }

// tlsOf is the configuration of connections; nil for the system's.
func tlsOf(properties map[string]string) (*tls.Config, error) {
	bundle, cert, key := properties[keyCABundle], properties[keyClientCert], properties[keyClientKey]
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: isTrue(properties[keySkipVerify])}
	if bundle != "" {
		text, err := os.ReadFile(bundle)
		if err != nil {
			return nil, &Misuse{keyCABundle, "cannot be read: " + err.Error()}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &Misuse{keyCABundle, "holds no PEM certificate: " + bundle}
		}
	}
	switch {
	case cert == "" && key != "":
		return nil, &Misuse{keyClientKey, "needs " + keyClientCert}
	case cert != "":
		if key == "" {
			key = cert
		}
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &Misuse{keyClientCert, fmt.Sprintf("does not go with its key: %v", err)}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
