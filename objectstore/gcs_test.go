package objectstore

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/batch"
)

// answering is a server that gives every request the same answer, or what the function makes of it.
func answering(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// googleFolder opens a folder of a bucket at an endpoint, with retries that do not pause.
func googleFolder(t *testing.T, endpoint string) *Cloud {
	t.Helper()
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(endpoint, "http://"))
	s, err := Open(t.Context(), "gs://bkt/ck/orders")
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*Cloud)
	c.native.(*gcsNative).pause = time.Nanosecond
	return c
}

func googleRefusal(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"message":%q,"domain":"global","reason":%q}]}}`, status, message, message, reason)
}

// needsSomebody checks that no operation takes an answer for an absence, a conflict or an open outcome.
func needsSomebody(t *testing.T, name string, s Folder, words string) {
	t.Helper()
	_, _, get := s.Get(t.Context(), "metadata")
	_, list := s.List(t.Context(), "offsets/", "")
	_, create := s.PutIfAbsent(t.Context(), "metadata", nil)
	_, replace := s.PutIfMatch(t.Context(), "metadata", nil, "7")
	_, open := s.Open(t.Context(), "data/x")
	u, err := s.Create(t.Context(), "data/x")
	if err != nil {
		t.Fatal(err)
	}
	for verb, err := range map[string]error{"get": get, "list": list, "create": create, "replace": replace, "open": open, "upload": u.Close(),
		"put": s.Put(t.Context(), "k", nil), "delete": s.Delete(t.Context(), "k")} {
		if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(batch.HintOf(err)+err.Error(), words) {
			t.Errorf("%s, %s: got %v with hint %q, want a NotSetUp fault that says %q", name, verb, err, batch.HintOf(err), words)
		}
		for _, sentinel := range []error{ErrNotFound, ErrConflict, ErrAmbiguous} {
			if errors.Is(err, sentinel) {
				t.Errorf("%s, %s: %v is %v", name, verb, err, sentinel)
			}
		}
	}
}

// Google says 403 of what may not exist, and gocloud.dev takes it for an absence: a lost permission would read as an empty
// checkpoint.
func TestGCSAnswersThatNeedSomebody(t *testing.T) {
	for _, c := range []struct {
		status                 int
		reason, message, words string
	}{
		{403, "forbidden", "does not have storage.objects.get access (or it may not exist)", "storage.objects.get, create"},
		{401, "required", "Anonymous caller does not have storage.objects.get access", "permission denied"},
		{401, "authError", "Invalid Credentials", "permission denied"},
		{403, "accountDisabled", "The account has been disabled.", "permission denied"},
		{403, "somethingNew", "", "permission denied"},
		{404, "notFound", "The specified bucket does not exist.", "bucket does not exist"},
		{301, "movedPermanently", "", "region"},
	} {
		s := googleFolder(t, answering(t, func(w http.ResponseWriter, _ *http.Request) { googleRefusal(w, c.status, c.reason, c.message) }))
		needsSomebody(t, c.reason, s, c.words)
	}
	needsSomebody(t, "a web server", googleFolder(t, answering(t, http.NotFound)), "no object store")
}

func TestGCSAnswersToAWrite(t *testing.T) {
	for _, c := range []struct {
		status int
		reason string
		want   error
	}{
		{412, "conditionNotMet", ErrConflict},
		{429, "rateLimitExceeded", ErrAmbiguous},
		{500, "backendError", ErrAmbiguous},
		{503, "backendError", ErrAmbiguous},
		{409, "conflict", ErrAmbiguous},
	} {
		asked := 0
		s := googleFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.URL.Query().Get("ifGenerationMatch") != "0" {
				t.Errorf("got %s, want the condition in every attempt", r.URL)
			}
			googleRefusal(w, c.status, c.reason, "as the test says")
		}))
		if _, err := s.PutIfAbsent(t.Context(), "offsets/0", []byte("x")); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.reason, err, c.want)
		}
		if repeated := asked == googleAttempts; repeated != (c.status == 429 || c.status >= 500) {
			t.Errorf("%s: asked %d times", c.reason, asked)
		}
	}
}

// The answer of a write that was applied is lost; its repetition is told of a conflict with itself.
func TestGCSLostAnswerIsNoConflict(t *testing.T) {
	var kept []byte
	s := googleFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("X-Goog-Generation", "17")
			_, _ = w.Write(kept)
		case kept != nil:
			googleRefusal(w, 412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
		default:
			kept, _ = io.ReadAll(r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		}
	}))
	version, err := PutOwned(t.Context(), s, "offsets/0", []byte("ours"))
	if err != nil || version != "17" || string(kept) != "ours" {
		t.Errorf("got version %q, %v and %q there, want our own write", version, err, kept)
	}
}

// The store may keep less of a part than it was sent, and says so (https://cloud.google.com/storage/docs/performing-resumable-uploads).
func TestGCSUploadGoesOnWhereTheStoreStopped(t *testing.T) {
	var kept []byte
	var ranges []string
	s := googleFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			w.Header().Set("Location", "http://"+r.Host+"/session")
			return
		}
		ranges = append(ranges, r.Header.Get("Content-Range"))
		if len(ranges) == 1 {
			body = body[:1<<20]
		}
		kept = append(kept, body...)
		if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(kept)-1))
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		fmt.Fprint(w, "{}")
	}))
	u, err := s.Create(t.Context(), "data/x")
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 6<<20)
	for i := range want {
		want[i] = byte(i * i >> 7)
	}
	if _, err := u.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := u.Close(); err != nil || string(kept) != string(want) {
		t.Errorf("got %v and %d bytes in %v, want the %d written", err, len(kept), ranges, len(want))
	}
	if want := []string{"bytes 0-5242879/*", "bytes 1048576-5242879/*", "bytes 5242880-6291455/6291456"}; fmt.Sprint(ranges) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", ranges, want)
	}
}

func TestGCSWithoutCredentials(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
	s, err := Open(t.Context(), "gs://bkt/ck")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Get(t.Context(), "metadata")
	if batch.ClassOf(err) != batch.NotSetUp || !strings.Contains(err.Error(), "no credentials") || !strings.Contains(batch.HintOf(err), "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("got %v with hint %q", err, batch.HintOf(err))
	}
}

func TestGCSAsksWithItsToken(t *testing.T) {
	var got string
	server := answering(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"items":[]}`)
	})
	if _, err := OpenGCS(GCS{Bucket: "bkt", Endpoint: server, Token: "vended"}).List(t.Context(), "", ""); err != nil || got != "Bearer vended" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A server of tokens that is down for a moment is nothing that somebody has to set up.
