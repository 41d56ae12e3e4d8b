package lakesink

import (
	"fmt"
	"sync"
)

// smallUploads is how many files that fit into one part of an upload are completed side by side, beside the one that is
// being written: together they take no more memory than a large file's upload does. A thousand partitions are a thousand
// requests, each of which the store takes some time to answer.
const smallUploads = uploadBuffers - 1

// landing completes uploads in the background.
type landing struct {
	going sync.WaitGroup
	slots chan struct{}
	mu    sync.Mutex
	err   error // the first failure
}

func newLanding() *landing { return &landing{slots: make(chan struct{}, smallUploads)} }

// land completes an upload of so many bytes; a large one before it returns, with no other beside it. The error may be that of
// another.
func (l *landing) land(o *upload, bytes int64) error {
	if _, alone := o.w.fs.(*storeFS); alone || bytes > uploadPartBytes { // of those stores each upload takes what one may
		if err := l.wait(); err != nil {
			return err
		}
		return o.complete(bytes)
	}
	l.slots <- struct{}{}
	l.going.Add(1)
	go func() {
		defer func() { <-l.slots; l.going.Done() }()
		if err := o.complete(bytes); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.err == nil {
				l.err = err
			}
		}
	}()
	return l.failure()
}

func (l *landing) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// wait waits for what is on its way.
func (l *landing) wait() error {
	l.going.Wait()
	return l.failure()
}

// complete ends an upload and checks that the store has all of it.
func (u *upload) complete(bytes int64) error {
	if err := u.close(); err != nil {
		return explain(fmt.Sprintf("finish %s", u.path), err)
	}
	size, err := storedSize(u.w.fs, u.path)
	if err != nil {
		return explain(fmt.Sprintf("ask for the size of %s", u.path), err)
	}
	if size != bytes {
		return fmt.Errorf("%s has %d bytes in the store, %d were written: the store lost some", u.path, size, bytes)
	}
	return nil
}
