package registry

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
)

func TestPropertiesAreCheckedByName(t *testing.T) {
	for _, c := range []struct {
		properties map[string]string
		name, want string
		nearest    string
	}{
		{nil, "schema.registry.url", "is required", ""},
		{at("http://r", "basic.auth.userinfo", "a:b"), "basic.auth.userinfo", "is unknown to sluice", "basic.auth.user.info"},
		{at("http://r", "schema.registry.basic_auth_user_info", "a:b"), "schema.registry.basic_auth_user_info", "is unknown", "basic.auth.user.info"},
		{at("http://r", "schema.registry.urls", "http://r"), "schema.registry.urls", "is unknown", "schema.registry.url"},
		{at("http://r", "url", "http://r"), "url", "is unknown", "schema.registry.url"},
		{at("http://r", "bearer.authtoken", "x"), "bearer.authtoken", "is unknown", "bearer.auth.token"},
		{at("http://r", "compression.type", "x"), "compression.type", "is unknown", ""},
		{at("http://r", "request.header.", "x"), "request.header.", "want the name of a header", ""},
		{at("http://r", "request.header.a b", "x"), "request.header.a b", "want the name of a header", ""},
		{at("http://r", "request.header.X", "a\nb"), "request.header.X", "characters that a header cannot have", ""},
		{at("http://r", "request.header.accept", "x"), "request.header.accept", "sluice decides itself", ""},
		{at("http://r", "auto.register.schemas", "false"), "auto.register.schemas", "nothing is ever registered", ""},
		{at("http://r", "schema.registry.ssl.ca.location", "ca.pem"), "schema.registry.ssl.ca.location", "ssl.truststore.location", ""},
		{at("http://r", "bearer.auth.token", "x", "schema.registry.bearer.auth.token", "y"), "schema.registry.bearer.auth.token", "is given as bearer.auth.token too", ""},
		{at("http://r", "basic.auth.credentials.source", "SASL_INHERIT"), "basic.auth.credentials.source", "want USER_INFO or URL", ""},
		{at("http://r", "bearer.auth.credentials.source", "CUSTOM"), "bearer.auth.credentials.source", "want STATIC_TOKEN or OAUTHBEARER", ""},
		{at("http://r", "basic.auth.user.info", secret[:6]), "basic.auth.user.info", "want name:password", ""},
		{at("http://r", "basic.auth.user.info", ""), "basic.auth.user.info", "want name:password", ""},
		{at("http://r", "bearer.auth.token", ""), "bearer.auth.token", "want the token alone", ""},
		{at("http://r", "bearer.auth.token", "Bearer "+secret), "bearer.auth.token", "want the token alone", ""},
		{at("http://r", "ssl.truststore.type", "JCEKS"), "ssl.truststore.type", "want PEM, JKS or PKCS12", ""},
		{at("https://r", "ssl.endpoint.identification.algorithm", "none"), "ssl.endpoint.identification.algorithm", "want https, or an empty text", ""},
		{at("https://r", "ssl.truststore.location", ""), "ssl.truststore.location", "not empty", ""},
		{at("http://r", "max.retries", "-1"), "max.retries", "between 0 and 100", ""},
		{at("http://r", "http.read.timeout.ms", "1.5"), "http.read.timeout.ms", "whole number of milliseconds", ""},
		{at("http://r", "bearer.auth.issuer.endpoint.url", "issuer/token"), "bearer.auth.issuer.endpoint.url", "want the URL", ""},
		{at("http://r", "bearer.auth.issuer.endpoint.url", "https://a:"+"S3cr3t@issuer/token"), "bearer.auth.issuer.endpoint.url", "without credentials", ""},
	} {
		faults := Check(c.properties)
		if len(faults) != 1 || faults[0].Name != c.name || !strings.Contains(faults[0].Message, c.want) || faults[0].Nearest != c.nearest {
			t.Errorf("%v: got %+v, want %s: %s, %s", c.properties, faults, c.name, c.want, c.nearest)
			continue
		}
		_, err := New(Options{Properties: c.properties})
		wantFault(t, err, batch.NotSetUp, "schema registry property "+c.name, c.want)
		withoutSecrets(t, err)
	}
}

