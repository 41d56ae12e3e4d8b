package registry

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

// tlsFiles is where certificates and keys come from: PEM, in files or in the properties themselves.
type tlsFiles struct {
	trustFile, trustPEM string
	// keyFile holds the private key and its certificate chain in one file.
	keyFile, chainPEM, keyPEM string
	// anyHost turns the check of the server's host name off.
	anyHost bool
}

func setPEM(_ *settings, value string) error {
	if value != "PEM" {
		return errors.New("want PEM; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM")
	}
	return nil
}

func setEndpointCheck(s *settings, value string) error {
	switch strings.ToLower(value) {
	case "https":
	case "":
		s.files.anyHost = true
	default:
		return errors.New("want https, or an empty text, which turns the check of the host name off")
	}
	return nil
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
			return nil, errors.New("schema registry property ssl.truststore: it holds no PEM certificate")
		}
	}
	if f.anyHost {
		verifyChainOnly(c)
	}
	return c, f.addKey(c)
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
		return errors.New("schema registry property ssl.keystore: the private key is encrypted, which cannot be read; decrypt it with openssl pkey")
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return errors.New("schema registry property ssl.keystore: a PEM certificate chain and its private key are needed")
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// largestPEM bounds a file of certificates: those of all public authorities together take a few hundred kilobytes.
const largestPEM = 4 << 20

// pemOf reads a regular file, or else takes the text: a device or a pipe might never end.
func pemOf(file, inline, name string) ([]byte, error) {
	if file == "" {
		if inline == "" {
			return nil, nil
		}
		return []byte(inline), nil
	}
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > largestPEM) {
		err = fmt.Errorf("%s is no regular file of at most %d MiB", file, largestPEM>>20)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("schema registry property %s: %w", name, err)
	}
	if block, _ := pem.Decode(content); block == nil {
		return nil, fmt.Errorf("schema registry property %s: %s is not PEM; keytool -exportcert -rfc and openssl pkcs12 turn JKS and PKCS12 into PEM", name, file)
	}
	return content, nil
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
