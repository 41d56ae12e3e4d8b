package answer

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func answer(code, message string) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &awshttp.ResponseError{RequestID: "4711", ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 403}}, Err: &smithy.GenericAPIError{Code: code, Message: message}}}}
}

func TestTheCauseComesFirstAndTheRequestStays(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"the key is another", "read plan 7: SignatureDoesNotMatch: the key is another (S3 GetObject, HTTP 403, request 4711)"},
		{"", "read plan 7: SignatureDoesNotMatch (S3 GetObject, HTTP 403, request 4711)"},
		{"SignatureDoesNotMatch", "read plan 7: SignatureDoesNotMatch (S3 GetObject, HTTP 403, request 4711)"},
	} {
		err := fmt.Errorf("read plan 7: %w", answer("SignatureDoesNotMatch", c.message))
		got := CauseFirst(err)
		var api smithy.APIError
		if got.Error() != c.want || !errors.Is(got, err) || !errors.As(got, &api) {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

// The SDK's own words, so that another version of it is noticed.
func TestAMissingRegionIsKnown(t *testing.T) {
	client := s3.New(s3.Options{Credentials: aws.AnonymousCredentials{}})
	_, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("lake"), Key: aws.String("x")})
	if kind := Of(fmt.Errorf("read x: %w", err)); kind != NoRegion {
		t.Errorf("%v: got %d, want %d", err, kind, NoRegion)
	}
}

func TestWhatIsNoAnswerOfS3IsLeftAlone(t *testing.T) {
	for _, err := range []error{errors.New("connection refused"), &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: errors.New("no such host")}, nil} {
		if got := CauseFirst(err); got != err {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}
