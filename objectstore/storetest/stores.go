package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sluice/objectstore"
)

// Faults is a store whose writes are effects of a script: "create KEY", "replace KEY", "put KEY", "delete KEY", the
// last one per key.
type Faults struct {
	objectstore.Store
	Script *Script
}

// Get fails once the process is gone.
func (f *Faults) Get(ctx context.Context, key string) (data []byte, version objectstore.Version, err error) {
	err = f.Script.Read("get "+key, func() error {
		data, version, err = f.Store.Get(ctx, key)
		return err
	})
	return data, version, err
}

// List fails once the process is gone.
func (f *Faults) List(ctx context.Context, prefix, after string) (keys []string, err error) {
	err = f.Script.Read("list "+prefix, func() error {
		keys, err = f.Store.List(ctx, prefix, after)
		return err
	})
	return keys, err
}

// PutIfAbsent is the effect "create KEY".
func (f *Faults) PutIfAbsent(ctx context.Context, key string, data []byte) (version objectstore.Version, err error) {
	err = f.conditional("create", key, func() error {
		version, err = f.Store.PutIfAbsent(ctx, key, data)
		return err
	})
	return version, err
}

// PutIfMatch is the effect "replace KEY".
func (f *Faults) PutIfMatch(ctx context.Context, key string, data []byte, at objectstore.Version) (version objectstore.Version, err error) {
	err = f.conditional("replace", key, func() error {
		version, err = f.Store.PutIfMatch(ctx, key, data, at)
		return err
	})
	return version, err
}

// Put is the effect "put KEY".
func (f *Faults) Put(ctx context.Context, key string, data []byte) error {
	return f.write(effectName("put", key), objectstore.ErrAmbiguous, func() error { return f.Store.Put(ctx, key, data) })
}

// Delete is one effect "delete KEY" per key; it stops at the first that fails.
func (f *Faults) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := f.write(effectName("delete", key), objectstore.ErrAmbiguous, func() error { return f.Store.Delete(ctx, key) }); err != nil {
			return err
		}
	}
	return nil
}

// conditional is a write whose repetition would be refused.
func (f *Faults) conditional(verb, key string, apply func() error) error {
	lost := objectstore.ErrAmbiguous
	if f.Script.Mode == Repeated {
		lost = objectstore.ErrConflict
	}
	return f.write(effectName(verb, key), lost, apply)
}

// write marks an injected error with what a client would make of it.
func (f *Faults) write(name string, lost error, apply func() error) error {
	err := f.Script.Effect(name, apply)
	if errors.Is(err, ErrInjected) {
		return fmt.Errorf("%w: %w", lost, err)
	}
	return err
}

// IgnoresConditions is a store that accepts every write: the first kind of store that must never hold a checkpoint.
type IgnoresConditions struct{ objectstore.Store }

// PutIfAbsent replaces what is there.
func (s IgnoresConditions) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if err := s.Store.Put(ctx, key, data); err != nil {
		return "", err
	}
	_, version, err := s.Store.Get(ctx, key)
	return version, err
}

// PutIfMatch replaces what is there, whatever its version.
func (s IgnoresConditions) PutIfMatch(ctx context.Context, key string, data []byte, _ objectstore.Version) (objectstore.Version, error) {
	return s.PutIfAbsent(ctx, key, data)
}

// Drops is a store that accepts the creation of some objects and does not keep them: the second kind.
type Drops struct {
	objectstore.Store
	// Key says which.
	Key func(key string) bool
}

// PutIfAbsent forgets what Key names.
func (s Drops) PutIfAbsent(ctx context.Context, key string, data []byte) (objectstore.Version, error) {
	if s.Key(key) {
		return "dropped", nil
	}
	return s.Store.PutIfAbsent(ctx, key, data)
}

// StaleLists is a store whose listings lag behind, as those of object stores once did.
type StaleLists struct {
	objectstore.Store

	mu     sync.Mutex
	frozen bool
	keys   []string
}

// Freeze makes every listing from now on show what is there now.
func (s *StaleLists) Freeze(ctx context.Context) error {
	keys, err := s.Store.List(ctx, "", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen, s.keys = err == nil, keys
	return err
}

// Thaw makes listings exact again.
func (s *StaleLists) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = false
}

// List shows what was there at the time of Freeze.
func (s *StaleLists) List(ctx context.Context, prefix, after string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.frozen {
		return s.Store.List(ctx, prefix, after)
	}
	return slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool {
		return len(key) < len(prefix) || key[:len(prefix)] != prefix || key <= after
	}), nil
}
