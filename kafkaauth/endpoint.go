package kafkaauth

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/batch"
)

// Outage says that somebody whom a login needs, such as a token endpoint, does not answer now. It may pass. It wraps nothing:
// a connection that failed there must not be taken for one to a broker.
type Outage struct {
	// Message says who, and what came instead of an answer.
	Message string
	// Hint says what to look at.
	Hint string
}

// Error is the message.
func (o *Outage) Error() string { return o.Message }

func dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return (&net.Dialer{Timeout: timeout}).DialContext
}

// ask gets a token, and tries again until BackoffMax is over, unless the answer is a no.
func (t *tokens) ask(ctx context.Context) (token, error) {
	limit := t.oauth.now().Add(t.oauth.BackoffMax)
	for wait := t.oauth.Backoff; ; wait *= 2 {
		got, err := t.once(ctx)
		var outage *Outage
		if err == nil || !errors.As(err, &outage) || !t.oauth.now().Add(wait).Before(limit) {
			return got, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return token{}, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// largestAnswer bounds what a token endpoint may answer.
const largestAnswer = 1 << 20

// once asks once, by OAuth 2's client credentials (RFC 6749 section 4.4).
func (t *tokens) once(ctx context.Context) (token, error) {
	o := &t.oauth
	form := url.Values{"grant_type": {"client_credentials"}}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return token{}, t.no("cannot be asked: %v", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Basic "+o.basic())
	asked := o.now()
	answer, err := t.client.Do(request)
	if err != nil {
		return token{}, t.unanswered(ctx, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return token{}, t.unanswered(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		return token{}, t.refused(answer.StatusCode, body)
	}
	return t.parse(body, asked)
}

// basic is what proves who asks.
func (o *OAuth) basic() string {
	id, secret := o.ClientID, o.ClientSecret
	if o.Encode {
		id, secret = url.QueryEscape(id), url.QueryEscape(secret)
	}
	return base64.StdEncoding.EncodeToString([]byte(id + ":" + secret))
}

// unanswered tells what may pass from a server whose certificate is not trusted, which stays.
func (t *tokens) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("token endpoint %s: %s", t.oauth.where(), t.scrub(certificate.Error())),
			Hint: "Put the authority that signed the endpoint's certificate into ssl.truststore.location, or mend " + endpointName + "."}
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // without the method, and the address once more
	}
	return &Outage{Message: fmt.Sprintf("token endpoint %s does not answer: %s", t.oauth.where(), t.scrub(err.Error())),
		Hint: "Look at the token endpoint, then run again; if it does not run there, mend " + endpointName + "."}
}

// refused tells a no from an answer that may be another later.
func (t *tokens) refused(status int, body []byte) error {
	var told struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	why := ""
	if json.Unmarshal(body, &told) == nil {
		if text := cmp.Or(strings.TrimSpace(told.Error+" "+told.Description), ""); text != "" {
			why = " (" + t.scrub(text) + ")"
		}
	}
	switch {
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return &Outage{Message: fmt.Sprintf("token endpoint %s answers %d%s", t.oauth.where(), status, why),
			Hint: "Look at the token endpoint, then run again."}
	}
	return t.no("answers %d%s to client %s", status, why, t.oauth.ClientID)
}

// no is a refusal that asking again does not change.
func (t *tokens) no(format string, args ...any) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: "token endpoint " + t.oauth.where() + " " + t.scrub(fmt.Sprintf(format, args...)),
		Hint: "Mend " + endpointName + ", the client's id, secret or scope, or the client's registration there."}
}

// scrub takes what must not be shown out of what others say, and cuts it short.
func (t *tokens) scrub(text string) string {
	if u, err := url.Parse(t.oauth.Endpoint); err == nil && u.RawQuery != "" {
		text = strings.ReplaceAll(text, u.RawQuery, "(redacted)")
	}
	for _, secret := range []string{t.oauth.ClientSecret, t.oauth.basic(), t.last()} {
		if len(secret) > 3 { // shorter ones would tear ordinary words apart
			text = strings.ReplaceAll(text, secret, "(redacted)")
		}
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return text
}

// last is the token that was got last, empty if none was.
func (t *tokens) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.text
}

// parse reads the answer (RFC 6749 section 5.1); as with Java's client an id_token will do.
func (t *tokens) parse(body []byte, asked time.Time) (token, error) {
	var answer struct {
		Access    string      `json:"access_token"`
		ID        string      `json:"id_token"`
		ExpiresIn json.Number `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return token{}, t.no("answers something else than JSON with an access_token")
	}
	got := token{text: cmp.Or(answer.Access, answer.ID), issued: asked}
	if !validToken(got.text) {
		return token{}, t.no("answers no access_token")
	}
	if seconds, err := answer.ExpiresIn.Float64(); err == nil && seconds > 0 {
		got.expires = asked.Add(time.Duration(min(seconds, 1e9) * float64(time.Second)))
	}
	if at, ok := expiry(got.text); ok { // what brokers go by
		got.expires = at
	}
	return got, nil
}

// expiry is the claim exp of a JWT (RFC 7519); a token that is none has no expiry that can be seen.
func expiry(text string) (time.Time, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Expires <= 0 || claims.Expires > 1e12 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(claims.Expires * 1000)), true
}
