package kafkasrc

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestClientPropertiesAreCheckedAllAtOnceWithoutTheirValues(t *testing.T) {
	got := CheckClient(map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM", "sasl.password": "hunter1", "ssl.truststore.location": "/ca.pem",
		"group.id": "hunter2", "client.idd": "hunter3", "request.timeout.ms": "hunter4", "client.rack": "a", "kafka.sasl.mechanism": "PLAIN",
		"ssl.enabled.protocols": "TLSv1", "check.crcs": "false", "session.timeout.ms": "30000",
	})
	want := []PropertyFault{
		{Name: "check.crcs", Value: true, Message: "want true: a record batch with a wrong checksum is never read"},
		{Name: "client.idd", Message: "is unknown to sluice", Nearest: "client.id"},
		{Name: "group.id", Message: "cannot be set: progress is kept in the checkpoint and the table; source.consumerGroup names a group to show it to others"},
		{Name: "kafka.sasl.mechanism", Message: "has Spark's prefix kafka., which is not needed here", Nearest: "sasl.mechanism"},
		{Name: "request.timeout.ms", Value: true, Message: "want a whole number of milliseconds above 0"},
		{Name: "sasl.mechanism", Value: true, Message: "want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM"},
		{Name: "ssl.enabled.protocols", Value: true, Message: "want TLSv1.2, TLSv1.3 or both with a comma; older ones are no longer safe"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestPropertiesThatDoNotGoTogetherAreNamed(t *testing.T) {
	with := func(properties map[string]string, name, message string) {
		t.Helper()
		var want []PropertyFault
		if name != "" {
			want = []PropertyFault{{Name: name, Message: message}}
		}
		if got := CheckClient(properties); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", properties, got, want)
		}
	}
	with(map[string]string{"ssl.truststore.location": "/ca.pem", "bootstrap.servers": "a:1", "ssl.protocol": "TLS"}, "ssl.truststore.location", "has no effect, since security.protocol is neither SSL nor SASL_SSL")
	with(map[string]string{"ssl.truststore.location": "/ca.pem", "security.protocol": "SSL"}, "", "") // brokers may be named elsewhere, or not be needed
	with(map[string]string{"sasl.kerberos.service.name": "kafka", "sasl.username": "a", "security.protocol": "SSL"}, "sasl.username", "has no effect, since security.protocol is neither SASL_PLAINTEXT nor SASL_SSL")
	with(map[string]string{"sasl.kerberos.service.name": "kafka"}, "", "")
	with(map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a"}, "sasl.password", "is required beside sasl.username")
	with(map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"}, "", "")
}

// Every property of Apache Kafka 4.4's consumer, as its ConsumerConfig lists them, and what becomes of it: a value that is
// taken, or none if it is refused whatever it is.
var consumerConfig = map[string]string{
	"allow.auto.create.topics":                            "refused",
	"auto.commit.interval.ms":                             "any",
	"auto.offset.reset":                                   "refused",
	"bootstrap.resolve.timeout.ms":                        "any",
	"bootstrap.servers":                                   "a:1",
	"check.crcs":                                          "true",
	"client.dns.lookup":                                   "use_all_dns_ips",
	"client.id":                                           "text",
	"client.rack":                                         "text",
	"config.providers":                                    "refused",
	"connections.max.idle.ms":                             "500",
	"default.api.timeout.ms":                              "500",
	"enable.auto.commit":                                  "refused",
	"enable.metrics.push":                                 "any",
	"exclude.internal.topics":                             "true",
	"fetch.max.bytes":                                     "500",
	"fetch.max.wait.ms":                                   "500",
	"fetch.min.bytes":                                     "500",
	"group.id":                                            "refused",
	"group.instance.id":                                   "any",
	"group.protocol":                                      "any",
	"group.remote.assignor":                               "any",
	"heartbeat.interval.ms":                               "any",
	"interceptor.classes":                                 "refused",
	"isolation.level":                                     "read_uncommitted",
	"key.deserializer":                                    "refused",
	"max.partition.fetch.bytes":                           "500",
	"max.poll.interval.ms":                                "any",
	"max.poll.records":                                    "refused",
	"metadata.cluster.check.enable":                       "any",
	"metadata.max.age.ms":                                 "500",
	"metadata.recovery.rebootstrap.trigger.ms":            "any",
	"metadata.recovery.strategy":                          "any",
	"metric.reporters":                                    "refused",
	"metrics.num.samples":                                 "any",
	"metrics.recording.level":                             "any",
	"metrics.sample.window.ms":                            "any",
	"partition.assignment.strategy":                       "any",
	"receive.buffer.bytes":                                "500",
	"reconnect.backoff.max.ms":                            "any",
	"reconnect.backoff.ms":                                "any",
	"request.timeout.ms":                                  "500",
	"retry.backoff.max.ms":                                "500",
	"retry.backoff.ms":                                    "500",
	"sasl.client.callback.handler.class":                  "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
	"sasl.jaas.config":                                    "text",
	"sasl.kerberos.kinit.cmd":                             "any",
	"sasl.kerberos.min.time.before.relogin":               "any",
	"sasl.kerberos.service.name":                          "any",
	"sasl.kerberos.ticket.renew.jitter":                   "any",
	"sasl.kerberos.ticket.renew.window.factor":            "any",
	"sasl.login.callback.handler.class":                   "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
	"sasl.login.class":                                    "refused",
	"sasl.login.connect.timeout.ms":                       "500",
	"sasl.login.read.timeout.ms":                          "500",
	"sasl.login.refresh.buffer.seconds":                   "500",
	"sasl.login.refresh.min.period.seconds":               "500",
	"sasl.login.refresh.window.factor":                    "0.8",
	"sasl.login.refresh.window.jitter":                    "any",
	"sasl.login.retry.backoff.max.ms":                     "500",
	"sasl.login.retry.backoff.ms":                         "500",
	"sasl.mechanism":                                      "SCRAM-SHA-512",
	"sasl.oauthbearer.allow.unverified.audience":          "any",
	"sasl.oauthbearer.allow.unverified.issuer":            "any",
	"sasl.oauthbearer.assertion.algorithm":                "refused",
	"sasl.oauthbearer.assertion.claim.aud":                "refused",
	"sasl.oauthbearer.assertion.claim.exp.seconds":        "refused",
	"sasl.oauthbearer.assertion.claim.iss":                "refused",
	"sasl.oauthbearer.assertion.claim.jti.include":        "refused",
	"sasl.oauthbearer.assertion.claim.nbf.seconds":        "refused",
	"sasl.oauthbearer.assertion.claim.sub":                "refused",
	"sasl.oauthbearer.assertion.file":                     "refused",
	"sasl.oauthbearer.assertion.private.key.file":         "refused",
	"sasl.oauthbearer.assertion.private.key.passphrase":   "refused",
	"sasl.oauthbearer.assertion.template.file":            "refused",
	"sasl.oauthbearer.client.credentials.client.id":       "text",
	"sasl.oauthbearer.client.credentials.client.secret":   "text",
	"sasl.oauthbearer.clock.skew.seconds":                 "any",
	"sasl.oauthbearer.expected.audience":                  "any",
	"sasl.oauthbearer.expected.issuer":                    "any",
	"sasl.oauthbearer.header.urlencode":                   "true",
	"sasl.oauthbearer.jwks.endpoint.refresh.ms":           "any",
	"sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "any",
	"sasl.oauthbearer.jwks.endpoint.retry.backoff.ms":     "any",
	"sasl.oauthbearer.jwks.endpoint.url":                  "any",
	"sasl.oauthbearer.jwt.retriever.class":                "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
	"sasl.oauthbearer.jwt.validator.class":                "refused",
	"sasl.oauthbearer.scope":                              "text",
	"sasl.oauthbearer.scope.claim.name":                   "any",
	"sasl.oauthbearer.sub.claim.name":                     "any",
	"sasl.oauthbearer.token.endpoint.url":                 "https://idp/token",
	"security.protocol":                                   "SASL_SSL",
	"security.providers":                                  "refused",
	"send.buffer.bytes":                                   "500",
	"session.timeout.ms":                                  "any",
	"share.acknowledgement.mode":                          "any",
	"share.acquire.mode":                                  "any",
	"socket.connection.setup.timeout.max.ms":              "500",
	"socket.connection.setup.timeout.ms":                  "500",
	"ssl.cipher.suites":                                   "TLS_AES_128_GCM_SHA256",
	"ssl.enabled.protocols":                               "TLSv1.2,TLSv1.3",
	"ssl.endpoint.identification.algorithm":               "https",
	"ssl.engine.factory.class":                            "refused",
	"ssl.key.password":                                    "text",
	"ssl.keymanager.algorithm":                            "any",
	"ssl.keystore.certificate.chain":                      "text",
	"ssl.keystore.key":                                    "text",
	"ssl.keystore.location":                               "text",
	"ssl.keystore.password":                               "text",
	"ssl.keystore.type":                                   "PKCS12",
	"ssl.protocol":                                        "any",
	"ssl.provider":                                        "refused",
	"ssl.secure.random.implementation":                    "any",
	"ssl.trustmanager.algorithm":                          "any",
	"ssl.truststore.certificates":                         "text",
	"ssl.truststore.location":                             "text",
	"ssl.truststore.password":                             "text",
	"ssl.truststore.type":                                 "JKS",
	"value.deserializer":                                  "refused",
}

func TestEveryPropertyOfAJavaConsumerHasItsAnswer(t *testing.T) {
	const no = "refused"
	for name, value := range consumerConfig {
		_, taken := properties[name]
		_, nothing := idle[name]
		why := refused[name]
		if n := answers(taken, nothing, why != ""); n != 1 {
			t.Errorf("%s: got %d answers, want 1", name, n)
		}
		if (value == no) != (why != "") {
			t.Errorf("%s: got refused %q, want the value %s", name, why, value)
		}
		if taken {
			if err := properties[name].set(&settings{}, value); err != nil {
				t.Errorf("%s: got %v, want %q to be taken", name, err, value)
			}
		}
	}
	if len(consumerConfig) != 119 {
		t.Errorf("got %d properties, want 119", len(consumerConfig))
	}
}

func answers(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

func TestTheReferenceSaysSomethingOfEachProperty(t *testing.T) {
	lines := slices.Collect(strings.Lines(Reference()))
	if got, want := len(lines), 2+len(properties)+len(idle)+len(refused); got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
	for _, line := range lines {
		if strings.Count(line, "|") != 3 || strings.Contains(line, "|  |") {
			t.Errorf("got %q, want a name and what it means", line)
		}
	}
}

func TestTimesAndSizesOfPropertiesAreThoseOfTheClient(t *testing.T) {
	s, faults := readClient(map[string]string{"default.api.timeout.ms": "1000", "socket.connection.setup.timeout.ms": "20000", "socket.connection.setup.timeout.max.ms": "50000",
		"retry.backoff.ms": "7", "retry.backoff.max.ms": "20", "fetch.max.wait.ms": "9", "fetch.min.bytes": "100", "receive.buffer.bytes": "65536", "send.buffer.bytes": "-1"})
	if faults != nil {
		t.Fatal(faults)
	}
	l := Limits{}.withDefaults(&s)
	want := Limits{Connect: 20 * time.Second, Control: time.Second, NoProgress: 2 * time.Minute, Telling: 15 * time.Second, Backoff: 7 * time.Millisecond, LongestBackoff: 20 * time.Millisecond, FetchWait: 9 * time.Millisecond, Repeats: 5}
	if l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if got := []time.Duration{l.backoff(0), l.backoff(1), l.backoff(2), l.backoff(30)}; !slices.Equal(got, []time.Duration{7e6, 14e6, 20e6, 20e6}) {
		t.Errorf("got pauses %v, want 7, 14, 20, 20 ms", got)
	}
	f := &fetcher{source: &Source{settings: s, limits: l}}
	request := f.request(&attempt{}, &topic{id: topicID{1}}, leader{}, nil).(*kmsg.FetchRequest)
	if request.MinBytes != 100 || request.MaxWaitMillis != 9 {
		t.Errorf("got a Fetch for %d bytes within %d ms, want 100 and 9", request.MinBytes, request.MaxWaitMillis)
	}
}

// KIP-601: connecting may take twice as long after each failure, up to the maximum, and as at first once it has succeeded.
func TestTheTimeToConnectGrowsWithEachFailure(t *testing.T) {
	d := &dialer{timeout: time.Second, longest: 3 * time.Second, failures: map[string]int{}}
	var got []time.Duration
	for _, err := range []error{errors.New("refused"), errors.New("refused"), errors.New("refused"), nil} {
		got = append(got, d.setup("a:1"))
		d.count("a:1", err)
	}
	if got = append(got, d.setup("a:1"), d.setup("b:1")); !slices.Equal(got, []time.Duration{1e9, 2e9, 3e9, 3e9, 1e9, 1e9}) {
		t.Errorf("got %v, want 1, 2, 3, 3, 1, 1 s", got)
	}
}
