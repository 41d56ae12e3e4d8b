package faultproxy

import (
	"encoding/binary"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// database is a server that remembers statements and answers each round trip with a row count and ReadyForQuery.
type database struct {
	mu  sync.Mutex
	ran []string
}

func (d *database) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.serve(conn)
		}
	}()
	return listener.Addr().String()
}

func (d *database) serve(conn net.Conn) {
	defer conn.Close()
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:]))-4); err != nil {
		return
	}
	_, _ = conn.Write(append(wire('R', "\x00\x00\x00\x00"), wire('Z', "I")...))
	for statement := ""; ; {
		m, err := message(conn)
		if err != nil {
			return
		}
		switch m[0] {
		case 'P':
			statement = strings.Trim(string(m[5:]), "\x00")
		case 'Q':
			statement = strings.Trim(string(m[5:]), "\x00")
			fallthrough
		case 'S':
			d.mu.Lock()
			d.ran = append(d.ran, statement)
			d.mu.Unlock()
			_, _ = conn.Write(append(wire('C', "UPDATE 1\x00"), wire('Z', "T")...))
		}
	}
}

func wire(kind byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(text))), text...)
}

// opened is a session that begins as clients do: it asks for encryption first.
func opened(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var no [1]byte
	_, err = conn.Write([]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}) // 80877103
	if err == nil {
		_, err = io.ReadFull(conn, no[:])
	}
	if err != nil || no[0] != 'N' {
		t.Fatalf("got %q, %v for encryption", no, err)
	}
	_, err = conn.Write(append([]byte{0, 0, 0, 16, 0, 3, 0, 0}, "user\x00me\x00"...))
	if err == nil {
		_, err = message(conn)
	}
	if err == nil {
		_, err = message(conn)
	}
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	return conn
}

// asked sends a round trip and returns the answers up to ReadyForQuery, or to the connection's end.
func asked(conn net.Conn, request ...[]byte) (answers []string) {
	for _, m := range request {
		if _, err := conn.Write(m); err != nil {
			return answers
		}
	}
	for {
		m, err := message(conn)
		if err != nil {
			return append(answers, "end")
		}
		answers = append(answers, string(m[:1]))
		if m[0] == 'Z' {
			return answers
		}
	}
}

func TestEachFaultOfADatabaseAnswersAsItSaysAndAppliesAsItSays(t *testing.T) {
	var killed atomic.Int32
	for _, c := range []struct {
		fault   Fault
		answers []string
		applied bool
	}{
		{Delay(1), []string{"C", "Z"}, true},
		{Reset(false), []string{"end"}, false},
		{Reset(true), []string{"end"}, true},
		{Kill(true, func() { killed.Add(1) }), []string{"end"}, true},
		{Shutdown(false), []string{"E", "end"}, false},
		{Shutdown(true), []string{"E", "end"}, true},
	} {
		d := &database{}
		p, err := NewPostgres(d.listen(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		p.Follow(Nth(2, c.fault))
		conn := opened(t, p.Addr)
		if got := asked(conn, wire('Q', "BEGIN\x00")); !reflect.DeepEqual(got, []string{"C", "Z"}) {
			t.Errorf("%s: before it: got %v", c.fault.Name, got)
		}
		got := asked(conn, wire('P', "\x00UPDATE a\x00\x00\x00"), wire('B', "\x00\x00"), wire('E', "\x00\x00\x00\x00\x00"), wire('S', ""))
		if !reflect.DeepEqual(got, c.answers) {
			t.Errorf("%s: got %v, want %v", c.fault.Name, got, c.answers)
		}
		want := []string{"BEGIN"}
		if c.applied {
			want = append(want, "UPDATE a")
		}
		d.mu.Lock()
		if !reflect.DeepEqual(d.ran, want) {
			t.Errorf("%s: the server ran %q, want %q", c.fault.Name, d.ran, want)
		}
		d.mu.Unlock()
		if got, want := p.Dealt(), []Strike{{2, c.fault.Name, "Sync UPDATE a"}}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := asked(opened(t, p.Addr), wire('Q', "SELECT 1\x00")); !reflect.DeepEqual(got, []string{"C", "Z"}) {
			t.Errorf("%s: the next session: got %v", c.fault.Name, got)
		}
	}
	if killed.Load() != 1 {
		t.Errorf("killed %d times, want once", killed.Load())
	}
}

func TestTheEndOfAServerEndsTheSession(t *testing.T) {
	d := &database{}
	p, err := NewPostgres(d.listen(t))
	if err != nil {
		t.Fatal(err)
	}
	conn := opened(t, p.Addr)
	p.Close()
	if got := asked(conn); !reflect.DeepEqual(got, []string{"end"}) {
		t.Errorf("got %v after the proxy was closed", got)
	}
}
