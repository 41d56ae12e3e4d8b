package faultproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Postgres is a proxy in front of a PostgreSQL server. A request is one round trip: all messages up to and with a Query or a
// Sync (https://www.postgresql.org/docs/current/protocol-flow.html), of clients that wait for each answer. Connections are not
// encrypted.
type Postgres struct {
	// Addr is its own address, 127.0.0.1:port.
	Addr string
	ledger

	target   string
	listener net.Listener

	opening sync.Mutex
	open    map[net.Conn]bool
}

// NewPostgres starts a proxy in front of the server at host:port. It passes everything on until Follow. Close ends it.
func NewPostgres(target string) (*Postgres, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	p := &Postgres{Addr: listener.Addr().String(), target: target, listener: listener, open: map[net.Conn]bool{}}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil { // closed
				return
			}
			go p.serve(client)
		}
	}()
	return p, nil
}

// Close ends the proxy and every connection.
func (p *Postgres) Close() {
	_ = p.listener.Close() // it listens to nobody any more either way
	p.opening.Lock()
	defer p.opening.Unlock()
	for conn := range p.open {
		_ = conn.Close() // it is to be broken
	}
}

// keep remembers a connection for Close, until it is told to forget it.
func (p *Postgres) keep(conn net.Conn) (forget func()) {
	p.opening.Lock()
	defer p.opening.Unlock()
	p.open[conn] = true
	return func() {
		_ = conn.Close() // once more may be
		p.opening.Lock()
		defer p.opening.Unlock()
		delete(p.open, conn)
	}
}

// serve carries one connection until either side, or a fault, ends it.
func (p *Postgres) serve(client net.Conn) {
	defer p.keep(client)()
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		return
	}
	defer p.keep(server)()
	s := &session{client: client, server: server, settled: make(chan struct{}, 1)}
	if s.greet() != nil {
		return
	}
	go func() {
		s.answers()
		_ = client.Close() // the server has gone, and so has the session
	}()
	for {
		request, what, err := s.request()
		if err != nil {
			return
		}
		x := &roundTrip{s, request}
		if what.Verb == "" {
			x.pass()
			continue
		}
		fault := p.next(what)
		if fault == nil {
			x.pass()
			continue
		}
		fault.do(x)
		if x.broken {
			return
		}
	}
}

// session is one client's connection.
type session struct {
	client, server net.Conn
	broken         bool

	mu sync.Mutex
	// muted keeps answers from the client; settled says that the server has answered a round trip meanwhile.
	muted   bool
	settled chan struct{}
}

// Codes that a connection may begin with in place of a version of the protocol.
const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// greet passes on how the session begins, and refuses encryption as a server without it does.
func (s *session) greet() error {
	for {
		var head [8]byte
		if _, err := io.ReadFull(s.client, head[:]); err != nil {
			return err
		}
		switch binary.BigEndian.Uint32(head[4:]) {
		case sslRequest, gssRequest:
			if _, err := s.client.Write([]byte{'N'}); err != nil {
				return err
			}
		default: // a version, or the cancelling of a request: both go on as they are
			rest := make([]byte, int64(binary.BigEndian.Uint32(head[:4]))-int64(len(head)))
			if _, err := io.ReadFull(s.client, rest); err != nil {
				return err
			}
			_, err := s.server.Write(append(head[:], rest...))
			return err
		}
	}
}

// message reads one message with its head.
func message(from io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	if length < 4 || length > 1<<28 {
		return nil, errors.New("faultproxy: a message of an impossible length")
	}
	m := append(head[:], make([]byte, length-4)...)
	_, err := io.ReadFull(from, m[len(head):])
	return m, err
}

// request reads from the client up to the end of a round trip. What has no verb is none, such as a password.
func (s *session) request() (all []byte, what Request, err error) {
	for {
		m, err := message(s.client)
		if err != nil {
			return nil, Request{}, err
		}
		all = append(all, m...)
		switch m[0] {
		case 'P': // Parse: a name, the statement
			_, what.Object, _ = strings.Cut(string(m[5:]), "\x00")
			what.Object, _, _ = strings.Cut(what.Object, "\x00")
		case 'Q':
			what.Verb, what.Object = "Query", strings.TrimRight(string(m[5:]), "\x00")
		case 'S':
			what.Verb = "Sync"
		}
		what.Length = int64(len(all))
		if what.Verb != "" || m[0] == 'p' || m[0] == 'X' {
			return all, what, nil
		}
	}
}

// answers passes the server's answers to the client, unless they are kept back, until one of them has gone.
func (s *session) answers() {
	for {
		m, err := message(s.server)
		s.mu.Lock()
		muted := s.muted
		switch {
		case muted && (err != nil || m[0] == 'Z'): // ReadyForQuery
			select {
			case s.settled <- struct{}{}:
			default: // told already
			}
		case err == nil && !muted:
			_, err = s.client.Write(m)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// roundTrip is one request of a session.
type roundTrip struct {
	*session
	request []byte
}

func (x *roundTrip) pass() {
	_, err := x.server.Write(x.request)
	x.broken = x.broken || err != nil
}

func (x *roundTrip) carryOut() {
	x.mu.Lock()
	x.muted = true
	x.mu.Unlock()
	if x.pass(); !x.broken {
		<-x.settled
	}
}

func (x *roundTrip) reset() {
	x.broken = true
	if tcp, ok := x.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends with FIN, as well
	}
	_ = x.client.Close() // it is to be broken
}

// Shutdown ends the session as a server does that is being shut down, or fails over to another: with the error 57P01
// (https://www.postgresql.org/docs/current/errcodes-appendix.html). It is PostgreSQL's alone.
func Shutdown(applied bool) Fault {
	return Fault{Name: named("57P01", applied), do: func(e exchange) {
		x := e.(*roundTrip)
		if applied {
			x.carryOut()
		}
		x.mu.Lock()
		x.muted = true
		text := "SFATAL\x00VFATAL\x00C57P01\x00Mterminating connection due to administrator command\x00\x00"
		m := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(text)))
		_, _ = x.client.Write(append(m, text...)) // the session ends in any case
		x.mu.Unlock()
		x.broken = true
	}}
}
