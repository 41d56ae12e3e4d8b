package rig

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Database is a database of its own on a real PostgreSQL server, whose user may do anything on the server.
type Database struct {
	// URL is the database's address, password and all.
	URL string
	// Name is the database's, Address the server's: 127.0.0.1:port.
	Name, Address string
}

var postgres = sync.OnceValues(func() (map[string]string, error) {
	out, err := command("postgres", "start")
	return exports(out), err
})

// StartPostgres starts the shared PostgreSQL server, or finds it running, and returns the address of a database in which others
// can be made. It is Postgres for callers that are no tests.
func StartPostgres() (string, error) {
	env, err := postgres()
	return env["RIG_POSTGRES_URL"], err
}

// Postgres is an empty database on the shared server, started on first use. It is dropped when the test ends.
func Postgres(tb testing.TB) Database {
	tb.Helper()
	server, err := StartPostgres()
	if err != nil {
		tb.Fatal(err)
	}
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "t" + strings.ReplaceAll(fresh(tb), "-", "_")
	name = name[max(0, len(name)-60):]
	d := Database{Name: name, Address: u.Host}
	main := Database{URL: server}
	main.Do(tb, "CREATE DATABASE "+name)
	u.Path = "/" + name
	d.URL = u.String()
	tb.Cleanup(func() { main.Do(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return d
}

// Do carries statements out, as another program would.
func (d Database) Do(tb testing.TB, statements ...string) {
	tb.Helper()
	conn := d.Connect(tb)
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// Connect is a connection of another program's, closed when the test ends.
func (d Database) Connect(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// As is the database's address for another user, who is made with that password and may do nothing yet but connect.
func (d Database) As(tb testing.TB, user, password string) string {
	tb.Helper()
	user = user + "_" + d.Name[len(d.Name)-8:]
	d.Do(tb, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", user, password))
	tb.Cleanup(func() { // before the database is dropped
		d.Do(tb, "DROP OWNED BY "+user, "DROP ROLE "+user)
	})
	u, err := url.Parse(d.URL)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// Wire is a network cable in front of a server: what goes through it can be cut.
type Wire struct {
	// Address is where clients connect to.
	Address string

	mu    sync.Mutex
	rules func(fromClient bool, b []byte) Cut
	down  bool
	conns map[net.Conn]bool
}

// Cut says what becomes of some bytes.
type Cut int

const (
	// Pass lets them through.
	Pass Cut = iota
	// Before drops them, and both ends of the connection.
	Before
	// After lets them through and drops the connection once the other side has answered: the answer is lost.
	After
)

// Cable is a wire to a server. It is taken away when the test ends.
func Cable(tb testing.TB, server string) *Wire {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := &Wire{Address: listener.Addr().String(), conns: map[net.Conn]bool{}, rules: func(bool, []byte) Cut { return Pass }}
	var going sync.WaitGroup
	going.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			going.Go(func() { w.serve(client, server) })
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		w.Sever()
		going.Wait()
	})
	return w
}

// Through is an address with the wire in the place of the server.
func (w *Wire) Through(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = w.Address
	return u.String()
}

// Rule decides about all bytes from now on, as they come from the client or from the server.
func (w *Wire) Rule(rule func(fromClient bool, b []byte) Cut) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = rule
}

// Sever ends all connections, and refuses others until Mend.
func (w *Wire) Sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for conn := range w.conns {
		conn.Close()
	}
}

// Mend lets connections be made again.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

func (w *Wire) keep(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[conn] = true
	return !w.down
}

func (w *Wire) decide(fromClient bool, b []byte) Cut {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules(fromClient, b)
}

func (w *Wire) serve(client net.Conn, address string) {
	defer client.Close()
	if !w.keep(client) {
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	w.keep(server)
	var mute sync.Mutex
	muted := false
	var both sync.WaitGroup
	both.Go(func() {
		w.pump(server, client, func(b []byte) Cut {
			cut := w.decide(true, b)
			if cut == After {
				mute.Lock()
				muted = true
				mute.Unlock()
				return Pass
			}
			return cut
		})
	})
	both.Go(func() {
		w.pump(client, server, func(b []byte) Cut {
			mute.Lock()
			defer mute.Unlock()
			if muted {
				return Before
			}
			return w.decide(false, b)
		})
	})
	both.Wait()
}

// pump passes bytes on until one end is closed, and closes both then.
func (w *Wire) pump(to, from net.Conn, decide func([]byte) Cut) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if decide(b[:n]) != Pass {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
