package kafkaauth

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"golang.org/x/sync/singleflight"

	"sluice/batch"
	"sluice/tlsfile"
)

// OAuth says where tokens come from (KIP-255, KIP-768, KIP-1139). What a JAAS text has besides counts where a field is
// empty.
type OAuth struct {
	// Endpoint is sasl.oauthbearer.token.endpoint.url: http, https, or file for a file that holds a token.
	Endpoint string
	// ClientID, ClientSecret and Scope are what a token is asked for with, by OAuth 2's client credentials.
	ClientID, ClientSecret, Scope string
	// Encode is sasl.oauthbearer.header.urlencode: id and secret are escaped as RFC 6749 has it, which not all servers do.
	Encode bool
	// ConnectTimeout and ReadTimeout bound one request; 10 s each if 0.
	ConnectTimeout, ReadTimeout time.Duration
	// Backoff is the pause before a request is repeated, which doubles; BackoffMax is when that ends. 100 ms and 10 s if 0.
	Backoff, BackoffMax time.Duration
	// Refresh says when a token is replaced.
	Refresh Refresh

	// now is the clock, time.Now if nil.
	now func() time.Time
}

// Refresh says when a token is replaced by a new one before it expires, as ExpiringCredentialRefreshConfig has it.
type Refresh struct {
	// Factor is the part of its lifetime after which a token is old; 0.8 if 0.
	Factor float64
	// MinPeriod is how long a token is kept at least, Buffer how long before its end it is old at the latest. Where the
	// two do not fit into its lifetime neither counts. 1 min and 5 min if nil.
	MinPeriod, Buffer *time.Duration
}

// The names of options of OAuthBearerLoginModule.
const (
	extensionPrefix    = "extension_"
	unsecuredText      = "unsecuredLoginStringClaim_"
	unsecuredNumber    = "unsecuredLoginNumberClaim_"
	unsecuredList      = "unsecuredLoginListClaim_"
	unsecuredLifetime  = "unsecuredLoginLifetimeSeconds"
	unsecuredPrincipal = "unsecuredLoginPrincipalClaimName"
	unsecuredScope     = "unsecuredLoginScopeClaimName"
)

const (
	endpointName = "sasl.oauthbearer.token.endpoint.url"
	idName       = "sasl.oauthbearer.client.credentials.client.id"
	secretName   = "sasl.oauthbearer.client.credentials.client.secret"
)

// CheckEndpoint is what is wrong with sasl.oauthbearer.token.endpoint.url.
func CheckEndpoint(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil, u.Scheme == "file" && (u.Host != "" || u.Path == ""), u.Scheme != "file" && u.Host == "":
		return fmt.Errorf("want https://host/path, or file:///path for a file that holds a token")
	case !slices.Contains([]string{"http", "https", "file"}, u.Scheme):
		return fmt.Errorf("want an address that begins with https://, http:// or file://")
	case u.User != nil:
		return fmt.Errorf("want no name and password in it: they are %s and %s", idName, secretName)
	}
	return nil
}

// unsecured says that the token is to be made by ourselves, unsigned.
func unsecured(options map[string]string) bool {
	for name := range options {
		if strings.HasPrefix(name, "unsecuredLogin") {
			return true
		}
	}
	return false
}

// file is the path of the file that holds a token, empty if there is none.
func (o *OAuth) file() string {
	if u, err := url.Parse(o.Endpoint); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return ""
}

