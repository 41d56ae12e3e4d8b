package kafkasrc

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// tokensOf is a broker that takes any token, and an endpoint that gives them. Each request is asked anew who sends it, for which a
// handshake is answered with the code of state; down has the endpoint answer nobody.
func tokensOf(t *testing.T, state *atomic.Int32, down *atomic.Bool) (b broker, options Options) {
	t.Helper()
	b = newBroker(t, kfake.SeedTopics(1, "orders"))
	b.produce(t, "orders", 0, 3)
	b.replace(kmsg.SASLHandshake, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms, resp.ErrorCode = []string{"OAUTHBEARER"}, int16(state.Swap(0))
		return resp
	})
	b.replace(kmsg.SASLAuthenticate, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.SessionLifetimeMillis = 1
		return resp
	})
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, `{"access_token":"opaque"}`)
	}))
	t.Cleanup(endpoint.Close)
	options = b.options(topics("orders"))
	maps.Copy(options.Client, map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": endpoint.URL,
		"sasl.oauthbearer.client.credentials.client.id": "etl", "sasl.oauthbearer.client.credentials.client.secret": "hunter2", "sasl.login.retry.backoff.max.ms": "1"})
	return b, options
}

// A session that ends while nobody has a token to give is no fault of the brokers, and the message does not send anybody there.
func TestAReaderThatWaitsInVainForATokenSaysWhoHasNone(t *testing.T) {
	var down atomic.Bool
	b, options := tokensOf(t, new(atomic.Int32), &down)
	options.Limits.NoProgress = 20 * time.Millisecond
	s := mustOpen(t, options)
	piece := b.piece(t, "orders", 0, 0, 3)
	down.Store(true)
	_, err := drain(read(t, s, piece))
	wantFault(t, err, batch.Failed, "no progress reading orders-0", "token endpoint http://127.0.0.1:", "answers 503")
	if hint := batch.HintOf(err); hint != "Look at the token endpoint, then run again." {
		t.Errorf("got hint %q", hint)
	}
}

// KIP-368: brokers answer so to a second login within a second on one connection, which happens when a token, or a role's credentials,
// are about to expire (https://github.com/twmb/franz-go/issues/249). To the first login of all it is another matter.
func TestALoginThatABrokerPutsOffIsRepeated(t *testing.T) {
	var state atomic.Int32
	b, options := tokensOf(t, &state, new(atomic.Bool))
	s := mustOpen(t, options)
	piece := b.piece(t, "orders", 0, 0, 3)
	state.Store(int32(kerr.IllegalSaslState.Code))
	if got := mustView(t, s, nil).Ends().String(); got != `{"orders":{"0":3}}` || state.Load() != 0 {
		t.Errorf("got %s", got)
	}
	state.Store(int32(kerr.IllegalSaslState.Code))
	if rows := mustDrain(t, read(t, s, piece)); len(rows) != 3 || state.Load() != 0 {
		t.Errorf("got %d rows, want 3", len(rows))
	}
	state.Store(int32(kerr.IllegalSaslState.Code))
	_, err := Open(t.Context(), options)
	wantFault(t, err, batch.NotSetUp, "has no SASL")
}

// https://github.com/twmb/franz-go/issues/205: a broker that says once that a topic may not be read is asked once more, and no oftener.
func TestARightThatIsMissingForAMomentIsAskedForOnceMore(t *testing.T) {
	for denials, rows := range map[int]int{1: 3, 2: 0} {
		b := newBroker(t, kfake.SeedTopics(1, "orders"))
		b.produce(t, "orders", 0, 3)
		s := mustOpen(t, b.options(topics("orders")))
		piece := b.piece(t, "orders", 0, 0, 3)
		fault := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "orders", Err: kerr.TopicAuthorizationFailed, Count: denials})
		got, err := drain(read(t, s, piece))
		if fault.Hits() != denials || len(got) != rows || (err == nil) != (rows > 0) {
			t.Errorf("%d times: got %d rows, %v after %d denials", denials, len(got), err, fault.Hits())
		}
		if err != nil {
			wantFault(t, err, batch.NotSetUp, "the ACL Read on topic orders is missing")
		}
	}
}
