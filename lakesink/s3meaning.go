package lakesink

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sluice/batch"
)

// What to do about the answers of S3.
const (
	forbidden     = "check the credentials and their permissions on the warehouse"
	noBucket      = "create the bucket, or check the warehouse's address"
	noCredentials = "give credentials by environment, profile or instance role (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role), or as properties of the catalog"
	wrongPlace    = "the bucket is in another region: give its own as s3.region or AWS_REGION"
	wrongClock    = "the store's clock and this machine's are too far apart: set the clock of this machine (NTP), then run again"
	full          = "free some space in the bucket or raise its quota, then run again; nothing is half-done"
)

// s3Codes is what the codes mean that the HTTP status does not tell, or not everywhere. Those of refused credentials and
// permissions come with 400, 401, 403 and, from versitygw, 404 for an unknown access key.
var s3Codes = map[string]string{
	"NoSuchBucket": noBucket, "InvalidBucketName": noBucket,
	"AccessDenied": forbidden, "AccessDeniedException": forbidden, "AccessForbidden": forbidden, "Forbidden": forbidden, "Unauthorized": forbidden,
	"UnauthorizedAccess": forbidden, "NotAuthorized": forbidden, "AllAccessDisabled": forbidden, "AccountProblem": forbidden, "NotSignedUp": forbidden, "OptInRequired": forbidden,
	"InvalidAccessKeyId": forbidden, "InvalidClientTokenId": forbidden, "UnrecognizedClientException": forbidden, "XAdminUserNotFound": forbidden, "XAdminAccessDenied": forbidden,
	"SignatureDoesNotMatch": forbidden, "InvalidSecurity": forbidden, "InvalidSignatureException": forbidden, "IncompleteSignature": forbidden, "MissingAuthenticationToken": forbidden,
	"ExpiredToken": forbidden, "ExpiredTokenException": forbidden, "InvalidToken": forbidden, "TokenRefreshRequired": forbidden,
	"RequestTimeTooSkewed": wrongClock, "RequestExpired": wrongClock,
	"PermanentRedirect": wrongPlace, "AuthorizationHeaderMalformed": wrongPlace, "IllegalLocationConstraintException": wrongPlace,
	"QuotaExceeded": full, "XMinioAdminBucketQuotaExceeded": full, "XMinioStorageFull": full,
}

// s3Meaning knows the answers of S3 and of what speaks like it.
func s3Meaning(err error) (class batch.Class, hint string, ok bool) {
	if missing := (credentialsError{}); errors.As(err, &missing) {
		return batch.NotSetUp, noCredentials, true
	}
	var api interface{ ErrorCode() string } // of every AWS service
	if errors.As(err, &api) {
		if hint, ok = s3Codes[api.ErrorCode()]; !ok && strings.HasPrefix(api.ErrorCode(), "KMS.") { // the bucket's key is disabled, gone, or not for us
			hint, ok = forbidden, true
		}
	}
	var response interface{ HTTPStatusCode() int }
	if !ok && errors.As(err, &response) {
		hint, ok = s3Statuses[response.HTTPStatusCode()]
	}
	if hint == full {
		return batch.Failed, hint, ok
	}
	return batch.NotSetUp, hint, ok
}

// s3Statuses counts where a store gives no code of S3's: to HEAD, for instance.
var s3Statuses = map[int]string{
	http.StatusUnauthorized: forbidden, http.StatusForbidden: forbidden, http.StatusProxyAuthRequired: forbidden,
	http.StatusMovedPermanently: wrongPlace, http.StatusTemporaryRedirect: wrongPlace,
	http.StatusInsufficientStorage: full,
}

// credentials marks the errors of a provider: the SDK gives them no type.
type credentials struct{ aws.CredentialsProvider }

type credentialsError struct{ error }

func (e credentialsError) Unwrap() error { return e.error }

// Retrieve is the provider's.
func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = credentialsError{err}
	}
	return found, err
}
