package registry

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"sluice/spelling"
	"sluice/tlsfile"
)

// settings is what the properties come to.
type settings struct {
	endpoints []endpoint
	// basicSource and bearerSource say where credentials come from; empty where that is not said.
	basicSource, bearerSource string
	userInfo, token           string
	oauth                     oauthClient
	// headers go with every request; their values are secrets.
	headers                     http.Header
	files                       tlsfile.Files
	proxyHost                   string
	proxyPort                   int
	connectTimeout, readTimeout time.Duration
	retries                     int
	wait, maxWait               time.Duration
}

// endpoint is one server of the registry.
type endpoint struct {
	// base is its URL without user, query and slash at the end.
	base *url.URL
	// user is what stood before the @, nil if nothing did.
	user *url.Userinfo
}

// property is one property that is understood. The error of set never quotes the value: it may be secret.
type property struct {
	set func(s *settings, value string) error
	// doc says what the values are, for the documentation.
	doc string
}

// prefix may stand before every property, as Confluent has it in the properties of serializers and of ksqlDB.
const prefix = "schema.registry."

// headerPrefix begins the names of properties that are headers of requests.
const headerPrefix = "request.header."

// The headers by which Confluent Cloud knows where a token is for.
const (
	clusterHeader = "target-sr-cluster"
	poolHeader    = "Confluent-Identity-Pool-Id"
)

const urlName = prefix + "url"

// properties holds all that is understood, by Confluent's name. A new one is a line here.
var properties = withTLS(map[string]property{
	"url":                           {set: setURLs, doc: "`https://host:port`, several separated by commas: if one does not answer, the next is asked. The address of a context ends in `/contexts/NAME`, that of Apicurio in `/apis/ccompat/v7`"},
	"basic.auth.credentials.source": {set: word(func(s *settings) *string { return &s.basicSource }, "USER_INFO", "URL"), doc: "`USER_INFO`, which is the default with `basic.auth.user.info`; not `URL`, since a job's URL has no name and password in it"},
	"basic.auth.user.info":          {set: setUserInfo, doc: "`name:password`; a secret"},
	"bearer.auth.credentials.source": {set: word(func(s *settings) *string { return &s.bearerSource }, "STATIC_TOKEN", "OAUTHBEARER"),
		doc: "`STATIC_TOKEN`, which is the default with `bearer.auth.token`, or `OAUTHBEARER`, the default with `bearer.auth.issuer.endpoint.url`"},
	"bearer.auth.token":               {set: setToken, doc: "the token itself; a secret"},
	"bearer.auth.issuer.endpoint.url": {set: setIssuer, doc: "where tokens are asked for, by OAuth 2's client credentials"},
	"bearer.auth.client.id":           {set: text(func(s *settings) *string { return &s.oauth.id }), doc: "the client's id there"},
	"bearer.auth.client.secret":       {set: text(func(s *settings) *string { return &s.oauth.secret }), doc: "the client's secret there"},
	"bearer.auth.scope":               {set: text(func(s *settings) *string { return &s.oauth.scope }), doc: "the scopes to ask for, separated by spaces"},
	"bearer.auth.logical.cluster":     {set: header(clusterHeader), doc: "the registry within Confluent Cloud, `lsrc-…`: the header `target-sr-cluster`"},
	"bearer.auth.identity.pool.id":    {set: header(poolHeader), doc: "the identity pool of Confluent Cloud, `pool-…`: the header `Confluent-Identity-Pool-Id`"},
	"proxy.host":                      {set: text(func(s *settings) *string { return &s.proxyHost }), doc: "the host of an HTTP proxy; otherwise the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY say"},
	"proxy.port":                      {set: number(func(s *settings) *int { return &s.proxyPort }, 1, 65535), doc: "its port"},
	"http.connect.timeout.ms":         {set: millis(func(s *settings) *time.Duration { return &s.connectTimeout }), doc: "how long connecting may take; 10000"},
	"http.read.timeout.ms":            {set: millis(func(s *settings) *time.Duration { return &s.readTimeout }), doc: "how long one request may take; 30000"},
	"max.retries":                     {set: number(func(s *settings) *int { return &s.retries }, 0, 100), doc: "how often all servers are asked again when none answers, or all are busy; 5"},
	"retries.wait.ms":                 {set: millis(func(s *settings) *time.Duration { return &s.wait }), doc: "the longest pause before the first retry; it doubles; 500"},
	"retries.max.wait.ms":             {set: millis(func(s *settings) *time.Duration { return &s.maxWait }), doc: "the longest pause of all, where the registry names no other; 20000"},
})

// withTLS adds the properties of TLS.
func withTLS(properties map[string]property) map[string]property {
	for name, p := range tlsfile.Properties {
		properties[name] = property{set: func(s *settings, value string) error { return p.Set(&s.files, value) }, doc: p.Doc}
	}
	return properties
}

