package kafkasrc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// dialer connects to brokers. Each failure in a row doubles the time that the next attempt to an address may take, as
// KIP-601 has it.
type dialer struct {
	timeout, longest time.Duration
	// receive and send are the sizes of the socket's buffers; the system's own if they are below 1.
	receive, send int
	// tls is nil without TLS.
	tls *tls.Config

	mu       sync.Mutex
	failures map[string]int
}

// setup is how long the next attempt may take.
func (d *dialer) setup(address string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(d.longest, d.timeout<<min(d.failures[address], 16))
}

func (d *dialer) count(address string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.failures, address)
	} else {
		d.failures[address]++
	}
}

// dial connects, the handshake of TLS included. The name of the host is checked as the seed, or the broker's own metadata,
// has it.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.connect(ctx, network, address)
	if !errors.Is(err, context.Canceled) {
		d.count(address, err)
	}
	return conn, err
}

func (d *dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.setup(address))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := d.size(conn); err != nil {
		conn.Close()
		return nil, err
	}
	if d.tls == nil {
		return conn, nil
	}
	config := d.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

func (d *dialer) size(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	if d.receive > 0 {
		if err := tcp.SetReadBuffer(d.receive); err != nil {
			return fmt.Errorf("set the socket's receive buffer: %w", err)
		}
	}
	if d.send > 0 {
		if err := tcp.SetWriteBuffer(d.send); err != nil {
			return fmt.Errorf("set the socket's send buffer: %w", err)
		}
	}
	return nil
}
