package objectstore

import (
	"io"
	"net/http"
	"testing"
)

// An answer that breaks off in its middle is asked for again, as one of S3's is.
func TestAnAnswerThatBreaksOffIsAskedForAgain(t *testing.T) {
	for name, open := range map[string]func(*testing.T, string) *Cloud{"GCS": googleFolder, "Azure": azureFolder} {
		asked := 0
		server := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Length", "10")
			if asked == 1 {
				_, _ = io.WriteString(w, "half ")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, "half whole")
		})
		data, _, err := open(t, server).Get(t.Context(), "key")
		if err != nil || string(data) != "half whole" || asked != 2 {
			t.Errorf("%s: got %q, %v after %d requests", name, data, err, asked)
		}
	}
}
