package kafkasrc

import (
	"time"

	"sluice/kafkaauth"
	"sluice/tlsfile"
)

// properties holds all that is understood, by its Java name. A new one is a line here.
var properties = withTLS(map[string]property{
	"bootstrap.servers":         {set: setSeeds, doc: "`host:port`, several separated by commas"},
	"client.id":                 {set: text(func(s *settings) *string { return &s.clientID }), doc: "the name that brokers log, and quotas go by; `sluice` if it is not given"},
	"client.rack":               {set: text(func(s *settings) *string { return &s.rack }), doc: "the rack of this machine: records come from a replica in it where there is one (KIP-392)"},
	"client.dns.lookup":         {set: only("use_all_dns_ips", "all addresses of a name are tried; the other way serves Kerberos"), doc: "`use_all_dns_ips`: all addresses of a name are tried, one after the other"},
	"security.protocol":         {set: setProtocol, doc: "`PLAINTEXT`, which is the default, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`"},
	"isolation.level":           {set: setIsolation, doc: "`read_committed`, which is the default, or `read_uncommitted`"},
	"request.timeout.ms":        {set: millis(func(s *settings) *time.Duration { return &s.requestTimeout }), doc: "how long one request may take; 30000"},
	"default.api.timeout.ms":    {set: millis(func(s *settings) *time.Duration { return &s.apiTimeout }), doc: "how long one question about topics and offsets may take with all its repetitions; 60000"},
	"retry.backoff.ms":          {set: millis(func(s *settings) *time.Duration { return &s.backoff }), doc: "the pause before the first repetition, which doubles; 100"},
	"retry.backoff.max.ms":      {set: millis(func(s *settings) *time.Duration { return &s.maxBackoff }), doc: "the longest such pause; ten times the first"},
	"metadata.max.age.ms":       {set: millis(func(s *settings) *time.Duration { return &s.metadataMaxAge }), doc: "how old the list of brokers and leaders may be; 300000"},
	"connections.max.idle.ms":   {set: millis(func(s *settings) *time.Duration { return &s.connectionsIdle }), doc: "when a connection that is not used is closed; 20000"},
	"fetch.max.bytes":           {set: setFetchBytes, doc: "how much one Fetch asks for; the smaller of this and `max.partition.fetch.bytes`"},
	"max.partition.fetch.bytes": {set: setFetchBytes, doc: "the same: a Fetch asks for one partition"},
	"fetch.min.bytes":           {set: number(func(s *settings) *int { return &s.fetchMin }, 0, maxBatchBytes), doc: "what a broker waits for before it answers a Fetch; 1. With more, the last Fetch of each partition waits for `fetch.max.wait.ms`"},
	"fetch.max.wait.ms":         {set: millis(func(s *settings) *time.Duration { return &s.fetchWait }), doc: "how long it waits at most; 500"},
	"receive.buffer.bytes":      {set: number(func(s *settings) *int { return &s.receiveBuffer }, -1, maxBatchBytes), doc: "the socket's buffer; -1, which is the default, leaves it to the system"},
	"send.buffer.bytes":         {set: number(func(s *settings) *int { return &s.sendBuffer }, -1, maxBatchBytes), doc: "the same"},
	"socket.connection.setup.timeout.ms": {set: millis(func(s *settings) *time.Duration { return &s.setupTimeout }),
		doc: "how long connecting to a broker may take, TLS included; it doubles with each failure; 8000"},
	"socket.connection.setup.timeout.max.ms": {set: millis(func(s *settings) *time.Duration { return &s.maxSetup }), doc: "the longest such time; 30000"},
	"check.crcs":                             {set: only("true", "a record batch with a wrong checksum is never read"), doc: "`true`: checksums are always checked"},
	"exclude.internal.topics":                {set: only("true", "a pattern never matches Kafka's own topics"), doc: "`true`: a pattern never matches Kafka's own topics"},

	"sasl.mechanism":   {set: checked(func(s *settings) *string { return &s.login.Mechanism }, kafkaauth.CheckMechanism), doc: "`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER` or `AWS_MSK_IAM`"},
	"sasl.jaas.config": {set: text(func(s *settings) *string { return &s.login.JAAS }), doc: "the mechanism's login module with its options, as Java's clients have it; a secret"},
	"sasl.username":    {set: text(func(s *settings) *string { return &s.login.Username }), doc: "in place of `sasl.jaas.config`, for PLAIN and SCRAM"},
	"sasl.password":    {set: text(func(s *settings) *string { return &s.login.Password }), doc: "the same; a secret"},

	"sasl.oauthbearer.token.endpoint.url":               {set: checked(func(s *settings) *string { return &s.login.OAuth.Endpoint }, kafkaauth.CheckEndpoint), doc: "where tokens are asked for by OAuth 2's client credentials; `file:///path` for a file that holds a token, read anew for each session"},
	"sasl.oauthbearer.client.credentials.client.id":     {set: text(func(s *settings) *string { return &s.login.OAuth.ClientID }), doc: "the client's id there; otherwise the option `clientId` of `sasl.jaas.config`"},
	"sasl.oauthbearer.client.credentials.client.secret": {set: text(func(s *settings) *string { return &s.login.OAuth.ClientSecret }), doc: "its secret; otherwise the option `clientSecret`"},
	"sasl.oauthbearer.scope":                            {set: text(func(s *settings) *string { return &s.login.OAuth.Scope }), doc: "the scopes to ask for, separated by spaces; otherwise the option `scope`"},
	"sasl.oauthbearer.header.urlencode":                 {set: setURLEncode, doc: "`true` if id and secret are to be escaped, as RFC 6749 has it; `false`, as with Java's client"},
	"sasl.oauthbearer.jwt.retriever.class":              {set: oneOf("want none", "DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever"), doc: "what Kafka's own do, `sasl.oauthbearer.token.endpoint.url` decides"},
	"sasl.login.connect.timeout.ms":                     {set: millis(func(s *settings) *time.Duration { return &s.login.OAuth.ConnectTimeout }), doc: "how long connecting to the token endpoint may take; 10000"},
	"sasl.login.read.timeout.ms":                        {set: millis(func(s *settings) *time.Duration { return &s.login.OAuth.ReadTimeout }), doc: "how long its answer may take; 10000"},
	"sasl.login.retry.backoff.ms":                       {set: millis(func(s *settings) *time.Duration { return &s.login.OAuth.Backoff }), doc: "the pause before it is asked again, which doubles; 100"},
	"sasl.login.retry.backoff.max.ms":                   {set: millis(func(s *settings) *time.Duration { return &s.login.OAuth.BackoffMax }), doc: "how long it is asked again; 10000"},
	"sasl.login.refresh.window.factor":                  {set: setRefreshFactor, doc: "the part of its lifetime after which a token is replaced; 0.8"},
	"sasl.login.refresh.min.period.seconds":             {set: seconds(func(s *settings) **time.Duration { return &s.login.OAuth.Refresh.MinPeriod }, 900), doc: "how long a token is kept at least; 60"},
	"sasl.login.refresh.buffer.seconds":                 {set: seconds(func(s *settings) **time.Duration { return &s.login.OAuth.Refresh.Buffer }, 3600), doc: "how long before its end it is replaced at the latest; 300"},
	"sasl.login.callback.handler.class":                 {set: oneOf("want none", "OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler"), doc: "Kafka's own, whose work sluice does itself"},
	"sasl.client.callback.handler.class":                {set: oneOf("want none", "software.amazon.msk.auth.iam.IAMClientCallbackHandler", "OAuthBearerSaslClientCallbackHandler"), doc: "that of AWS_MSK_IAM and Kafka's own, whose work sluice does itself"},
})

