package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/objectstore/s3test"
)

// A permission that was lost, a bucket that is not there, a wrong region: never "no checkpoint yet", and never a
// conflict, but something that somebody has to set up.
func TestS3AnswersThatNeedSomebody(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		hint   string
	}{
		{403, "AccessDenied", "ListBucket"},
		{403, "InvalidAccessKeyId", "credentials"},
		{403, "SignatureDoesNotMatch", "credentials"},
		{404, "XAdminUserNotFound", "credentials"}, // versitygw, for an access key that it does not know
		{400, "ExpiredToken", "credentials"},
		{400, "InvalidToken", "credentials"},
		{400, "TokenRefreshRequired", "credentials"},
		{401, "Unauthorized", "credentials"},
		{403, "SomethingNew", "credentials"},
		{400, "KMS.DisabledException", "credentials"},
		{403, "RequestTimeTooSkewed", "clock"},
		{400, "InvalidBucketName", "create the bucket"},
		{404, "NoSuchBucket", "create the bucket"},
		{301, "PermanentRedirect", "region"},
		{400, "AuthorizationHeaderMalformed", "region"},
		{501, "NotImplemented", "If-None-Match"},
	} {
		s := openFake(t, &s3test.Bucket{Before: s3test.Always(c.status, c.code)})
		_, _, get := s.Get(t.Context(), "metadata")
		_, list := s.List(t.Context(), "offsets/", "")
		_, create := s.PutIfAbsent(t.Context(), "metadata", nil)
		_, replace := s.PutIfMatch(t.Context(), "metadata", nil, "v")
		for verb, err := range map[string]error{"get": get, "list": list, "create": create, "replace": replace, "put": s.Put(t.Context(), "k", nil), "delete": s.Delete(t.Context(), "k")} {
			if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err), c.hint) {
				t.Errorf("%s, %s: got %v with hint %q, want a NotSetUp fault that says %q", c.code, verb, err, batch.HintOf(err), c.hint)
			}
			for _, sentinel := range []error{ErrNotFound, ErrConflict, ErrAmbiguous} {
				if errors.Is(err, sentinel) {
					t.Errorf("%s, %s: %v is %v", c.code, verb, err, sentinel)
				}
			}
		}
	}
}

// Whoever is paged reads the beginning of a line.
func TestS3AnswersBeginWithTheirCause(t *testing.T) {
	s := openFake(t, &s3test.Bucket{Before: s3test.Always(403, "SignatureDoesNotMatch")})
	_, _, get := s.Get(t.Context(), "metadata")
	_, list := s.List(t.Context(), "offsets/", "")
	_, create := s.PutIfAbsent(t.Context(), "metadata", nil)
	for verb, err := range map[string]error{"get": get, "list": list, "create": create} {
		text := err.Error()
		cause := strings.Index(text, "SignatureDoesNotMatch")
		if cause < 0 || !strings.Contains(text[:cause], "permission denied: ") || strings.Contains(text[:cause], "operation error") || !strings.Contains(text[cause:], "HTTP 403") {
			t.Errorf("%s: got %q, want the cause before the request", verb, text)
		}
	}
}

// A wrong endpoint or a proxy that answers 404 to everything must not read as: no checkpoint yet.
func TestS3ThatIsAWebServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := dialFake(t, server.URL)
	_, _, get := s.Get(t.Context(), "metadata")
	_, list := s.List(t.Context(), "offsets/", "")
	for _, err := range []error{get, list} {
		if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err), "endpoint") || errors.Is(err, ErrNotFound) {
			t.Errorf("got %v with hint %q, want a NotSetUp fault", err, batch.HintOf(err))
		}
	}
}

func TestS3AnswersToAWrite(t *testing.T) {
	for _, c := range []struct {
		status  int
		code    string
		create  error
		replace error
	}{
		{412, "PreconditionFailed", ErrConflict, ErrConflict},
		{409, "ConditionalRequestConflict", ErrAmbiguous, ErrAmbiguous}, // "you should retry the upload"
		{404, "NoSuchKey", ErrAmbiguous, ErrConflict},
		{500, "InternalError", ErrAmbiguous, ErrAmbiguous},
		{503, "SlowDown", ErrAmbiguous, ErrAmbiguous},
		{400, "BadDigest", ErrAmbiguous, ErrAmbiguous},
	} {
		s := openFake(t, &s3test.Bucket{Before: s3test.Always(c.status, c.code)})
		if _, err := s.PutIfAbsent(t.Context(), "offsets/0", nil); !errors.Is(err, c.create) {
			t.Errorf("%s: create: got %v, want %v", c.code, err, c.create)
		}
		if _, err := s.PutIfMatch(t.Context(), "offsets/0", nil, "v"); !errors.Is(err, c.replace) {
			t.Errorf("%s: replace: got %v, want %v", c.code, err, c.replace)
		}
	}
}

