package tlsfile

import (
	"crypto"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// Java's own store, as sun.security.provider.JavaKeyStore writes it: magic, version, number of entries, the entries, and a
// digest of all that with the password. Numbers are big-endian.
var (
	jksMagic   = []byte{0xfe, 0xed, 0xfe, 0xed}
	jceksMagic = []byte{0xce, 0xce, 0xce, 0xce}
)

// jks is what a store holds.
type jks struct {
	trusted []*x509.Certificate
	keys    []jksKey
}

// jksKey is an encrypted private key with its chain.
type jksKey struct {
	sealed []byte
	chain  [][]byte
}

var errDamaged = errors.New("it is a JKS file that is damaged or cut short")

// The tags of entries.
const (
	jksKeyEntry  = 1
	jksCertEntry = 2
)

// parseJKS reads a store. Without a password its digest is not checked, as in Java.
func parseJKS(content []byte, password string) (*jks, error) {
	if len(content) < len(jksMagic)+8+sha1.Size {
		return nil, errDamaged
	}
	body, digest := content[:len(content)-sha1.Size], content[len(content)-sha1.Size:]
	if password != "" && subtle.ConstantTimeCompare(digest, jksDigest(password, body)) == 0 {
		return nil, errPassword
	}
	r := &jksCursor{rest: body[len(jksMagic):]}
	version, entries := r.number(), r.number()
	j := &jks{}
	for range entries {
		if r.short || version != 1 && version != 2 {
			return nil, errDamaged
		}
		if err := j.entry(r, version); err != nil {
			return nil, err
		}
	}
	if r.short || len(r.rest) != 0 {
		return nil, errDamaged
	}
	return j, nil
}

func (j *jks) entry(r *jksCursor, version uint32) error {
	tag := r.number()
	r.text()  // the alias
	r.take(8) // when it was made
	switch tag {
	case jksKeyEntry:
		k := jksKey{sealed: r.block()}
		for n := r.number(); n > 0 && !r.short; n-- {
			k.chain = append(k.chain, r.certificate(version))
		}
		j.keys = append(j.keys, k)
	case jksCertEntry:
		der := r.certificate(version)
		cert, err := x509.ParseCertificate(der)
		if err != nil && !r.short {
			return errors.New("it holds a certificate that cannot be read")
		}
		j.trusted = append(j.trusted, cert)
	default:
		return errDamaged
	}
	return nil
}

// pairs opens the private keys.
func (j *jks) pairs(password string) ([]tls.Certificate, error) {
	var pairs []tls.Certificate
	for _, k := range j.keys {
		key, err := k.open(password)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, tls.Certificate{PrivateKey: key, Certificate: k.chain})
	}
	if len(pairs) == 0 {
		return nil, errors.New("it holds no private key with its certificate")
	}
	return pairs, nil
}

// jksProtection is the algorithm by which JKS hides private keys (sun.security.provider.KeyProtector).
var jksProtection = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}

// sealedKey is PKCS#8's EncryptedPrivateKeyInfo (RFC 5958).
type sealedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// open undoes the protection: a salt, the key with a stream of digests over it, and a digest of password and key.
func (k jksKey) open(password string) (crypto.PrivateKey, error) {
	var sealed sealedKey
	rest, err := asn1.Unmarshal(k.sealed, &sealed)
	if err != nil || len(rest) != 0 || !sealed.Algorithm.Algorithm.Equal(jksProtection) || len(sealed.Data) < 2*sha1.Size || len(k.chain) == 0 {
		return nil, errDamaged
	}
	secret := javaChars(password)
	mask, data, digest := sealed.Data[:sha1.Size], sealed.Data[sha1.Size:len(sealed.Data)-sha1.Size], sealed.Data[len(sealed.Data)-sha1.Size:]
	plain := make([]byte, len(data))
	for i := range data {
		if i%sha1.Size == 0 {
			mask = sha1Of(secret, mask)
		}
		plain[i] = data[i] ^ mask[i%sha1.Size]
	}
	if subtle.ConstantTimeCompare(digest, sha1Of(secret, plain)) == 0 {
		return nil, errors.New("the password of the private key does not fit: set ssl.key.password if it is another than that of the file")
	}
	key, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, errors.New("it holds a private key of a kind that TLS has no use for")
	}
	return key, nil
}

func jksDigest(password string, body []byte) []byte {
	return sha1Of(javaChars(password), []byte("Mighty Aphrodite"), body)
}

func sha1Of(parts ...[]byte) []byte {
	h := sha1.New()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// javaChars are the characters of a text as Java has them, two bytes each.
func javaChars(text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.BigEndian.AppendUint16(b, unit)
	}
	return b
}

// jksCursor reads a store from its front. Once too little is left short is set, and all that is read is empty.
type jksCursor struct {
	rest  []byte
	short bool
}

func (r *jksCursor) take(n int) []byte {
	if r.short || n < 0 || n > len(r.rest) {
		r.short = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *jksCursor) number() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *jksCursor) text() string {
	if b := r.take(2); b != nil {
		return string(r.take(int(binary.BigEndian.Uint16(b))))
	}
	return ""
}

func (r *jksCursor) block() []byte { return r.take(int(r.number())) }

// certificate has its type before it since version 2; it is always X.509.
func (r *jksCursor) certificate(version uint32) []byte {
	if version == 2 {
		r.text()
	}
	return r.block()
}
