package answer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestWhatAStoreAsksToBeRepeatedIsRepeated(t *testing.T) {
	said := func(status int, code string) error {
		return &smithy.OperationError{ServiceID: "S3", OperationName: "PutObject", Err: &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code}}}}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{said(429, "TooManyRequests"), true}, {said(429, ""), true},
		{said(409, "ConditionalRequestConflict"), true}, {said(409, "OperationAborted"), true}, {said(409, "BucketAlreadyExists"), false},
		{said(412, "PreconditionFailed"), false}, {said(404, "NoSuchKey"), false}, {said(403, "AccessDenied"), false},
		{said(500, "InternalError"), true}, {said(503, "SlowDown"), true}, {said(502, ""), true}, {said(400, "RequestTimeout"), true},
		{&smithyhttp.RequestSendError{Err: io.ErrUnexpectedEOF}, true},
	} {
		r := Retryer(4, time.Second)
		if got := r.IsErrorRetryable(c.err); got != c.want || r.MaxAttempts() != 4 {
			t.Errorf("%v: got %v, %d attempts, want %v", c.err, got, r.MaxAttempts(), c.want)
		}
	}
}

// sent is a client that answers with a body.
type sent struct {
	length int64
	body   io.ReadCloser
}

func (s sent) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: s.length, Body: s.body}, nil
}

// shut notices that it is closed.
type shut struct {
	io.Reader
	closed bool
}

func (s *shut) Close() error { s.closed = true; return nil }

func TestAnAnswerIsHandedOutWhenAllOfItIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		length, size int64
	}{"known length": {100, 100}, "unknown length": {-1, 100}, "empty": {0, 0}, "unknown, at the limit": {-1, wholeWithin}, "unknown, above it": {-1, wholeWithin + 5}, "large": {wholeWithin + 1, wholeWithin + 1}} {
		content := bytes.Repeat([]byte("0123456789"), int(c.size)/10+1)[:c.size]
		body := &shut{Reader: iotest.HalfReader(bytes.NewReader(content))}
		response, err := Whole(sent{c.length, body}).Do(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, c.size)
		}
		if err := response.Body.Close(); err != nil || !body.closed {
			t.Errorf("%s: got closed %v, %v", name, body.closed, err)
		}
	}
}

func TestAnAnswerThatBreaksOffIsAFailedRequest(t *testing.T) {
	for _, length := range []int64{100, -1} {
		body := &shut{Reader: io.MultiReader(bytes.NewReader(make([]byte, 50)), iotest.ErrReader(io.ErrUnexpectedEOF))}
		response, err := Whole(sent{length, body}).Do(nil)
		if response != nil || !errors.Is(err, io.ErrUnexpectedEOF) || !body.closed {
			t.Errorf("length %d: got %v, %v, closed %v", length, response, err, body.closed)
		}
	}
	body := &shut{Reader: io.MultiReader(bytes.NewReader(make([]byte, 50)), iotest.ErrReader(io.ErrUnexpectedEOF))}
	response, err := Whole(sent{wholeWithin + 1, body}).Do(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(response.Body); len(got) != 50 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d bytes, %v of a large answer", len(got), err)
	}
}

func TestAClientThatTheSDKChoosesStaysItsOwn(t *testing.T) {
	if got := Whole(nil); got != aws.HTTPClient(nil) {
		t.Errorf("got %v, want none", got)
	}
}
