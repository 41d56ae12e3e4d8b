// Package resttest is a REST catalog in this process, with hooks that spoil its answers. What it says of tables another
// catalog keeps. It is strict: a request that the protocol does not have fails the test. It is for tests alone.
package resttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// Credential is a credential of storage-credentials.
type Credential struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// Server is a REST catalog. Its fields are for one goroutine, and no request may be under way meanwhile.
type Server struct {
	// URL is the address.
	URL string
	// Tables keeps the tables. Nil for a server that is only asked for its configuration and for tokens.
	Tables catalog.Catalog
	// Prefix is what the configuration tells clients to put before paths.
	Prefix string
	// Defaults and Overrides are the configuration, Endpoints what it says is offered.
	Defaults, Overrides map[string]string
	Endpoints           []string
	// StageAt is where staged tables would be.
	StageAt string
	// Token is what requests must show, if any; Credential, id:secret, is what the token endpoint wants for NextToken.
	Token, Credential string
	NextToken         func() (token string, seconds int)
	// Before may answer in the place of the catalog; After may spoil the answer to what was done.
	Before, After func(w http.ResponseWriter, r *http.Request) bool
	// Updates may change what a commit does, Created what a creation sets.
	Updates func(table.Updates) table.Updates
	Created func(map[string]string)
	// Metadata may change what is said of a table.
	Metadata func(map[string]any)
	// Lend is what is lent with a table.
	Lend func() (config map[string]string, credentials []Credential)

	mu sync.Mutex
	t  testing.TB
	// requests lists what was asked, in order: method and path as sent.
	requests []string
}

// New starts a server, which ends with the test.
func New(t testing.TB, tables catalog.Catalog) *Server {
	s := &Server{t: t, Tables: tables}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Requests lists what was asked since the last call, in order: method and path as sent, escapes and all.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// IsCommit says whether a request is a commit to a table.
func IsCommit(r *http.Request) bool {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	return r.Method == http.MethodPost && len(parts) > 2 && parts[len(parts)-2] == "tables"
}

// IsLoad says whether a request is the loading of a table.
func IsLoad(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.EscapedPath(), "/tables/")
}

// Refuse answers with an error of the protocol.
func Refuse(w http.ResponseWriter, status int, kind string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"as the test says","type":%q,"code":%d}}`, kind, status)
	return true
}

// HangUp ends the connection without an answer.
func HangUp(w http.ResponseWriter) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
	return true
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.EscapedPath())
	if s.Before != nil && s.Before(w, r) {
		return
	}
	if strings.HasSuffix(r.URL.Path, "/oauth/tokens") {
		s.token(w, r, body)
		return
	}
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		Refuse(w, http.StatusUnauthorized, "NotAuthorizedException")
		return
	}
	answer := httptest.NewRecorder()
	s.serve(answer, r, body)
	if s.After != nil && s.After(w, r) {
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// token is the token endpoint: client credentials in the body.
func (s *Server) token(w http.ResponseWriter, r *http.Request, body []byte) {
	form, err := url.ParseQuery(string(body))
	id, secret, _ := strings.Cut(s.Credential, ":")
	switch {
	case r.Header.Get("Authorization") != "" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || err != nil || form.Get("grant_type") != "client_credentials":
		s.t.Errorf("%s %s: %v, which is no request for a token by client credentials", r.Method, r.URL, form)
		w.WriteHeader(http.StatusBadRequest)
	case form.Get("client_id") != id || form.Get("client_secret") != secret:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"unknown client or wrong secret %s"}`, form.Get("client_secret"))
	default:
		token, seconds := s.NextToken()
		s.Token = token
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","expires_in":%d}`, token, seconds)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	if r.URL.Path == "/v1/config" {
		reply(w, map[string]any{"defaults": s.Defaults, "overrides": s.overrides(), "endpoints": s.Endpoints})
		return
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), strings.TrimRight("/v1/"+s.Prefix, "/")+"/namespaces")
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	if !ok || r.Header.Get("X-Iceberg-Access-Delegation") == "" || len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
		s.unknown(w, r)
		return
	}
	namespace := table.Identifier{}
	for level := range strings.SplitSeq(parts[0], "%1F") {
		namespace = append(namespace, unescaped(level))
	}
	switch {
	case rest == "" && r.Method == http.MethodPost:
		s.createNamespace(w, r, body)
	case len(parts) == 1 && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.namespace(w, r, namespace)
	case len(parts) == 2 && parts[1] == "tables" && r.Method == http.MethodPost:
		s.create(w, r, namespace, body)
	case len(parts) == 3 && parts[1] == "tables" && r.Method == http.MethodGet:
		t, err := s.Tables.LoadTable(r.Context(), append(namespace, unescaped(parts[2])))
		s.table(w, t, err)
	case len(parts) == 3 && parts[1] == "tables" && r.Method == http.MethodPost:
		s.commit(w, r, append(namespace, unescaped(parts[2])), body)
	default:
		s.unknown(w, r)
	}
}

func unescaped(segment string) string {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return text
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.t.Errorf("%s %s %v: the protocol does not have this", r.Method, r.URL, r.Header)
	Refuse(w, http.StatusNotAcceptable, "UnsupportedOperationException")
}

