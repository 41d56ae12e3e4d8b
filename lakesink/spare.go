package lakesink

import (
	"slices"
	"sync"

	"sluice/lakesink/parquetfile"
)

// spareFiles keeps the file writers of tasks that are done for the tasks of the next batch. Each holds some megabytes that
// would otherwise be garbage while as much is allocated anew.
type spareFiles struct {
	mu      sync.Mutex
	writers []*parquetfile.Writer
}

// take finds a writer of such files, or makes one.
func (s *spareFiles) take(fields []parquetfile.Field, options parquetfile.Options) (*parquetfile.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.writers {
		if w.Reuse(fields, options) {
			s.writers = slices.Delete(s.writers, i, i+1)
			return w, nil
		}
	}
	s.writers = nil // the table was altered: what is left serves nobody
	return parquetfile.NewWriter(fields, options)
}

// put takes back a writer whose files are complete.
func (s *spareFiles) put(w *parquetfile.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers = append(s.writers, w)
}