func TestGCSTokensThatAreRefusedAndTokensThatAreLate(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for status, want := range map[int]batch.Class{http.StatusUnauthorized: batch.NotSetUp, http.StatusServiceUnavailable: batch.Failed} {
		tokens := answering(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":"invalid_grant"}`, status) })
		text, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "sluice@p.iam.gserviceaccount.com", "private_key": private, "private_key_id": "1", "token_uri": tokens})
		if err != nil {
			t.Fatal(err)
		}
		c := OpenGCS(GCS{Bucket: "bkt", Endpoint: "http://127.0.0.1:1", KeyJSON: string(text)})
		c.native.(*gcsNative).pause = time.Nanosecond
		if _, err = c.List(t.Context(), "", ""); batch.ClassOf(err) != want || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%d: got %v of class %v, want class %v", status, err, batch.ClassOf(err), want)
		}
	}
}

// A request for the bytes of an object is answered with text, not with JSON. What that says is looked at, and where it says
// nothing the bucket is asked.
func TestGCSObjectThatIsNotThere(t *testing.T) {
	for _, text := range []string{"No such object: bkt/ck/orders/metadata", "Not Found", ""} {
		s := googleFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("alt") != "media" {
				fmt.Fprint(w, `{"kind":"storage#objects"}`)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=UTF-8")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, text)
		}))
		if _, _, err := s.Get(t.Context(), "metadata"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: got %v, want ErrNotFound", text, err)
		}
	}
}
