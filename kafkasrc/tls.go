package kafkasrc

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// tlsFiles is where certificates and keys come from: PEM, in files or in the properties themselves (KIP-651).
type tlsFiles struct {
	trustFile, trustPEM string
	// keyFile holds the private key and its certificate chain in one file.
	keyFile, chainPEM, keyPEM string
	// anyHost turns the check of the broker's host name off, as an empty ssl.endpoint.identification.algorithm does.
	anyHost bool
}

// config reads the files. No content of a file or property appears in an error.
func (f tlsFiles) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	trust, err := pemOf(f.trustFile, f.trustPEM, "ssl.truststore.location")
	if err != nil {
		return nil, err
	}
	if trust != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(trust) {
			return nil, errors.New("client property ssl.truststore: it holds no PEM certificate")
		}
	}
	if err := f.addKey(c); err != nil {
		return nil, err
	}
	if f.anyHost {
		verifyChainOnly(c)
	}
	return c, nil
}

func (f tlsFiles) addKey(c *tls.Config) error {
	both, err := pemOf(f.keyFile, "", "ssl.keystore.location")
	if err != nil {
		return err
	}
	chain, key := both, both
	if both == nil {
		chain, key = []byte(f.chainPEM), []byte(f.keyPEM)
	}
	if len(chain) == 0 && len(key) == 0 {
		return nil
	}
	if bytes.Contains(key, []byte("ENCRYPTED")) {
		return errors.New("client property ssl.keystore: the private key is encrypted, which cannot be read; decrypt it with openssl pkey")
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return errors.New("client property ssl.keystore: a PEM certificate chain and its private key are needed")
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
		return nil, fmt.Errorf("client property %s: %w", name, err)
	}
	if block, _ := pem.Decode(content); block == nil {
		return nil, fmt.Errorf("client property %s: %s is not PEM; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM", name, file)
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
