package faultproxy

import "fmt"

// Dialect is how servers of a kind word an error. What it has no words for comes from a gateway, in HTML.
type Dialect struct {
	kind    string
	words   func(answer) string
	answers map[int]answer
	expired answer
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
		answer{409, "CommitFailedException", "The table was changed meanwhile."},
		answer{419, "AuthenticationTimeoutException", "Credentials have timed out."},
		answer{429, "TooManyRequestsException", "Too many requests."},
		answer{500, "InternalServerError", "Internal server error."},
		answer{503, "SlowDownException", "Slow down."},
	),
	expired: answer{401, "NotAuthorizedException", "Not authorized."},
}

func answers(all ...answer) map[int]answer {
	by := map[int]answer{}
	for _, a := range all {
		by[a.status] = a
	}
	return by
}
