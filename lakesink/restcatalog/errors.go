package restcatalog

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Answer is a refusal of the catalog: a status of 400 to 499, but for those that a table or a race may bring about (404, 409)
// and those that ask to come again.
type Answer struct {
	Status int
	// Type and Message are the server's own words.
	Type, Message string
	// Renewed says that a fresh token was refused as well.
	Renewed bool
}

// Error is the status and the server's words.
func (a *Answer) Error() string {
	text := fmt.Sprintf("HTTP %d", a.Status)
	for _, part := range []string{a.Type, a.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	if a.Renewed {
		text += " (so was a fresh token)"
	}
	return text
}

// Stranger is an answer that no catalog gives: a page of a web server, a redirection.
type Stranger struct {
	Status int
	// To is where a redirection leads, without what may be secret.
	To string
}

// Error says what answered.
func (s *Stranger) Error() string {
	if s.To != "" {
		return fmt.Sprintf("HTTP %d, a redirection to %s", s.Status, s.To)
	}
	return fmt.Sprintf("HTTP %d without an Iceberg error: what answers there is no REST catalog", s.Status)
}

// Busy is a catalog that asks to be left alone for longer than a request may wait.
type Busy struct {
	Status int
	For    time.Duration
}

// Error says for how long.
func (b *Busy) Error() string {
	return fmt.Sprintf("HTTP %d: the catalog asks to come again in %s (Retry-After)", b.Status, b.For.Round(time.Second))
}

// TokenError is an answer of the server of tokens.
type TokenError struct {
	// Status is 0 where there was no answer, or none that makes sense.
	Status            int
	Code, Description string
	Err               error
	// At is the server's address, without what may be secret, where something else than such a server has answered there: a
	// page, a redirection.
	At string
}

// Error has the words of OAuth2 (RFC 6749, section 5.2).
func (t *TokenError) Error() string {
	text := "get a token"
	if t.At != "" {
		text += " from " + t.At
	}
	if t.Status != 0 {
		text += fmt.Sprintf(": HTTP %d", t.Status)
	}
	for _, part := range []string{t.Code, t.Description} {
		if part != "" {
			text += ": " + part
		}
	}
	if t.Err != nil {
		text += ": " + t.Err.Error()
	}
	return text
}

// Unwrap is the cause.
func (t *TokenError) Unwrap() error { return t.Err }

// errorText bounds what is read of an answer that is an error.
const errorText = 64 << 10

// answered reads an error of the protocol from a body. ok says that it is one, or at least of an API.
func answered(body []byte) (kind, message string, ok bool) {
	var payload struct {
		Error   *struct{ Message, Type string }
		Message string
		Type    string
	}
	if json.Unmarshal(body, &payload) != nil {
		return "", "", false
	}
	if payload.Error != nil {
		return payload.Error.Type, payload.Error.Message, true
	}
	return payload.Type, payload.Message, true
}

// meaning makes an error of an answer that is final, nil where iceberg-go knows what it means. The answer of something else
// than a catalog becomes one that iceberg-go can read.
func (l *line) meaning(r *http.Request, resp *http.Response, renewed bool) error {
	if resp.StatusCode < 300 {
		return nil
	}
	if resp.StatusCode < 400 {
		discard(resp)
		return &Stranger{Status: resp.StatusCode, To: barely(resp.Header.Get("Location"))}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorText))
	discard(resp)
	if err != nil && resp.StatusCode < 500 {
		return err
	}
	body = l.redact(body)
	kind, message, ok := answered(body)
	if !ok {
		message = summary(body)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusNotFound && !ok && r.Method != http.MethodHead:
		return &Stranger{Status: status}
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status == http.StatusTooManyRequests,
		status == http.StatusNotFound, status >= 500:
	default:
		return &Answer{Status: status, Type: kind, Message: message, Renewed: renewed}
	}
	put(resp, errorBody(resp.StatusCode, kind, message))
	return nil
}

// errorBody is an error of the protocol.
func errorBody(status int, kind, message string) []byte {
	text := fmt.Sprintf("HTTP %d", status)
	if kind != "" && message != "" {
		text += ": " + kind
	}
	if message != "" {
		text += ": " + message
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": text, "code": status}})
	if err != nil {
		panic(err) // it is text and a number
	}
	return body
}

// put gives an answer another body.
func put(resp *http.Response, body []byte) {
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
	resp.Header.Del("Content-Length")
}

func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, errorText)) // so that the connection can be used again
	_ = resp.Body.Close()
}

// summary is the beginning of a text that is no JSON, in one line.
func summary(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// barely is an address without user, query and fragment.
func barely(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "another address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
