package objectstore

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // which reads the parameters of an address

	"sluice/batch"
	"sluice/objectstore/answer"
)

// openS3 opens s3://bucket/folder with gocloud.dev's parameters. A folder may also be given as the parameter prefix.
func openS3(ctx context.Context, u *url.URL) (Folder, error) {
	query := u.Query()
	folder, err := folderOf(u, query)
	if err != nil {
		return nil, err
	}
	query.Del("prefix")
	custom := query.Get("endpoint") != "" || os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != ""
	if custom { // the SDK's newer checksum headers are not understood by every store that is not Amazon's
		for _, parameter := range []string{"request_checksum_calculation", "response_checksum_validation"} {
			if !query.Has(parameter) {
				query.Set(parameter, "when_required")
			}
		}
	}
	client, err := dialS3(ctx, u.Host, query)
	if err != nil {
		return nil, badURL(u, "%s", withoutValues(err, query))
	}
	if client.Options().Region == "" {
		return nil, &batch.Fault{Class: batch.NotSetUp, Message: "no region for s3://" + u.Host, Hint: "add the bucket's region to the address (?region=…) or set AWS_REGION"}
	}
	name := "s3://" + u.Host + "/" + folder
	if endpoint := query.Get("endpoint"); endpoint != "" {
		name += " at " + withoutUser(endpoint)
	}
	return &Cloud{prefix: folder + "/", name: name, timeout: Timeout,
		native: &s3Native{client: client, bucket: u.Host, encryption: types.ServerSideEncryption(query.Get("ssetype")), key: optional(query.Get("kmskeyid"))}}, nil
}

// dialS3 lets gocloud.dev read the parameters, then makes the client anew with bounds that fit Timeout: four attempts
// with pauses of a second at most.
func dialS3(ctx context.Context, bucket string, query url.Values) (*s3.Client, error) {
	opened, err := blob.OpenBucket(ctx, (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var client *s3.Client
	if !opened.As(&client) {
		return nil, errors.New("gocloud.dev gives no S3 client")
	}
	return s3.New(client.Options(), func(o *s3.Options) {
		o.Retryer = retrying(time.Second)
		o.Credentials = answer.Credentials(o.Credentials)
		o.HTTPClient = answer.Whole(o.HTTPClient)
		o.Logger = answer.NoLog
		if o.Region == "" && query.Get("endpoint") != "" {
			o.Region = "us-east-1" // it is part of the signature; stores of one place do not care which
		}
	}), nil
}

// retrying repeats what a store could not answer, up to four attempts in all.
func retrying(pause time.Duration) aws.Retryer { return answer.Retryer(4, pause) }

// withoutValues is an error of whoever read the parameters of an address, without what they hold: a secret may be among
// them that does not belong there.
func withoutValues(err error, query url.Values) string {
	text := strings.ReplaceAll(err.Error(), "?"+query.Encode(), "")
	for name, values := range query {
		for _, value := range values {
			if name != "region" && name != "profile" && len(value) > 2 {
				text = strings.ReplaceAll(strings.ReplaceAll(text, url.QueryEscape(value), "(redacted)"), value, "(redacted)")
			}
		}
	}
	return text
}

// withoutUser is an endpoint without what may prove who asks.
func withoutUser(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "its endpoint"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return u.String()
}

func optional(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}
