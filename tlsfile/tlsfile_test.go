package tlsfile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The stores in testdata were made by keytool of OpenJDK 17 and openssl 3, as rig/secrets.sh does: an authority, and a client
// that it has certified.
const (
	storePassword = "rig-secret"
	keyPassword   = "key-secret"
)

func stored(name string) string { return filepath.Join("testdata", name) }

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(stored(name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func certificate(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestTrustStoresOfEveryTypeHoldTheAuthority(t *testing.T) {
	want := certificate(t, content(t, "ca.pem"))
	for name, files := range map[string]Files{
		"PEM":                  {Trust: stored("ca.pem"), TrustType: "PEM"},
		"PEM in the property":  {TrustPEM: string(content(t, "ca.pem"))},
		"JKS":                  {Trust: stored("trust.jks"), TrustType: "JKS", TrustPassword: storePassword},
		"JKS, unchecked":       {Trust: stored("trust.jks")},
		"PKCS12":               {Trust: stored("trust.p12"), TrustType: "PKCS12", TrustPassword: storePassword},
		"PKCS12 called JKS":    {Trust: stored("trust.p12"), TrustType: "jks", TrustPassword: storePassword},
		"JKS without its type": {Trust: stored("trust.jks"), TrustPassword: storePassword},
	} {
		certs, err := files.trusted()
		if err != nil || len(certs) != 1 || !certs[0].Equal(want) {
			t.Errorf("%s: got %d certificates, %v", name, len(certs), err)
		}
		if c, err := files.Config("client property"); err != nil || c.RootCAs == nil {
			t.Errorf("%s: got no configuration, %v", name, err)
		}
	}
}

func TestKeyStoresOfEveryTypeHoldTheKeyAndItsChain(t *testing.T) {
	ca := certificate(t, content(t, "ca.pem"))
	text := string(content(t, "client.pem"))
	chain := text[strings.Index(text, "-----BEGIN CERTIFICATE"):]
	for name, files := range map[string]Files{
		"JKS":                                 {Key: stored("client.jks"), KeyType: "JKS", StorePassword: storePassword, KeyPassword: keyPassword},
		"JKS, unchecked":                      {Key: stored("client.jks"), KeyPassword: keyPassword},
		"PKCS12":                              {Key: stored("client.p12"), KeyType: "PKCS12", StorePassword: storePassword},
		"PKCS12 with the key's password":      {Key: stored("client.p12"), StorePassword: storePassword, KeyPassword: storePassword},
		"encrypted PEM":                       {Key: stored("client.pem"), KeyType: "PEM", KeyPassword: keyPassword},
		"encrypted PEM in properties":         {ChainPEM: chain, KeyPEM: text, KeyPassword: keyPassword},
		"PEM encrypted by an older algorithm": {ChainPEM: chain, KeyPEM: string(content(t, "key-des3.pem")), KeyPassword: keyPassword},
	} {
		c, err := files.Config("client property")
		if err != nil || len(c.Certificates) != 1 {
			t.Errorf("%s: got %v, want one certificate", name, err)
			continue
		}
		pair := c.Certificates[0]
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil || leaf.Subject.CommonName != "client" {
			t.Errorf("%s: got %v first, %v, want the client's certificate", name, leaf.Subject, err)
		}
		if len(pair.Certificate) < 2 || !bytes.Equal(pair.Certificate[1], ca.Raw) {
			t.Errorf("%s: got a chain of %d, want the authority behind the client", name, len(pair.Certificate))
		}
		// What TLS needs: the key must sign for the certificate.
		key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})); err != nil {
			t.Errorf("%s: the key is not that of the certificate: %v", name, err)
		}
	}
}

