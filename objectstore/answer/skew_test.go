package answer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A store has another time than this machine, and answers as S3 does: a HEAD without a body, whatever is wrong.
func TestAHeadFromAMachineWithAnotherTimeIsSignedAgain(t *testing.T) {
	for _, c := range []struct {
		off    time.Duration
		denied bool
		asked  int
		want   Kind
	}{
		{0, false, 1, Unknown},
		{0, true, 1, Forbidden},
		{3 * time.Hour, false, 2, Unknown},
		{-3 * time.Hour, false, 2, Unknown},
		{3 * time.Hour, true, 2, Forbidden},
	} {
		t.Run(fmt.Sprint(c.off, c.denied), func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				now := time.Now().Add(c.off)
				w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
				signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
				if err != nil {
					t.Error(err)
				}
				if c.denied || now.Sub(signed).Abs() > skewAllowed {
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			defer server.Close()
			err := head(t, server, 4)
			if kind := Of(err); kind != c.want || (err == nil) != (c.want == Unknown) || asked != c.asked {
				t.Errorf("got %v after %d requests, want kind %d after %d", err, asked, c.want, c.asked)
			}
		})
	}
}

// A clock that stays wrong whatever the SDK does is told as such.
func TestAHeadWhoseTimeIsAlwaysWrongIsNoLackOfPermissions(t *testing.T) {
	off := 0 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		off += 3 * time.Hour
		w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	err := head(t, server, 3)
	if kind := Of(err); kind != WrongClock {
		t.Errorf("got %v, kind %d, want %d", err, kind, WrongClock)
	}
}

// head asks a server for an object, with so many attempts.
func head(t *testing.T, server *httptest.Server, attempts int) error {
	t.Helper()
	client := s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &server.URL, UsePathStyle: true, HTTPClient: Whole(server.Client()), Retryer: Retryer(attempts, time.Millisecond),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		})})
	_, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("lake"), Key: aws.String("x")})
	return err
}