func TestPropertiesThatDoNotGoTogetherAreRefused(t *testing.T) {
	oauth := []string{"bearer.auth.issuer.endpoint.url", "https://issuer/token", "bearer.auth.client.id", "a", "bearer.auth.client.secret", secret}
	for _, c := range []struct {
		properties map[string]string
		name, want string
	}{
		{at("http://a:S3cr3t@r", "basic.auth.user.info", "a:b"), "basic.auth.user.info", "a name before its @"},
		{at("http://r", "basic.auth.user.info", "a:b", "basic.auth.credentials.source", "URL"), "basic.auth.user.info", "has no effect"},
		{at("http://r", "basic.auth.credentials.source", "URL"), "basic.auth.credentials.source", "no URL has name:password@"},
		{at("http://r", "schema.registry.basic.auth.credentials.source", "USER_INFO"), "schema.registry.basic.auth.credentials.source", "basic.auth.user.info is not given"},
		{at("http://r", "bearer.auth.credentials.source", "STATIC_TOKEN"), "bearer.auth.credentials.source", "bearer.auth.token is not given"},
		{at("http://r", "bearer.auth.credentials.source", "OAUTHBEARER"), "bearer.auth.credentials.source", "is not given"},
		{at("http://r", "bearer.auth.client.id", "a"), "bearer.auth.issuer.endpoint.url", "is required"},
		{at("http://r", "bearer.auth.client.id", "a"), "bearer.auth.client.secret", "is required"},
		{at("http://r", append(oauth, "bearer.auth.token", secret)...), "bearer.auth.token", "one of the two"},
		{at("http://r", append(oauth, "basic.auth.user.info", "a:b")...), "bearer.auth.credentials.source", "one of the two"},
		{at("http://r", "request.header.Authorization", secret, "bearer.auth.token", "x"), "request.header.Authorization", "one of the two"},
		{at("http://r", "proxy.host", "proxy"), "proxy.host", "together"},
		{at("http://r", "proxy.port", "3128"), "proxy.host", "together"},
		{at("http://r", "schema.registry.ssl.truststore.location", "ca.pem"), "schema.registry.ssl.truststore.location", "no URL begins with https://"},
	} {
		_, err := New(Options{Properties: c.properties})
		wantFault(t, err, batch.NotSetUp, "schema registry property "+c.name+": ", c.want)
		withoutSecrets(t, err)
	}
}

func TestAnAddressThatIsNoneIsNotShown(t *testing.T) {
	for url, want := range map[string]string{
		"":                                     "it does not begin with http:// or https://",
		"r:8081":                               "it does not begin with http",
		"mock://scope":                         "it does not begin with http",
		"http://":                              "it has no host",
		"http://:8081":                         "it has no host",
		"http://r:port":                        "it is no URL",
		"http://r?a=b":                         "a ? or a #",
		"http://reader:S3cr3t/p@ss@r:8081":     "it is no URL; in a password, write %2F",
		"http://reader:S3cr3t%zz@r:8081":       "it is no URL; in a password, write",
		"http://reader:S3cr3t#p@r:8081":        "it is no URL",
		"http://reader:S3cr3t?p@r:8081":        "it is no URL",
		"http://r:8081,":                       "entry 2: want https://host:port",
		"http://a,reader:S3cr3t@r:8081":        "entry 2: want https://host:port",
		"http://reader:S3cr3t,p@r:8081":        "entry 1: want https://host:port",
		"http://r/\x7f":                        "it is no URL",
		"ldap://reader:S3cr3t@r":               "it does not begin with http",
		"http://reader:S3cr3t@":                "it has no host",
		"http://reader:S3cr3t@r/?token=S3cr3t": "a ? or a #",
	} {
		_, err := New(Options{Properties: at(url)})
		wantFault(t, err, batch.NotSetUp, "schema registry property schema.registry.url: ", want)
		withoutSecrets(t, err)
	}
}

func TestEveryFaultIsToldAtOnce(t *testing.T) {
	_, err := New(Options{Properties: map[string]string{"schema.registry.url": "r", "max.retries": "many", "proxy": "x"}})
	wantFault(t, err, batch.NotSetUp, "property schema.registry.url", "property max.retries", "property proxy: is unknown")
}

func TestSecretPropertiesAreKnown(t *testing.T) {
	for name, want := range map[string]bool{
		"basic.auth.user.info": true, "schema.registry.basic.auth.user.info": true, "bearer.auth.token": true, "bearer.auth.client.secret": true,
		"ssl.keystore.key": true, "request.header.X-Api-Key": true, "schema.registry.url": false, "bearer.auth.client.id": false, "ssl.keystore.location": false,
	} {
		if got := Secret(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestTheTableOfPropertiesHasThemAll(t *testing.T) {
	table := PropertyTable()
	for name := range properties {
		if !strings.Contains(table, fmt.Sprintf("`%s` | ", strings.Replace(name, "url", "schema.registry.url", 1))) && !strings.Contains(table, "| `"+name+"` | ") {
			t.Errorf("%s is missing", name)
		}
	}
	for name, why := range refused {
		if !strings.Contains(table, "| `"+name+"` | cannot be set: "+why+" |\n") {
			t.Errorf("%s is missing", name)
		}
	}
	for line := range strings.Lines(table) {
		if strings.Count(line, "|") != 3 {
			t.Errorf("got %q", line)
		}
	}
}