// A store that lost some of its bytes, or has some others, is told: none is read by halves, and none brings the program down.
func TestStoresThatAreDamagedAreTold(t *testing.T) {
	for _, name := range []string{"trust.jks", "client.jks", "trust.p12", "client.p12"} {
		whole := content(t, name)
		for n := range whole {
			s := store{content: whole[:n], kind: kindOf(whole)}
			if _, err := s.certificates(storePassword); err == nil {
				t.Errorf("%s: got no error of the first %d bytes", name, n)
			}
			if _, err := s.pairs(storePassword, keyPassword); err == nil {
				t.Errorf("%s: got no error of the first %d bytes as a key", name, n)
			}
			if strings.HasSuffix(name, ".p12") && n%128 != 0 { // its digest takes a while to make
				continue
			}
			flipped := slices.Clone(whole)
			flipped[n] ^= 0x40
			if pairs, err := (store{content: flipped, kind: kindOf(whole)}).pairs(storePassword, keyPassword); err == nil && strings.HasSuffix(name, ".jks") {
				t.Errorf("%s: got %d keys though byte %d is another", name, len(pairs), n)
			}
			if _, err := parseJKS(flipped, ""); err == nil && n < len(jksMagic)+8 && n >= len(jksMagic) {
				t.Errorf("%s: got no error though byte %d of the head is another", name, n)
			}
		}
	}
}

