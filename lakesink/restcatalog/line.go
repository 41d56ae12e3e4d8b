package restcatalog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// tries is how often a request is sent at most where its answer says that it changed nothing.
	tries = 5
	// patience bounds one wait that the server asks for.
	patience = 30 * time.Second
)

// line is the way to the server: every request of iceberg-go goes through it.
type line struct {
	base  *http.Transport
	sleep func(context.Context, time.Duration) error
	now   func() time.Time

	mu sync.Mutex
	// hosts are those that are told who asks: the address of the job, and the one that the server names instead.
	hosts map[string]bool
	// given are the properties of the job, merged what became of them with the server's configuration.
	given, merged map[string]string
	proof         proof
	// closedUntil is when the server wants to be asked again.
	closedUntil time.Time
	closedBy    int
}

func newLine(base *url.URL, o Options) (*line, error) {
	config, err := tlsOf(o.Properties)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // with the proxies of the environment
	transport.TLSClientConfig = config
	l := &line{base: transport, sleep: o.Sleep, now: o.Now, hosts: map[string]bool{base.Host: true}, given: o.Properties, merged: o.Properties}
	if l.sleep == nil {
		l.sleep = sleep
	}
	if l.now == nil {
		l.now = time.Now
	}
	l.proof, err = l.proofOf(base, o.Properties)
	return l, err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// RoundTrip sends a request, again where that is safe, and returns its final answer. Refusals are errors.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	renewed := false
	for try := 1; ; try++ {
		if err := l.open(r.Context()); err != nil {
			return nil, err
		}
		resp, used, err := l.send(r, body)
		if err != nil {
			return nil, err
		}
		if isStale(resp.StatusCode) && !renewed {
			if renewed, err = used.renew(r.Context()); err != nil {
				discard(resp)
				return nil, err
			}
			if renewed {
				discard(resp)
				continue
			}
		}
		if wait, ok := l.wait(r, resp, try); ok {
			discard(resp)
			if err := l.sleep(r.Context(), wait); err != nil {
				return nil, err
			}
			continue
		}
		if err := l.meaning(r, resp, renewed && isStale(resp.StatusCode)); err != nil {
			return nil, err
		}
		if err := l.learn(r, resp); err != nil {
			return nil, err
		}
		return resp, nil
	}
}

// isStale is what a token is answered with that is no longer taken: 419 is the protocol's own, "authentication timeout".
func isStale(status int) bool { return status == http.StatusUnauthorized || status == 419 }

// bodyOf is the whole of a request's body, nil for none: it may be sent and signed several times.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	if seen, ok := r.Context().Value(sightingKey{}).(*sighting); ok && seen.stage {
		return staged(body)
	}
	return body, nil
}

// send sends the request once, with proof of who asks if the server is one that may see it. It returns the proof that was
// used.
func (l *line) send(r *http.Request, body []byte) (*http.Response, used, error) {
	l.mu.Lock()
	p := l.proof
	if !l.hosts[r.URL.Host] {
		p = nobody{}
	}
	l.mu.Unlock()
	again := r.Clone(r.Context())
	if body != nil {
		again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	u, err := p.prove(again, body)
	if err != nil {
		return nil, nil, err
	}
	resp, err := l.base.RoundTrip(again)
	return resp, u, err
}

// wait says how long to wait before the request is sent again; ok is false where the answer is final. A server that says when
// it wants to be asked again closes the line for all requests until then.
func (l *line) wait(r *http.Request, resp *http.Response, try int) (d time.Duration, ok bool) {
	status := resp.StatusCode
	if status != http.StatusTooManyRequests && status != http.StatusBadGateway && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
		return 0, false
	}
	d = 200 * time.Millisecond << min(try-1, 5)
	d = d/2 + rand.N(d/2+1)
	if asked, told := l.retryAfter(resp); told {
		d = asked
		l.mu.Lock()
		l.closedUntil, l.closedBy = l.now().Add(d), status
		l.mu.Unlock()
	}
	changedNothing := status == http.StatusTooManyRequests || r.Method == http.MethodGet || r.Method == http.MethodHead
	return d, changedNothing && try < tries && l.fits(r.Context(), d)
}

// fits says whether a request may wait so long.
func (l *line) fits(ctx context.Context, d time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return d <= patience && (!bounded || d < deadline.Sub(l.now()))
}

// retryAfter is the header of this name: seconds, or a date (RFC 9110, section 10.2.3).
func (l *line) retryAfter(resp *http.Response) (time.Duration, bool) {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 && seconds < 1<<30 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(l.now())), true
	}
	return 0, false
}

// open waits until the server wants to be asked again.
func (l *line) open(ctx context.Context) error {
	l.mu.Lock()
	d, status := l.closedUntil.Sub(l.now()), l.closedBy
	l.mu.Unlock()
	switch {
	case d <= 0:
		return nil
	case !l.fits(ctx, d):
		return &Busy{Status: status, For: d}
	}
	return l.sleep(ctx, d)
}

// redact removes secrets from what a server says.
func (l *line) redact(text []byte) []byte {
	l.mu.Lock()
	secrets := append(secretsOf(l.merged), l.proof.secrets()...)
	l.mu.Unlock()
	for _, secret := range secrets {
		text = bytes.ReplaceAll(text, []byte(secret), []byte("(redacted)"))
	}
	return text
}
