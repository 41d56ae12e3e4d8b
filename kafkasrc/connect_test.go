package kafkasrc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/offsets"
)

// deaf listens and never answers; closed is an address that refuses.
func deaf(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func refusing(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

func TestBrokersThatDoNotAnswerAreNamedInTime(t *testing.T) {
	for name, c := range map[string]struct {
		seeds string
		texts []string
	}{
		"refused":         {refusing(t), []string{"connection refused"}},
		"several refused": {refusing(t) + "," + refusing(t), []string{"connection refused"}},
		"deaf":            {deaf(t), []string{"gave up after 50ms"}},
		"no such host":    {"no-such-host.invalid:9092", []string{"no-such-host.invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := broker{}.options2(c.seeds)
			options.Limits.Connect = 50 * time.Millisecond
			_, err := Open(t.Context(), options)
			wantFault(t, err, batch.Failed, append(strings.Split(c.seeds, ","), c.texts...)...)
			if batch.HintOf(err) == "" {
				t.Error("the error has no hint")
			}
		})
	}
}

func (broker) options2(seeds string) Options {
	return Options{Client: map[string]string{"bootstrap.servers": seeds}, Subscription: topics("orders"), Limits: quick()}
}

// misplaced makes the cluster tell that the leader of orders-0 is broker 7 at the address.
func (b broker) misplaced(tb testing.TB, address string) {
	tb.Helper()
	to, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	b.replace(kmsg.Metadata, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 7, Host: "127.0.0.1", Port: int32(to.Port)}}
		resp.Topics = []kmsg.MetadataResponseTopic{{Topic: kmsg.StringPtr("orders"), TopicID: [16]byte{1},
			Partitions: []kmsg.MetadataResponseTopicPartition{{Leader: 7, LeaderEpoch: 0}}}}
		return resp
	})
}

func TestALeaderBehindAWrongAddressIsNamedInTime(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	address := refusing(t)
	b.misplaced(t, address)
	options := b.options(topics("orders"))
	options.Limits.Connect = 50 * time.Millisecond
	s := mustOpen(t, options)
	_, err := s.View(t.Context(), batch.ReadCommitted, nil)
	wantFault(t, err, batch.Failed, address, "connection refused")
	_, err = drain(read(t, s, pieceOfTopic("orders", 0, 0, 10)))
	wantFault(t, err, batch.Failed, address, "connection refused", "orders-0")
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := Open(ctx, broker{}.options2(deaf(t))); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}