// refused holds the properties of Confluent's clients that have no place here, with the reason.
var refused = map[string]string{
	"auto.register.schemas":       "nothing is ever registered by reading",
	"use.latest.version":          "a value is read with the schema that it was written with",
	"value.deserializer":          "how values become columns is value.format",
	"key.deserializer":            "how keys become columns is key.format",
	"value.subject.name.strategy": "the subject is that of the topic, or given by its name",
	"key.subject.name.strategy":   "the subject is that of the topic, or given by its name",
	// Names that Confluent's clients on top of librdkafka give to the same things.
	"ssl.ca.location":          "here it is called ssl.truststore.location",
	"ssl.certificate.location": "ssl.keystore.location has certificate and key in one file",
	"ssl.key.location":         "ssl.keystore.location has certificate and key in one file",
}

// PropertyFault is what is wrong with one property.
type PropertyFault struct {
	// Name is the property's, as it was given.
	Name string
	// Value says that the value does not fit, and not that the property cannot be set.
	Value bool
	// Message says what is wrong, without the value, which may be secret.
	Message string
	// Nearest is the property that was probably meant, empty if none is near.
	Nearest string
}

// Error names the property and says what is wrong with it.
func (f *PropertyFault) Error() string {
	text := "schema registry property " + f.Name + ": " + f.Message
	if f.Nearest != "" {
		text += "; did you mean " + f.Nearest + "?"
	}
	return text
}

// Check reports all that is wrong with the properties of a registry, in the order of their names. It reads no file and
// asks no server.
func Check(given map[string]string) []PropertyFault {
	_, faults := read(given)
	return faults
}

// Secret says whether the value of the property of this name must not be shown.
func Secret(name string) bool {
	name = strings.TrimPrefix(name, prefix)
	switch name {
	case "basic.auth.user.info", "bearer.auth.token", "bearer.auth.client.secret", "ssl.keystore.key":
		return true
	}
	return strings.HasPrefix(name, headerPrefix)
}

// PropertyTable is the table of properties in Markdown, for the documentation: those that are understood, then those that
// have no place here.
func PropertyTable() string {
	var b strings.Builder
	b.WriteString("| property | value |\n|---|---|\n| `" + urlName + "` | " + properties["url"].doc + " |\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if name != "url" {
			b.WriteString("| `" + name + "` | " + properties[name].doc + " |\n")
		}
	}
	b.WriteString("| `request.header.NAME` | the header NAME of every request; a secret |\n")
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		b.WriteString("| `" + name + "` | cannot be set: " + refused[name] + " |\n")
	}
	return b.String()
}

func read(given map[string]string) (settings, []PropertyFault) {
	s := settings{
		headers:        http.Header{},
		connectTimeout: 10 * time.Second,
		readTimeout:    30 * time.Second,
		retries:        5,
		wait:           500 * time.Millisecond,
		maxWait:        20 * time.Second,
	}
	var faults []PropertyFault
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if f := s.apply(name, given); f != nil {
			faults = append(faults, *f)
		}
	}
	if len(faults) > 0 {
		return s, faults
	}
	faults = s.conflicts()
	for i := range faults {
		faults[i].Name = asGiven(faults[i].Name, given)
	}
	return s, faults
}

// asGiven is the name under which a property was given.
func asGiven(name string, given map[string]string) string {
	for _, other := range slices.Sorted(maps.Keys(given)) {
		if short := strings.TrimPrefix(other, prefix); short == name || name == allTLS && strings.HasPrefix(short, "ssl.") {
			return other
		}
	}
	return name
}

// allTLS stands for whichever of these properties was given.
const allTLS = "ssl.*"

func (s *settings) apply(name string, given map[string]string) *PropertyFault {
	short := strings.TrimPrefix(name, prefix)
	if other, twice := given[short]; twice && short != name && other != given[name] {
		return &PropertyFault{Name: name, Message: "is given as " + short + " too, with another value"}
	}
	if short == name && short == "url" {
		return &PropertyFault{Name: name, Message: "is unknown to sluice", Nearest: urlName}
	}
	if why, ok := refused[short]; ok {
		return &PropertyFault{Name: name, Message: "cannot be set: " + why}
	}
	set := properties[short].set
	if field, ok := strings.CutPrefix(short, headerPrefix); ok {
		set = requestHeader(field)
	}
	if set == nil {
		return unknownProperty(name, short)
	}
	if err := set(s, strings.TrimSpace(given[name])); err != nil {
		return &PropertyFault{Name: name, Value: true, Message: err.Error()}
	}
	return nil
}

func unknownProperty(name, short string) *PropertyFault {
	f := &PropertyFault{Name: name, Message: "is unknown to sluice"}
	known := slices.Concat(slices.Collect(maps.Keys(properties)), slices.Collect(maps.Keys(refused)), []string{headerPrefix})
	if f.Nearest = spelling.Best(short, known, max(1, len(short)/3)); f.Nearest == "url" {
		f.Nearest = urlName
	}
	return f
}

