package objectstore

import (
	"bytes"
	"context"
	"iter"
)

// Create is Files'.
func (m *Memory) Create(ctx context.Context, key string) (Upload, error) {
	checkKey(key)
	return &memoryUpload{ctx: ctx, store: m, key: key}, nil
}

type memoryUpload struct {
	ctx    context.Context
	store  *Memory
	key    string
	buffer bytes.Buffer
	ended  bool
}

func (u *memoryUpload) Write(b []byte) (int, error) {
	if u.ended {
		return 0, storeError("upload", u.key, u.store, errUploadEnded)
	}
	if err := context.Cause(u.ctx); err != nil {
		return 0, storeError("upload", u.key, u.store, err)
	}
	return u.buffer.Write(b)
}

func (u *memoryUpload) Close() error {
	if u.ended {
		return storeError("upload", u.key, u.store, errUploadEnded)
	}
	u.ended = true
	_, err := u.store.put(u.ctx, "upload", u.key, u.buffer.Bytes(), func(object, bool) bool { return true })
	return err
}

func (u *memoryUpload) Abort() { u.ended = true }

// Open is Files'.
func (m *Memory) Open(ctx context.Context, key string) (File, error) {
	checkKey(key)
	if err := context.Cause(ctx); err != nil {
		return nil, storeError("open", key, m, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return nil, storeError("open", key, m, ErrNotFound)
	}
	return &memoryFile{Reader: bytes.NewReader(o.data), ctx: ctx, entry: Entry{Key: key, Size: int64(len(o.data)), Modified: o.written}}, nil
}

// memoryFile reads what was there when it was opened: objects are replaced, never changed.
type memoryFile struct {
	*bytes.Reader
	ctx   context.Context
	entry Entry
}

func (f *memoryFile) Entry() Entry { return f.entry }
func (f *memoryFile) Close() error { return nil }

// ReadAt is io.ReaderAt's.
func (f *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	if err := context.Cause(f.ctx); err != nil {
		return 0, err
	}
	return f.Reader.ReadAt(b, at)
}

// Entries is Files'.
func (m *Memory) Entries(ctx context.Context, prefix, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		keys, err := m.List(ctx, prefix, after)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, key := range keys {
			if entry, ok := m.entry(key); ok && !yield(entry, nil) {
				return
			}
		}
	}
}

func (m *Memory) entry(key string) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	return Entry{Key: key, Size: int64(len(o.data)), Modified: o.written}, ok
}