// where is the endpoint without what may prove who asks: a name and password, and the query whatever its parameters are called.
func (o *OAuth) where() string {
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		return "of " + endpointName
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// with is the configuration with what the options add.
func (o OAuth) with(options map[string]string) OAuth {
	o.ClientID = cmp.Or(o.ClientID, options["clientId"])
	o.ClientSecret = cmp.Or(o.ClientSecret, options["clientSecret"])
	o.Scope = cmp.Or(o.Scope, options["scope"])
	set := func(d *time.Duration, value time.Duration) { *d = cmp.Or(*d, value) }
	set(&o.ConnectTimeout, 10*time.Second)
	set(&o.ReadTimeout, 10*time.Second)
	set(&o.Backoff, 100*time.Millisecond)
	set(&o.BackoffMax, 10*time.Second)
	o.Refresh.Factor = cmp.Or(o.Refresh.Factor, 0.8)
	if o.Refresh.MinPeriod == nil {
		o.Refresh.MinPeriod = new(time.Minute)
	}
	if o.Refresh.Buffer == nil {
		o.Refresh.Buffer = new(5 * time.Minute)
	}
	if o.now == nil {
		o.now = time.Now
	}
	return o
}

func (o OAuth) validate(options map[string]string) []Fault {
	o = o.with(options)
	switch {
	case unsecured(options) && o.Endpoint != "":
		return []Fault{{Property: endpointName, Message: "is given, and the JAAS text asks for a token without a signature: one of the two can count"}}
	case unsecured(options):
		if _, err := unsecuredToken(options, o.now()); err != nil {
			return []Fault{{Property: jaasName, Message: err.Error()}}
		}
		return checkExtensions(options)
	case o.Endpoint == "":
		return []Fault{{Property: endpointName, Message: "is required for OAUTHBEARER: where tokens are asked for, or file:///path for a file that holds one"}}
	case o.file() != "":
		return checkExtensions(options)
	case o.ClientID == "":
		return []Fault{{Property: idName, Message: "is required for a token endpoint (or the option clientId of sasl.jaas.config)"}}
	case o.ClientSecret == "":
		return []Fault{{Property: secretName, Message: "is required for a token endpoint (or the option clientSecret of sasl.jaas.config)"}}
	}
	if _, err := tlsOf(options); err != nil {
		return []Fault{{Property: jaasName, Message: err.Error()}}
	}
	return checkExtensions(options)
}

// extensions are those that RFC 7628 lets a client send along, without their prefix.
func extensions(options map[string]string) map[string]string {
	found := map[string]string{}
	for name, value := range options {
		if key, ok := strings.CutPrefix(name, extensionPrefix); ok {
			found[key] = value
		}
	}
	return found
}

// checkExtensions holds them to RFC 7628 section 3.1, as brokers do. auth is the token's own.
func checkExtensions(options map[string]string) []Fault {
	letters := func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
	for key, value := range extensions(options) {
		if key == "" || key == "auth" || strings.ContainsFunc(key, func(r rune) bool { return !letters(r) }) {
			return []Fault{{Property: jaasName, Message: "has an extension_ whose name is no word of letters, or auth"}}
		}
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r > '~' }) {
			return []Fault{{Property: jaasName, Message: "has an extension_ whose value is empty, or has characters that it cannot have"}}
		}
	}
	return nil
}

func (o OAuth) describe(options map[string]string) string {
	o = o.with(options)
	switch {
	case unsecured(options):
		return ", with a token without a signature"
	case o.file() != "":
		return ", with the token in " + o.file()
	}
	return ", as client " + o.ClientID + " of " + o.where()
}

