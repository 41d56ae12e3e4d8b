package lakesink

import (
	"context"
	"net/http"
	"net/url"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/utils"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"sluice/objectstore/answer"
)

const (
	// answerWithin is how long S3 may take to begin an answer once a request is sent, and requestWithin how long the
	// whole of one request may take: at most a part of an upload or of a file.
	answerWithin  = 20 * time.Second
	requestWithin = 5 * time.Minute
)

// S3 answers in time or the request fails. iceberg-go's client waits without end: a store that keeps its connections
// open and hangs would keep a run for ever, and with it the lease that the run goes on renewing. So the schemes are
// taken over, for every catalog of this process.
func init() {
	for _, scheme := range []string{"s3", "s3a"} {
		register(scheme, openBucket)
	}
}

// openBucket lets iceberg-go open the bucket, under another of its names for S3, with our client.
func openBucket(ctx context.Context, address *url.URL, properties map[string]string) (iceio.IO, error) {
	ctx = utils.WithAwsConfig(ctx, nil) // Glue's catalog passes its own on, and with it its address
	if utils.GetAwsConfig(ctx) == nil {
		config, err := s3.ParseAWSConfig(ctx, properties)
		if err != nil {
			return nil, err
		}
		client, ok := config.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			client = awshttp.NewBuildableClient()
		}
		config.HTTPClient = answer.Whole(client.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerWithin }).WithTimeout(requestWithin))
		config.Retryer = func() aws.Retryer { return answer.Retryer(retry.DefaultMaxAttempts, retry.DefaultMaxBackoff) }
		if loan := loanIn(ctx); loan != nil {
			properties = borrow(config, loan, properties)
		}
		config.Credentials, config.Logger = answer.Credentials(config.Credentials), answer.NoLog
		ctx = utils.WithAwsConfig(ctx, config)
	}
	same := *address
	same.Scheme = "s3n"
	return iceio.LoadFS(ctx, properties, same.String())
}
