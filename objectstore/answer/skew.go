package answer

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// skewAllowed is how far the time of a request may be from the store's.
const skewAllowed = 15 * time.Minute

// skewed is what S3 says beyond it (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
const skewed = `<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and the server's time is too large.</Message></Error>`

// tellSkew puts the reason into an answer of 403 to a HEAD that was signed with a time too far from the store's. Such an answer
// has no body, so that the SDK takes it for a lack of permissions. Of the reason it signs again by the store's time, as it does
// after any other request.
func tellSkew(r *http.Request, response *http.Response) {
	if response.StatusCode != http.StatusForbidden || r.Method != http.MethodHead {
		return
	}
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return
	}
	there, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil || there.Sub(signed).Abs() <= skewAllowed {
		return
	}
	_ = response.Body.Close() // it is empty
	response.Body = io.NopCloser(strings.NewReader(skewed))
}
