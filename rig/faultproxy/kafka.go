package faultproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka is a proxy in front of all brokers of a cluster. Clients are given its own addresses for the brokers', in each answer
// to a Metadata request, so that they never go past it; the brokers' advertised.listeners stay as they are. A request is one of
// Kafka's protocol, with its name for a verb ("Fetch") and for an object the broker it goes to. Answers come in the order of the
// requests, as a broker sends them. Connections are not encrypted.
type Kafka struct {
	// Addr is the proxy's own address for the broker that it was made for.
	Addr string
	ledger

	mu sync.Mutex
	// doors are the proxy's own addresses by the brokers'.
	doors     map[string]string
	listeners []net.Listener
	open      map[net.Conn]bool
	closed    bool

	far       bool
	roundTrip time.Duration
}

// NewKafka starts a proxy in front of the cluster of the broker at host:port. It passes everything on until Follow. Close ends
// it.
func NewKafka(target string) (*Kafka, error) {
	k := &Kafka{doors: map[string]string{}, open: map[net.Conn]bool{}}
	addr, err := k.door(target)
	k.Addr = addr
	return k, err
}

// door is the proxy's own address for a broker, which is listened on from now on.
func (k *Kafka) door(target string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if addr, ok := k.doors[target]; ok {
		return addr, nil
	}
	if k.closed {
		return "", net.ErrClosed
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("start a proxy: %w", err)
	}
	k.doors[target] = listener.Addr().String()
	k.listeners = append(k.listeners, listener)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil { // closed
				return
			}
			go k.serve(client, target)
		}
	}()
	return k.doors[target], nil
}

// Close ends the proxy and every connection.
func (k *Kafka) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, listener := range k.listeners {
		_ = listener.Close() // it listens to nobody any more either way
	}
	for conn := range k.open {
		_ = conn.Close() // it is to be broken
	}
}

// keep remembers a connection for Close, until it is told to forget it.
func (k *Kafka) keep(conn net.Conn) (forget func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[conn] = true
	if k.closed {
		_ = conn.Close()
	}
	return func() {
		_ = conn.Close() // once more may be
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.open, conn)
	}
}

// serve carries one connection until either side, or a fault, ends it.
func (k *Kafka) serve(client net.Conn, target string) {
	defer k.keep(client)()
	server, err := net.DialTimeout("tcp", target, 10*time.Second)
	if err != nil {
		return
	}
	defer k.keep(server)()
	if k.far {
		k.carry(client, server)
		return
	}
	for {
		request, err := frame(client)
		if err != nil || len(request) < 12 {
			return
		}
		x := &kafkaExchange{kafka: k, client: client, server: server, request: request}
		x.key, x.version = int16(binary.BigEndian.Uint16(request[4:])), int16(binary.BigEndian.Uint16(request[6:]))
		fault := k.next(Request{Verb: kmsg.NameForKey(x.key), Object: target, Length: int64(len(request))})
		if fault == nil {
			x.pass()
		} else {
			fault.do(x)
		}
		if x.broken {
			return
		}
	}
}

// frame reads one message with the length before it.
func frame(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > 1<<30 {
		return nil, errors.New("faultproxy: a message of an impossible length")
	}
	m := append(head[:], make([]byte, length)...)
	_, err := io.ReadFull(from, m[4:])
	return m, err
}

// kafkaExchange is one request to a broker.
type kafkaExchange struct {
	kafka          *Kafka
	client, server net.Conn
	request        []byte
	key, version   int16
	broken         bool
}

// answer has the broker carry the request out, and is what it says; nil if the connection has broken.
func (x *kafkaExchange) answer() []byte {
	_, err := x.server.Write(x.request)
	var answer []byte
	if err == nil {
		answer, err = frame(x.server)
	}
	if err == nil && x.key == int16(kmsg.Metadata) {
		answer, err = x.kafka.readdress(answer, x.version)
	}
	if err != nil {
		x.broken = true
		return nil
	}
	return answer
}

func (x *kafkaExchange) pass() {
	if answer := x.answer(); answer != nil {
		_, err := x.client.Write(answer)
		x.broken = x.broken || err != nil
	}
}

func (x *kafkaExchange) carryOut() { x.answer() }

func (x *kafkaExchange) reset() {
	x.broken = true
	if tcp, ok := x.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends with FIN, as well
	}
	_ = x.client.Close() // it is to be broken
}

// readdress gives the brokers of a Metadata answer the proxy's own addresses.
func (k *Kafka) readdress(answer []byte, version int16) ([]byte, error) {
	metadata := kmsg.NewPtrMetadataResponse()
	metadata.SetVersion(version)
	head := 8 // length and correlation id
	if metadata.IsFlexible() {
		head++ // and no tags
	}
	if err := metadata.ReadFrom(answer[min(head, len(answer)):]); err != nil {
		return nil, fmt.Errorf("read an answer to Metadata of version %d: %w", version, err)
	}
	for i := range metadata.Brokers {
		b := &metadata.Brokers[i]
		addr, err := k.door(net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		b.Host, b.Port = host, int32(number)
	}
	changed := metadata.AppendTo(append([]byte(nil), answer[:head]...))
	binary.BigEndian.PutUint32(changed, uint32(len(changed)-4))
	return changed, nil
}

// Of is the fault for requests of these verbs alone.
func (f Fault) Of(verbs ...string) Fault {
	f.Fits = func(r Request) bool { return slices.Contains(verbs, r.Verb) }
	return f
}

// CutFrame sends the first half of a broker's answer and breaks the connection. It is Kafka's alone.
func CutFrame() Fault {
	return Fault{Name: "answer cut", do: func(e exchange) {
		x := e.(*kafkaExchange)
		answer := x.answer()
		_, _ = x.client.Write(answer[:len(answer)/2]) // the connection is about to break anyway
		x.broken = true
	}}
}

// Silence carries a request out, or does not, and says nothing more on its connection until the client ends it: a broker that
// hangs, or packets that are dropped. It is Kafka's alone.
func Silence(applied bool) Fault {
	return Fault{Name: named("silence", applied), do: func(e exchange) {
		x := e.(*kafkaExchange)
		if applied {
			x.carryOut()
		}
		_, _ = io.Copy(io.Discard, x.client) // it ends when the client has had enough
		x.broken = true
	}}
}
