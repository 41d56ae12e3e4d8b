package kafkaauth

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/twmb/franz-go/pkg/sasl"
	mskiam "github.com/twmb/franz-go/pkg/sasl/aws"

	"sluice/batch"
)

// The options of IAMLoginModule (github.com/aws/aws-msk-iam-auth). The last three have no meaning here: the AWS SDK has its
// own retries and says what went wrong.
const (
	profileOption     = "awsProfileName"
	roleOption        = "awsRoleArn"
	externalIDOption  = "awsRoleExternalId"
	sessionNameOption = "awsRoleSessionName"
	regionOption      = "awsStsRegion"
	keyIDOption       = "awsRoleAccessKeyId"
	keyOption         = "awsRoleSecretAccessKey"
	keyTokenOption    = "awsRoleSessionToken"
)

var mskOptions = []string{profileOption, roleOption, externalIDOption, sessionNameOption, regionOption, keyIDOption, keyOption, keyTokenOption,
	"awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs"}

func describeMSK(options map[string]string) string {
	switch {
	case options[roleOption] != "":
		return ", as role " + options[roleOption]
	case options[profileOption] != "":
		return ", by the AWS profile " + options[profileOption]
	}
	return ", by the AWS credentials of the environment"
}

// early is how long before their end credentials are renewed. Sessions end with them: with the last seconds of some they would be nothing
// but logins (https://github.com/twmb/franz-go/issues/249).
func early(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute }

// awsChain finds credentials as AWS's own tools do, when they are first needed, and again before they expire.
type awsChain struct {
	options map[string]string

	mu       sync.Mutex
	provider aws.CredentialsProvider
	// found says that there were credentials: if there are none later, that may pass.
	found bool
}

// mskMechanism signs anew for every session.
func mskMechanism(options map[string]string) sasl.Mechanism {
	chain := &awsChain{options: options}
	return mskiam.ManagedStreamingIAM(func(ctx context.Context) (mskiam.Auth, error) {
		c, err := chain.retrieve(ctx)
		if err != nil {
			return mskiam.Auth{}, err
		}
		return mskiam.Auth{AccessKey: c.AccessKeyID, SecretKey: c.SecretAccessKey, SessionToken: c.SessionToken, UserAgent: "sluice"}, nil
	})
}

func (a *awsChain) retrieve(ctx context.Context) (aws.Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if a.provider == nil {
		if a.provider, err = a.open(ctx); err != nil {
			return aws.Credentials{}, a.fault(err)
		}
	}
	c, err := a.provider.Retrieve(ctx)
	switch {
	case err == nil:
		a.found = true
	case ctx.Err() != nil:
		return aws.Credentials{}, context.Cause(ctx)
	case a.found:
		return aws.Credentials{}, &Outage{Message: "renew AWS credentials for Kafka" + describeMSK(a.options) + ": " + err.Error(), Hint: "Look at what gives sluice AWS credentials, then run again."}
	default:
		return aws.Credentials{}, a.fault(err)
	}
	return c, nil
}

func (a *awsChain) fault(err error) error {
	return &batch.Fault{Class: batch.NotSetUp, Message: fmt.Sprintf("get AWS credentials for Kafka%s", describeMSK(a.options)),
		Hint: "Give sluice AWS credentials as for any AWS tool (environment, profile, role of the machine or pod), or mend the options of sasl.jaas.config.", Err: err}
}

func (a *awsChain) open(ctx context.Context) (aws.CredentialsProvider, error) {
	load := []func(*config.LoadOptions) error{config.WithCredentialsCacheOptions(early),
		config.WithLogger(logging.Nop{})} // what fails is an error besides
	if profile := a.options[profileOption]; profile != "" {
		load = append(load, config.WithSharedConfigProfile(profile))
	}
	if region := a.options[regionOption]; region != "" {
		load = append(load, config.WithRegion(region))
	}
	if id := a.options[keyIDOption]; id != "" { // what the role is assumed with
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, a.options[keyOption], a.options[keyTokenOption])))
	}
	loaded, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, err
	}
	role := a.options[roleOption]
	if role == "" {
		return loaded.Credentials, nil
	}
	return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), role, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = "sluice"
		if name := a.options[sessionNameOption]; name != "" {
			o.RoleSessionName = name
		}
		if id := a.options[externalIDOption]; id != "" {
			o.ExternalID = aws.String(id)
		}
	}), early), nil
}
