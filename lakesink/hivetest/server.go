// Package hivetest is a strict stand-in for a Hive metastore: the calls that a catalog of Iceberg's makes, with the conditional
// alteration of tables (HIVE-26882) and the exclusive locks of a real one. What a call has that is not known here is an error.
// Everything is in memory.
package hivetest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/lakesink/hivecatalog/thrift"
)

// Fault is what becomes of a call.
type Fault struct {
	// Message is what a MetaException says instead of the answer; empty for none.
	Message string
	// Lost cuts the connection instead of an answer.
	Lost bool
	// Applied says that the call is carried out before that.
	Applied bool
}

// Server is a metastore.
type Server struct {
	// URI is its address.
	URI string
	// Careless makes it a metastore without HIVE-26882, which alters tables whatever is expected. Set it before the first call.
	Careless bool

	mu        sync.Mutex
	databases map[string]thrift.Struct
	tables    map[string]thrift.Struct
	locks     []*lock
	last      int64
	calls     map[string]int
	fault     func(method string, n int) *Fault
	open      map[net.Conn]bool
}

// New is a metastore without databases. It ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{URI: "thrift://" + listener.Addr().String(), databases: map[string]thrift.Struct{}, tables: map[string]thrift.Struct{},
		calls: map[string]int{}, fault: func(string, int) *Fault { return nil }, open: map[net.Conn]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.track(conn, true)
			all.Go(func() {
				defer s.track(conn, false)
				defer conn.Close()
				s.serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		s.mu.Lock()
		for conn := range s.open {
			conn.Close()
		}
		s.mu.Unlock()
		all.Wait()
	})
	return s
}

func (s *Server) track(conn net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.open, conn); open {
		s.open[conn] = true
	}
}

// Break decides about each call from now on, by its method and how many of its kind there were before. Nil is none. It may call
// the server's methods that change it for others.
func (s *Server) Break(fault func(method string, n int) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.fault = map[string]int{}, fault
}

// Silence lets nothing be answered from the first alteration on, which is carried out if so asked, until the next Break. The
// alteration that asks whether conditions are honoured is not one.
func (s *Server) Silence(applied bool) {
	gone := false
	s.Break(func(method string, _ int) *Fault {
		if gone {
			return &Fault{Lost: true}
		}
		if gone = method == Alter; gone {
			return &Fault{Lost: true, Applied: applied}
		}
		return nil
	})
}

// Alter is the method that a commit calls. A question whether conditions are honoured is counted as Probe instead.
const (
	Alter = "alter_table_with_environment_context"
	Probe = "probe"
)

// Calls is how many calls of a method there were since the last Break.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Table is a table's record, nil if there is none.
func (s *Server) Table(database, name string) thrift.Struct {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.tables[key(database, name)])
}

// Put replaces a table's record, as a writer does that looks at no condition.
func (s *Server) Put(database, name string, record thrift.Struct) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[key(database, name)] = record
}

func key(database, name string) string { return strings.ToLower(database + "." + name) }

func (s *Server) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		call, err := thrift.Read(in)
		if err != nil || call.Kind != thrift.Call {
			return
		}
		reply, lost := s.answer(call)
		if lost {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset
			}
			return
		}
		if _, err := conn.Write(reply.Append(nil)); err != nil {
			return
		}
	}
}

// thrown is what a method throws: the field of its result, and the message.
type thrown struct {
	field   int16
	message string
}

func throw(field int16, format string, args ...any) *thrown {
	return &thrown{field, fmt.Sprintf(format, args...)}
}

// meta is the field of MetaException of each method.
var meta = map[string]int16{"get_table_req": 1, "create_table": 3, Alter: 2, "get_database": 2, "create_database": 3, "get_all_databases": 1, "get_all_tables": 1, "drop_table": 2, "alter_database": 1, "drop_database": 3}

func (s *Server) answer(call thrift.Message) (reply thrift.Message, lost bool) {
	kind := call.Method
	if kind == Alter && strings.HasPrefix(call.Body.Struct(4).Texts(1)["expected_parameter_value"], "sluice asks") {
		kind = Probe
	}
	s.mu.Lock()
	decide, n := s.fault, s.calls[kind]
	s.calls[kind]++
	s.mu.Unlock()
	fault := decide(kind, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	reply = thrift.Message{Kind: thrift.Reply, Method: call.Method, Seq: call.Seq, Body: thrift.Struct{}}
	carryOut, ok := methods[call.Method]
	if !ok {
		reply.Kind, reply.Body = thrift.Exception, thrift.Struct{1: fmt.Sprintf("Invalid method name: '%s'", call.Method), 2: int32(1)}
		return reply, false
	}
	if fault == nil || fault.Applied {
		value, failed := carryOut(s, call.Body)
		switch {
		case failed != nil:
			reply.Body[failed.field] = thrift.Struct{1: failed.message}
		case value != nil:
			reply.Body[0] = value
		}
	}
	if fault != nil && fault.Message != "" {
		field, declared := meta[call.Method]
		if reply.Body = (thrift.Struct{field: thrift.Struct{1: fault.Message}}); !declared {
			reply.Kind, reply.Body = thrift.Exception, thrift.Struct{1: "Internal error processing " + call.Method, 2: int32(6)}
		}
	}
	return reply, fault != nil && fault.Lost
}

// methods are those of Hive 4.0.1, which has no get_table.
var methods = map[string]func(*Server, thrift.Struct) (any, *thrown){
	"get_all_databases": func(s *Server, _ thrift.Struct) (any, *thrown) {
		return thrift.Strings(slices.Sorted(maps.Keys(s.databases))...), nil
	},
	"get_all_tables":  (*Server).listTables,
	"get_database":    (*Server).getDatabase,
	"create_database": (*Server).createDatabase,
	"alter_database":  (*Server).alterDatabase,
	"drop_database":   (*Server).dropDatabase,
	"get_table_req":   (*Server).getTable,
	"create_table":    (*Server).createTable,
	"drop_table":      (*Server).dropTable,
	Alter:             (*Server).alterTable,
	"lock":            (*Server).takeLock,
	"check_lock":      (*Server).checkLock,
	"unlock":          (*Server).unlock,
	"show_locks":      (*Server).showLocks,
	"set_ugi":         func(_ *Server, args thrift.Struct) (any, *thrown) { return thrift.Strings(args.Text(1)), nil },
}

func (s *Server) listTables(args thrift.Struct) (any, *thrown) {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(s.tables)) {
		if database, table, _ := strings.Cut(id, "."); database == strings.ToLower(args.Text(1)) {
			all = append(all, table)
		}
	}
	return thrift.Strings(all...), nil
}