// authority issues certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(tb testing.TB) authority {
	tb.Helper()
	key := newKey(tb)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	a := authority{cert: cert, key: key, file: filepath.Join(tb.TempDir(), "ca.pem")}
	write(tb, a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func write(tb testing.TB, file string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// issue makes certificate and key in PEM.
func (a authority) issue(tb testing.TB, hosts ...string) (chain, key []byte) {
	tb.Helper()
	private := newKey(tb)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

func tlsBroker(tb testing.TB, a authority, host string, clientAuth tls.ClientAuthType) broker {
	tb.Helper()
	chain, key := a.issue(tb, host)
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"),
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: clientAuth}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Close)
	return broker{Cluster: cluster}
}

func TestTLSConnectsWithPEMFilesAndProperties(t *testing.T) {
	a := newAuthority(t)
	chain, key := a.issue(t, "client")
	both := filepath.Join(t.TempDir(), "client.pem")
	write(t, both, append(append([]byte(nil), key...), chain...))
	inline, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	ip := tlsBroker(t, a, "127.0.0.1", tls.RequireAndVerifyClientCert)
	otherName := tlsBroker(t, a, "kafka.example.com", tls.NoClientCert)
	for name, c := range map[string]struct {
		broker     broker
		properties map[string]string
	}{
		"files":         {ip, map[string]string{"ssl.truststore.type": "PEM", "ssl.truststore.location": a.file, "ssl.keystore.type": "PEM", "ssl.keystore.location": both}},
		"properties":    {ip, map[string]string{"ssl.truststore.certificates": string(inline), "ssl.keystore.certificate.chain": string(chain), "ssl.keystore.key": string(key)}},
		"no host check": {otherName, map[string]string{"ssl.truststore.location": a.file, "ssl.endpoint.identification.algorithm": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			options := c.broker.options(topics("orders"))
			options.Client["security.protocol"] = "SSL"
			for k, v := range c.properties {
				options.Client[k] = v
			}
			if got := mustView(t, mustOpen(t, options), offsets.Offsets{}).Ends().String(); got != `{"orders":{"0":0}}` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestTLSFaultsSayWhatIsWrong(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	ip, otherName := tlsBroker(t, a, "127.0.0.1", tls.NoClientCert), tlsBroker(t, a, "kafka.example.com", tls.NoClientCert)
	for name, c := range map[string]struct {
		broker     broker
		properties map[string]string
		text       string
	}{
		"unknown authority":     {ip, map[string]string{"ssl.truststore.location": stranger.file}, "certificate"},
		"another host":          {otherName, map[string]string{"ssl.truststore.location": a.file}, "certificate"},
		"stranger, any host":    {otherName, map[string]string{"ssl.truststore.location": stranger.file, "ssl.endpoint.identification.algorithm": ""}, "unknown authority"},
		"plain to a TLS broker": {ip, map[string]string{"security.protocol": "PLAINTEXT"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			options := c.broker.options(topics("orders"))
			options.Client["security.protocol"] = "SSL"
			options.Limits.Connect = 200 * time.Millisecond
			for k, v := range c.properties {
				options.Client[k] = v
			}
			_, err := Open(t.Context(), options)
			wantFault(t, err, batch.NotSetUp, c.text, c.broker.ListenAddrs()[0])
			if n := strings.Count(err.Error(), "unable to dial"); n > 1 {
				t.Errorf("the reason is told %d times: %v", n, err)
			}
			if !strings.Contains(batch.HintOf(err), "security.protocol") {
				t.Errorf("hint is %q", batch.HintOf(err))
			}
		})
	}
}

func TestTLSToAPlainBrokerSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // Kafka takes the handshake for a request of absurd size and hangs up
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4))
			c.Close()
		}
	}()
	options := broker{}.options2(l.Addr().String())
	options.Client["security.protocol"] = "SSL"
	options.Limits.Connect = 200 * time.Millisecond
	_, err = Open(t.Context(), options)
	wantFault(t, err, batch.Failed, "cannot connect to "+l.Addr().String())
	if !strings.Contains(batch.HintOf(err), "security.protocol") {
		t.Errorf("hint is %q", batch.HintOf(err))
	}
}

func TestKeyAndTrustFilesThatCannotBeReadTellNoContent(t *testing.T) {
	dir := t.TempDir()
	jks, half, other := filepath.Join(dir, "trust.jks"), filepath.Join(dir, "half.pem"), filepath.Join(dir, "other")
	write(t, jks, []byte("\xfe\xed\xfe\xed\x00\x00\x00\x02TOPSECRETTOPSECRETTOPSECRETTOPSECRET"))
	write(t, half, []byte("-----BEGIN PRIVATE KEY-----\nVE9QU0VDUkVU\n-----END PRIVATE KEY-----\n"))
	write(t, other, []byte("TOPSECRET"))
	for text, properties := range map[string]map[string]string{
		"ssl.truststore.location " + jks + ": it is a JKS file that is damaged": {"ssl.truststore.location": jks},
		"the password does not fit":       {"ssl.truststore.location": jks, "ssl.truststore.password": "TOPSECRET"},
		other + " is neither PEM nor JKS": {"ssl.truststore.location": other},
		"no such file":                    {"ssl.keystore.location": filepath.Join(dir, "absent.pem")},
		half + ": a PEM certificate":      {"ssl.keystore.location": half},
		"is PEM, and the type says JKS":   {"ssl.truststore.type": "JKS", "ssl.truststore.location": half},
		"the private key is encrypted":    {"ssl.keystore.certificate.chain": "x", "ssl.keystore.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nVE9QU0VDUkVU\n-----END ENCRYPTED PRIVATE KEY-----\n"},
	} {
		options := broker{}.options2("127.0.0.1:1")
		options.Client["security.protocol"] = "SSL"
		for k, v := range properties {
			options.Client[k] = v
		}
		_, err := Open(t.Context(), options)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want it to say %q", err, text)
		} else if strings.Contains(err.Error(), "TOPSECRET") || strings.Contains(err.Error(), "VE9QU0VDUkVU") {
			t.Errorf("error tells a secret: %v", err)
		}
	}
}
