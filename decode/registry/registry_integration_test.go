//go:build integration

package registry

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"

	"sluice/batch"
	"sluice/rig"
)

func realClient(t *testing.T, properties map[string]string) *Client {
	t.Helper()
	c, err := New(Options{Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// framed is what a serializer of another make writes.
func framed(t *testing.T, id int32, indexes []int, payload string) []byte {
	t.Helper()
	var header sr.ConfluentHeader
	value, err := header.AppendEncode(nil, int(id), indexes)
	if err != nil {
		t.Fatal(err)
	}
	return append(value, payload...)
}

func TestARealRegistryServesAvroWithReferences(t *testing.T) {
	r := rig.Registry(t)
	name := "n" + strings.ReplaceAll(r.Subject(t), "-", "_")
	currency := `{"type":"enum","name":"Currency","namespace":"` + name + `","symbols":["EUR","USD"]}`
	money := `{"type":"record","name":"Money","namespace":"` + name + `","fields":[{"name":"cents","type":"long"},{"name":"currency","type":"` + name + `.Currency"}]}`
	order := `{"type":"record","name":"Order","namespace":"` + name + `","fields":[{"name":"id","type":"long"},{"name":"price","type":"` + name + `.Money"},{"name":"paid","type":"` + name + `.Currency"}]}`

	currencySubject, moneySubject, orderSubject := r.Subject(t), r.Subject(t), r.Subject(t)
	currencyVersion, _ := r.Register(t, currencySubject, sr.Schema{Schema: currency})
	toCurrency := sr.SchemaReference{Name: name + ".Currency", Subject: currencySubject, Version: currencyVersion}
	moneyVersion, _ := r.Register(t, moneySubject, sr.Schema{Schema: money, Type: sr.TypeAvro, References: []sr.SchemaReference{toCurrency}})
	toMoney := sr.SchemaReference{Name: name + ".Money", Subject: moneySubject, Version: moneyVersion}
	_, id := r.Register(t, orderSubject, sr.Schema{Schema: order, Type: sr.TypeAvro, References: []sr.SchemaReference{toMoney, toCurrency}})

	frame, err := Split(framed(t, id, nil, "payload"))
	if err != nil || string(frame.Payload) != "payload" {
		t.Fatalf("got %+v, %v", frame, err)
	}
	got, err := realClient(t, at(r.URL)).Schema(t.Context(), frame.ID)
	if err != nil || got.Type != Avro || got.Text != order || len(got.References) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i, want := range []Reference{{name + ".Currency", currencySubject, 1, currency}, {name + ".Money", moneySubject, 1, money}} {
		if got.References[i] != want {
			t.Errorf("got %+v, want %+v", got.References[i], want)
		}
	}
}

func TestARealRegistryServesProtobufAndJSONSchema(t *testing.T) {
	r := rig.Registry(t)
	c := realClient(t, at(r.URL))

	moneySubject, orderSubject := r.Subject(t), r.Subject(t)
	version, _ := r.Register(t, moneySubject, sr.Schema{Type: sr.TypeProtobuf, Schema: "syntax = \"proto3\";\npackage " + fresh(moneySubject) + ";\nmessage Money { int64 cents = 1; }\n"})
	_, id := r.Register(t, orderSubject, sr.Schema{Type: sr.TypeProtobuf,
		Schema:     "syntax = \"proto3\";\npackage shop;\nimport \"money.proto\";\nmessage Order { message Line { " + fresh(moneySubject) + ".Money price = 1; } repeated Line lines = 1; }\n",
		References: []sr.SchemaReference{{Name: "money.proto", Subject: moneySubject, Version: version}}})
	frame, err := SplitProtobuf(framed(t, id, []int{0, 0}, "payload"), nil)
	if err != nil || len(frame.Indexes) != 2 || string(frame.Payload) != "payload" {
		t.Fatalf("got %+v, %v", frame, err)
	}
	got, err := c.Schema(t.Context(), frame.ID)
	if err != nil || got.Type != Protobuf || !strings.Contains(got.Text, "repeated Line lines = 1") || len(got.References) != 1 ||
		got.References[0].Name != "money.proto" || !strings.Contains(got.References[0].Text, "int64 cents = 1") {
		t.Errorf("got %+v, %v", got, err)
	}

	cart := r.Subject(t)
	text := `{"$schema":"http://json-schema.org/draft-07/schema#","title":"` + cart + `","type":"object","properties":{"id":{"type":"integer"}}}`
	_, id = r.Register(t, cart, sr.Schema{Type: sr.TypeJSON, Schema: text})
	got, err = c.Schema(t.Context(), Number(id))
	if err != nil || got.Type != JSON || got.Text != text || got.References != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// fresh is a Protobuf package of its own for a subject.
func fresh(subject string) string { return "p" + strings.ReplaceAll(subject, "-", "_") }

func TestARealRegistryServesTheLatestVersion(t *testing.T) {
	r := rig.Registry(t)
	c, subject := realClient(t, at(r.URL)), r.Subject(t)
	name := fresh(subject)
	r.Register(t, subject, sr.Schema{Schema: `{"type":"record","name":"` + name + `","fields":[{"name":"a","type":"int"}]}`})
	if got, err := c.Latest(t.Context(), subject); err != nil || got.Version != 1 || got.Subject != subject {
		t.Errorf("got %+v, %v", got, err)
	}
	_, id := r.Register(t, subject, sr.Schema{Schema: `{"type":"record","name":"` + name + `","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","int"],"default":null}]}`})
	got, err := c.Latest(t.Context(), subject)
	if err != nil || got.Version != 2 || got.ID != Number(id) || !strings.Contains(got.Text, `"name":"b"`) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestARealRegistrySaysWhatItDoesNotHave(t *testing.T) {
	r := rig.Registry(t)
	c := realClient(t, at(r.URL))
	_, err := c.Schema(t.Context(), Number(2147483647))
	wantFault(t, err, batch.NotSetUp, "schema 2147483647", "answers 404")
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = c.Latest(t.Context(), r.Subject(t))
	wantFault(t, err, batch.NotSetUp, "answers 404")
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = c.Schema(t.Context(), GUID(guid))
	wantFault(t, err, batch.NotSetUp, "answers 404", "does not know GUIDs")
	if errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	_, err = realClient(t, at(strings.TrimSuffix(r.URL, "/apis/ccompat/v7"))).Schema(t.Context(), Number(1))
	wantFault(t, err, batch.NotSetUp, "answers 404", "/apis/ccompat/v7")
}

func TestASchemaOfADeletedSubjectIsStillReadFromARealRegistry(t *testing.T) {
	r := rig.Registry(t)
	moneySubject, orderSubject := r.Subject(t), r.Subject(t)
	name := fresh(moneySubject)
	version, _ := r.Register(t, moneySubject, sr.Schema{Schema: `{"type":"record","name":"` + name + `","fields":[{"name":"cents","type":"long"}]}`})
	_, id := r.Register(t, orderSubject, sr.Schema{Schema: `{"type":"record","name":"Order","fields":[{"name":"price","type":"` + name + `"}]}`,
		References: []sr.SchemaReference{{Name: name, Subject: moneySubject, Version: version}}})
	if _, err := r.Client.DeleteSubject(t.Context(), orderSubject, sr.SoftDelete); err != nil {
		t.Fatal(err)
	}
	if got, err := realClient(t, at(r.URL)).Schema(t.Context(), Number(id)); err != nil || len(got.References) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestARealRegistryBehindAProxyWithPasswords has a gateway in front, as registries without users of their own do.
func TestARealRegistryBehindAProxyWithPasswords(t *testing.T) {
	r := rig.Registry(t)
	subject := r.Subject(t)
	_, id := r.Register(t, subject, sr.Schema{Schema: `{"type":"record","name":"` + fresh(subject) + `","fields":[]}`})
	target, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	var let atomic.Int32
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	own, trusted := certificate(t, "localhost")
	gateway := secure(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("reader:"+secret)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		q.Header.Del("Authorization")
		let.Add(1)
		behind.ServeHTTP(w, q)
	}), own, "") + target.Path
	down := httptest.NewServer(nil)
	down.Close()

	with := func(credentials string) map[string]string {
		return at(down.URL+","+gateway, "basic.auth.user.info", credentials, "ssl.truststore.certificates", trusted)
	}
	if got, err := realClient(t, with("reader:"+secret)).Schema(t.Context(), Number(id)); err != nil || got.Type != Avro || let.Load() != 1 {
		t.Errorf("got %+v, %v after %d requests", got, err, let.Load())
	}
	_, err = realClient(t, with("reader:wrong"+secret)).Schema(t.Context(), Number(id))
	wantFault(t, err, batch.NotSetUp, "answers 401", "user reader of basic.auth.user.info")
	withoutSecrets(t, err)
}
