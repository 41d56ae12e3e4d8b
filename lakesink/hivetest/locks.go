package hivetest

import (
	"slices"
	"strings"
	"time"

	"sluice/lakesink/hivecatalog/thrift"
)

type lock struct {
	id                       int64
	table, user, host, agent string
}

// Lock locks a table for somebody else, behind those who have it or wait for it.
func (s *Server) Lock(database, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(key(database, name), "spark", "worker-1", "Iceberg-other")
}

// Unlock ends all locks of others, or of everybody, as the server does with those that have given no sign of life.
func (s *Server) Unlock(everybody bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks = slices.DeleteFunc(s.locks, func(l *lock) bool { return everybody || l.user == "spark" })
}

// Locks is how many locks there are, held or waited for.
func (s *Server) Locks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.locks)
}

func (s *Server) enqueue(table, user, host, agent string) *lock {
	s.last++
	l := &lock{s.last, table, user, host, agent}
	s.locks = append(s.locks, l)
	return l
}

// state is that of a lock: the oldest of a table has it.
func (s *Server) state(l *lock) int32 {
	for _, one := range s.locks {
		if one.table == l.table {
			if one == l {
				return 1
			}
			return 2
		}
	}
	return 3
}

func (s *Server) takeLock(args thrift.Struct) (any, *thrown) {
	request := args.Struct(1)
	component, ok := request.List(1)[0].(thrift.Struct)
	if !ok || component.Long(1) != 3 || component.Long(2) != 2 || request.Text(3) == "" || request.Text(4) == "" || request.Text(5) == "" {
		return nil, throw(1, "no exclusive lock of a table: %v", request)
	}
	l := s.enqueue(key(component.Text(3), component.Text(4)), request.Text(3), request.Text(4), request.Text(5))
	return thrift.Struct{1: l.id, 2: s.state(l)}, nil
}

func (s *Server) lockOf(args thrift.Struct) *lock {
	for _, l := range s.locks {
		if l.id == args.Struct(1).Long(1) {
			return l
		}
	}
	return nil
}

func (s *Server) checkLock(args thrift.Struct) (any, *thrown) {
	l := s.lockOf(args)
	if l == nil {
		return nil, throw(3, "No such lock lockid:%d", args.Struct(1).Long(1))
	}
	return thrift.Struct{1: l.id, 2: s.state(l)}, nil
}

func (s *Server) unlock(args thrift.Struct) (any, *thrown) {
	l := s.lockOf(args)
	if l == nil {
		return nil, throw(1, "No such lock lockid:%d", args.Struct(1).Long(1))
	}
	s.locks = slices.DeleteFunc(s.locks, func(one *lock) bool { return one == l })
	return nil, nil
}

func (s *Server) showLocks(args thrift.Struct) (any, *thrown) {
	request := args.Struct(1)
	var all []thrift.Struct
	for _, l := range s.locks {
		if database, table, _ := strings.Cut(l.table, "."); l.table == key(request.Text(1), request.Text(2)) {
			all = append(all, thrift.Struct{1: l.id, 2: database, 3: table, 5: s.state(l), 6: int32(3), 8: time.Now().UnixMilli(), 10: l.user, 11: l.host, 12: int32(0), 13: l.agent})
		}
	}
	return thrift.Struct{1: thrift.Structs(all...)}, nil
}
