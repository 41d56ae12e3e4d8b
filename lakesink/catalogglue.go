package lakesink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/glue"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"sluice/batch"
	"sluice/objectstore/answer"
)

// openGlue opens AWS Glue's data catalog. Nothing is asked yet. Region, credentials and endpoint are those of the properties
// glue.*, else those of AWS's usual chain (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_GLUE, instance roles, …).
func openGlue(ctx context.Context, o CatalogOptions) (catalog.Catalog, error) {
	properties := maps.Clone(o.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	properties["warehouse"] = o.Warehouse
	region := properties[glue.Region]
	if region != "" && properties["s3.region"] == "" && properties["client.region"] == "" {
		properties["s3.region"] = region
	}
	aws, err := glueConfig(ctx, properties)
	if err != nil {
		return nil, notSetUp("the settings of the glue catalog cannot be used", "check the glue.* properties of the catalog, AWS_PROFILE and the files of AWS", err)
	}
	if aws.Region == "" {
		return nil, notSetUp("nobody says which region the glue catalog is in", glueRegionHint, nil)
	}
	c, err := glue.NewCatalog(glue.WithAwsConfig(aws), glue.WithAwsProperties(glue.AwsProperties(properties)))
	if err != nil {
		return nil, explain("open the glue catalog", err)
	}
	return c, nil
}

// glueConfig is the client's. A Glue that does not answer must not keep a run for ever.
func glueConfig(ctx context.Context, properties map[string]string) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerWithin }).WithTimeout(2 * answerWithin)
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithLogger(answer.NoLog)}
	for _, name := range []string{glue.Region, "client.region"} {
		if region := properties[name]; region != "" {
			options = append(options, config.WithRegion(region))
			break
		}
	}
	key, secret := properties[glue.AccessKeyID], properties[glue.SecretAccessKey]
	if (key == "") != (secret == "") {
		return aws.Config{}, errors.New(glue.AccessKeyID + " and " + glue.SecretAccessKey + " belong together")
	}
	if key != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(key, secret, properties[glue.SessionToken])))
	}
	if text := properties[glue.MaxRetries]; text != "" {
		attempts, err := strconv.Atoi(text)
		if err != nil {
			return aws.Config{}, fmt.Errorf("%s: %q is no number", glue.MaxRetries, text)
		}
		options = append(options, config.WithRetryMaxAttempts(attempts))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, err
	}
	if endpoint := properties[glue.Endpoint]; endpoint != "" {
		c.BaseEndpoint = aws.String(endpoint)
	}
	c.Credentials = answer.Credentials(c.Credentials)
	return c, nil
}

const (
	glueRegionHint    = "give the region as glue.region in sink.iceberg.catalog.properties, or as AWS_REGION; nothing was sent"
	glueForbiddenHint = "allow this role glue:GetDatabase, glue:GetTable and glue:UpdateTable, for new tables glue:CreateTable and glue:CreateDatabase, and where Lake Formation is in use its grants on the database"
	glueBusyHint      = "Glue is busy, or its limit of requests is reached: run again; if it repeats, ask for a higher quota or run fewer jobs at once"
)

// glueCodes are the errors of Glue's API (https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-exceptions.html) and those
// that every service of AWS has.
var glueCodes = map[string]struct {
	class batch.Class
	hint  string
}{
	"AccessDeniedException":                {batch.NotSetUp, glueForbiddenHint},
	"EntityNotFoundException":              {batch.NotSetUp, "create the database in Glue, or check glue.id, glue.region and the table's name"},
	"FederationSourceException":            {batch.NotSetUp, "the database is one of another catalog that Glue only passes on: use that catalog"},
	"GlueEncryptionException":              {batch.NotSetUp, "allow this role the KMS key that encrypts the data catalog"},
	"InvalidInputException":                {batch.NotSetUp, "Glue does not take the name of the database or table, or a property of it: names have small letters, digits and underscores"},
	"ResourceNumberLimitExceededException": {batch.NotSetUp, "a limit of Glue is reached, most often that of the versions of a table: delete old versions, and leave glue.skip-archive at true"},
	"ConcurrentModificationException":      {batch.Failed, "another program changed the table at the same moment: run again"},
	"ResourceNotReadyException":            {batch.Failed, "the table is being changed in Glue: run again"},
	"ThrottlingException":                  {batch.Failed, glueBusyHint},
	"Throttling":                           {batch.Failed, glueBusyHint},
	"RequestLimitExceeded":                 {batch.Failed, glueBusyHint},
	"TooManyRequestsException":             {batch.Failed, glueBusyHint},
	"OperationTimeoutException":            {batch.Failed, glueBusyHint},
	"InternalServiceException":             {batch.Failed, glueBusyHint},
	"InternalFailure":                      {batch.Failed, glueBusyHint},
	"ServiceUnavailable":                   {batch.Failed, glueBusyHint},
}

// glueMeaning knows the answers of Glue.
func glueMeaning(err error) (batch.Class, string, bool) {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) || operation.Service() != glueService {
		return 0, "", false
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if meaning, ok := glueCodes[api.ErrorCode()]; ok {
			return meaning.class, meaning.hint, true
		}
	}
	switch kind := answer.Of(err); {
	case kind == answer.NoRegion:
		return batch.NotSetUp, glueRegionHint, true
	case slices.Contains([]answer.Kind{answer.NoCredentials, answer.WrongClock}, kind):
		return batch.NotSetUp, hints[kind], true
	case kind == answer.Forbidden:
		return batch.NotSetUp, "check the credentials for Glue (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, a role, or glue.access-key-id); " + glueForbiddenHint, true
	}
	return 0, "", false
}

// glueService is how the client calls itself in errors.
const glueService = "Glue"
