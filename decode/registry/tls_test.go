package registry

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/batch"
)

// certificate makes one that is signed by itself, for a client or a server of the names; both in one PEM text.
func certificate(t *testing.T, names ...string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sluice"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}[:min(1, len(names))], IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	pair, err := tls.X509KeyPair([]byte(text), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return pair, text
}

// written is a file with the text.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// secure serves the handler over TLS with a certificate, and wants one of the client if trusted is not empty.
func secure(t *testing.T, handler http.Handler, own tls.Certificate, trusted string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	if trusted != "" {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.TLS.ClientCAs.AppendCertsFromPEM([]byte(trusted))
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func ask(t *testing.T, properties map[string]string) error {
	t.Helper()
	c, err := New(Options{Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Schema(t.Context(), Number(7))
	return err
}

func TestCertificatesOfAFileAreTrusted(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 1, Avro, money)
	own, text := certificate(t, "localhost")
	url := secure(t, f, own, "")
	for _, properties := range []map[string]string{
		at(url, "schema.registry.ssl.truststore.location", written(t, text), "schema.registry.ssl.truststore.type", "PEM"),
		at(url, "ssl.truststore.certificates", text),
	} {
		if err := ask(t, properties); err != nil {
			t.Errorf("got %v", err)
		}
	}
}

func TestAServerThatIsNotTrustedIsAskedNothing(t *testing.T) {
	f := newFake(t)
	own, text := certificate(t, "localhost")
	_, other := certificate(t, "localhost")
	url := secure(t, f, own, "")
	for _, properties := range []map[string]string{at(url), at(url, "ssl.truststore.certificates", other)} {
		wantFault(t, ask(t, properties), batch.NotSetUp, url+" cannot be trusted: ", "ssl.truststore.location")
	}
	named, text2 := certificate(t)
	url = secure(t, f, named, "")
	wantFault(t, ask(t, at(url, "ssl.truststore.certificates", text2)), batch.NotSetUp, "cannot be trusted", "127.0.0.1")
	if f.count() != 0 {
		t.Errorf("got %d requests, want none", f.count())
	}
	// Without the check of the name, the chain is checked all the same.
	f.add(7, "money-value", 1, Avro, money)
	if err := ask(t, at(url, "ssl.truststore.certificates", text2, "ssl.endpoint.identification.algorithm", "")); err != nil {
		t.Errorf("got %v", err)
	}
	wantFault(t, ask(t, at(url, "ssl.truststore.certificates", text, "ssl.endpoint.identification.algorithm", "")), batch.NotSetUp, "cannot be trusted")
}

func TestAClientShowsItsCertificate(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 1, Avro, money)
	own, text := certificate(t, "localhost")
	_, client := certificate(t, "client")
	url := secure(t, f, own, client)
	chain, key := client[:strings.Index(client, "-----BEGIN PRIVATE")], client[strings.Index(client, "-----BEGIN PRIVATE"):]
	for _, properties := range []map[string]string{
		at(url, "ssl.truststore.certificates", text, "ssl.keystore.location", written(t, client), "ssl.keystore.type", "PEM"),
		at(url, "ssl.truststore.certificates", text, "ssl.keystore.certificate.chain", chain, "ssl.keystore.key", key),
	} {
		if err := ask(t, properties); err != nil {
			t.Errorf("got %v", err)
		}
	}
	wantFault(t, ask(t, at(url, "ssl.truststore.certificates", text)), batch.NotSetUp, url+" ends the TLS handshake", "certificate required")
	f.authorization = "other"
	err := ask(t, at(url, "ssl.truststore.certificates", text, "ssl.keystore.location", written(t, client)))
	wantFault(t, err, batch.NotSetUp, "answers 401", "to the owner of the certificate in ssl.keystore")
}

func TestAPlainServerBehindHTTPSIsTold(t *testing.T) {
	server := httptest.NewServer(newFake(t))
	defer server.Close()
	wantFault(t, ask(t, at(strings.Replace(server.URL, "http:", "https:", 1))), batch.NotSetUp, "does not speak TLS, though its address begins with https://")
}

func TestFilesThatCannotBeUsedAreTold(t *testing.T) {
	_, text := certificate(t, "localhost")
	_, other := certificate(t, "localhost")
	key := other[strings.Index(other, "-----BEGIN PRIVATE"):]
	for _, c := range []struct {
		name, value, want string
	}{
		{"ssl.truststore.location", "/no/such/file", "no such file"},
		{"ssl.truststore.location", t.TempDir(), "is no regular file"},
		{"ssl.truststore.location", written(t, "secret text"), "is neither PEM nor JKS nor PKCS12"},
		{"ssl.truststore.location", written(t, key), "holds no PEM certificate"},
		{"ssl.keystore.location", written(t, key), "a PEM certificate chain and its private key are needed"},
		{"ssl.keystore.location", written(t, text[:strings.Index(text, "-----BEGIN PRIVATE")]+key), "a PEM certificate chain and its private key are needed"},
		{"ssl.keystore.location", written(t, strings.ReplaceAll(text, "PRIVATE", "ENCRYPTED PRIVATE")), "set ssl.key.password"},
		{"ssl.keystore.key", key, "a PEM certificate chain and its private key are needed"},
	} {
		_, err := New(Options{Properties: at("https://r", c.name, c.value)})
		wantFault(t, err, batch.NotSetUp, "schema registry property "+c.name[:strings.LastIndex(c.name, ".")], c.want)
		withoutSecrets(t, err, "secret text", "BEGIN")
	}
}

func TestAProxyIsUsed(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 1, Avro, money)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "r.invalid:8081" {
			t.Errorf("got %s", r.URL)
		}
		r.Header.Del("Accept-Encoding")
		f.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(proxy.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t, at("http://r.invalid:8081", "proxy.host", host, "proxy.port", port)); err != nil || f.count() != 1 {
		t.Errorf("got %v after %d requests", err, f.count())
	}
}

func TestAnAnswerThatIsSmallOnTheWireIsBoundedToo(t *testing.T) {
	f := newFake(t)
	f.add(7, "money-value", 1, Avro, strings.Repeat("x", 1<<20))
	server := httptest.NewServer(gzipped{f})
	defer server.Close()
	c, err := New(Options{Properties: at(server.URL), MaxBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Schema(t.Context(), Number(7))
	wantFault(t, err, batch.NotSetUp, "sends more than 65536 bytes")
}

// gzipped packs the answers.
type gzipped struct{ behind http.Handler }

func (g gzipped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	g.behind.ServeHTTP(recorder, r)
	w.Header().Set("Content-Encoding", "gzip")
	pack := gzip.NewWriter(w)
	_, _ = pack.Write(recorder.Body.Bytes())
	_ = pack.Close()
}
