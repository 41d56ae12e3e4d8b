package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
)

// Proxy is a reverse proxy in front of one server. Its methods may be called at any time.
type Proxy struct {
	// URL is its own address, http://127.0.0.1:port.
	URL string
	ledger

	dialect Dialect
	target  *url.URL
	forward *httputil.ReverseProxy
	server  *http.Server
}

// New starts a proxy in front of the server at a URL. It passes everything on until Follow. The answers that it makes up
// are of the dialect. Close ends it.
func New(target string, dialect Dialect) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), dialect: dialect, target: to}
	quiet := log.New(io.Discard, "", 0) // clients that were killed are no news
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		// No connection is kept open: one that the server closes just then would be a fault that no plan has.
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		// The server could not be asked, or the client has gone: there is no answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     quiet,
	}
	p.server = &http.Server{Handler: p, ErrorLog: quiet}
	go func() { _ = p.server.Serve(listener) }() // it ends with Close
	return p, nil
}

// Close ends the proxy and every request that is under way.
func (p *Proxy) Close() {
	_ = p.server.Close() // nobody waits for the connections that it closes
}

// ServeHTTP passes a request on, or does to it what the plan says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &httpExchange{p, w, r}
	condition := r.Header.Get("If-None-Match") + r.Header.Get("If-Match") + r.URL.Query().Get("ifGenerationMatch")
	fault := p.next(Request{r.Method, r.URL.Path, condition != "", r.ContentLength})
	if fault == nil {
		x.pass()
		return
	}
	fault.do(x)
}

// httpExchange is one request and the way back to whoever sent it.
type httpExchange struct {
	*Proxy
	w http.ResponseWriter
	r *http.Request
}

// toHTTP is what happens to an HTTP request alone.
func toHTTP(do func(*httpExchange)) func(exchange) {
	return func(x exchange) { do(x.(*httpExchange)) }
}

func (x *httpExchange) pass() { x.forward.ServeHTTP(x.w, x.r) }

// passWith is pass with other headers in the answer.
func (x *httpExchange) passWith(header http.Header) {
	kept := x.keep()
	maps.Copy(x.w.Header(), kept.Header())
	maps.Copy(x.w.Header(), header)
	x.w.WriteHeader(kept.Code)
	_, _ = x.w.Write(kept.Body.Bytes()) // a client that has gone misses it
}

func (x *httpExchange) carryOut() { x.keep() }

// keep has the server carry the request out, whatever becomes of the client meanwhile, and keeps the answer back.
func (x *httpExchange) keep() *httptest.ResponseRecorder {
	kept := httptest.NewRecorder()
	x.forward.ServeHTTP(kept, x.r.WithContext(context.WithoutCancel(x.r.Context())))
	return kept
}

// addressed is a request to the server, for its transport.
func (x *httpExchange) addressed(r *http.Request) *http.Request {
	r.URL.Scheme, r.URL.Host, r.RequestURI = x.target.Scheme, x.target.Host, ""
	return r
}

// reset ends the connection, with RST where the network lets it.
func (x *httpExchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends with FIN, as well
	}
	_ = conn.Close() // it is to be broken
}