// withTLS adds the properties of TLS.
func withTLS(properties map[string]property) map[string]property {
	for name, p := range tlsfile.Properties {
		properties[name] = property{set: func(s *settings, value string) error { return p.Set(&s.files, value) }, doc: p.Doc}
	}
	return properties
}

// idle holds the properties that are taken and change nothing, with the reason: what a Java client needs them for is not
// there, or goes without them.
var idle = map[string]string{
	"retries":                                             "what may pass is tried again until `default.api.timeout.ms`, and a Fetch until 2 minutes brought nothing",
	"reconnect.backoff.ms":                                "connections are tried again after the pauses of `retry.backoff.ms`",
	"reconnect.backoff.max.ms":                            "the same, up to `retry.backoff.max.ms`",
	"bootstrap.resolve.timeout.ms":                        "names are resolved within `socket.connection.setup.timeout.ms`",
	"metadata.recovery.strategy":                          "`bootstrap.servers` are asked whenever no known broker answers",
	"metadata.recovery.rebootstrap.trigger.ms":            "the same",
	"metadata.cluster.check.enable":                       "a run stops when the cluster is another than the checkpoint's",
	"group.instance.id":                                   noGroup,
	"group.protocol":                                      noGroup,
	"group.remote.assignor":                               noGroup,
	"session.timeout.ms":                                  noGroup,
	"heartbeat.interval.ms":                               noGroup,
	"max.poll.interval.ms":                                noGroup,
	"partition.assignment.strategy":                       noGroup,
	"auto.commit.interval.ms":                             noGroup,
	"share.acknowledgement.mode":                          noGroup,
	"share.acquire.mode":                                  noGroup,
	"enable.metrics.push":                                 "brokers are sent no metrics of this client",
	"metrics.num.samples":                                 noMetrics,
	"metrics.recording.level":                             noMetrics,
	"metrics.sample.window.ms":                            noMetrics,
	"ssl.protocol":                                        "`ssl.enabled.protocols` says which versions may be used",
	"ssl.keymanager.algorithm":                            goTLS,
	"ssl.trustmanager.algorithm":                          goTLS,
	"ssl.secure.random.implementation":                    goTLS,
	"sasl.login.refresh.window.jitter":                    "tokens are replaced when a session begins, which no two clients do at once",
	"sasl.oauthbearer.allow.unverified.audience":          forBrokers,
	"sasl.oauthbearer.allow.unverified.issuer":            forBrokers,
	"sasl.oauthbearer.clock.skew.seconds":                 forBrokers,
	"sasl.oauthbearer.expected.audience":                  forBrokers,
	"sasl.oauthbearer.expected.issuer":                    forBrokers,
	"sasl.oauthbearer.jwks.endpoint.url":                  forBrokers,
	"sasl.oauthbearer.jwks.endpoint.refresh.ms":           forBrokers,
	"sasl.oauthbearer.jwks.endpoint.retry.backoff.ms":     forBrokers,
	"sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": forBrokers,
	"sasl.oauthbearer.scope.claim.name":                   forBrokers,
	"sasl.oauthbearer.sub.claim.name":                     forBrokers,
	"sasl.kerberos.kinit.cmd":                             noTickets,
	"sasl.kerberos.min.time.before.relogin":               noTickets,
	"sasl.kerberos.service.name":                          noTickets,
	"sasl.kerberos.ticket.renew.jitter":                   noTickets,
	"sasl.kerberos.ticket.renew.window.factor":            noTickets,
}

