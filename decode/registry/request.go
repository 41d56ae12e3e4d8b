package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// accept is what Confluent's clients ask for.
const accept = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5"

// busy is an answer, or the lack of one, that may be another one soon.
type busy struct {
	err error
	// after is how long the server wants to be left alone.
	after time.Duration
}

func (b *busy) Error() string { return b.err.Error() }
func (b *busy) Unwrap() error { return b.err }

func transport(s settings, config *tls.Config) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if s.proxyHost != "" {
		proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: net.JoinHostPort(s.proxyHost, strconv.Itoa(s.proxyPort))})
	}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            (&net.Dialer{Timeout: s.connectTimeout}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    s.connectTimeout,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// get asks the servers, and again after a pause while none answers, until one says yes or no.
func (c *Client) get(ctx context.Context, path string, want wanted) (*answer, error) {
	for round := 0; ; round++ {
		a, err := c.askAll(ctx, path)
		var later *busy
		if err == nil || !errors.As(err, &later) {
			return a, c.explain(err, want)
		}
		wait := max(later.after, c.backoff(round))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait || round == c.settings.retries {
			return nil, c.explain(err, want)
		}
		if pause(ctx, wait) != nil {
			return nil, c.explain(err, want)
		}
	}
}

// backoff is a random pause, so that those who were turned away together do not come back together.
func (c *Client) backoff(round int) time.Duration {
	longest := min(c.settings.wait<<min(round, 16), c.settings.maxWait)
	return time.Duration(c.random() * float64(longest))
}

// askAll asks one server after the other, beginning with the one that answered last, until one says yes or no. The error
// has what each of them says, and the longest time that one wants to be left alone.
func (c *Client) askAll(ctx context.Context, path string) (*answer, error) {
	first := int(c.answering.Load())
	var last *busy
	for i := range c.settings.endpoints {
		server := (first + i) % len(c.settings.endpoints)
		a, err := c.ask(ctx, c.settings.endpoints[server], path)
		var later *busy
		if err == nil || !errors.As(err, &later) {
			c.answering.Store(int64(server))
			return a, err
		}
		if last != nil {
			later = &busy{err: fmt.Errorf("%w; %w", last.err, later.err), after: max(later.after, last.after)}
		}
		last = later
	}
	return nil, last
}

// ask asks one server. A token from before that is no longer taken is replaced.
func (c *Client) ask(ctx context.Context, e endpoint, path string) (*answer, error) {
	before := c.tokens.current()
	a, err := c.askOnce(ctx, e, path)
	var no *refusal
	if before != "" && errors.As(err, &no) && no.by != "" && no.status == http.StatusUnauthorized {
		c.tokens.discard(before)
		return c.askOnce(ctx, e, path)
	}
	return a, err
}

func (c *Client) askOnce(ctx context.Context, e endpoint, path string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.readTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.below(path), nil)
	if err != nil {
		return nil, &refusal{from: e, what: "has an address that cannot be asked: " + strconv.Quote(path)}
	}
	for name, values := range c.settings.headers {
		request.Header[name] = values
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", c.userAgent)
	if err := c.authorize(request, e); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.failed(e, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.maxBytes+1))
	switch {
	case err != nil:
		return nil, c.failed(e, err)
	case int64(len(body)) > c.maxBytes:
		return nil, &refusal{from: e, what: fmt.Sprintf("sends more than %d bytes", c.maxBytes)}
	}
	return c.judge(e, response, body)
}

// failed tells what will not go away, such as a certificate that is not trusted, from what may.
func (c *Client) failed(e endpoint, err error) error {
	var no *refusal
	if errors.As(err, &no) { // of redirected
		no.from = e
		return no
	}
	// The error of http.Client begins with method and address, which are told already.
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	if reason := insecure(err); reason != "" {
		return &refusal{from: e, what: reason, tls: true}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer in time")
	}
	return &busy{err: fmt.Errorf("%s: %s", e.base, c.scrub(err.Error()))}
}

// most is how many redirects are followed.
const most = 5

// redirected keeps credentials from everybody but the server that they are for. A redirect that leads elsewhere is
// followed without them, and never from https to http.
func (c *Client) redirected(next *http.Request, via []*http.Request) error {
	if len(via) > most {
		return &refusal{what: fmt.Sprintf("redirects more than %d times", most)}
	}
	if last := via[len(via)-1].URL; last.Scheme == "https" && next.URL.Scheme != "https" {
		return &refusal{what: "redirects from https to " + next.URL.Scheme + "://" + next.URL.Host + ", where everybody could read along"}
	}
	next.URL.User = nil
	next.Header.Del("Referer")
	for _, hop := range slices.Concat(via[1:], []*http.Request{next}) {
		if hop.URL.Scheme != via[0].URL.Scheme || hop.URL.Host != via[0].URL.Host {
			next.Header.Del("Authorization")
			for name := range c.settings.headers {
				next.Header.Del(name)
			}
		}
	}
	return nil
}

// retryAfter is how long a server wants to be left alone: a number of seconds, or a time of day.
func retryAfter(response *http.Response) time.Duration {
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		now := time.Now()
		if server, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			now = server // of one clock
		}
		return max(0, at.Sub(now))
	}
	return 0
}
