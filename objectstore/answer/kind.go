package answer

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/smithy-go/logging"
)

// Kind is what an answer means.
type Kind int

const (
	// Unknown is any other error: of a write, it may have been applied.
	Unknown Kind = iota
	// NotFound: there is no such object.
	NotFound
	// Conflict: the condition of a write did not hold.
	Conflict
	// Forbidden: the credentials are refused, or do not allow it.
	Forbidden
	// NoBucket: there is no such bucket or container.
	NoBucket
	// NoCredentials: none were found on this machine.
	NoCredentials
	// WrongPlace: the bucket is in another region.
	WrongPlace
	// NoRegion: nobody said which region the bucket is in, or one that cannot be, and nothing was sent.
	NoRegion
	// NoStore: what answers is no object store.
	NoStore
	// NoConditions: the store has no conditional writes.
	NoConditions
	// WrongClock: the store's clock and this machine's are too far apart.
	WrongClock
	// Full: there is no space, or a quota is used up.
	Full
)

// Of says what an error of a cloud's client means, however deep it is wrapped.
func Of(err error) Kind {
	if missing := (*credentialsError)(nil); errors.As(err, &missing) {
		return NoCredentials
	}
	var azure *azcore.ResponseError
	if errors.As(err, &azure) {
		return ofAzure(azure)
	}
	var api interface{ ErrorCode() string } // of every AWS service
	if errors.As(err, &api) {
		if kind, ok := s3Codes[api.ErrorCode()]; ok {
			return kind
		}
		if kind, ok := googleReasons[api.ErrorCode()]; ok {
			return kind
		}
		if strings.HasPrefix(api.ErrorCode(), "KMS.") { // the bucket's key is disabled, gone, or not for us
			return Forbidden
		}
	}
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return ofStatus(response.HTTPStatusCode())
	}
	if err != nil && strings.Contains(err.Error(), noRegion) {
		return NoRegion
	}
	return Unknown
}

// noRegion is what the SDK says instead of sending a request: it gives the error no type.
const noRegion = "endpoint rule error"

// s3Codes is what the codes mean that the HTTP status does not tell, or not everywhere. Those of refused credentials and
// permissions come with 400, 401, 403 and, from versitygw, 404 for an unknown access key.
var s3Codes = map[string]Kind{
	"NoSuchUpload": Unknown, // or completed already
	"NoSuchKey":    NotFound, "PreconditionFailed": Conflict, "NotImplemented": NoConditions,
	"NoSuchBucket": NoBucket, "InvalidBucketName": NoBucket,
	"AccessDenied": Forbidden, "AccessDeniedException": Forbidden, "AccessForbidden": Forbidden, "Forbidden": Forbidden, "Unauthorized": Forbidden,
	"UnauthorizedAccess": Forbidden, "NotAuthorized": Forbidden, "AllAccessDisabled": Forbidden, "AccountProblem": Forbidden, "NotSignedUp": Forbidden, "OptInRequired": Forbidden,
	"InvalidAccessKeyId": Forbidden, "InvalidClientTokenId": Forbidden, "UnrecognizedClientException": Forbidden, "XAdminUserNotFound": Forbidden, "XAdminAccessDenied": Forbidden,
	"SignatureDoesNotMatch": Forbidden, "InvalidSecurity": Forbidden, "InvalidSignatureException": Forbidden, "IncompleteSignature": Forbidden, "MissingAuthenticationToken": Forbidden,
	"ExpiredToken": Forbidden, "ExpiredTokenException": Forbidden, "InvalidToken": Forbidden, "TokenRefreshRequired": Forbidden,
	"RequestTimeTooSkewed": WrongClock, "RequestExpired": WrongClock,
	"PermanentRedirect": WrongPlace, "AuthorizationHeaderMalformed": WrongPlace, "IllegalLocationConstraintException": WrongPlace,
	"QuotaExceeded": Full, "XMinioAdminBucketQuotaExceeded": Full, "XMinioStorageFull": Full,
}

