package kafkasrc

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
)

// emptyPayload is the SHA-256 of nothing, which a login has for its content.
const emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signed holds a login to what brokers of MSK want (github.com/aws/aws-msk-iam-auth, "Details"): these fields and no other, and
// the signature that AWS's own signer makes of them.
func signed(login []byte, credentials aws.Credentials, region string) error {
	var fields map[string]string
	if err := json.Unmarshal(login, &fields); err != nil {
		return err
	}
	want := []string{"action", "host", "user-agent", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signature", "x-amz-signedheaders"}
	if credentials.SessionToken != "" {
		want = slices.Sorted(slices.Values(append(want, "x-amz-security-token")))
	}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		return fmt.Errorf("got fields %v, want %v", got, want)
	}
	at, err := time.Parse("20060102T150405Z", fields["x-amz-date"])
	if err != nil || time.Since(at).Abs() > 5*time.Minute || fields["version"] != "2020_10_22" || fields["user-agent"] != "sluice" {
		return fmt.Errorf("got %v, %v", fields, err)
	}
	query := url.Values{"Action": {fields["action"]}, "X-Amz-Expires": {fields["x-amz-expires"]}}
	request, err := http.NewRequest(http.MethodGet, "https://"+fields["host"]+"/?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	ours, _, err := v4.NewSigner().PresignHTTP(request.Context(), credentials, request, emptyPayload, "kafka-cluster", region, at)
	if err != nil {
		return err
	}
	parsed, err := url.Parse(ours)
	if err != nil {
		return err
	}
	for name, values := range parsed.Query() {
		if got := fields[strings.ToLower(name)]; got != values[0] {
			return fmt.Errorf("%s: got %s, want %s", name, got, values[0])
		}
	}
	return nil
}

// mskBroker lets in who signs with the credentials.
func mskBroker(t *testing.T, credentials aws.Credentials) broker {
	t.Helper()
	b := newBroker(t, kfake.SeedTopics(1, "orders"))
	b.replace(kmsg.SASLHandshake, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
		if resp.SupportedMechanisms = []string{"AWS_MSK_IAM"}; req.(*kmsg.SASLHandshakeRequest).Mechanism != "AWS_MSK_IAM" {
			resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
		}
		return resp
	})
	b.replace(kmsg.SASLAuthenticate, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if err := signed(req.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, credentials, "eu-central-1"); err != nil {
			resp.ErrorCode, resp.ErrorMessage = kerr.SaslAuthenticationFailed.Code, kmsg.StringPtr(err.Error())
		}
		resp.SASLAuthBytes, resp.SessionLifetimeMillis = []byte(`{"version":"2020_10_22","request-id":"1"}`), 900_000
		return resp
	})
	return b
}

// awsOf is an environment in which nothing but the credentials is to be found.
func awsOf(t *testing.T, credentials aws.Credentials) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey, "AWS_SESSION_TOKEN": credentials.SessionToken,
		"AWS_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "", "AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": ""} {
		t.Setenv(name, value)
	}
}

func mskOptions(b broker) Options {
	options := b.options(topics("orders"))
	options.Client["security.protocol"], options.Client["sasl.mechanism"] = "SASL_PLAINTEXT", "AWS_MSK_IAM"
	return options
}

func TestLoginsToMSKAreSignedAsAWSSigns(t *testing.T) {
	for name, credentials := range map[string]aws.Credentials{
		"a user's key":       {AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
		"a role's, for some": {AccessKeyID: "ASIAEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", SessionToken: "IQoJb3JpZ2luX2VjE/a+b=="},
	} {
		t.Run(name, func(t *testing.T) {
			awsOf(t, credentials)
			b := mskBroker(t, credentials)
			options := mskOptions(b)
			options.Client["sasl.jaas.config"] = "software.amazon.msk.auth.iam.IAMLoginModule required;"
			options.Client["sasl.client.callback.handler.class"] = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
			if got := mustView(t, mustOpen(t, options), nil).Ends().String(); got != `{"orders":{"0":0}}` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestLoginsToMSKThatFailSayWhy(t *testing.T) {
	right := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for name, c := range map[string]struct {
		have       aws.Credentials
		text, hint string
	}{
		"another key":    {aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hunter2"}, "does not let in by AWS_MSK_IAM, by the AWS credentials of the environment", "kafka-cluster:Connect"},
		"no credentials": {aws.Credentials{}, "get AWS credentials for Kafka", "environment, profile, role"},
	} {
		t.Run(name, func(t *testing.T) {
			awsOf(t, c.have)
			_, err := Open(t.Context(), mskOptions(mskBroker(t, right)))
			wantFault(t, err, batch.NotSetUp, c.text)
			if hint := batch.HintOf(err); !strings.Contains(hint, c.hint) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, hint %q, want it to say %q", err, hint, c.hint)
			}
		})
	}
}
