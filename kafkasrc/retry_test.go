package kafkasrc

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
)

// A broker that wants a certificate says so by an alert, after the handshake in TLS 1.3: that is for a human, and asking
// again does not help.
func TestAnAlertOfTheBrokerIsNoPassingFailure(t *testing.T) {
	a := newAuthority(t)
	chain, key := a.issue(t, "localhost")
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
		err := answerOver(t, server, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		if !permanent(err) {
			t.Errorf("%s: got %v as a failure that may pass", tls.VersionName(version), err)
		}
	}
	if refused := (&net.OpError{Op: "dial", Err: net.ErrClosed}); permanent(refused) {
		t.Errorf("got %v as a failure that does not pass", refused)
	}
}

// answerOver is the error of the first read from a server over TCP.
func answerOver(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake() // fails, and the client is told why
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), client)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}
