package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
)

// Proxy is a reverse proxy in front of one server. Its methods may be called at any time.
type Proxy struct {
	// URL is its own address, http://127.0.0.1:port.
	URL string

	dialect Dialect
	target  *url.URL
	pass    *httputil.ReverseProxy
	server  *http.Server

	mu    sync.Mutex
	plan  Plan
	seen  int
	dealt []Strike
}

// Strike is a fault that was dealt.
type Strike struct {
	// N is the request's number since the plan began, from 1.
	N int
	// Fault is the fault's name, Request the method and the path of the request.
	Fault, Request string
}

// String is one line of a log.
func (s Strike) String() string { return fmt.Sprintf("request %d: %s: %s", s.N, s.Fault, s.Request) }

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
	p.pass = &httputil.ReverseProxy{
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

// Follow begins a plan, nil for one without faults. Requests are counted from 1 again, and strikes listed anew.
func (p *Proxy) Follow(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.seen, p.dealt = plan, 0, nil
}

// Seen is how many requests there were since the plan began.
func (p *Proxy) Seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Dealt lists the faults that were dealt since the plan began, in order.
func (p *Proxy) Dealt() []Strike {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Strike(nil), p.dealt...)
}

// ServeHTTP passes a request on, or does to it what the plan says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := p.next(r)
	if fault == nil {
		p.pass.ServeHTTP(w, r)
		return
	}
	fault.do(&exchange{p, w, r})
}

// next counts a request and asks the plan about it.
func (p *Proxy) next(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	if p.plan == nil {
		return nil
	}
	fault := p.plan(p.seen, r)
	if fault != nil {
		p.dealt = append(p.dealt, Strike{p.seen, fault.Name, r.Method + " " + r.URL.Path})
	}
	return fault
}

// exchange is one request and the way back to whoever sent it.
type exchange struct {
	*Proxy
	w http.ResponseWriter
	r *http.Request
}

// carryOut has the server carry the request out, whatever becomes of the client meanwhile, and keeps the answer back.
func (x *exchange) carryOut() *httptest.ResponseRecorder {
	kept := httptest.NewRecorder()
	x.pass.ServeHTTP(kept, x.r.WithContext(context.WithoutCancel(x.r.Context())))
	return kept
}

// addressed is a request to the server, for its transport.
func (x *exchange) addressed(r *http.Request) *http.Request {
	r.URL.Scheme, r.URL.Host, r.RequestURI = x.target.Scheme, x.target.Host, ""
	return r
}

// reset ends the connection, with RST where the network lets it.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends with FIN, as well
	}
	_ = conn.Close() // it is to be broken
}