const (
	noGroup    = "no consumer group is used"
	noMetrics  = "the metrics of a run are its own"
	goTLS      = "it names a part of Java's TLS"
	forBrokers = "brokers check tokens; a client passes them on"
	noTickets  = "it is about Kerberos, which cannot be used; `sasl.mechanism: GSSAPI` is refused"
	javaClass  = "Java classes cannot be loaded"
	assertions = "tokens are asked for with a client's secret, or read from a file"
)

// refused holds the properties that sluice decides itself, with the reason.
var refused = map[string]string{
	"auto.offset.reset":                                 "an offset that is gone is data loss, never a silent reset; where a query begins is source.startingOffsets",
	"enable.auto.commit":                                "progress is kept in the checkpoint and the table, not in a consumer group",
	"group.id":                                          "progress is kept in the checkpoint and the table; source.consumerGroup names a group to show it to others",
	"key.deserializer":                                  "keys are read as bytes; what becomes of them is key.format",
	"value.deserializer":                                "values are read as bytes; how they become columns is value.format",
	"allow.auto.create.topics":                          "topics are never created by reading",
	"max.poll.records":                                  "batches are bounded by source.maxOffsetsPerTrigger",
	"interceptor.classes":                               javaClass,
	"metric.reporters":                                  javaClass,
	"security.providers":                                javaClass,
	"ssl.engine.factory.class":                          javaClass,
	"ssl.provider":                                      "it names a part of Java's TLS; sluice has that of Go",
	"sasl.login.class":                                  javaClass,
	"sasl.oauthbearer.jwt.validator.class":              javaClass + "; brokers check tokens",
	"config.providers":                                  javaClass + "; a job has ${VARIABLE} and ${file:/path} for what is kept elsewhere",
	"sasl.oauthbearer.assertion.algorithm":              assertions,
	"sasl.oauthbearer.assertion.claim.aud":              assertions,
	"sasl.oauthbearer.assertion.claim.exp.seconds":      assertions,
	"sasl.oauthbearer.assertion.claim.iss":              assertions,
	"sasl.oauthbearer.assertion.claim.jti.include":      assertions,
	"sasl.oauthbearer.assertion.claim.nbf.seconds":      assertions,
	"sasl.oauthbearer.assertion.claim.sub":              assertions,
	"sasl.oauthbearer.assertion.file":                   assertions,
	"sasl.oauthbearer.assertion.private.key.file":       assertions,
	"sasl.oauthbearer.assertion.private.key.passphrase": assertions,
	"sasl.oauthbearer.assertion.template.file":          assertions,
	// Names that librdkafka gives to the same things.
	"metadata.broker.list":                "it is librdkafka's name of bootstrap.servers",
	"sasl.mechanisms":                     "it is librdkafka's name of sasl.mechanism",
	"sasl.oauthbearer.client.id":          "it is librdkafka's name of sasl.oauthbearer.client.credentials.client.id",
	"sasl.oauthbearer.client.secret":      "it is librdkafka's name of sasl.oauthbearer.client.credentials.client.secret",
	"sasl.oauthbearer.extensions":         "it is librdkafka's name; the options extension_… of sasl.jaas.config are sent along",
	"ssl.ca.location":                     "it is librdkafka's name of ssl.truststore.location",
	"ssl.ca.pem":                          "it is librdkafka's name of ssl.truststore.certificates",
	"ssl.certificate.location":            "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
	"ssl.key.location":                    "it is librdkafka's name; ssl.keystore.location has certificate and key in one file",
	"enable.ssl.certificate.verification": "certificates are always verified; an empty ssl.endpoint.identification.algorithm turns the check of the host name off",
}