// conflicts is about properties that do not go together.
func (s *settings) conflicts() []PropertyFault {
	var faults []PropertyFault
	wrong := func(when bool, name, message string) {
		if when {
			faults = append(faults, PropertyFault{Name: name, Message: message})
		}
	}
	inURL := slices.ContainsFunc(s.endpoints, func(e endpoint) bool { return e.user != nil })
	secure := slices.ContainsFunc(s.endpoints, func(e endpoint) bool { return e.base.Scheme == "https" })
	basic, static, oauth := s.userInfo != "", s.token != "", s.oauth != oauthClient{}
	wrong(len(s.endpoints) == 0, urlName, "is required, for example https://registry:8081")
	wrong(inURL && basic, "basic.auth.user.info", "is given, and the URL has a name before its @ too")
	wrong(s.basicSource == "URL" && basic, "basic.auth.user.info", "has no effect, since basic.auth.credentials.source is URL")
	wrong(s.basicSource == "URL" && !inURL, "basic.auth.credentials.source", "is URL, and no URL has name:password@ before its host")
	wrong(s.basicSource == "USER_INFO" && !basic, "basic.auth.credentials.source", "is USER_INFO, and basic.auth.user.info is not given")
	wrong(s.bearerSource == "STATIC_TOKEN" && !static, "bearer.auth.credentials.source", "is STATIC_TOKEN, and bearer.auth.token is not given")
	wrong(s.bearerSource == "OAUTHBEARER" && !oauth, "bearer.auth.credentials.source", "is OAUTHBEARER, and bearer.auth.issuer.endpoint.url is not given")
	wrong(static && oauth, "bearer.auth.token", "is given, and bearer.auth.issuer.endpoint.url, client.id or client.secret too: one of the two can count")
	wrong(s.headers.Get("Authorization") != "" && (basic || inURL || static || oauth), headerPrefix+"Authorization", "is given, and other credentials too: one of the two can count")
	wrong((basic || inURL) && (static || oauth), "bearer.auth.credentials.source", "there are credentials for basic and for bearer authentication: one of the two can count")
	for _, part := range []struct{ name, value string }{{"issuer.endpoint.url", s.oauth.issuer}, {"client.id", s.oauth.id}, {"client.secret", s.oauth.secret}} {
		wrong(oauth && part.value == "", "bearer.auth."+part.name, "is required, since other properties of OAuth are given")
	}
	wrong((s.proxyHost == "") != (s.proxyPort == 0), "proxy.host", "and proxy.port are only of use together")
	wrong(s.files != (tlsfile.Files{}) && !secure && !strings.HasPrefix(s.oauth.issuer, "https:"), allTLS, "has no effect, since no URL begins with https://")
	return faults
}

func text(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, value string) error {
		*field(s) = value
		if value == "" {
			return errors.New("want a text that is not empty")
		}
		return nil
	}
}

func word(field func(*settings) *string, known ...string) func(*settings, string) error {
	return func(s *settings, value string) error {
		*field(s) = strings.ToUpper(value)
		if !slices.Contains(known, strings.ToUpper(value)) {
			return errors.New("want " + strings.Join(known, " or ") + ", which sluice can do")
		}
		return nil
	}
}

func millis(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n <= 0 {
			return errors.New("want a whole number of milliseconds above 0")
		}
		*field(s) = time.Duration(n) * time.Millisecond
		return nil
	}
}

func number(field func(*settings) *int, least, most int) func(*settings, string) error {
	return func(s *settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want a whole number between %d and %d", least, most)
		}
		*field(s) = n
		return nil
	}
}

func header(name string) func(*settings, string) error {
	return func(s *settings, value string) error {
		if !httpguts.ValidHeaderFieldValue(value) {
			return errors.New("has characters that a header cannot have")
		}
		s.headers.Set(name, value)
		return nil
	}
}

func requestHeader(name string) func(*settings, string) error {
	return func(s *settings, value string) error {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return errors.New("want the name of a header, behind " + headerPrefix[:len(headerPrefix)-1] + " and a dot")
		case slices.Contains([]string{"Accept", "Host", "Content-Length", "Connection", "Transfer-Encoding"}, http.CanonicalHeaderKey(name)):
			return errors.New("is a header that sluice decides itself")
		}
		return header(name)(s, value)
	}
}

func setToken(s *settings, value string) error {
	s.token = value
	if value == "" || strings.ContainsAny(value, " \t") || !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("want the token alone, without Bearer before it")
	}
	return nil
}

func setUserInfo(s *settings, value string) error {
	s.userInfo = value
	if name, _, ok := strings.Cut(value, ":"); !ok || name == "" {
		return errors.New("want name:password")
	}
	return nil
}
