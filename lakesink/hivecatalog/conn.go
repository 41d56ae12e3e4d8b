package hivecatalog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"sluice/lakesink/hivecatalog/thrift"
)

// conn is a connection to one server, for one operation and one goroutine at a time.
type conn struct {
	net.Conn
	in      *bufio.Reader
	address string
	seq     int32
	// answer bounds each call.
	answer time.Duration
	// proven says that this server honours what an alteration expects.
	proven bool
}

// dial connects to the first server that can be connected to, beginning with the one that answered last.
func (c *Catalog) dial(ctx context.Context) (*conn, error) {
	var failed error
	first := int(c.last.Load())
	for i := range c.servers {
		at := (first + i) % len(c.servers)
		k, err := c.dialOne(ctx, c.servers[at])
		if err == nil {
			c.last.Store(int32(at))
			return k, nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

func (c *Catalog) dialOne(ctx context.Context, address string) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Answer, fmt.Errorf("no connection within %s", c.options.Answer))
	defer cancel()
	tcp, err := c.options.Dial(ctx, "tcp", address)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, &Unreached{Address: address, Err: err}
	}
	k := &conn{Conn: tcp, in: bufio.NewReader(tcp), address: address, answer: c.options.Answer}
	if len(c.ugi) > 0 {
		if _, err := k.call(ctx, "set_ugi", thrift.Struct{1: c.ugi[0], 2: thrift.Strings(c.ugi[1:]...)}); err != nil {
			return nil, errors.Join(err, k.Close())
		}
	}
	return k, nil
}

// call sends one call and waits for its reply. The result is what the method returns, nil for nothing. Errors: *Refusal for
// what the method throws, *Broken where there was no answer, after which the connection is of no use.
func (k *conn) call(ctx context.Context, method string, args thrift.Struct) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.answer, fmt.Errorf("no answer within %s", k.answer))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = k.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if ctx.Err() != nil {
		return nil, &Broken{Address: k.address, Method: method, Err: context.Cause(ctx)}
	}
	k.seq++
	if _, err := k.Write(thrift.Message{Kind: thrift.Call, Method: method, Seq: k.seq, Body: args}.Append(nil)); err != nil {
		return nil, k.broken(ctx, method, err)
	}
	reply, err := thrift.Read(k.in)
	if err != nil {
		return nil, k.broken(ctx, method, err)
	}
	switch {
	case reply.Seq != k.seq || reply.Method != method || reply.Kind != thrift.Reply && reply.Kind != thrift.Exception:
		return nil, k.broken(ctx, method, fmt.Errorf("%w: it answers %s, number %d", thrift.ErrStranger, reply.Method, reply.Seq))
	case reply.Kind == thrift.Exception:
		return nil, &Refusal{Method: method, Kind: applicationKind(reply.Body.Long(2)), Message: reply.Body.Text(1)}
	}
	for field, thrown := range reply.Body {
		if body, ok := thrown.(thrift.Struct); ok && field > 0 {
			return nil, &Refusal{Method: method, Kind: thrownKind(method, field), Message: body.Text(1)}
		}
	}
	return reply.Body[0], nil
}

func (k *conn) broken(ctx context.Context, method string, err error) error {
	switch cause := context.Cause(ctx); {
	case cause != nil:
		err = cause
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", cause, os.ErrDeadlineExceeded)
		}
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF): // of a file of metadata, io.EOF says that it is damaged
		err = errHungUp
	}
	return &Broken{Address: k.address, Method: method, First: k.seq == 1, Err: err}
}

// errHungUp is the end of a connection.
var errHungUp = errors.New("the server has closed the connection")

// Unreached is a server that cannot be connected to.
type Unreached struct {
	Address string
	Err     error
}

// Error names the server.
func (u *Unreached) Error() string {
	return fmt.Sprintf("connect to thrift://%s: %v", u.Address, u.Err)
}

// Unwrap is the cause.
func (u *Unreached) Unwrap() error { return u.Err }

// Broken is a call without an answer: whether it was carried out is not known.
type Broken struct {
	Address, Method string
	// First says that the server has never answered on this connection.
	First bool
	Err   error
}

// Error names server and call.
func (b *Broken) Error() string {
	return fmt.Sprintf("ask thrift://%s for %s: %v", b.Address, b.Method, b.Err)
}

// Unwrap is the cause.
func (b *Broken) Unwrap() error { return b.Err }

// HungUp says whether the server ended the connection before it had answered anything, which it does to who does not speak
// as it expects (TLS, SASL).
func (b *Broken) HungUp() bool {
	return b.First && (errors.Is(b.Err, errHungUp) || errors.Is(b.Err, syscall.ECONNRESET))
}

// Refusal is what a method throws.
type Refusal struct {
	// Method is what was called.
	Method string
	// Kind is the exception, such as MetaException or TApplicationException.
	Kind string
	// Message is the server's own words.
	Message string
}

// Error is the server's words.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", r.Method, r.Kind, r.Message) }

// The exceptions that are told apart.
const (
	alreadyExists    = "AlreadyExistsException"
	noSuchObject     = "NoSuchObjectException"
	invalidObject    = "InvalidObjectException"
	invalidOperation = "InvalidOperationException"
	noSuchLock       = "NoSuchLockException"
	metaException    = "MetaException"
	unknownMethod    = "unknown method"
)

// applicationKind is the kind of an exception of the protocol itself
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-rpc.md).
func applicationKind(kind int64) string {
	if kind == 1 {
		return unknownMethod
	}
	return "TApplicationException"
}

// throws are the exceptions of each method by field, as
// https://github.com/apache/hive/blob/rel/release-4.0.1/standalone-metastore/metastore-common/src/main/thrift/hive_metastore.thrift has them.
var throws = map[string][]string{
	"get_database":                         {noSuchObject, metaException},
	"create_database":                      {alreadyExists, invalidObject, metaException},
	"alter_database":                       {metaException, noSuchObject},
	"drop_database":                        {noSuchObject, invalidOperation, metaException},
	"get_table_req":                        {metaException, noSuchObject},
	"create_table":                         {alreadyExists, invalidObject, metaException, noSuchObject},
	"drop_table":                           {noSuchObject, metaException},
	"alter_table_with_environment_context": {invalidOperation, metaException},
	"lock":                                 {"NoSuchTxnException", "TxnAbortedException"},
	"check_lock":                           {"NoSuchTxnException", "TxnAbortedException", noSuchLock},
	"unlock":                               {noSuchLock, "TxnOpenException"},
	"heartbeat":                            {noSuchLock, "NoSuchTxnException", "TxnAbortedException"},
}

func thrownKind(method string, field int16) string {
	if all := throws[method]; int(field) <= len(all) {
		return all[field-1]
	}
	return metaException
}

// isRefusal says whether an error is an exception of one of these kinds.
func isRefusal(err error, kinds ...string) bool {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	for _, kind := range kinds {
		if refusal.Kind == kind {
			return true
		}
	}
	return false
}
