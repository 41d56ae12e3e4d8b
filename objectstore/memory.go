package objectstore

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Memory is a strict store in this process: every condition is exact, every answer is definite.
type Memory struct {
	name string

	mu      sync.Mutex
	objects map[string]object
	writes  int64
}

type object struct {
	data    []byte
	version Version
	written time.Time
}

// NewMemory returns an empty store. name is for people.
func NewMemory(name string) *Memory { return &Memory{name: name, objects: map[string]object{}} }

var memories struct {
	sync.Mutex
	byName map[string]*Memory
}

// openMemory returns the store of that name, the same one on every call: what a run put there outlives the run, not
// the process.
func openMemory(name string) *Memory {
	memories.Lock()
	defer memories.Unlock()
	if memories.byName == nil {
		memories.byName = map[string]*Memory{}
	}
	if memories.byName[name] == nil {
		memories.byName[name] = NewMemory(name)
	}
	return memories.byName[name]
}

// String is mem:// and the name.
func (m *Memory) String() string { return "mem://" + m.name }

// Get is Store's.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, Version, error) {
	checkKey(key)
	if err := context.Cause(ctx); err != nil {
		return nil, "", storeError("get", key, m, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return nil, "", storeError("get", key, m, ErrNotFound)
	}
	return bytes.Clone(o.data), o.version, nil
}

// PutIfAbsent is Store's.
func (m *Memory) PutIfAbsent(ctx context.Context, key string, data []byte) (Version, error) {
	return m.put(ctx, "create", key, data, func(_ object, exists bool) bool { return !exists })
}

// PutIfMatch is Store's.
func (m *Memory) PutIfMatch(ctx context.Context, key string, data []byte, version Version) (Version, error) {
	return m.put(ctx, "replace", key, data, func(o object, exists bool) bool { return exists && o.version == version })
}

// Put is Store's.
func (m *Memory) Put(ctx context.Context, key string, data []byte) error {
	_, err := m.put(ctx, "put", key, data, func(object, bool) bool { return true })
	return err
}

func (m *Memory) put(ctx context.Context, verb, key string, data []byte, allowed func(object, bool) bool) (Version, error) {
	checkKey(key)
	if err := context.Cause(ctx); err != nil {
		return "", storeError(verb, key, m, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, exists := m.objects[key]
	if !allowed(o, exists) {
		return "", storeError(verb, key, m, ErrConflict)
	}
	m.writes++
	o = object{data: bytes.Clone(data), version: Version(strconv.FormatInt(m.writes, 10)), written: time.Now().UTC()}
	m.objects[key] = o
	return o.version, nil
}

// Delete is Store's.
func (m *Memory) Delete(ctx context.Context, keys ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		checkKey(key)
		if err := context.Cause(ctx); err != nil {
			return storeError("delete", key, m, err)
		}
		delete(m.objects, key)
	}
	return nil
}

// List is Store's.
func (m *Memory) List(ctx context.Context, prefix, after string) ([]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, storeError("list", prefix, m, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key := range m.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
