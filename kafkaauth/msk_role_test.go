package kafkaauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tokenService is a stand-in for AWS's STS: role n has the key ASIA<n>, for as long as lifetimes say; the last one again and again.
// asked are the actions that it was asked for.
func tokenService(t *testing.T, asked *[]string, lifetimes ...time.Duration) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := r.FormValue("Action")
		n := len(*asked)
		*asked = append(*asked, action+" "+r.FormValue("RoleArn")+" "+r.FormValue("ExternalId")+" "+r.FormValue("WebIdentityToken"))
		expires := time.Now().Add(lifetimes[min(n, len(lifetimes)-1)])
		fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials><AccessKeyId>ASIA%[2]d</AccessKeyId><SecretAccessKey>hunter2</SecretAccessKey>`+
			`<SessionToken>token-%[2]d</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`, action, n, expires.UTC().Format(time.RFC3339))
	}))
	t.Cleanup(server.Close)
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_STS": server.URL, "AWS_REGION": "eu-central-1", "AWS_PROFILE": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""} {
		t.Setenv(name, value)
	}
}

// A role's credentials, of a pod (IRSA) or of awsRoleArn, are found, used while they are good, and replaced some minutes before they end:
// a session that began with the last seconds of some would end at once (https://github.com/twmb/franz-go/issues/249).
func TestCredentialsOfARoleAreReplacedBeforeTheyEnd(t *testing.T) {
	const role = "arn:aws:iam::123456789012:role/etl"
	for name, c := range map[string]struct{ options, asked string }{
		"of a pod":      {"", "AssumeRoleWithWebIdentity " + role + "  jwt"},
		"of awsRoleArn": {` awsRoleArn="` + role + `" awsRoleExternalId="lake" awsRoleAccessKeyId="AKIA" awsRoleSecretAccessKey="hunter3"`, "AssumeRole " + role + " lake "},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			tokenService(t, &asked, 4*time.Minute, time.Hour)
			if c.options == "" {
				file := filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(file, []byte("jwt"), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Setenv("AWS_ROLE_ARN", role)
				t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
			}
			l := Login{Mechanism: MSKIAM, JAAS: "software.amazon.msk.auth.iam.IAMLoginModule required" + c.options + ";"}
			if faults := l.Validate(); faults != nil {
				t.Fatal(faults)
			}
			m, err := l.New()
			if err != nil {
				t.Fatal(err)
			}
			var used []string
			for range 3 {
				_, said, err := m.Authenticate(t.Context(), "broker:9098")
				var fields map[string]string
				if err == nil {
					err = json.Unmarshal(said, &fields)
				}
				if err != nil {
					t.Fatal(err)
				}
				key, _, _ := strings.Cut(fields["x-amz-credential"], "/")
				used = append(used, key+" "+fields["x-amz-security-token"])
			}
			if want := []string{"ASIA0 token-0", "ASIA1 token-1", "ASIA1 token-1"}; !slices.Equal(used, want) {
				t.Errorf("used %v, want %v", used, want)
			}
			if want := []string{c.asked, c.asked}; !slices.Equal(asked, want) {
				t.Errorf("asked for %q, want %q", asked, want)
			}
		})
	}
}
