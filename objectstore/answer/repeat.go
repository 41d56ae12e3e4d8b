package answer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Retryer repeats requests to S3 that came to nothing: what the SDK repeats by itself (broken connections, 500, 502, 503,
// 504), and what it leaves to its caller: 429, which stores other than Amazon's say instead of 503, and the conflicts of
// which Amazon S3 says that they end (409 ConditionalRequestConflict, OperationAborted:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html). attempts counts the first one; pause is the
// longest between two.
func Retryer(attempts int, pause time.Duration) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = attempts, pause
		o.Retryables = append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.RetryableErrorCode{Codes: map[string]struct{}{"ConditionalRequestConflict": {}, "OperationAborted": {}}})
	})
}

// wholeWithin is how large an answer may be that Whole keeps back: listings, metadata, most manifests.
const wholeWithin = 4 << 20

// Whole is a client that hands out an answer of up to 4 MiB when all of it has arrived. One that breaks off in the middle
// is then a request that failed, which the SDK repeats. Otherwise whoever reads the body meets the end of it: half an error is
// taken for no error of S3's, and half a listing or manifest ends the run. Larger answers are handed out as they come.
// What a HEAD cannot tell of clocks that are too far apart it tells besides.
func Whole(client aws.HTTPClient) aws.HTTPClient {
	if client == nil { // the SDK's own, which has a default of its own
		return nil
	}
	return whole{client}
}

type whole struct{ aws.HTTPClient }

// Do sends a request.
func (w whole) Do(r *http.Request) (*http.Response, error) {
	response, err := w.HTTPClient.Do(r)
	if err == nil {
		tellSkew(r, response)
	}
	if err != nil || response.Body == nil || response.ContentLength > wholeWithin {
		return response, err
	}
	var arrived bytes.Buffer
	if response.ContentLength > 0 {
		arrived.Grow(int(response.ContentLength) + bytes.MinRead) // ReadFrom asks for so much more than there is
	}
	n, err := io.Copy(&arrived, io.LimitReader(response.Body, wholeWithin))
	if err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	if n < wholeWithin {
		response.Body = closing{&arrived, response.Body}
		return response, nil
	}
	response.Body = closing{io.MultiReader(&arrived, response.Body), response.Body}
	return response, nil
}

// closing reads from one and closes the other.
type closing struct {
	io.Reader
	io.Closer
}
