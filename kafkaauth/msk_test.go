package kafkaauth

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signedAt is what a client with the credentials says to a broker of MSK at that moment.
func signedAt(t *testing.T, at time.Time, host string, credentials aws.Credentials, environ map[string]string) map[string]string {
	t.Helper()
	none := t.TempDir() + "/none"
	all := map[string]string{"AWS_ACCESS_KEY_ID": credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey, "AWS_SESSION_TOKEN": credentials.SessionToken,
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_REGION": "", "AWS_DEFAULT_REGION": ""}
	maps.Copy(all, environ)
	for name, value := range all {
		t.Setenv(name, value)
	}
	var fields map[string]string
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at)) // the clock of the bubble, which begins in 2000
		mechanism, err := (&Login{Mechanism: MSKIAM}).New()
		if err != nil {
			t.Fatal(err)
		}
		_, said, err := mechanism.Authenticate(t.Context(), host+":9098")
		if err == nil {
			err = json.Unmarshal(said, &fields)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return fields
}

// The signature of librdkafka's unit tests, whose clock stands at the beginning of 2010:
// https://github.com/confluentinc/librdkafka/blob/48e8639441b086b7cf20100e31112d8787fbc064/src/rdkafka_sasl_aws_msk_iam.c
// (unittest_calculate_signature, unittest_build_request_json). It leaves the token out of what is signed there.
func TestALoginToMSKHasThePublishedSignature(t *testing.T) {
	at := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	got := signedAt(t, at, "hostname", aws.Credentials{AccessKeyID: "AWS_ACCESS_KEY_ID", SecretAccessKey: "AWS_SECRET_ACCESS_KEY"}, map[string]string{"AWS_REGION": "us-east-1"})
	want := map[string]string{"version": "2020_10_22", "host": "hostname", "user-agent": "sluice", "action": "kafka-cluster:Connect", "x-amz-algorithm": "AWS4-HMAC-SHA256",
		"x-amz-credential": "AWS_ACCESS_KEY_ID/20100101/us-east-1/kafka-cluster/aws4_request", "x-amz-date": "20100101T000000Z", "x-amz-signedheaders": "host", "x-amz-expires": "900",
		"x-amz-signature": "d3eeeddfb2c2b76162d583d7499c2364eb9a92b248218e31866659b18997ef44"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What AWS's own clients hold a login to, with their hosts:
// https://github.com/aws/aws-msk-iam-auth/blob/main/src/test/java/software/amazon/msk/auth/iam/internals/SignedPayloadValidatorUtils.java and
// https://github.com/aws/aws-msk-iam-sasl-signer-go/blob/main/signer/msk_auth_token_provider_test.go. The signature is what AWS's
// signer makes of the same request at the same time.
func TestALoginToMSKHasTheFieldsThatAWSsClientsHaveAndIsSignedForTheBrokersRegion(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)
	for host, region := range map[string]string{
		"b-3.unit-test.abcdef.kafka.us-west-2.amazonaws.com":                 "us-west-2",
		"kafka.us-west-2.amazonaws.com":                                      "us-west-2",
		"boot-1a2b3c4d.c2.kafka-serverless.eu-central-1.amazonaws.com":       "eu-central-1",
		"b-1.cluster.abcdef.c3.kafka.cn-north-1.amazonaws.com.cn":            "cn-north-1",
		"b-1.cluster.abcdef.c3.kafka.us-gov-west-1.amazonaws.com":            "us-gov-west-1",
		"vpce-0123456789abcdef0-abcdefgh.kafka.us-east-1.vpce.amazonaws.com": "us-east-1",
		"b-1.kafka.example.com":                                              "ap-south-1", // of the environment
	} {
		for name, token := range map[string]string{"a user's key": "", "a role's": "MOCK-SESSION-TOKEN/+=="} {
			t.Run(host+", "+name, func(t *testing.T) {
				credentials := aws.Credentials{AccessKeyID: "MOCK-ACCESS-KEY", SecretAccessKey: "MOCK-SECRET-KEY", SessionToken: token}
				got := signedAt(t, at, host, credentials, map[string]string{"AWS_REGION": "ap-south-1"})
				want := map[string]string{"version": "2020_10_22", "host": host, "user-agent": "sluice", "action": "kafka-cluster:Connect", "x-amz-algorithm": "AWS4-HMAC-SHA256",
					"x-amz-credential": "MOCK-ACCESS-KEY/20240229/" + region + "/kafka-cluster/aws4_request", "x-amz-date": "20240229T235959Z", "x-amz-signedheaders": "host", "x-amz-expires": "900"}
				if token != "" {
					want["x-amz-security-token"] = token
				}
				want["x-amz-signature"] = signatureOf(t, "https://"+host+"/?Action=kafka-cluster%3AConnect&X-Amz-Expires=900", credentials, "kafka-cluster", region, at)
				if !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// signatureOf is the signature that AWS's own signer gives a GET without content whose query is signed.
func signatureOf(t *testing.T, address string, credentials aws.Credentials, service, region string, at time.Time) string {
	t.Helper()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), credentials, request, empty, service, region, at)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("X-Amz-Signature")
}

// Who judges is judged by AWS's test suite of Signature Version 4, with its signed queries: the files query-signed-request.txt of
// https://github.com/awslabs/aws-c-auth/tree/main/tests/aws-signing-test-suite/v4, of which those with other letters in names are left
// out: AWS's signer for Go sorts them before they are escaped, and logins have none.
func TestTheSignerThatLoginsAreHeldToMakesTheSignaturesOfAWSsTestSuite(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	unreserved := "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for name, c := range map[string]struct{ query, want string }{
		"get-vanilla-query":                {"", "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d"},
		"get-vanilla-empty-query-key":      {"Param1=value1", "49096700cbbaa5753443850f40df10f904fc2fdb544dc9512203cc77c471a9de"},
		"get-vanilla-query-order-key-case": {"Param2=value2&Param1=value1", "86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5"},
		"get-vanilla-query-unreserved":     {unreserved + "=" + unreserved, "8e76a88a7433637b12778d5592799b29ad21ecd6cf6325051c21d86f0acda2bf"},
	} {
		t.Run(name, func(t *testing.T) {
			query := strings.Join(slices.DeleteFunc([]string{c.query, "X-Amz-Expires=3600"}, func(part string) bool { return part == "" }), "&")
			credentials := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
			if got := signatureOf(t, "https://example.amazonaws.com/?"+query, credentials, "service", "us-east-1", at); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
