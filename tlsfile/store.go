package tlsfile

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// The types of stores.
const (
	PEM    = "PEM"
	JKS    = "JKS"
	PKCS12 = "PKCS12"
)

// CheckType is what is wrong with the type of a key or trust store; nil if it can be read.
func CheckType(value string) error {
	if !slices.Contains([]string{PEM, JKS, PKCS12}, strings.ToUpper(value)) {
		return errors.New("want PEM, JKS or PKCS12; keytool -importkeystore turns other stores into PKCS12")
	}
	return nil
}

// store is a file of certificates and keys, or what a property holds in its place.
type store struct {
	content []byte
	// kind is what the content is.
	kind string
}

// largestStore bounds a file of certificates: those of all public authorities together take a few hundred kilobytes.
const largestStore = 4 << 20

// readStore reads a regular file: a device or a pipe might never end. As with Java's own key stores, JKS and PKCS12 stand
// for each other: the content tells.
func readStore(file, want string) (store, error) {
	if strings.Contains(file, "-----BEGIN ") {
		return store{}, errors.New("is PEM text and no path; the text itself goes into ssl.truststore.certificates, or into ssl.keystore.certificate.chain and ssl.keystore.key")
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return store{}, err
	case !info.Mode().IsRegular():
		return store{}, fmt.Errorf("%s is no regular file", file)
	case info.Size() > largestStore:
		return store{}, fmt.Errorf("%s is larger than %d MiB", file, largestStore>>20)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return store{}, err
	}
	s := store{content: content, kind: kindOf(content)}
	switch {
	case s.kind == "":
		return store{}, fmt.Errorf("%s is neither PEM nor JKS nor PKCS12%s", file, other(content))
	case want != "" && (s.kind == PEM) != (strings.ToUpper(want) == PEM):
		return store{}, fmt.Errorf("%s is %s, and the type says %s", file, s.kind, strings.ToUpper(want))
	}
	return s, nil
}

func kindOf(content []byte) string {
	block, _ := pem.Decode(content)
	switch {
	case block != nil:
		return PEM
	case bytes.HasPrefix(content, jksMagic):
		return JKS
	case len(content) > 2 && content[0] == 0x30 && content[1] >= 0x80: // a DER sequence longer than 127 bytes
		return PKCS12
	}
	return ""
}

func other(content []byte) string {
	if bytes.HasPrefix(content, jceksMagic) {
		return " but JCEKS; keytool -importkeystore -deststoretype PKCS12 turns it into PKCS12"
	}
	return ""
}

// certificates are those to trust, at least one.
func (s store) certificates(password string) ([]*x509.Certificate, error) {
	switch s.kind {
	case JKS:
		j, err := parseJKS(s.content, password)
		if err != nil {
			return nil, err
		}
		return some(j.trusted)
	case PKCS12:
		certs, err := pkcs12.DecodeTrustStore(s.content, password)
		if err != nil {
			return nil, pkcs12Fault(err)
		}
		return some(certs)
	}
	var certs []*x509.Certificate
	for block, rest := pem.Decode(s.content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert) // a bundle may have some that Go does not know
		}
	}
	if len(certs) == 0 {
		return nil, errors.New("it holds no PEM certificate")
	}
	return certs, nil
}

func some(certs []*x509.Certificate) ([]*x509.Certificate, error) {
	if len(certs) == 0 {
		return nil, errors.New("it holds no certificate to trust; keytool -importcert puts one there")
	}
	return certs, nil
}

var errPassword = errors.New("the password does not fit, or the file is damaged")

func pkcs12Fault(err error) error {
	if errors.Is(err, pkcs12.ErrIncorrectPassword) || errors.Is(err, pkcs12.ErrDecryption) {
		return errPassword
	}
	text := strings.TrimPrefix(err.Error(), "pkcs12: ")
	if strings.Contains(text, "not marked as trusted") || strings.Contains(text, "only certificate bags") || strings.Contains(text, "safe bags") || strings.Contains(text, "items") {
		text += ": make the store with keytool -importcert, which marks what is to be trusted"
	}
	return fmt.Errorf("it cannot be read as PKCS12 (%s)", text)
}

// pairs are the private keys with their chains, at least one.
func (s store) pairs(password, keyPassword string) ([]tls.Certificate, error) {
	switch s.kind {
	case JKS:
		j, err := parseJKS(s.content, password)
		if err != nil {
			return nil, err
		}
		return j.pairs(cmp.Or(keyPassword, password))
	case PKCS12:
		return pkcs12Pair(s.content, password)
	}
	pair, err := pemPair(s.content, keyPassword)
	return []tls.Certificate{pair}, err
}

// pkcs12Pair finds the certificate of the key: keytool may write that of an authority before it.
func pkcs12Pair(content []byte, password string) ([]tls.Certificate, error) {
	key, first, others, err := pkcs12.DecodeChain(content, password)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "exactly one key bag"):
		return nil, errors.New("it holds several private keys; keytool -importkeystore -srcalias ALIAS makes a store of one")
	case strings.Contains(err.Error(), "missing"):
		return nil, errors.New("it holds no private key with its certificate")
	default:
		return nil, pkcs12Fault(err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("it holds a private key of a kind that TLS has no use for")
	}
	pair := tls.Certificate{PrivateKey: key}
	if pair.Certificate = chain(signer, append([]*x509.Certificate{first}, others...)); pair.Certificate == nil {
		return nil, errors.New("none of its certificates is that of its private key")
	}
	return []tls.Certificate{pair}, nil
}

// chain is the certificate of the key, then that of whom it was issued by, and so on as far as they are there.
func chain(key crypto.Signer, certs []*x509.Certificate) [][]byte {
	var found [][]byte
	public, _ := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	at := slices.IndexFunc(certs, func(c *x509.Certificate) bool { return public != nil && public.Equal(c.PublicKey) })
	for at >= 0 && len(found) < len(certs) {
		cert := certs[at]
		found = append(found, cert.Raw)
		if bytes.Equal(cert.RawIssuer, cert.RawSubject) {
			break
		}
		at = slices.IndexFunc(certs, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, cert.RawIssuer) && c != cert
		})
	}
	return found
}

func pemPair(content []byte, keyPassword string) (tls.Certificate, error) {
	content, err := decrypted(content, keyPassword)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		return tls.Certificate{}, errors.New("a PEM certificate chain and its private key are needed")
	}
	return pair, nil
}
