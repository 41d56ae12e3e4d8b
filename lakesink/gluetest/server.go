// Package gluetest is a strict stand-in for AWS Glue's data catalog: the requests that a catalog of tables makes, with the
// conditional update of a table by its version as Glue documents it
// (https://docs.aws.amazon.com/glue/latest/webapi/API_UpdateTable.html, VersionId). What a request has that is not known here
// is an error. Everything is in memory.
package gluetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Object is a JSON object as Glue's API has it: a table, a database, a request.
type Object map[string]any

// Text is a text of the object, empty if it has none of that name.
func (o Object) Text(name string) string {
	text, _ := o[name].(string)
	return text
}

// Fault is what becomes of a request.
type Fault struct {
	// Code is the error that is answered, such as ThrottlingException; empty for none.
	Code string
	// Lost cuts the connection instead of an answer.
	Lost bool
	// Applied says that the request is carried out before that.
	Applied bool
}

// Server is the catalog of one account in one region.
type Server struct {
	// URL is its address, for glue.endpoint.
	URL string

	mu        sync.Mutex
	databases map[string]Object
	tables    map[string]Object
	requests  map[string]int
	fault     func(operation string, n int) *Fault
}

// New is a catalog without databases. It ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{databases: map[string]Object{}, tables: map[string]Object{}, requests: map[string]int{}, fault: func(string, int) *Fault { return nil }}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// Break decides about each request from now on, by its operation and how many of its kind there were before. Nil is none.
func (s *Server) Break(fault func(operation string, n int) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.fault = map[string]int{}, fault
}

// Silence lets nothing be answered from the first update on, which is carried out if so asked, until the next Break.
func (s *Server) Silence(applied bool) {
	gone := false
	s.Break(func(operation string, _ int) *Fault {
		if gone {
			return &Fault{Lost: true}
		}
		if gone = operation == "UpdateTable"; gone {
			return &Fault{Lost: true, Applied: applied}
		}
		return nil
	})
}

// Requests is how many requests of an operation there were since the last Break.
func (s *Server) Requests(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[operation]
}

// Table is a table as Glue has it, nil if there is none.
func (s *Server) Table(database, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[database+"."+name]
}

// failure is an answer that is an error.
type failure struct {
	code, message string
}

func fail(code, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...)}
}

// statuses are those of errors that are not the caller's.
var statuses = map[string]int{"InternalServiceException": 500, "ServiceUnavailable": 503, "OperationTimeoutException": 400}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSGlue.")
	var request Object
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		answer(w, nil, fail("InvalidInputException", "no signed request: %v", err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.fault(operation, s.requests[operation])
	s.requests[operation]++
	var result Object
	var failed *failure
	if fault == nil || fault.Applied {
		result, failed = s.carryOut(operation, request)
	}
	switch {
	case fault != nil && fault.Lost:
		panic(http.ErrAbortHandler)
	case fault != nil:
		failed = fail(fault.Code, "as the test wants it")
	}
	answer(w, result, failed)
}

func answer(w http.ResponseWriter, result Object, failed *failure) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	status := http.StatusOK
	if failed != nil {
		result = Object{"__type": failed.code, "Message": failed.message}
		if status = statuses[failed.code]; status == 0 {
			status = http.StatusBadRequest
		}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(result) // the client may be gone
}

// known are the fields that requests may have.
var known = map[string][]string{
	"GetDatabase": {"CatalogId", "Name"}, "CreateDatabase": {"CatalogId", "DatabaseInput"}, "GetTable": {"CatalogId", "DatabaseName", "Name"},
	"CreateTable": {"CatalogId", "DatabaseName", "TableInput"}, "DeleteTable": {"CatalogId", "DatabaseName", "Name"},
	"UpdateTable": {"CatalogId", "DatabaseName", "TableInput", "VersionId", "SkipArchive"},
}

func (s *Server) carryOut(operation string, request Object) (Object, *failure) {
	fields, ok := known[operation]
	if !ok {
		return nil, fail("UnknownOperationException", "%s", operation)
	}
	for name := range request {
		if !slices.Contains(fields, name) {
			return nil, fail("InvalidInputException", "%s has a field %s", operation, name)
		}
	}
	input, _ := request["TableInput"].(map[string]any)
	id := request.Text("DatabaseName") + "." + request.Text("Name") + Object(input).Text("Name")
	switch operation {
	case "GetDatabase":
		database, ok := s.databases[request.Text("Name")]
		if !ok {
			return nil, fail("EntityNotFoundException", "Database %s not found.", request.Text("Name"))
		}
		return Object{"Database": database}, nil
	case "CreateDatabase":
		return s.createDatabase(request)
	case "CreateTable":
		return s.createTable(id, request.Text("DatabaseName"), input)
	}
	table, ok := s.tables[id]
	if !ok {
		return nil, fail("EntityNotFoundException", "Entity Not Found: %s", id)
	}
	switch operation {
	case "DeleteTable":
		delete(s.tables, id)
		return Object{}, nil
	case "UpdateTable":
		return s.updateTable(id, table, input, request.Text("VersionId"))
	}
	return Object{"Table": table}, nil
}

func (s *Server) createDatabase(request Object) (Object, *failure) {
	input, _ := request["DatabaseInput"].(map[string]any)
	name := Object(input).Text("Name")
	if _, ok := s.databases[name]; ok {
		return nil, fail("AlreadyExistsException", "Database already exists.")
	}
	s.databases[name] = input
	return Object{}, nil
}

func (s *Server) createTable(id, database string, input Object) (Object, *failure) {
	if _, ok := s.databases[database]; !ok {
		return nil, fail("EntityNotFoundException", "Database %s not found.", database)
	}
	if _, ok := s.tables[id]; ok {
		return nil, fail("AlreadyExistsException", "Table already exists.")
	}
	return s.store(id, database, input, 0)
}

// updateTable replaces the table where its version is the one that was named: this is what a commit rests on.
func (s *Server) updateTable(id string, table, input Object, version string) (Object, *failure) {
	if version == "" {
		return nil, fail("InvalidInputException", "an update without a version would overwrite what others commit")
	}
	if version != table.Text("VersionId") {
		return nil, fail("ConcurrentModificationException", "Update table failed due to concurrent modifications.")
	}
	n, err := strconv.Atoi(version)
	if err != nil {
		return nil, fail("InternalServiceException", "%v", err)
	}
	return s.store(id, table.Text("DatabaseName"), input, n+1)
}

// store keeps a version of a table. A parameter has at most 512,000 characters, its name 255.
func (s *Server) store(id, database string, input Object, version int) (Object, *failure) {
	parameters, _ := input["Parameters"].(map[string]any)
	for name, value := range parameters {
		if text, ok := value.(string); !ok || len(text) > 512000 || len(name) > 255 {
			return nil, fail("InvalidInputException", "parameter %s is too long", name)
		}
	}
	table := Object(maps.Clone(input))
	table["DatabaseName"], table["VersionId"] = database, strconv.Itoa(version)
	s.tables[id] = table
	return Object{}, nil
}
