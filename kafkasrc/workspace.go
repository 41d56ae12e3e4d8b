package kafkasrc

import "sluice/columns"

// workspace is what a reader needs memory for: the decoder with its buffer, and the block that it hands out. Readers come
// and go with the tasks; what they have grown is passed on to the next ones, so that there are never more workspaces than
// readers were open at once.
type workspace struct {
	decoder decoder
	block   columns.Records
}

func (s *Source) takeWorkspace() *workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		w := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return w
	}
	return &workspace{
		decoder: decoder{decompressor: decompressor{limit: s.options.MaxBatchBytes}, headers: s.options.IncludeHeaders},
		block:   newBlock(),
	}
}

func (s *Source) giveWorkspace(w *workspace) {
	w.decoder.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, w)
}

func newBlock() columns.Records {
	return columns.Records{
		Key:   columns.Array{Kind: columns.Binary},
		Value: columns.Array{Kind: columns.Binary},
		Headers: columns.Array{Kind: columns.List, Children: []columns.Array{
			{Kind: columns.Struct, Children: []columns.Array{{Kind: columns.String}, {Kind: columns.Binary}}},
		}},
	}
}
