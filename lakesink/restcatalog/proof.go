package restcatalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// proof is how requests show who asks. It is safe for use by several goroutines.
type proof interface {
	// prove adds to a request, whose body is given, what shows who asks.
	prove(r *http.Request, body []byte) (used, error)
	// secrets must not be shown.
	secrets() []string
}

// used is the proof as one request had it.
type used interface {
	// renew gets another, after this one was refused; false where there is none.
	renew(ctx context.Context) (bool, error)
}

// proofOf is what the properties ask for: AWS Signature Version 4, a user and a password, a token, or nothing.
func (l *line) proofOf(base *url.URL, p map[string]string) (proof, error) {
	kind := strings.ToLower(p[keyAuthType])
	switch {
	case kind == "" && isTrue(p[keySigV4]):
		kind = "sigv4"
	case kind == "" && (p[keyToken] != "" || p[keyCredential] != ""):
		kind = "oauth2"
	case kind == "" && p[keyUser] != "":
		kind = "basic"
	}
	switch kind {
	case "", "none":
		return nobody{}, nil
	case "basic":
		if p[keyUser] == "" || p[keyPassword] == "" {
			return nil, &Misuse{keyAuthType, "basic needs " + keyUser + " and " + keyPassword}
		}
		return basic{p[keyUser], p[keyPassword]}, nil
	case "sigv4":
		return newSigned(p, l.now)
	case "oauth2":
		return l.bearerOf(base, p)
	}
	return nil, &Misuse{keyAuthType, fmt.Sprintf("%q is not known here: want oauth2, sigv4, basic or none", kind)}
}

// nobody shows nothing.
type nobody struct{}

func (nobody) prove(*http.Request, []byte) (used, error) { return nobody{}, nil }
func (nobody) renew(context.Context) (bool, error)       { return false, nil }
func (nobody) secrets() []string                         { return nil }

// basic is a user and a password.
type basic struct{ user, password string }

func (b basic) prove(r *http.Request, _ []byte) (used, error) {
	r.SetBasicAuth(b.user, b.password)
	return nobody{}, nil
}

func (b basic) secrets() []string { return []string{b.password} }

// bearer is a token of OAuth2: the job's own, or one that is fetched with the job's credential, and fetched again when it
// ends or is refused.
type bearer struct {
	client *http.Client
	at     string
	form   url.Values
	now    func() time.Time

	mu     sync.Mutex
	token  string
	until  time.Time // zero if nothing is known of an end
	number int
}

// tokenWithin bounds the fetching of a token beside the request's own bound.
const tokenWithin = 30 * time.Second

func (l *line) bearerOf(base *url.URL, p map[string]string) (proof, error) {
	b := &bearer{token: p[keyToken], now: l.now, client: &http.Client{Transport: l.base, Timeout: tokenWithin, CheckRedirect: noRedirect}}
	if p[keyCredential] == "" {
		if p[keyToken] == "" {
			return nil, &Misuse{keyAuthType, "oauth2 needs " + keyToken + " or " + keyCredential}
		}
		return b, nil
	}
	b.at = p[keyTokenURI]
	if b.at == "" {
		b.at = p[keyTokenAlias]
	}
	if b.at == "" {
		b.at = base.JoinPath("v1", "oauth", "tokens").String()
	}
	u, err := url.Parse(b.at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, &Misuse{keyTokenURI, "is no address such as https://host/path, without credentials in it"}
	}
	id, secret, ok := strings.Cut(p[keyCredential], ":")
	if !ok {
		id, secret = "", id
	}
	b.form = url.Values{"grant_type": {"client_credentials"}, "client_secret": {secret}, "scope": {"catalog"}}
	for field, value := range map[string]string{"client_id": id, "scope": p[keyScope], "audience": p[keyAudience], "resource": p[keyResource]} {
		if value != "" {
			b.form.Set(field, value)
		}
	}
	return b, nil
}

// bearerUse is a token as one request had it.
type bearerUse struct {
	b      *bearer
	number int
}

func (b *bearer) prove(r *http.Request, _ []byte) (used, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.form != nil && (b.token == "" || !b.until.IsZero() && !b.now().Before(b.until)) {
		if err := b.fetch(r.Context()); err != nil {
			return nil, err
		}
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	return bearerUse{b, b.number}, nil
}

func (b *bearer) secrets() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.token == "" {
		return nil
	}
	return []string{b.token}
}

func (u bearerUse) renew(ctx context.Context) (bool, error) {
	u.b.mu.Lock()
	defer u.b.mu.Unlock()
	switch {
	case u.number != u.b.number: // another request has renewed it meanwhile
		return true, nil
	case u.b.form == nil:
		return false, nil
	}
	return true, u.b.fetch(ctx)
}

// fetch gets a token by client credentials (RFC 6749, section 4.4; Iceberg's own form of it has the credential in the body).
func (b *bearer) fetch(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.at, strings.NewReader(b.form.Encode()))
	if err != nil {
		return &TokenError{Err: err}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	asked := b.now()
	resp, err := b.client.Do(r)
	var failed *url.Error
	if errors.As(err, &failed) { // which shows the address whole
		failed.URL = barely(failed.URL)
	}
	if err != nil {
		return &TokenError{Err: err}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorText))
	discard(resp)
	var got struct {
		Token     string      `json:"access_token"`
		ExpiresIn json.Number `json:"expires_in"`
		Code      any         `json:"error"`
		Text      string      `json:"error_description"`
	}
	decoded := json.Unmarshal(body, &got)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return &TokenError{Status: resp.StatusCode, At: barely(b.at), Description: "a redirection to " + barely(resp.Header.Get("Location"))}
	case resp.StatusCode != http.StatusOK:
		return b.refused(resp.StatusCode, body, got.Code, got.Text)
	case err != nil:
		return &TokenError{Status: resp.StatusCode, Err: err}
	case decoded != nil || got.Token == "":
		return &TokenError{Status: resp.StatusCode, At: barely(b.at), Description: "the answer holds no access_token: what answers there is no server of tokens"}
	}
	b.token, b.until, b.number = got.Token, time.Time{}, b.number+1
	if seconds, err := got.ExpiresIn.Float64(); err == nil && seconds > 0 {
		life := time.Duration(seconds * float64(time.Second))
		b.until = asked.Add(life - min(life/5, 30*time.Second))
	}
	return nil
}

// refused is the error of an answer: OAuth2's own form, that of the catalog's protocol, or any text; without the secret.
func (b *bearer) refused(status int, body []byte, code any, text string) error {
	e := &TokenError{Status: status, Description: text}
	switch code := code.(type) {
	case string:
		e.Code = code
	default:
		var ok bool
		if e.Code, e.Description, ok = answered(body); !ok {
			e.Description = summary(body)
		}
	}
	secret := b.form.Get("client_secret")
	if len(secret) >= 4 {
		e.Code, e.Description = strings.ReplaceAll(e.Code, secret, "(redacted)"), strings.ReplaceAll(e.Description, secret, "(redacted)")
	}
	return e
}
