// Package tlsfile makes the TLS configuration of a client from PEM: the certificates that it trusts, and its own
// certificate and key. Brokers and schema registries name them by the same properties, those of Java's clients (KIP-651).
package tlsfile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Files is where certificates and keys come from: PEM, in files or in the properties themselves. The zero value trusts the
// certificates of the system and shows none.
type Files struct {
	// Trust is a file of certificates to trust, TrustPEM the certificates themselves.
	Trust, TrustPEM string
	// Key is a file that holds the private key and its certificate chain.
	Key string
	// ChainPEM and KeyPEM are certificate chain and key themselves.
	ChainPEM, KeyPEM string
	// AnyHost turns the check of the server's host name off, as an empty ssl.endpoint.identification.algorithm does.
	AnyHost bool
}

// CheckType is what is wrong with the type of a key or trust store; nil if it can be read.
func CheckType(value string) error {
	if value != "PEM" {
		return errors.New("want PEM; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM")
	}
	return nil
}

// CheckHost sets AnyHost by the value of ssl.endpoint.identification.algorithm.
func (f *Files) CheckHost(value string) error {
	switch strings.ToLower(value) {
	case "https":
	case "":
		f.AnyHost = true
	default:
		return errors.New("want https, or an empty text, which turns the check of the host name off")
	}
	return nil
}

// Config reads the files. Errors begin with what the properties are called, such as "client property"; no content of a
// file or property appears in them.
func (f Files) Config(property string) (*tls.Config, error) {
	c, err := f.config()
	if err != nil {
		return nil, fmt.Errorf("%s %w", property, err)
	}
	return c, nil
}

func (f Files) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	trust, err := pemOf(f.Trust, f.TrustPEM, "ssl.truststore.location")
	if err != nil {
		return nil, err
	}
	if trust != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(trust) {
			return nil, errors.New("ssl.truststore: it holds no PEM certificate")
		}
	}
	if f.AnyHost {
		verifyChainOnly(c)
	}
	return c, f.addKey(c)
}

func (f Files) addKey(c *tls.Config) error {
	both, err := pemOf(f.Key, "", "ssl.keystore.location")
	if err != nil {
		return err
	}
	chain, key := both, both
	if both == nil {
		chain, key = []byte(f.ChainPEM), []byte(f.KeyPEM)
	}
	if len(chain) == 0 && len(key) == 0 {
		return nil
	}
	if bytes.Contains(key, []byte("ENCRYPTED")) {
		return errors.New("ssl.keystore: the private key is encrypted, which cannot be read; decrypt it with openssl pkey")
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return errors.New("ssl.keystore: a PEM certificate chain and its private key are needed")
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

func pemOf(file, inline, name string) ([]byte, error) {
	if file == "" {
		if inline == "" {
			return nil, nil
		}
		return []byte(inline), nil
	}
	content, err := readPEM(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if block, _ := pem.Decode(content); block == nil {
		return nil, fmt.Errorf("%s: %s is not PEM; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM", name, file)
	}
	return content, nil
}

// largestPEM bounds a file of certificates: those of all public authorities together take a few hundred kilobytes.
const largestPEM = 4 << 20

// readPEM reads a regular file: a device or a pipe might never end.
func readPEM(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", file)
	case info.Size() > largestPEM:
		return nil, fmt.Errorf("%s is larger than %d MiB", file, largestPEM>>20)
	}
	return os.ReadFile(file)
}

// verifyChainOnly checks the certificate chain but not that it names the host.
func verifyChainOnly(c *tls.Config) {
	c.InsecureSkipVerify = true // the check below takes its place
	c.VerifyConnection = func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}
