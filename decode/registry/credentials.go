package registry

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// basic is name and password for a server, empty if there are none.
func (s *settings) basic(e endpoint) (name, password string) {
	if s.userInfo != "" {
		name, password, _ = strings.Cut(s.userInfo, ":")
		return name, password
	}
	if e.user == nil {
		return "", ""
	}
	password, _ = e.user.Password()
	return e.user.Username(), password
}

// authorize puts the credentials that are for the server into the request.
func (c *Client) authorize(request *http.Request, e endpoint) error {
	if name, password := c.settings.basic(e); name != "" || password != "" {
		request.SetBasicAuth(name, password)
		return nil
	}
	token := c.settings.token
	if c.tokens != nil {
		var err error
		if token, err = c.token(request.Context(), e); err != nil {
			return err
		}
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// describe says with which credentials the server is asked, without the secret ones.
func (c *Client) describe(e endpoint) string {
	s := &c.settings
	name, _ := s.basic(e)
	var who string
	switch {
	case s.userInfo != "":
		who = "user " + name + " of basic.auth.user.info"
	case e.user != nil:
		who = "user " + name + " of the URL"
	case c.tokens != nil:
		who = "client " + s.oauth.id + " of bearer.auth.client.id"
	case s.token != "":
		who = "the bearer of bearer.auth.token"
	case s.headers.Get("Authorization") != "":
		who = "the bearer of request.header.Authorization"
	case s.files.Key != "" || s.files.KeyPEM != "":
		return "the owner of the certificate in ssl.keystore"
	default:
		return "a client without credentials"
	}
	if s.files.Key != "" || s.files.KeyPEM != "" {
		who += ", with the certificate in ssl.keystore"
	}
	return who
}

// secrets lists all that must not be shown, in every form that it is sent in.
func (c *Client) secrets() []string {
	s := &c.settings
	secrets := []string{s.token, s.oauth.secret}
	for _, e := range s.endpoints {
		name, password := s.basic(e)
		secrets = append(secrets, password, base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
	}
	for name, values := range s.headers {
		if name != http.CanonicalHeaderKey(clusterHeader) && name != poolHeader {
			secrets = append(secrets, values...)
		}
	}
	secrets = append(secrets, c.tokens.current())
	var kept []string
	for _, secret := range secrets {
		if len(secret) > 3 { // shorter ones would tear ordinary words apart
			kept = append(kept, secret)
		}
	}
	return kept
}

// oauthClient is how tokens are got: OAuth 2's client credentials (RFC 6749 section 4.4).
type oauthClient struct{ issuer, id, secret, scope string }

// tokens keeps the token until it expires, or the registry does not take it any more.
type tokens struct {
	config clientcredentials.Config
	client *http.Client

	mu    sync.Mutex
	token *oauth2.Token
}

func newTokens(o oauthClient, through http.RoundTripper) *tokens {
	return &tokens{
		config: clientcredentials.Config{ClientID: o.id, ClientSecret: o.secret, TokenURL: o.issuer, Scopes: strings.Fields(o.scope)},
		// A redirect would carry the secret on.
		client: &http.Client{Transport: through, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.token.Valid() {
		token, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
		if err != nil {
			return "", err
		}
		t.token = token
	}
	return t.token.AccessToken, nil
}

// discard forgets the token, which the registry did not take, unless another goroutine has replaced it meanwhile.
func (t *tokens) discard(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != nil && t.token.AccessToken == token {
		t.token = nil
	}
}

// current is the token that there is, empty if there is none.
func (t *tokens) current() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == nil {
		return ""
	}
	return t.token.AccessToken
}

// token asks the issuer for one if need be. Its no is final, anything else may pass.
func (c *Client) token(ctx context.Context, e endpoint) (string, error) {
	token, err := c.tokens.get(ctx)
	if err == nil {
		return token, nil
	}
	issuer := "cannot be asked without a token, and " + shownAs(c.settings.oauth.issuer)
	var about *url.Error
	if errors.As(err, &about) { // which shows the address whole
		err = about.Err
	}
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered) && answered.Response != nil:
		status := answered.Response.StatusCode
		no := &refusal{from: e, status: http.StatusUnauthorized, what: fmt.Sprintf("%s answers %d%s to client %s", issuer, status,
			c.quoted(cmp.Or(answered.ErrorDescription, answered.ErrorCode)), c.settings.oauth.id)}
		if status == http.StatusTooManyRequests || status >= 500 {
			return "", &busy{err: no, after: retryAfter(answered.Response)}
		}
		return "", no
	case insecure(err) != "":
		return "", &refusal{from: e, tls: true, what: issuer + " " + c.scrub(insecure(err))}
	}
	return "", &busy{err: fmt.Errorf("%s %s: %s", e.base, issuer, c.scrub(err.Error()))}
}