// tlsOf are the options that say how the token endpoint is known, by the names of properties.
func tlsOf(options map[string]string) (tlsfile.Files, error) {
	var f tlsfile.Files
	fields := map[string]*string{"ssl.truststore.location": &f.Trust, "ssl.truststore.password": &f.TrustPassword, "ssl.truststore.type": &f.TrustType,
		"ssl.truststore.certificates": &f.TrustPEM, "ssl.keystore.location": &f.Key, "ssl.keystore.password": &f.StorePassword, "ssl.keystore.type": &f.KeyType,
		"ssl.key.password": &f.KeyPassword, "ssl.keystore.key": &f.KeyPEM, "ssl.keystore.certificate.chain": &f.ChainPEM, "ssl.enabled.protocols": &f.Protocols, "ssl.cipher.suites": &f.Ciphers}
	for name, value := range options {
		switch field := fields[name]; {
		case field != nil:
			*field = value
		case name == "ssl.endpoint.identification.algorithm":
			if err := f.CheckHost(value); err != nil {
				return f, fmt.Errorf("has the option %s: %w", name, err)
			}
		case strings.HasPrefix(name, "ssl.") && name != "ssl.protocol":
			return f, fmt.Errorf("has an option of TLS that sluice does not know: want %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
	}
	return f, nil
}

// mechanism gets a token for each session that begins, the same one until it is old.
func (o OAuth) mechanism(options map[string]string, files tlsfile.Files) (sasl.Mechanism, error) {
	o = o.with(options)
	extra := extensions(options)
	get := func(context.Context) (string, error) { return o.readFile() }
	switch {
	case unsecured(options):
		get = func(context.Context) (string, error) { return unsecuredToken(options, o.now()) }
	case o.file() == "":
		own, err := tlsOf(options)
		if err != nil {
			return nil, err
		}
		if own != (tlsfile.Files{}) {
			files = own
		}
		config, err := files.ConfigBesideSystem("token endpoint: property")
		if err != nil {
			return nil, err
		}
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: o.ConnectTimeout, DialContext: dialer(o.ConnectTimeout), MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
		get = (&tokens{oauth: o, client: &http.Client{Transport: transport, Timeout: o.ConnectTimeout + o.ReadTimeout,
			// A redirect would carry the secret on.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}).get
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		text, err := get(ctx)
		return oauth.Auth{Token: text, Extensions: extra}, err
	}), nil
}

// readFile reads the token anew each time: whoever put it there replaces it.
func (o OAuth) readFile() (string, error) {
	hint := "Have the token written to the file of " + endpointName + ", alone and readable by sluice."
	content, err := os.ReadFile(o.file())
	if err != nil {
		return "", &batch.Fault{Class: batch.NotSetUp, Message: "read the token for Kafka", Hint: hint, Err: err}
	}
	text := strings.TrimSpace(string(content))
	if !validToken(text) {
		return "", &batch.Fault{Class: batch.NotSetUp, Message: "the file " + o.file() + " holds no token", Hint: hint}
	}
	return text, nil
}

// validToken holds a token to RFC 6750's characters, which keep it in its place in the message to the broker.
func validToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// token is one that was got, with its time.
type token struct {
	text            string
	issued, expires time.Time
}

// tokens keeps the token of an endpoint until it is old. Those who want one at the same time get the same.
type tokens struct {
	oauth  OAuth
	client *http.Client

	mu    sync.Mutex
	kept  token
	group singleflight.Group
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if kept := t.current(); kept.text != "" {
		return kept.text, nil
	}
	got, err, _ := t.group.Do("", func() (any, error) {
		fresh, err := t.ask(ctx)
		if err == nil {
			t.mu.Lock()
			t.kept = fresh
			t.mu.Unlock()
		}
		return fresh.text, err
	})
	if err != nil {
		return "", err
	}
	return got.(string), nil
}

// current is the token in hand, without a text if it is old.
func (t *tokens) current() token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.expires.IsZero() || !t.oauth.now().Before(t.oauth.Refresh.due(t.kept)) {
		return token{}
	}
	return t.kept
}

// due is when a token is old. A session that begins with one which is about to expire would end at once: the last two
// seconds, or half of a lifetime that is shorter than four, are none to begin in.
func (r Refresh) due(t token) time.Time {
	lifetime := t.expires.Sub(t.issued)
	at := t.issued.Add(time.Duration(float64(lifetime) * r.Factor))
	if *r.MinPeriod+*r.Buffer <= lifetime {
		if latest := t.expires.Add(-*r.Buffer); at.After(latest) {
			at = latest
		}
		if earliest := t.issued.Add(*r.MinPeriod); at.Before(earliest) {
			at = earliest
		}
	}
	if last := t.expires.Add(-min(2*time.Second, lifetime/2)); at.After(last) {
		return last
	}
	return at
}