func (s *Server) overrides() map[string]string {
	overrides := maps.Clone(s.Overrides)
	if s.Prefix != "" {
		if overrides == nil {
			overrides = map[string]string{}
		}
		overrides["prefix"] = s.Prefix
	}
	return overrides
}

func (s *Server) createNamespace(w http.ResponseWriter, r *http.Request, body []byte) {
	var request struct {
		Namespace  table.Identifier
		Properties iceberg.Properties
	}
	err := json.Unmarshal(body, &request)
	if err == nil {
		err = s.Tables.CreateNamespace(r.Context(), request.Namespace, request.Properties)
	}
	if fail(w, err) {
		return
	}
	reply(w, map[string]any{"namespace": request.Namespace, "properties": map[string]string{}})
}

func (s *Server) namespace(w http.ResponseWriter, r *http.Request, namespace table.Identifier) {
	properties, err := s.Tables.LoadNamespaceProperties(r.Context(), namespace)
	switch {
	case fail(w, err):
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, map[string]any{"namespace": namespace, "properties": properties})
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, namespace table.Identifier, body []byte) {
	var request struct {
		Name        string                        `json:"name"`
		Schema      *iceberg.Schema               `json:"schema"`
		Spec        *iceberg.UnboundPartitionSpec `json:"partition-spec"`
		Order       *table.UnboundSortOrder       `json:"write-order"`
		StageCreate bool                          `json:"stage-create"`
		Properties  iceberg.Properties            `json:"properties"`
	}
	if fail(w, json.Unmarshal(body, &request)) {
		return
	}
	if s.Created != nil {
		s.Created(request.Properties)
	}
	if exists, err := s.Tables.CheckNamespaceExists(r.Context(), namespace); err != nil || !exists {
		fail(w, errors.Join(err, catalog.ErrNoSuchNamespace))
		return
	}
	if request.StageCreate {
		s.stage(w, namespace, request.Name, request.Schema, request.Properties)
		return
	}
	options := []catalog.CreateTableOpt{catalog.WithProperties(request.Properties)}
	if request.Spec != nil {
		options = append(options, catalog.WithPartitionSpec(&request.Spec.PartitionSpec))
	}
	if request.Order != nil {
		options = append(options, catalog.WithSortOrder(request.Order.SortOrder))
	}
	t, err := s.Tables.CreateTable(r.Context(), append(namespace, request.Name), request.Schema, options...)
	s.table(w, t, err)
}

// stage answers without making the table.
func (s *Server) stage(w http.ResponseWriter, namespace table.Identifier, name string, schema *iceberg.Schema, properties iceberg.Properties) {
	location := s.StageAt + "/" + strings.Join(namespace, "/") + "/" + name
	m, err := table.NewMetadata(schema, nil, table.UnsortedSortOrder, location, properties)
	s.table(w, table.New(append(namespace, name), m, "", nil, nil), err)
}

func (s *Server) commit(w http.ResponseWriter, r *http.Request, id table.Identifier, body []byte) {
	var request struct {
		Requirements table.Requirements `json:"requirements"`
		Updates      table.Updates      `json:"updates"`
	}
	if fail(w, json.Unmarshal(body, &request)) {
		return
	}
	if s.Updates != nil {
		request.Updates = s.Updates(request.Updates)
	}
	m, location, err := s.Tables.CommitTable(r.Context(), id, request.Requirements, request.Updates)
	switch {
	case errors.Is(err, catalog.ErrNoSuchTable):
		fail(w, err)
	case err != nil:
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": "CommitFailedException", "code": http.StatusConflict}})
	default:
		reply(w, map[string]any{"metadata-location": location, "metadata": s.told(m)})
	}
}

// table answers with a table, or with why there is none.
func (s *Server) table(w http.ResponseWriter, t *table.Table, err error) {
	if fail(w, err) {
		return
	}
	answer := map[string]any{"metadata-location": t.MetadataLocation(), "metadata": s.told(t.Metadata())}
	if t.MetadataLocation() == "" {
		answer["metadata-location"] = nil
	}
	if s.Lend != nil {
		answer["config"], answer["storage-credentials"] = s.Lend()
	}
	reply(w, answer)
}

// told is metadata as the server tells it. Numbers stay as they are written.
func (s *Server) told(m table.Metadata) any {
	if s.Metadata == nil {
		return m
	}
	text, err := json.Marshal(m)
	if err != nil {
		s.t.Error(err)
	}
	var told map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&told); err != nil {
		s.t.Error(err)
	}
	s.Metadata(told)
	return told
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// fail answers with an error of the catalog, if there is one.
func fail(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, catalog.ErrNoSuchTable):
		return Refuse(w, http.StatusNotFound, "NoSuchTableException")
	case errors.Is(err, catalog.ErrNoSuchNamespace):
		return Refuse(w, http.StatusNotFound, "NoSuchNamespaceException")
	case errors.Is(err, catalog.ErrTableAlreadyExists), errors.Is(err, catalog.ErrNamespaceAlreadyExists):
		return Refuse(w, http.StatusConflict, "AlreadyExistsException")
	}
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": "BadRequestException", "code": http.StatusBadRequest}})
	return true
}
