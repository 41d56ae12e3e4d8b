// Package answer knows what the answers of object stores mean, and puts them into the order in which people read them.
// Logs and tables both talk to stores, and mean the same by the same answer; what to do about it each says itself.
package answer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// CauseFirst makes an answer of S3, or of Azure, say first what it is: the SDK's own text begins with the request's ids, after which
// few people read on. The ids stay, at the end, for the store's operators ask for them. Errors without a
// code of S3's, such as a refused connection, are returned as they are; what was wrapped stays so.
func CauseFirst(err error) error {
	var azure *azcore.ResponseError
	if errors.As(err, &azure) {
		return &reworded{err, strings.Replace(err.Error(), azure.Error(), azureText(azure), 1)}
	}
	var operation *smithy.OperationError
	var api smithy.APIError
	if !errors.As(err, &operation) || !errors.As(err, &api) {
		return err
	}
	cause := api.ErrorCode()
	if message := api.ErrorMessage(); message != "" && message != cause {
		cause += ": " + message
	}
	return &reworded{err, strings.Replace(err.Error(), operation.Error(), cause+" ("+requestText(operation)+")", 1)}
}

// azureText is one line instead of the SDK's dump of request and answer.
func azureText(answered *azcore.ResponseError) string {
	text := answered.ErrorCode
	if text == "" {
		text = http.StatusText(answered.StatusCode)
	}
	request := fmt.Sprintf("HTTP %d", answered.StatusCode)
	if r := answered.RawResponse; r != nil {
		if r.Request != nil {
			request = "Azure " + r.Request.Method + ", " + request
		}
		if id := r.Header.Get("x-ms-request-id"); id != "" {
			request += ", request " + id
		}
	}
	return text + " (" + request + ")"
}

// requestText names the request that was answered.
func requestText(operation *smithy.OperationError) string {
	text := operation.Service() + " " + operation.Operation()
	var response *awshttp.ResponseError
	if errors.As(operation, &response) {
		text += fmt.Sprintf(", HTTP %d", response.HTTPStatusCode())
		if response.RequestID != "" {
			text += ", request " + response.RequestID
		}
	}
	var host interface{ ServiceHostID() string }
	if errors.As(operation, &host) && host.ServiceHostID() != "" {
		text += ", host " + host.ServiceHostID()
	}
	return text
}

// reworded is an error with another text.
type reworded struct {
	error
	text string
}

// Error is the new text.
func (r *reworded) Error() string { return r.text }

// Unwrap is the error as it was.
func (r *reworded) Unwrap() error { return r.error }
