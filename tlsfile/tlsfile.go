// Package tlsfile makes the TLS configuration of a client: the certificates that it trusts, its own certificate and key, and
// what it may negotiate. Certificates and keys are PEM (KIP-651), in files or in properties, or Java's stores, JKS and
// PKCS12. Brokers and schema registries name all of it by the same properties, those of Java's clients.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Files is where certificates and keys come from, and what may be negotiated. The zero value trusts the certificates of the
// system, shows none, and negotiates TLS 1.2 or 1.3. Files are read by Config, so that one that was replaced counts with
// the next run.
type Files struct {
	// Trust is a file of certificates to trust, TrustPEM the certificates themselves.
	Trust, TrustPEM string
	// TrustType is PEM, JKS or PKCS12, or empty: then the file's content tells. TrustPassword is what the file was sealed
	// with; without it a JKS file is read unchecked, as Java does.
	TrustType, TrustPassword string
	// Key is a file that holds the private key and its certificate chain.
	Key string
	// ChainPEM and KeyPEM are certificate chain and key themselves.
	ChainPEM, KeyPEM string
	// KeyType is as TrustType. StorePassword opens the file Key, KeyPassword the private key in it, or the encrypted KeyPEM;
	// where a store has no password of the key it is that of the store.
	KeyType, StorePassword, KeyPassword string
	// AnyHost turns the check of the server's host name off, as an empty ssl.endpoint.identification.algorithm does.
	AnyHost bool
	// Protocols are the versions allowed, by Java's names, with commas; Ciphers are the suites, by the names of IANA.
	Protocols, Ciphers string
}

// CheckHost sets AnyHost by the value of ssl.endpoint.identification.algorithm.
func (f *Files) CheckHost(value string) error {
	switch strings.ToLower(value) {
	case "https":
		f.AnyHost = false
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

// ConfigBesideSystem is Config for a server that a public authority may have certified as well as one's own: it trusts
// the certificates of the system besides those given.
func (f Files) ConfigBesideSystem(property string) (*tls.Config, error) {
	c, err := f.Config(property)
	if err != nil || c.RootCAs == nil {
		return c, err
	}
	trust, err := f.trusted()
	if err != nil {
		return nil, fmt.Errorf("%s %w", property, err)
	}
	if pool, err := x509.SystemCertPool(); err == nil { // a system without any has nothing to add
		addAll(pool, trust)
		c.RootCAs = pool
	}
	return c, nil
}

func (f Files) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := f.negotiate(c); err != nil {
		return nil, err
	}
	trust, err := f.trusted()
	if err != nil {
		return nil, err
	}
	if trust != nil {
		c.RootCAs = x509.NewCertPool()
		addAll(c.RootCAs, trust)
	}
	if f.AnyHost {
		verifyChainOnly(c)
	}
	c.Certificates, err = f.own()
	return c, err
}

func addAll(pool *x509.CertPool, certs []*x509.Certificate) {
	for _, cert := range certs {
		pool.AddCert(cert)
	}
}

// trusted is nil where nothing is given.
func (f Files) trusted() ([]*x509.Certificate, error) {
	const name = "ssl.truststore"
	if f.Trust == "" && f.TrustPEM == "" {
		return nil, nil
	}
	s := store{content: []byte(f.TrustPEM), kind: PEM}
	if f.Trust != "" {
		var err error
		if s, err = readStore(f.Trust, f.TrustType); err != nil {
			return nil, fmt.Errorf("%s.location: %w", name, err)
		}
	}
	if s.kind == PEM && f.TrustPassword != "" {
		return nil, fmt.Errorf("%s.password: %s", name, noPassword)
	}
	certs, err := s.certificates(f.TrustPassword)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", within(name, f.Trust), err)
	}
	return certs, nil
}

const noPassword = "PEM has no password; that of an encrypted private key is ssl.key.password"

// own are the certificates to show, none if none is given.
func (f Files) own() ([]tls.Certificate, error) {
	const name = "ssl.keystore"
	if f.Key == "" && f.ChainPEM == "" && f.KeyPEM == "" {
		return nil, nil
	}
	s := store{content: []byte(f.ChainPEM + "\n" + f.KeyPEM), kind: PEM}
	if f.Key != "" {
		var err error
		if s, err = readStore(f.Key, f.KeyType); err != nil {
			return nil, fmt.Errorf("%s.location: %w", name, err)
		}
	}
	if s.kind == PEM && f.StorePassword != "" {
		return nil, fmt.Errorf("%s.password: %s", name, noPassword)
	}
	pairs, err := s.pairs(f.StorePassword, f.KeyPassword)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", within(name, f.Key), err)
	}
	return pairs, nil
}

// within names a store by its file if it has one.
func within(name, file string) string {
	if file == "" {
		return name
	}
	return name + ".location " + file
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
