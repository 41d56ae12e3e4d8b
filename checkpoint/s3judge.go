package checkpoint

import (
	"errors"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// s3Codes is what the codes mean that the HTTP status does not tell, or not everywhere. Those of refused credentials and
// permissions come with 400, 401, 403 and, from versitygw, 404 for an unknown access key.
var s3Codes = map[string]verdict{
	"NoSuchKey": notFound, "PreconditionFailed": conflict, "NotImplemented": noConditions,
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

func (n *s3Native) judge(err error) verdict {
	if missing := (credentialsError{}); errors.As(err, &missing) {
		return noCredentials
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if v, ok := s3Codes[api.ErrorCode()]; ok {
			return v
		}
		if strings.HasPrefix(api.ErrorCode(), "KMS.") { // the bucket's key is disabled, gone, or not for us
			return forbidden
		}
	}
	return judgeStatus(err)
}

// judgeStatus goes by the HTTP status where a store gives no code of S3's. 409 is not a conflict: Amazon answers it for
// a race whose loser may try again.
func judgeStatus(err error) verdict {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return unknown
	}
	switch response.HTTPStatusCode() {
	case http.StatusNotFound:
		return noStore // S3 says NoSuchKey or NoSuchBucket; a proxy or a web server says 404
	case http.StatusPreconditionFailed:
		return conflict
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return forbidden
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return wrongPlace
	case http.StatusNotImplemented:
		return noConditions
	case http.StatusInsufficientStorage:
		return full
	}
	return unknown
}
