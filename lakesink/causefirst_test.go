package lakesink

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Whoever is paged reads the beginning of a line.
func TestAnAnswerOfS3BeginsWithItsCause(t *testing.T) {
	answer := &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &awshttp.ResponseError{RequestID: "4442587FB7D0A2F9",
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 403}},
			Err: &smithy.GenericAPIError{Code: "SignatureDoesNotMatch", Message: "the signatures differ"}}}}
	err := explain("read table db.orders", fmt.Errorf("open s3://lake/v1.json: %w", answer))
	want := "read table db.orders: open s3://lake/v1.json: SignatureDoesNotMatch: the signatures differ (S3 GetObject, HTTP 403, request 4442587FB7D0A2F9)"
	if err.Error() != want || !errors.Is(err, answer) {
		t.Errorf("got %q, want %q", err, want)
	}
	if err := explain("read", errors.New("operation error S3: of another kind")); !strings.HasSuffix(err.Error(), "of another kind") {
		t.Errorf("got %q, want what is no answer as it is", err)
	}
}