func TestWhatCannotBeUsedIsToldWithItsPropertyAndWithoutItsContent(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
	sealed := strings.ReplaceAll(key, "PRIVATE", "ENCRYPTED PRIVATE")
	for _, c := range []struct {
		files Files
		want  string
	}{
		{Files{Trust: "/no/such/file"}, "client property ssl.truststore.location: stat /no/such/file: no such file"},
		{Files{Trust: t.TempDir()}, "is no regular file"},
		{Files{Trust: written(t, strings.Repeat("secret ", 1<<20))}, "is larger than 4 MiB"},
		{Files{Key: written(t, "secret")}, "is neither PEM nor JKS nor PKCS12"},
		{Files{Key: written(t, "\xce\xce\xce\xcesecret")}, "but JCEKS; keytool"},
		{Files{Trust: written(t, key)}, "it holds no PEM certificate"},
		{Files{TrustPEM: "secret"}, "client property ssl.truststore: it holds no PEM certificate"},
		{Files{Trust: stored("ca.pem"), TrustType: "JKS"}, "is PEM, and the type says JKS"},
		{Files{Trust: stored("trust.jks"), TrustType: "PEM"}, "is JKS, and the type says PEM"},
		{Files{Trust: stored("ca.pem"), TrustPassword: "secret"}, "ssl.truststore.password: PEM has no password"},
		{Files{Trust: stored("trust.jks"), TrustPassword: "secret"}, "ssl.truststore.location testdata/trust.jks: the password does not fit"},
		{Files{Trust: stored("trust.p12"), TrustPassword: "secret"}, "the password does not fit"},
		{Files{Trust: stored("trust.p12")}, "the password does not fit"},
		{Files{Trust: stored("client.jks"), TrustPassword: storePassword}, "it holds no certificate to trust"},
		{Files{Trust: stored("client.p12"), TrustPassword: storePassword}, "make the store with keytool -importcert"},
		{Files{Key: stored("client.jks"), StorePassword: storePassword}, "the password of the private key does not fit: set ssl.key.password"},
		{Files{Key: stored("client.jks"), StorePassword: "secret", KeyPassword: keyPassword}, "the password does not fit"},
		{Files{Key: stored("client.p12"), StorePassword: "secret"}, "the password does not fit"},
		{Files{Key: stored("trust.jks"), StorePassword: storePassword}, "it holds no private key"},
		{Files{Key: stored("trust.p12"), StorePassword: storePassword}, "it holds no private key"},
		{Files{Key: stored("client.pem"), StorePassword: "secret"}, "ssl.keystore.password: PEM has no password"},
		{Files{Key: stored("client.pem")}, "the private key is encrypted: set ssl.key.password"},
		{Files{Key: stored("client.pem"), KeyPassword: "secret"}, "ssl.key.password does not fit the private key"},
		{Files{Key: key}, "client property ssl.keystore.location: is PEM text and no path"},
		{Files{Trust: "/jobs/" + key}, "client property ssl.truststore.location: is PEM text and no path"},
		{Files{Key: written(t, key)}, "a PEM certificate chain and its private key are needed"},
		{Files{KeyPEM: key}, "client property ssl.keystore: a PEM certificate chain and its private key are needed"},
		{Files{ChainPEM: key}, "a PEM certificate chain and its private key are needed"},
		{Files{KeyPEM: sealed, KeyPassword: "secret"}, "openssl pkcs8 -topk8"},
		{Files{KeyPEM: strings.Replace(key, "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-CBC,00\n\n", 1), KeyPassword: "secret"}, "no longer safe"},
	} {
		_, err := c.files.Config("client property")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(strings.ReplaceAll(err.Error(), "rig-secret", ""), "secret") || strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestNothingIsGivenAndTheSystemIsTrusted(t *testing.T) {
	c, err := Files{}.Config("client property")
	if err != nil || c.RootCAs != nil || c.Certificates != nil || c.InsecureSkipVerify || c.VerifyConnection != nil || c.MinVersion != tls.VersionTLS12 || c.MaxVersion != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestTypesOfStoresAndChecksOfHostsAreThoseThatCanBe(t *testing.T) {
	for value, ok := range map[string]bool{"PEM": true, "JKS": true, "PKCS12": true, "pkcs12": true, "JCEKS": false, "": false} {
		if err := CheckType(value); (err == nil) != ok {
			t.Errorf("%q: got %v", value, err)
		}
	}
	for value, want := range map[string]bool{"https": false, "HTTPS": false, "": true} {
		var f Files
		if err := f.CheckHost(value); err != nil || f.AnyHost != want {
			t.Errorf("%q: got any host %v, %v, want %v", value, f.AnyHost, err, want)
		}
	}
	if err := new(Files).CheckHost("none"); err == nil {
		t.Error("none was taken")
	}
}

func TestWhatMayBeNegotiatedIsWhatIsNamed(t *testing.T) {
	const modern, older = "TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	for _, c := range []struct {
		protocols, ciphers string
		least, most        uint16
		suites             []uint16
	}{
		{"TLSv1.2", "", tls.VersionTLS12, tls.VersionTLS12, nil},
		{"TLSv1.3, TLSv1.2", "", tls.VersionTLS12, tls.VersionTLS13, nil},
		{"", older, tls.VersionTLS12, tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}},
		{"", modern, tls.VersionTLS13, 0, nil},
		{"", modern + "," + older, tls.VersionTLS12, 0, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}},
	} {
		got, err := Files{Protocols: c.protocols, Ciphers: c.ciphers}.Config("client property")
		if err != nil || got.MinVersion != c.least || got.MaxVersion != c.most || !slices.Equal(got.CipherSuites, c.suites) {
			t.Errorf("%q, %q: got %x to %x, %x, %v", c.protocols, c.ciphers, got.MinVersion, got.MaxVersion, got.CipherSuites, err)
		}
	}
	for value, want := range map[string]string{"TLSv1": "no longer safe", "TLSv1.2,SSLv3": "no longer safe", ",": "want TLSv1.2"} {
		if err := CheckProtocols(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
	for value, want := range map[string]string{"TLS_RSA_WITH_RC4_128_SHA": "no longer safe", "TLS_AES_128_GCM_SHA257": "the nearest is " + modern, "": "want names"} {
		if err := CheckCiphers(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
	if _, err := (Files{Protocols: "TLSv1.3", Ciphers: older}).Config("client property"); err == nil || !strings.Contains(err.Error(), "none of them is of a version") {
		t.Errorf("got %v", err)
	}
}

func TestAPropertyOfTLSIsNotEmptyButTheCheckOfHosts(t *testing.T) {
	for name, p := range Properties {
		var f Files
		err := p.Set(&f, "")
		if name == "ssl.endpoint.identification.algorithm" {
			if err != nil || !f.AnyHost {
				t.Errorf("%s: got %v and %+v, want no check", name, err, f)
			}
		} else if err == nil || f != (Files{}) {
			t.Errorf("%s: got %v and %+v, want an error and nothing set", name, err, f)
		}
	}
}
