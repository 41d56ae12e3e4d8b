package lakesink

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"sluice/lakesink/restcatalog"
)

// Some catalogs lend credentials for a table's store, for an hour as a rule. A run may last longer, and holds its file
// systems open: so these ask for credentials with each request, and the loan has them renewed.

type loanKey struct{}

// openLent opens a store with what a catalog lends for it.
func openLent(ctx context.Context, location string, loan *restcatalog.Loan) (iceio.IO, error) {
	lent, err := loan.Credentials(ctx)
	if err != nil {
		return nil, err
	}
	return iceio.LoadFS(context.WithValue(ctx, loanKey{}, loan), lent.Properties, location)
}

// loanIn is the loan of the store that is being opened, nil if there is none.
func loanIn(ctx context.Context) *restcatalog.Loan {
	loan, _ := ctx.Value(loanKey{}).(*restcatalog.Loan)
	return loan
}

// lentValue asks the loan for one property whenever it is needed.
func lentValue(loan *restcatalog.Loan, key string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		lent, err := loan.Credentials(ctx)
		return lent.Properties[key], err
	}
}

// s3Keys are the properties with credentials for S3.
var s3Keys = []string{iceio.S3AccessKeyID, iceio.S3SecretAccessKey, iceio.S3SessionToken}

// borrow makes a client of S3 ask the loan for credentials. It returns the properties without any.
func borrow(config *aws.Config, loan *restcatalog.Loan, properties map[string]string) map[string]string {
	cache := aws.NewCredentialsCache(lentKeys{loan})
	config.Credentials = cache
	config.Retryer = func() aws.Retryer {
		return atOnce{retry.NewStandard(func(o *retry.StandardOptions) {
			o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if hasEnded(err) {
					return aws.TrueTernary
				}
				return aws.UnknownTernary
			}))
		})}
	}
	config.APIOptions = append(config.APIOptions, func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(&noticing{loan, cache}, "Retry", middleware.After)
	})
	plain := maps.Clone(properties)
	for _, key := range s3Keys {
		delete(plain, key)
	}
	return plain
}

// expiredCodes are what stores say of credentials that have ended, or that they no longer know; Forbidden is all that S3 says
// to a HEAD.
var expiredCodes = []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "Forbidden"}

// atOnce does not wait before a request is sent again with other credentials.
type atOnce struct{ aws.RetryerV2 }

// RetryDelay is how long to wait before the next attempt.
func (a atOnce) RetryDelay(attempt int, err error) (time.Duration, error) {
	if hasEnded(err) {
		return 0, nil
	}
	return a.RetryerV2.RetryDelay(attempt, err)
}

// lentKeys gives the credentials of a loan to a client of S3.
type lentKeys struct{ loan *restcatalog.Loan }

// Retrieve is what the loan has now.
func (l lentKeys) Retrieve(ctx context.Context) (aws.Credentials, error) {
	lent, err := l.loan.Credentials(ctx)
	p := lent.Properties
	return aws.Credentials{AccessKeyID: p[iceio.S3AccessKeyID], SecretAccessKey: p[iceio.S3SecretAccessKey], SessionToken: p[iceio.S3SessionToken],
		Source: "catalog", CanExpire: !lent.Until.IsZero(), Expires: lent.Until}, err
}

// noticing tells the loan when the store does not take its credentials any more, so that the next attempt has others.
type noticing struct {
	loan  *restcatalog.Loan
	cache *aws.CredentialsCache
}

// ID is the middleware's name.
func (*noticing) ID() string { return "sluice.lent" }

// HandleFinalize looks at the answer of one attempt.
func (n *noticing) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	number := n.loan.Number()
	out, metadata, err := next.HandleFinalize(ctx, in)
	if hasEnded(err) {
		n.loan.Refused(number)
		n.cache.Invalidate()
	}
	return out, metadata, err
}

func hasEnded(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(expiredCodes, api.ErrorCode())
}