// googleReasons are those of the JSON API of Google Cloud Storage
// (https://cloud.google.com/storage/docs/json_api/v1/status-codes), and two of ours for what it tells by messages alone. A 403
// says of an object that it may not exist: a lost permission is never an absence.
var googleReasons = map[string]Kind{
	NoSuchGoogleObject: NotFound, NoSuchGoogleBucket: NoBucket, "conditionNotMet": Conflict,
	"forbidden": Forbidden, "required": Forbidden, "authError": Forbidden, "insufficientPermissions": Forbidden, "accountDisabled": Forbidden,
	"userProjectMissing": Forbidden, "accessDenied": Forbidden, "keyDisabled": Forbidden,
	SessionGone:      Unknown,
	"wrongUrlForApi": NoStore, "quotaExceeded": Full,
}

// Codes for what Google Cloud Storage says by messages alone: both are notFound.
const (
	NoSuchGoogleObject = "noSuchObject"
	NoSuchGoogleBucket = "noSuchBucket"
	// SessionGone: an upload is not known any more. It may have been completed.
	SessionGone = "sessionGone"
)

// azureCodes are those of Azure Blob Storage that the status does not tell
// (https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes).
var azureCodes = map[string]Kind{
	"BlobNotFound": NotFound, "ContainerNotFound": NoBucket, "ContainerBeingDeleted": NoBucket, "ContainerDisabled": NoBucket,
	"BlobAlreadyExists": Conflict, "ConditionNotMet": Conflict, "TargetConditionNotMet": Conflict,
	"AuthenticationFailed": Forbidden, "InvalidAuthenticationInfo": Forbidden, "AccountIsDisabled": Forbidden, "ResourceNotFound": NoBucket,
	"InvalidResourceName": NoBucket, "OutOfRangeInput": NoBucket,
}

func ofAzure(answered *azcore.ResponseError) Kind {
	if kind, ok := azureCodes[answered.ErrorCode]; ok {
		return kind
	}
	return ofStatus(answered.StatusCode)
}

// ofStatus goes by the HTTP status where a store gives no code of its own. 409 is not a conflict: Amazon answers it for
// a race whose loser may try again.
func ofStatus(status int) Kind {
	switch status {
	case http.StatusNotFound:
		return NoStore // S3 says NoSuchKey or NoSuchBucket; a proxy or a web server says 404
	case http.StatusPreconditionFailed:
		return Conflict
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return Forbidden
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return WrongPlace
	case http.StatusNotImplemented:
		return NoConditions
	case http.StatusInsufficientStorage:
		return Full
	}
	return Unknown
}

// WithoutCredentials marks an error as one of finding credentials, or of exchanging them for what the store takes.
func WithoutCredentials(err error) error { return &credentialsError{err} }

// Credentials makes Of know the errors of a provider: the SDK gives them no type. nil, which stands for anonymous access,
// stays nil.
func Credentials(p aws.CredentialsProvider) aws.CredentialsProvider {
	if p == nil {
		return nil
	}
	return marking{quiet(p)}
}

// NoLog is where the SDK's own log lines go: on stderr they would stand raw among those of the run, and whatever fails is an
// error besides.
var NoLog logging.Logger = logging.Nop{}

// quiet is the provider, but where it asks the machine for its role: that one logs "falling back to IMDSv1" to wherever the
// configuration said that it was made with, and libraries make theirs without saying. The same chain is made again then.
func quiet(p aws.CredentialsProvider) aws.CredentialsProvider {
	role := (*ec2rolecreds.Provider)(nil)
	if !aws.IsCredentialsProvider(p, role) {
		return p
	}
	c, err := config.LoadDefaultConfig(context.Background(), config.WithLogger(NoLog))
	if err != nil || !aws.IsCredentialsProvider(c.Credentials, role) {
		return p
	}
	return c.Credentials
}

type marking struct{ aws.CredentialsProvider }

type credentialsError struct{ error }

func (e *credentialsError) Unwrap() error { return e.error }

// Retrieve is the provider's.
func (m marking) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := m.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = &credentialsError{err}
	}
	return found, err
}
