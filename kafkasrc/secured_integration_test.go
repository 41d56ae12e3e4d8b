//go:build integration

package kafkasrc

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/rig"
)

const (
	plainModule = `org.apache.kafka.common.security.plain.PlainLoginModule`
	scramModule = `org.apache.kafka.common.security.scram.ScramLoginModule`
	oauthModule = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule`
)

func login(module, user, password string) string {
	return fmt.Sprintf("%s required username=%q password=%q;", module, user, password)
}

// securedOrders is a topic with three records that the reader may read.
func securedOrders(t *testing.T, b rig.Secured) (string, []*kgo.Record) {
	t.Helper()
	topic := b.CreateTopic(t, 1, nil)
	b.Allow(t, rig.Reader, topic, kadm.OpRead, kadm.OpDescribe)
	records := numbered(topic, 0, 3, 5)
	b.Produce(t, records...)
	return topic, records
}

// tokenEndpoint is an identity provider for one client; give makes its tokens.
func tokenEndpoint(t *testing.T, give func() string) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if id, secret, _ := r.BasicAuth(); id != "etl" || secret != "token-secret" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no such secret: %s"}`, secret)
			return
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"access_token": give(), "token_type": "Bearer"}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// Every way in of a real broker, as Java's clients configure it.
func TestRealBrokersLetInWhoProvesWhoItIs(t *testing.T) {
	b := rig.SecuredKafka(t)
	topic, records := securedOrders(t, b)
	signed, _ := tokenEndpoint(t, func() string { return b.Token(t, rig.Reader, time.Hour) })
	unsigned, _ := tokenEndpoint(t, func() string { return b.UnsignedToken(t, rig.Reader, time.Hour) })
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(b.Token(t, rig.Reader, time.Hour)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trust := map[string]map[string]string{
		"PEM":                      {"ssl.truststore.type": "PEM", "ssl.truststore.location": b.Secret(t, "ca.pem")},
		"JKS":                      {"ssl.truststore.type": "JKS", "ssl.truststore.location": b.Secret(t, "trust.jks"), "ssl.truststore.password": rig.StorePassword},
		"JKS without its password": {"ssl.truststore.location": b.Secret(t, "trust.jks")},
		"PKCS12":                   {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": b.Secret(t, "trust.p12"), "ssl.truststore.password": rig.StorePassword},
	}
	keys := map[string]map[string]string{
		"encrypted PEM": {"ssl.keystore.location": b.Secret(t, "client.pem"), "ssl.key.password": rig.KeyPassword},
		"JKS":           {"ssl.keystore.type": "JKS", "ssl.keystore.location": b.Secret(t, "client.jks"), "ssl.keystore.password": rig.StorePassword, "ssl.key.password": rig.KeyPassword},
		"PKCS12":        {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": b.Secret(t, "client.p12"), "ssl.keystore.password": rig.StorePassword, "ssl.key.password": rig.StorePassword},
	}
	type way struct {
		address, protocol string
		properties        map[string]string
	}
	ways := map[string]way{
		"PLAIN":                    {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "PLAIN", "sasl.jaas.config": login(plainModule, rig.Reader, rig.ReaderPassword)}},
		"PLAIN by two properties":  {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": rig.Reader, "sasl.password": rig.ReaderPassword}},
		"SCRAM-SHA-256":            {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": login(scramModule, rig.Reader, rig.ReaderPassword)}},
		"SCRAM-SHA-512":            {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login(scramModule, rig.Reader, rig.ReaderPassword)}},
		"an unsigned token":        {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": oauthModule + ` required unsecuredLoginStringClaim_sub="reader";`}},
		"an endpoint's unsigned":   {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": unsigned, "sasl.jaas.config": oauthModule + ` required clientId="etl" clientSecret="token-secret";`}},
		"an endpoint's signed":     {b.SASLTLS, "SASL_SSL", map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": signed, "sasl.oauthbearer.client.credentials.client.id": "etl", "sasl.oauthbearer.client.credentials.client.secret": "token-secret"}},
		"a token in a file":        {b.SASLTLS, "SASL_SSL", map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "file://" + tokenFile}},
		"SCRAM-SHA-512 with TLS":   {b.SASLTLS, "SASL_SSL", map[string]string{"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login(scramModule, rig.Reader, rig.ReaderPassword)}},
		"PLAIN with TLS 1.2 alone": {b.SASLTLS, "SASL_SSL", map[string]string{"sasl.mechanism": "PLAIN", "sasl.jaas.config": login(plainModule, rig.Reader, rig.ReaderPassword), "ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}},
	}
	for kind, store := range keys {
		ways["certificate in "+kind] = way{b.TLS, "SSL", store}
	}
	for kind, store := range trust {
		ways["trust in "+kind] = way{b.SASLTLS, "SASL_SSL", merged(store, map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": rig.Reader, "sasl.password": rig.ReaderPassword})}
	}
	for name, c := range ways {
		t.Run(name, func(t *testing.T) {
			options := realOptions(b.Broker, topics(topic))
			options.Client = merged(map[string]string{"bootstrap.servers": c.address, "security.protocol": c.protocol}, c.properties)
			if strings.HasSuffix(c.protocol, "SSL") && c.properties["ssl.truststore.location"] == "" {
				options.Client["ssl.truststore.location"] = b.Secret(t, "ca.pem")
			}
			s := mustOpen(t, options)
			wantRecords(t, mustDrain(t, read(t, s, pieceNow(t, s, topic))), records)
			alsoOfAnotherClient(t, options.Client, topic)
		})
	}
}

func merged(all ...map[string]string) map[string]string {
	whole := map[string]string{}
	for _, m := range all {
		maps.Copy(whole, m)
	}
	return whole
}

// alsoOfAnotherClient asks with a client made of the same properties, such as that of dead letters.
func alsoOfAnotherClient(t *testing.T, properties map[string]string, topic string) {
	t.Helper()
	connect, err := Connection(properties)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(connect...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), topic)
	if err == nil {
		err = ends.Error()
	}
	if end, _ := ends.Lookup(topic, 0); err != nil || end.Offset != 3 {
		t.Errorf("got end %d, %v, want 3", end.Offset, err)
	}
}

func TestRealBrokersSayWhyTheyLetNobodyIn(t *testing.T) {
	b := rig.SecuredKafka(t)
	topic, _ := securedOrders(t, b)
	tooEarly, _ := tokenEndpoint(t, func() string { return b.Token(t, rig.Reader, -time.Minute) })
	down := refusing(t)
	ca := map[string]string{"ssl.truststore.location": b.Secret(t, "ca.pem")}
	user := map[string]string{"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login(scramModule, rig.Reader, rig.ReaderPassword)}
	oauth := func(url, secret string) map[string]string {
		return map[string]string{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": url, "sasl.jaas.config": oauthModule + ` required clientId="etl" clientSecret="` + secret + `";`}
	}
	for name, c := range map[string]struct {
		address, protocol string
		properties        map[string]string
		class             batch.Class
		text, hint        string
	}{
		"a wrong password by SCRAM":           {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": login(scramModule, rig.Reader, "hunter2")}, batch.NotSetUp, "does not let in user reader by SCRAM-SHA-256", "kafka-configs.sh"},
		"a wrong password by PLAIN":           {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "PLAIN", "sasl.username": rig.Reader, "sasl.password": "hunter2"}, batch.NotSetUp, "does not let in user reader by PLAIN", "user name and password"},
		"a mechanism that it does not have":   {b.SASL, "SASL_PLAINTEXT", map[string]string{"sasl.mechanism": "AWS_MSK_IAM"}, batch.NotSetUp, "does not have AWS_MSK_IAM", "sasl.mechanism"},
		"SASL where there is none":            {b.Addr, "SASL_PLAINTEXT", user, batch.NotSetUp, "has no SASL", "security.protocol to PLAINTEXT"},
		"no login where one is asked for":     {b.SASL, "PLAINTEXT", nil, batch.NotSetUp, b.SASL, "security.protocol"},
		"no TLS where it is spoken":           {b.TLS, "PLAINTEXT", nil, batch.NotSetUp, b.TLS, "it may want SSL"},
		"a login without TLS":                 {b.SASLTLS, "SASL_PLAINTEXT", user, batch.NotSetUp, b.SASLTLS, "SASL_SSL"},
		"TLS where it is not spoken":          {b.SASL, "SASL_SSL", merged(ca, user), batch.NotSetUp, b.SASL, "security.protocol"},
		"an authority that is not trusted":    {b.SASLTLS, "SASL_SSL", user, batch.NotSetUp, "certificate signed by unknown authority", "ssl.truststore.location"},
		"a host that the certificate has not": {strings.Replace(b.SASLTLS, "127.0.0.1", "localhost", 1), "SASL_SSL", merged(ca, user), batch.NotSetUp, "localhost", "as their certificates do"},
		"no certificate":                      {b.TLS, "SSL", ca, batch.NotSetUp, b.TLS, "ssl.keystore.location"},
		"a certificate that nobody signed":    {b.TLS, "SSL", merged(ca, map[string]string{"ssl.keystore.location": b.Secret(t, "stranger.p12"), "ssl.keystore.password": rig.StorePassword}), batch.NotSetUp, b.TLS, "ssl.keystore.location"},
		"a token that has expired":            {b.SASLTLS, "SASL_SSL", merged(ca, oauth(tooEarly, "token-secret")), batch.NotSetUp, "does not let in by OAUTHBEARER, as client etl of " + tooEarly, "expiry"},
		"a client's secret that is wrong":     {b.SASLTLS, "SASL_SSL", merged(ca, oauth(tooEarly, "hunter2")), batch.NotSetUp, "answers 401 (invalid_client no such secret: (redacted)) to client etl", "secret"},
		"a token endpoint that is down":       {b.SASLTLS, "SASL_SSL", merged(ca, oauth("http://"+down, "hunter2"), map[string]string{"sasl.login.retry.backoff.max.ms": "1"}), batch.Failed, "token endpoint http://" + down + " does not answer", "token endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for the end of the patience
			options := realOptions(b.Broker, topics(topic))
			options.Client = merged(map[string]string{"bootstrap.servers": c.address, "security.protocol": c.protocol}, c.properties)
			options.Limits.Connect = 3 * time.Second
			s, err := Open(t.Context(), options)
			if err == nil {
				s.Close()
			}
			wantFault(t, err, c.class, c.text)
			if hint := batch.HintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("got hint %q, want it to say %q", hint, c.hint)
			}
			if text := fmt.Sprint(err) + batch.HintOf(err); strings.Contains(text, "hunter2") || strings.Contains(text, rig.ReaderPassword) || strings.Contains(text, "token-secret") {
				t.Errorf("a secret shows: %s", text)
			}
		})
	}
}

// https://github.com/twmb/franz-go/issues/205: a right that is missing ends a run at once, and is named.
func TestRealRightsThatAreMissingAreNamed(t *testing.T) {
	b := rig.SecuredKafka(t)
	topic := b.CreateTopic(t, 1, nil)
	b.Produce(t, numbered(topic, 0, 3, 5)...)
	options := realOptions(b.Broker, topics(topic))
	options.Client = map[string]string{"bootstrap.servers": b.SASL, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": rig.Reader, "sasl.password": rig.ReaderPassword}
	s := mustOpen(t, options)
	_, err := s.View(t.Context(), s.Isolation(), nil)
	wantFault(t, err, batch.NotSetUp, "the ACL Describe on topic "+topic+" is missing")
	b.Allow(t, rig.Reader, topic, kadm.OpDescribe)
	s = mustOpen(t, options)
	piece := pieceNow(t, s, topic)
	_, err = drain(read(t, s, piece))
	wantFault(t, err, batch.NotSetUp, "the ACL Read on topic "+topic+" is missing")
	if hint := batch.HintOf(err); !strings.Contains(hint, "Grant the principal") {
		t.Errorf("got hint %q", hint)
	}
	b.Allow(t, rig.Reader, topic, kadm.OpRead) // no right on a group, and none on the cluster
	if rows := mustDrain(t, read(t, mustOpen(t, options), piece)); len(rows) != 3 {
		t.Errorf("got %d rows, want 3", len(rows))
	}
}

// KIP-368: a broker ends a session with its token. The run goes on with a new one, on the same connection, and reads each
// record once.
func TestATokenThatExpiresInTheMiddleOfARunIsReplaced(t *testing.T) {
	b := rig.SecuredKafka(t)
	topic := b.CreateTopic(t, 1, nil)
	b.Allow(t, rig.Reader, topic, kadm.OpRead, kadm.OpDescribe)
	records := numbered(topic, 0, 40, 5)
	produceEach(t, b.Broker, records)
	const lifetime = 3 * time.Second
	url, asked := tokenEndpoint(t, func() string { return b.Token(t, rig.Reader, lifetime) })
	options := realOptions(b.Broker, topics(topic))
	options.Client = map[string]string{"bootstrap.servers": b.SASLTLS, "security.protocol": "SASL_SSL", "ssl.truststore.location": b.Secret(t, "ca.pem"),
		"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": url, "sasl.jaas.config": oauthModule + ` required clientId="etl" clientSecret="token-secret";`}
	s := mustOpen(t, options)
	whole := pieceNow(t, s, topic)
	var rows []row
	began := time.Now()
	for asked.Load() < 3 { // each pass takes no time, and a broker closes connections that outlive their token
		if time.Since(began) > time.Minute {
			t.Fatalf("a minute is over, and the endpoint was asked %d times", asked.Load())
		}
		rows = nil
		for from := whole.From; from < whole.Until; from += 10 {
			part := whole
			part.From, part.Until = from, min(whole.Until, from+10)
			rows = append(rows, mustDrain(t, read(t, s, part))...)
		}
		wantRecords(t, rows, records)
	}
	if time.Since(began) < lifetime/2 {
		t.Errorf("the token was replaced after %v: want it to be used as long as it is good", time.Since(began))
	}
}