func TestS3SlowsDownAndGoesOn(t *testing.T) {
	seen := map[string]int{}
	f := &s3test.Bucket{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if seen[r.Method+r.URL.Path]++; seen[r.Method+r.URL.Path] <= 3 {
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		}
		return false
	}}
	s := openFake(t, f)
	if _, err := s.PutIfAbsent(t.Context(), "offsets/0", []byte("x")); err != nil {
		t.Errorf("create: %v", err)
	}
	if got, _, err := s.Get(t.Context(), "offsets/0"); err != nil || string(got) != "x" {
		t.Errorf("get: got %q, %v", got, err)
	}
	if keys, err := s.List(t.Context(), "", ""); err != nil || len(keys) != 1 {
		t.Errorf("list: got %v, %v", keys, err)
	}
}

// The connection breaks after the write was applied; the SDK repeats it and is told 412. The object is ours
// (https://github.com/aws/aws-sdk-java-v2/issues/6580).
func TestS3LostAnswerIsNoConflict(t *testing.T) {
	for _, key := range []string{"offsets/0", "lock/lease.json"} {
		drops := 1
		f := &s3test.Bucket{After: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut || drops == 0 {
				return false
			}
			drops--
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return false
			}
			conn.Close()
			return true
		}}
		s := openFake(t, f)
		version, err := PutOwned(t.Context(), s, key, []byte("ours"))
		if err != nil {
			t.Errorf("create %s: %v", key, err)
			continue
		}
		drops = 1
		if _, err := ReplaceOwned(t.Context(), s, key, []byte("ours again"), version); err != nil {
			t.Errorf("replace %s: %v", key, err)
		}
		if got := string(f.Objects["ck/orders/"+key]); got != "ours again" {
			t.Errorf("%s: got %q", key, got)
		}
	}
}

// Conditions are often lost when an upload becomes multipart (https://github.com/getmoto/moto/issues/9209).
func TestS3WritesAreOneConditionalRequest(t *testing.T) {
	var conditions []string
	f := &s3test.Bucket{}
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		conditions = append(conditions, r.Header.Get("If-None-Match")+r.Header.Get("If-Match"))
		return false
	}
	s := openFake(t, f)
	big := bytes.Repeat([]byte("x"), 20<<20)
	version, err := s.PutIfAbsent(t.Context(), "offsets/0", big)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfMatch(t.Context(), "offsets/0", []byte("y"), version); err != nil {
		t.Fatal(err)
	}
	if want := []string{"*", s3test.ETag(big)}; !slices.Equal(conditions, want) {
		t.Errorf("got conditions %q in requests %q, want %q", conditions, f.Requests, want)
	}
}

