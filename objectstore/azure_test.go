package objectstore

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/batch"
)

const azureTestKey = "a2V5IG9mIHRoZSB0ZXN0cw=="

// azureFolder opens a folder of a container at an endpoint.
func azureFolder(t *testing.T, endpoint string) *Cloud {
	t.Helper()
	hideAzure(t)
	t.Setenv("AZURE_STORAGE_KEY", azureTestKey)
	s, err := Open(t.Context(), "azblob://ctr/ck/orders?storage_account=acc&protocol=http&domain="+strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Cloud)
}

// hideAzure hides the machine's own configuration.
func hideAzure(t *testing.T) {
	for _, name := range []string{"ACCOUNT", "KEY", "SAS_TOKEN", "CONNECTION_STRING", "DOMAIN", "PROTOCOL", "IS_LOCAL_EMULATOR"} {
		t.Setenv("AZURE_STORAGE_"+name, "")
	}
}

func azureRefusal(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.Header().Set("x-ms-request-id", "4711")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>as the test says</Message></Error>`, code)
}

func TestAzureAnswersThatNeedSomebody(t *testing.T) {
	for _, c := range []struct {
		status      int
		code, words string
	}{
		{403, "AuthorizationPermissionMismatch", "Storage Blob Data Contributor"},
		{403, "AuthenticationFailed", "permission denied"},
		{403, "AuthorizationFailure", "permission denied"},
		{401, "NoAuthenticationInformation", "permission denied"},
		{404, "ContainerNotFound", "bucket does not exist"},
		{409, "ContainerBeingDeleted", "bucket does not exist"},
	} {
		s := azureFolder(t, answering(t, func(w http.ResponseWriter, _ *http.Request) { azureRefusal(w, c.status, c.code) }))
		needsSomebody(t, c.code, s, c.words)
	}
	needsSomebody(t, "a web server", azureFolder(t, answering(t, http.NotFound)), "no object store")
}

// A creation that lost the race is 409 here, where it is 412 elsewhere.
func TestAzureAnswersToAWrite(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error
	}{
		{409, "BlobAlreadyExists", ErrConflict},
		{412, "ConditionNotMet", ErrConflict},
		{409, "LeaseAlreadyPresent", ErrAmbiguous},
		{412, "LeaseIdMissing", ErrConflict}, // somebody leases the blob: nothing was written
		{400, "Md5Mismatch", ErrAmbiguous},
	} {
		s := azureFolder(t, answering(t, func(w http.ResponseWriter, _ *http.Request) { azureRefusal(w, c.status, c.code) }))
		if _, err := s.PutIfAbsent(t.Context(), "offsets/0", []byte("x")); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.code, err, c.want)
		}
	}
}

// Whoever is paged reads the beginning of a line, and nobody reads the SDK's dump of the request.
func TestAzureAnswersAreOneLine(t *testing.T) {
	s := azureFolder(t, answering(t, func(w http.ResponseWriter, _ *http.Request) { azureRefusal(w, 403, "AuthenticationFailed") }))
	_, _, err := s.Get(t.Context(), "metadata")
	if got := err.Error(); strings.Contains(got, "\n") || !strings.HasSuffix(got, "permission denied: AuthenticationFailed (Azure GET, HTTP 403, request 4711)") {
		t.Errorf("got %q", got)
	}
}

// An answer before the body was read ends the process if the body lies in mapped memory
// (https://github.com/Azure/azure-sdk-for-go/issues/21555).
func TestAzureUploadSurvivesAnEarlyAnswer(t *testing.T) {
	s := azureFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			azureRefusal(w, 404, "BlobNotFound")
			return
		}
		azureRefusal(w, 403, "AuthorizationFailure")
	}))
	for range 3 {
		u, err := s.Create(t.Context(), "data/x")
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Write(make([]byte, 17<<20))
		if closeErr := u.Close(); batch.ClassOf(errors.Join(err, closeErr)) != batch.NotSetUp {
			t.Errorf("got %v and %v, want that it is forbidden", err, closeErr)
		}
	}
}

func TestAzureLostAnswerIsNoConflict(t *testing.T) {
	var kept []byte
	s := azureFolder(t, answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("ETag", `"17"`)
			_, _ = w.Write(kept)
		case kept != nil:
			azureRefusal(w, 409, "BlobAlreadyExists")
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
	if err != nil || version != `"17"` {
		t.Errorf("got version %q, %v, want our own write", version, err)
	}
}

func TestAzureAddresses(t *testing.T) {
	hideAzure(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "env")
	for address, want := range map[string]string{
		"azblob://lake/ck/o":                                        "azblob://lake/ck/o at env",
		"azblob://lake/ck?storage_account=contoso":                  "azblob://lake/ck at contoso",
		"abfss://lake@contoso.dfs.core.windows.net/ck":              "azblob://lake/ck at contoso",
		"wasbs://lake@contoso.blob.core.windows.net/ck":             "azblob://lake/ck at contoso",
		"abfss://lake@contoso.dfs.core.chinacloudapi.cn/ck":         "azblob://lake/ck at https://blob.core.chinacloudapi.cn/contoso",
		"azblob://lake/ck?domain=127.0.0.1:10000&protocol=http":     "azblob://lake/ck at http://127.0.0.1:10000/env",
		"gs://lake/ck/o?endpoint=https://storage.p.googleapis.com/": "gs://lake/ck/o at https://storage.p.googleapis.com",
		"gs://lake/ck/o": "gs://lake/ck/o",
	} {
		t.Setenv("STORAGE_EMULATOR_HOST", "")
		s, err := Open(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else if s.String() != want {
			t.Errorf("%s: got %s, want %s", address, s, want)
		}
	}
	for _, address := range []string{"azblob://lake", "azblob:///x", "gs://lake", "gs:///x", "gs://lake/a?anonymous=perhaps", "gs://lake/a?key=SEKRET", "azblob://lake/a?storage_key=SEKRET",
		"abfss://lake/ck", "abfss://contoso.dfs.core.windows.net/ck", "abfss://lake:SEKRET@contoso.dfs.core.windows.net/ck", "azblob://key@lake/x", "gs://u:SEKRET@lake/x"} {
		s, err := Open(t.Context(), address)
		if !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "SEKRET") {
			t.Errorf("%s: got %v, %v, want ErrURL without its secrets", address, s, err)
		}
	}
}

func TestAzureThatIsNotSetUp(t *testing.T) {
	hideAzure(t)
	for name, set := range map[string]map[string]string{
		"no account":     {},
		"key":            {"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "SEKRET is not base64!"},
		"http":           {"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_PROTOCOL": "http"},
		"bad connection": {"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=SEKRET"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range set {
				t.Setenv(variable, value)
			}
			_, err := Open(t.Context(), "azblob://lake/ck")
			if batch.ClassOf(err) != batch.NotSetUp || batch.HintOf(err) == "" || strings.Contains(err.Error(), "SEKRET") {
				t.Errorf("got %v with hint %q", err, batch.HintOf(err))
			}
		})
	}
}

// A key of the environment is not sent to another account.
func TestAzureKeysAreForTheirAccount(t *testing.T) {
	hideAzure(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "ours")
	t.Setenv("AZURE_STORAGE_KEY", azureTestKey)
	for account, want := range map[string]string{"ours": azureTestKey, "theirs": ""} {
		u, err := url.Parse("abfss://lake@" + account + ".dfs.core.windows.net/t")
		if err != nil {
			t.Fatal(err)
		}
		o, err := AzureOf(u)
		if got := o.withEnvironment(); err != nil || got.Key != want || got.Account != account || got.Container != "lake" {
			t.Errorf("%s: got %+v, %v, want the key %q", account, got, err, want)
		}
	}
}