func (s *Server) getDatabase(args thrift.Struct) (any, *thrown) {
	record, ok := s.databases[strings.ToLower(args.Text(1))]
	if !ok {
		return nil, throw(1, "database hive.%s", args.Text(1))
	}
	return record, nil
}

func (s *Server) createDatabase(args thrift.Struct) (any, *thrown) {
	record := args.Struct(1)
	id := strings.ToLower(record.Text(1))
	switch {
	case !valid(id):
		return nil, throw(2, "%s is not a valid database name", id)
	case s.databases[id] != nil:
		return nil, throw(1, "Database %s already exists", id)
	case record.Text(3) == "":
		return nil, throw(3, "java.lang.IllegalArgumentException: Can not create a Path from an empty string")
	}
	s.databases[id] = record
	return nil, nil
}

func (s *Server) alterDatabase(args thrift.Struct) (any, *thrown) {
	id := strings.ToLower(args.Text(1))
	if s.databases[id] == nil {
		return nil, throw(2, "database hive.%s", id)
	}
	s.databases[id] = args.Struct(2)
	return nil, nil
}

func (s *Server) dropDatabase(args thrift.Struct) (any, *thrown) {
	id := strings.ToLower(args.Text(1))
	if s.databases[id] == nil {
		return nil, throw(1, "database hive.%s", id)
	}
	for table := range s.tables {
		if strings.HasPrefix(table, id+".") {
			return nil, throw(2, "Database %s is not empty. One or more tables exist.", id)
		}
	}
	delete(s.databases, id)
	return nil, nil
}

func valid(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func (s *Server) getTable(args thrift.Struct) (any, *thrown) {
	request := args.Struct(1)
	record, ok := s.tables[key(request.Text(1), request.Text(2))]
	if !ok {
		return nil, throw(2, "hive.%s.%s table not found", request.Text(1), request.Text(2))
	}
	return thrift.Struct{1: record}, nil
}

func (s *Server) createTable(args thrift.Struct) (any, *thrown) {
	record := args.Struct(1)
	id := key(record.Text(2), record.Text(1))
	switch {
	case !valid(record.Text(1)):
		return nil, throw(2, "%s is not a valid object name", record.Text(1))
	case s.databases[strings.ToLower(record.Text(2))] == nil:
		return nil, throw(4, "database hive.%s", record.Text(2))
	case s.tables[id] != nil:
		return nil, throw(1, "Table hive.%s already exists", id)
	case record.Struct(7).Text(2) == "" || len(record.Struct(7).List(1)) == 0 || record.Text(12) != "EXTERNAL_TABLE":
		return nil, throw(2, "a table without location, columns or kind")
	}
	s.tables[id] = record
	return nil, nil
}

func (s *Server) dropTable(args thrift.Struct) (any, *thrown) {
	id := key(args.Text(1), args.Text(2))
	if s.tables[id] == nil {
		return nil, throw(1, "hive.%s table not found", id)
	}
	delete(s.tables, id)
	return nil, nil
}

// alterTable looks at everything in the order of HiveAlterHandler.alterTable
// (https://github.com/apache/hive/blob/rel/release-4.0.1/standalone-metastore/metastore-server/src/main/java/org/apache/hadoop/hive/metastore/HiveAlterHandler.java).
func (s *Server) alterTable(args thrift.Struct) (any, *thrown) {
	id, record, environment := key(args.Text(1), args.Text(2)), args.Struct(3), args.Struct(4).Texts(1)
	old := s.tables[id]
	if old == nil {
		return nil, throw(1, "table hive.%s doesn't exist", id)
	}
	if parameter := environment["expected_parameter_key"]; parameter != "" && !s.Careless {
		if record.Texts(9)[parameter] == "" {
			return nil, throw(2, "New value for expected key %s is not set", parameter)
		}
		if is, want := old.Texts(9)[parameter], environment["expected_parameter_value"]; is != want {
			return nil, throw(2, "The table has been modified. The parameter value for key '%s' is '%s'. The expected was value was '%s'", parameter, is, want)
		}
	}
	if len(record.List(8)) != len(old.List(8)) {
		return nil, throw(1, "partition keys can not be changed.")
	}
	s.tables[id] = record
	return nil, nil
}
