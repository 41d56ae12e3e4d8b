package tlsfile

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
	"strings"
)

// decrypted is PEM with its encrypted private keys in the clear (PKCS#8, RFC 5958), as openssl and keytool write them today.
func decrypted(content []byte, password string) ([]byte, error) {
	if !bytes.Contains(content, []byte("ENCRYPTED")) {
		return content, nil
	}
	var plain []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, errors.New("the private key is encrypted in a way that is no longer safe; openssl pkcs8 -topk8 turns it into PKCS#8")
		case block.Type != "ENCRYPTED PRIVATE KEY":
		case password == "":
			return nil, errors.New("the private key is encrypted: set ssl.key.password")
		default:
			key, err := openPKCS8(block.Bytes, password)
			if err != nil {
				return nil, err
			}
			block = &pem.Block{Type: "PRIVATE KEY", Bytes: key}
		}
		plain = append(plain, pem.EncodeToMemory(block)...)
	}
	return plain, nil
}

// What PBES2 is made of (RFC 8018).
var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	digests   = map[string]func() hash.Hash{
		"":                    sha1.New, // the default of the standard
		"1.2.840.113549.2.7":  sha1.New,
		"1.2.840.113549.2.8":  sha256.New224,
		"1.2.840.113549.2.9":  sha256.New,
		"1.2.840.113549.2.10": sha512.New384,
		"1.2.840.113549.2.11": sha512.New,
		"1.2.840.113549.2.12": sha512.New512_224,
		"1.2.840.113549.2.13": sha512.New512_256,
	}
	ciphers = map[string]blockCipher{
		"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
		"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
		"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
		"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
	}
)

// blockCipher is one that PBES2 uses in CBC mode.
type blockCipher struct {
	keySize int
	open    func(key []byte) (cipher.Block, error)
}

type pbes2 struct {
	Derivation, Encryption pkix.AlgorithmIdentifier
}

type pbkdf2Parameters struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	Digest     pkix.AlgorithmIdentifier `asn1:"optional"`
}

// mostIterations bounds how long one key may keep a start waiting: ten times what is recommended today.
const mostIterations = 10_000_000

var errScheme = errors.New("the private key is encrypted by a scheme that sluice does not know; openssl pkcs8 -topk8 -v2 aes-256-cbc encrypts it by one that it knows")

// openPKCS8 decrypts a key. Padding that does not fit, and what is no key, both mean that the password is wrong.
func openPKCS8(der []byte, password string) ([]byte, error) {
	var sealed sealedKey
	var scheme pbes2
	var derive pbkdf2Parameters
	var iv []byte
	if !whole(der, &sealed) || !sealed.Algorithm.Algorithm.Equal(oidPBES2) ||
		!whole(sealed.Algorithm.Parameters.FullBytes, &scheme) || !scheme.Derivation.Algorithm.Equal(oidPBKDF2) ||
		!whole(scheme.Derivation.Parameters.FullBytes, &derive) || !whole(scheme.Encryption.Parameters.FullBytes, &iv) {
		return nil, errScheme
	}
	digest, known := digests[derive.Digest.Algorithm.String()]
	with, usable := ciphers[scheme.Encryption.Algorithm.String()]
	if !known || !usable || derive.Iterations < 1 || derive.Iterations > mostIterations {
		return nil, errScheme
	}
	key, err := pbkdf2.Key(digest, password, derive.Salt, derive.Iterations, with.keySize)
	if err != nil {
		return nil, errScheme
	}
	block, err := with.open(key)
	if err != nil || len(iv) != block.BlockSize() || len(sealed.Data) == 0 || len(sealed.Data)%block.BlockSize() != 0 {
		return nil, errScheme
	}
	plain := make([]byte, len(sealed.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, sealed.Data)
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > block.BlockSize() {
		return nil, errKeyPassword
	}
	plain = plain[:len(plain)-padding]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errKeyPassword
	}
	return plain, nil
}

var errKeyPassword = errors.New("ssl.key.password does not fit the private key")

func whole(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}