// The newer checksum trailers of the SDK are refused by stores that are not Amazon's
// (https://github.com/aws/aws-sdk-go-v2/issues/3007).
func TestS3SendsNoTrailersToAnEndpointOfItsOwn(t *testing.T) {
	f := &s3test.Bucket{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Amz-Trailer") == "" && !strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
			return false
		}
		s3test.Refuse(w, http.StatusBadRequest, "NotImplementedTrailer")
		return true
	}}
	s := openFake(t, f)
	for _, size := range []int{0, 1 << 10, 20 << 20} {
		if err := s.Put(t.Context(), "k", make([]byte, size)); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestS3KeysStayInTheirFolder(t *testing.T) {
	f := &s3test.Bucket{PageSize: 2, Objects: map[string][]byte{"ck/orders2/offsets/9": nil, "ck/offsets/8": nil, "offsets/7": nil, "ck/orders/offsets/": nil}}
	s := openFake(t, f)
	for n := range 5 {
		if _, err := s.PutIfAbsent(t.Context(), fmt.Sprint("offsets/", n), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	f.Requests = nil
	keys, err := s.List(t.Context(), "offsets/", "offsets/1")
	if want := []string{"offsets/2", "offsets/3", "offsets/4"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("got %v, %v, want %v", keys, err, want)
	}
	if len(f.Requests) != 2 || !strings.Contains(f.Requests[0], "start-after=ck%2Forders%2Foffsets%2F1") {
		t.Errorf("got requests %v, want two pages from offsets/1 on", f.Requests)
	}
}

func TestS3DeletesManyInOneRequestOrOneByOne(t *testing.T) {
	f := &s3test.Bucket{}
	s := openFake(t, f)
	fill := func() {
		for n := range 3 {
			if err := s.Put(t.Context(), fmt.Sprint("offsets/", n), nil); err != nil {
				t.Fatal(err)
			}
		}
		f.Requests = nil
	}
	fill()
	if err := s.Delete(t.Context(), "offsets/0", "offsets/1", "offsets/9"); err != nil || len(f.Requests) != 1 || len(f.Objects) != 1 {
		t.Errorf("got %v by %v, left %v, want one request", err, f.Requests, f.Objects)
	}
	fill()
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			s3test.Refuse(w, http.StatusNotImplemented, "NotImplemented")
		}
		return r.Method == http.MethodPost
	}
	if err := s.Delete(t.Context(), "offsets/0", "offsets/1", "offsets/2"); err != nil || len(f.Objects) != 0 {
		t.Errorf("without batch deletion: got %v by %v, left %v, want none", err, f.Requests, f.Objects)
	}
}

func TestS3ThatDoesNotAnswerIsGivenUp(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer server.Close()
	defer close(hold)
	s := dialFake(t, server.URL)
	s.timeout = 30 * time.Millisecond
	_, _, err := s.Get(t.Context(), "metadata")
	if batch.ClassOf(err) != batch.Failed || !strings.Contains(err.Error(), "no answer within 30ms") || batch.HintOf(err) == "" || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want that there was no answer", err)
	}
	if _, err := s.PutIfAbsent(t.Context(), "metadata", nil); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("got %v, want ErrAmbiguous", err)
	}
}

func TestS3ThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := dialFake(t, server.URL)
	_, _, err := s.Get(t.Context(), "metadata")
	if batch.ClassOf(err) != batch.Failed || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(batch.HintOf(err), "endpoint") || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v with hint %q", err, batch.HintOf(err))
	}
	if !strings.HasPrefix(err.Error(), "get metadata in s3://bkt/ck/orders at "+server.URL) {
		t.Errorf("got %v, want what was asked of which store first", err)
	}
}

func TestS3CancellationIsTheCallersOwn(t *testing.T) {
	s := openFake(t, &s3test.Bucket{})
	signal := errors.New("SIGTERM")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signal)
	_, _, err := s.Get(ctx, "metadata")
	if !errors.Is(err, signal) || batch.HintOf(err) != "" {
		t.Errorf("got %v, want the signal", err)
	}
}

// unset hides the machine's own AWS configuration.
func unset(t *testing.T, names ...string) {
	for _, name := range append(names, "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3") {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
}

func TestS3WithoutCredentials(t *testing.T) {
	unset(t, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	s, err := Open(t.Context(), "s3://bkt/ck?endpoint=http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Get(t.Context(), "metadata")
	if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), "no credentials") || !strings.Contains(batch.HintOf(err), "AWS_ACCESS_KEY_ID") {
		t.Errorf("got %v with hint %q", err, batch.HintOf(err))
	}
}

func TestS3WithoutRegion(t *testing.T) {
	unset(t, "AWS_REGION", "AWS_DEFAULT_REGION")
	_, err := Open(t.Context(), "s3://bkt/ck")
	if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err), "AWS_REGION") {
		t.Errorf("got %v with hint %q", err, batch.HintOf(err))
	}
}

func TestAnAddressWithCredentialsInItsParametersIsNotRepeated(t *testing.T) {
	for _, address := range []string{"s3://b/x?access_key=AKEY&secret_key=SEKRET", "s3://b/x?region=r&nonsense=SEKRET", "s3://b/x?use_path_style=SEKRET"} {
		_, err := Open(context.Background(), address)
		if err == nil || strings.Contains(err.Error(), "SEKRET") || strings.Contains(err.Error(), "AKEY") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}
