package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sluice/objectstore/answer"
)

func (n *gcsNative) parts(key string) parts { return &gcsParts{gcsNative: n, key: key} }

// gcsParts is a resumable upload (https://cloud.google.com/storage/docs/performing-resumable-uploads): one part after the
// other, each a multiple of 256 KiB but the last, which says how large the object is. What was not completed is gone after a
// week.
type gcsParts struct {
	*gcsNative
	key, session string
	sent         int64
}

func (p *gcsParts) ordered() bool { return true }

func (p *gcsParts) whole(ctx context.Context, data []byte) error {
	_, err := p.put(ctx, p.key, data, condition{})
	return err
}

func (p *gcsParts) begin(ctx context.Context) error {
	response, err := p.do(ctx, request{method: http.MethodPost, url: p.upload("uploadType", "resumable", "name", p.key),
		header: map[string]string{"X-Upload-Content-Type": contentType(p.key), "Content-Type": "application/json"}, body: []byte("{}")})
	if err != nil {
		return ofBucket(err)
	}
	defer response.Body.Close()
	if p.session = response.Header.Get("Location"); p.session == "" {
		return errors.New("the upload has no address")
	}
	return nil
}

func (p *gcsParts) part(ctx context.Context, _ int, data []byte) error {
	return p.send(ctx, data, false)
}

func (p *gcsParts) complete(ctx context.Context, _ int, last []byte) error {
	return p.send(ctx, last, true)
}

// send goes on until the server has kept all: it may keep less than it was sent.
func (p *gcsParts) send(ctx context.Context, data []byte, last bool) error {
	end := p.sent + int64(len(data))
	for {
		total := "*"
		if last {
			total = strconv.FormatInt(end, 10)
		}
		rest := data[len(data)-int(end-p.sent):]
		response, err := p.do(ctx, request{method: http.MethodPut, url: p.session, body: rest, ok: []int{http.StatusCreated, http.StatusPermanentRedirect},
			header: map[string]string{"Content-Range": fmt.Sprintf("bytes %d-%d/%s", p.sent, end-1, total)}})
		if err != nil {
			return ofSession(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusPermanentRedirect {
			return nil
		}
		kept, err := keptOf(response)
		if err != nil {
			return err
		}
		if kept <= p.sent || kept > end {
			return fmt.Errorf("the store has kept %d bytes after %d of %d", kept, p.sent, end)
		}
		if p.sent = kept; kept == end && !last {
			return nil
		}
	}
}

// ofSession reads a 404 or 410 to a request that names an upload.
func ofSession(err error) error {
	var answered *googleError
	if errors.As(err, &answered) && (answered.status == http.StatusNotFound || answered.status == http.StatusGone) {
		answered.reason = answer.SessionGone
	}
	return err
}

// keptOf reads how much the server has: Range: bytes=0-LAST.
func keptOf(response *http.Response) (int64, error) {
	last, ok := strings.CutPrefix(response.Header.Get("Range"), "bytes=0-")
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(last, 10, 64)
	return n + 1, err
}

func (p *gcsParts) abort(ctx context.Context) {
	response, err := p.once(ctx, request{method: http.MethodDelete, url: p.session, ok: []int{499, http.StatusNoContent}})
	if err == nil {
		response.Body.Close()
	}
}

func (p *gcsParts) size(ctx context.Context) (int64, error) {
	entry, err := p.stat(ctx, p.key)
	if answer.Of(err) == answer.NotFound {
		return 0, ErrNotFound
	}
	return entry.Size, err
}
