package registry

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"sluice/batch"
)

// answer is a schema as the registry sends it, by id or as a version of a subject.
type answer struct {
	ID         int32             `json:"id"`
	Subject    string            `json:"subject"`
	Version    int               `json:"version"`
	Type       string            `json:"schemaType"`
	Schema     string            `json:"schema"`
	References []referenceAnswer `json:"references"`
}

type referenceAnswer struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// complaint is the registry's form of an error.
type complaint struct {
	Code    int    `json:"error_code"`
	Message string `json:"message"`
}

// refusal is an answer that is a no, or none that a registry gives.
type refusal struct {
	from endpoint
	// status is that of HTTP, 0 if there is none.
	status int
	// what the server does or says.
	what string
	// missing says that the registry has no such schema.
	missing bool
	// tls says that no connection was made that could be trusted.
	tls bool
	// by is who asked, where the server says that they may not.
	by string
}

func (r *refusal) Error() string { return r.from.base.String() + " " + r.what }

// Is makes ErrNotFound of a schema that is missing.
func (r *refusal) Is(target error) bool { return r.missing && target == ErrNotFound }

// judge reads a response.
func (c *Client) judge(e endpoint, response *http.Response, body []byte) (*answer, error) {
	status := response.StatusCode
	if status == http.StatusOK {
		return c.schemaOf(e, response, body)
	}
	var said complaint
	ours := json.Unmarshal(body, &said) == nil && said.Code != 0
	no := &refusal{from: e, status: status, what: "answers " + strconv.Itoa(status) + c.quoted(said.Message)}
	if to := response.Request.URL; to.Scheme != e.base.Scheme || to.Host != e.base.Host {
		no.what += ", after it has redirected to " + to.Scheme + "://" + to.Host + ", which gets no credentials"
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		no.by = c.describe(e)
		no.what += " to " + no.by
	case status == http.StatusNotFound:
		// 40401 to 40403: no such subject, version, schema. Another 404 is of whatever is at a wrong address.
		no.missing = ours && said.Code >= 40401 && said.Code <= 40403
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented:
		return nil, &busy{err: no, after: retryAfter(response)}
	}
	return nil, no
}

func (c *Client) schemaOf(e endpoint, response *http.Response, body []byte) (*answer, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Schema == "" {
		kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
		return nil, &refusal{from: e, status: response.StatusCode, what: "answers with something that is no schema" + c.quoted(kind)}
	}
	if a.Type == "" {
		a.Type = Avro // a registry leaves it out, and older ones have nothing else
	}
	if a.Type != Avro && a.Type != Protobuf && a.Type != JSON {
		return nil, &refusal{from: e, status: response.StatusCode, what: "has a schema of type" + c.quoted(a.Type) + ", which is neither AVRO nor PROTOBUF nor JSON"}
	}
	return &a, nil
}

// quoted is text of a server in quotes, cut, and without secrets that it may have sent back.
func (c *Client) quoted(text string) string {
	if text == "" {
		return ""
	}
	const longest = 300
	text = c.scrub(text)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return " " + strconv.QuoteToGraphic(text)
}

// scrub takes the secrets out of a text.
func (c *Client) scrub(text string) string {
	for _, secret := range c.secrets() {
		text = strings.ReplaceAll(text, secret, "(redacted)")
	}
	return text
}

// wanted is what is asked for.
type wanted struct {
	what string
	// ifMissing says what to do where the registry has none; ifNowhere, where the address is none of a registry.
	ifMissing, ifNowhere string
}

const (
	wrongSchema  = "Check that schemaRegistry.url is the registry of those who write the topic, with its context if it has one; a schema that was deleted there has to be registered again."
	wrongSubject = "Check that schemaRegistry.url is the registry of those who write the topic, and name the subject, value.subject or key.subject, if it is not that of the topic."
	wrongAddress = "Check that schemaRegistry.url is the address of a schema registry; that of Apicurio ends in /apis/ccompat/v7."
	noGUIDs      = "Check the path of schemaRegistry.url; a registry that does not know GUIDs answers so too, and numbers can be written in their place."
)

func wantedSchema(id ID) wanted {
	want := wanted{what: "schema " + id.String(), ifMissing: wrongSchema, ifNowhere: wrongAddress}
	if id.byGUID {
		want.ifNowhere = noGUIDs
	}
	return want
}

// explain makes the fault of an error: what was asked for, why it was not had, and what to do.
func (c *Client) explain(err error, want wanted) error {
	if err == nil {
		return nil
	}
	fault := &batch.Fault{Class: batch.NotSetUp, Message: "ask the schema registry for " + want.what, Err: err}
	var no *refusal
	var later *busy
	switch {
	case errors.As(err, &later):
		fault.Class = batch.Failed
		fault.Hint = "Nothing was read past it: run again when the schema registry answers; if it never does, correct schemaRegistry.url."
	case errors.As(err, &no):
		fault.Hint = no.hint(want)
	}
	return fault
}

func (r *refusal) hint(want wanted) string {
	switch {
	case r.tls:
		return "Check schemaRegistry.url, and with ssl.truststore.location the certificates that are trusted."
	case r.status == http.StatusUnauthorized:
		return "Correct the credentials of the schema registry: basic.auth.user.info, bearer.auth.token, or those of OAuth."
	case r.status == http.StatusForbidden:
		return fmt.Sprintf("Give read access to it in the schema registry to %s.", r.by)
	case r.missing:
		return want.ifMissing
	case r.status == http.StatusNotFound:
		return want.ifNowhere
	}
	return wrongAddress
}

// insecure says why no connection was made that can be trusted, empty if that is not the cause.
func insecure(err error) string {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "does not speak TLS, though its address begins with https://"
	case errors.As(err, &verification), errors.As(err, &authority), errors.As(err, &host):
		return "cannot be trusted: " + err.Error()
	case errors.As(err, &remote) && remote.Op == "remote error" && !strings.Contains(remote.Error(), "internal error"): // an alert of crypto/tls
		return "ends the TLS handshake: " + remote.Error()
	}
	return ""
}
