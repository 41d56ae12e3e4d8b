package faultproxy

import "fmt"

// Dialect is how servers of a kind word an error. What it has no words for comes from a gateway, in HTML.
type Dialect struct {
	kind    string
	words   func(answer) string
	answers map[int]answer
	expired answer
	// header is one that has the code of the answer, empty for none.
	header string
}

type answer struct {
	status        int
	code, message string
}

// S3 speaks as Amazon S3 does (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html); 429 is that of others
// that speak like it (https://developers.cloudflare.com/r2/api/error-codes/).
var S3 = Dialect{
	kind: "application/xml",
	words: func(a answer) string {
		return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message><RequestId>FAULTPROXY</RequestId></Error>`, a.code, a.message)
	},
	answers: answers(
		answer{409, "ConditionalRequestConflict", "A conflicting operation occurred during the conditional write."},
		answer{412, "PreconditionFailed", "At least one of the preconditions you specified did not hold."},
		answer{429, "TooManyRequests", "Reduce your concurrent request rate for the same object."},
		answer{500, "InternalError", "We encountered an internal error. Please try again."},
		answer{503, "SlowDown", "Please reduce your request rate."},
	),
	expired: answer{400, "ExpiredToken", "The provided token has expired."},
}

// Iceberg speaks as an Iceberg REST catalog does (the answers of the REST catalog's specification,
// https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml).
var Iceberg = Dialect{
	kind: "application/json",
	words: func(a answer) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%d}}`, a.message, a.code, a.status)
	},
	answers: answers(
		answer{404, "NoSuchTableException", "Table does not exist."},
		answer{409, "CommitFailedException", "The table was changed meanwhile."},
		answer{419, "AuthenticationTimeoutException", "Credentials have timed out."},
		answer{429, "TooManyRequestsException", "Too many requests."},
		answer{500, "InternalServerError", "Internal server error."},
		answer{503, "SlowDownException", "Slow down."},
	),
	expired: answer{401, "NotAuthorizedException", "Not authorized."},
}

// GCS speaks as the JSON API of Google Cloud Storage does (https://cloud.google.com/storage/docs/json_api/v1/status-codes).
var GCS = Dialect{
	kind: "application/json; charset=UTF-8",
	words: func(a answer) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"message":%q,"domain":"global","reason":%q}]}}`, a.status, a.message, a.message, a.code)
	},
	answers: answers(
		answer{408, "requestTimeout", "Request timed out."},
		answer{412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."},
		answer{429, "rateLimitExceeded", "The object exceeded the rate limit for object mutation operations (create, update, and delete)."},
		answer{500, "backendError", "Backend Error"},
		answer{503, "backendError", "We encountered an internal error. Please try again."},
	),
	expired: answer{401, "authError", "Invalid Credentials"},
}

// Azure speaks as Azure Blob Storage does (https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes).
var Azure = Dialect{
	kind: "application/xml",
	words: func(a answer) string {
		return fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, a.code, a.message)
	},
	answers: answers(
		answer{408, "RequestTimeout", "The request timed out."},
		answer{412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."},
		answer{429, "TooManyRequests", "Too many requests."},
		answer{500, "OperationTimedOut", "Operation could not be completed within the specified time."},
		answer{503, "ServerBusy", "The server is busy."},
	),
	expired: answer{403, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."},
	header:  "x-ms-error-code",
}

func answers(all ...answer) map[int]answer {
	by := map[int]answer{}
	for _, a := range all {
		by[a.status] = a
	}
	return by
}
