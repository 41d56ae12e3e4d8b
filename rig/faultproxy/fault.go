package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is something that happens to one request.
type Fault struct {
	// Name says what, in logs and counts: "503 not applied".
	Name string
	// Fits says to which requests real servers do this; nil for all.
	Fits func(Request) bool

	do func(exchange)
}

// fits says whether the fault may happen to a request.
func (f *Fault) fits(r Request) bool { return f.Fits == nil || f.Fits(r) }

// named is the name of a fault that leaves a request applied or not.
func named(what string, applied bool) string {
	if applied {
		return what + " applied"
	}
	return what + " not applied"
}

// Delay passes a request on after a while.
func Delay(d time.Duration) Fault {
	return Fault{Name: "delay", do: func(x exchange) {
		late := time.NewTimer(d)
		defer late.Stop()
		<-late.C
		x.pass()
	}}
}

// Reset breaks the connection: when the server has carried the request out, instead of its answer, or before it has heard
// of it.
func Reset(applied bool) Fault {
	return Fault{Name: named("reset", applied), do: func(x exchange) {
		if applied {
			x.carryOut()
		}
		x.reset()
	}}
}

// Kill ends the client by a function, with the request carried out or not, and answers nothing.
func Kill(applied bool, kill func()) Fault {
	return Fault{Name: named("kill", applied), do: func(x exchange) {
		if applied {
			x.carryOut()
		}
		kill()
		x.reset()
	}}
}

// Status answers with a status, as the dialect words it, whether the server has carried the request out or not. A
// gateway in front of a server, or a server that fails after it has written, answers 5xx to what was applied.
func Status(status int, applied bool) Fault {
	return Fault{Name: named(strconv.Itoa(status), applied), do: toHTTP(func(x *httpExchange) {
		if applied {
			x.carryOut()
		}
		x.refuse(status, http.Header{})
	})}
}

// Busy answers 429 and names a second to wait. Nothing was applied.
func Busy() Fault {
	return Fault{Name: named("429", false), do: toHTTP(func(x *httpExchange) {
		x.refuse(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}})
	})}
}

// Conflict answers 409 to a conditional write that was not applied: S3 does when another one of the same key is under way
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html), and asks for it to be repeated.
func Conflict() Fault {
	fault := Status(http.StatusConflict, false)
	fault.Fits = conditional
	return fault
}

// RefusedThoughApplied answers 412 to a conditional write that was applied, as the second request of a client that repeats
// an unanswered one does (https://github.com/aws/aws-sdk-java-v2/issues/6580).
func RefusedThoughApplied() Fault {
	fault := Status(http.StatusPreconditionFailed, true)
	fault.Fits = conditional
	return fault
}

// CommitConflict answers 409 to the commit of a table: it was not applied, or it was and the answer is to a
// second request of whatever stands in between (https://github.com/redpanda-data/connect/issues/4591).
func CommitConflict(applied bool) Fault {
	fault := Status(http.StatusConflict, applied)
	fault.Fits = func(r Request) bool { return r.Verb == http.MethodPost && strings.Contains(r.Object, "/tables/") }
	return fault
}

// conditional is a write with a condition. Google's are uploads by POST.
func conditional(r Request) bool {
	return (r.Verb == http.MethodPut || r.Verb == http.MethodPost) && r.Conditional
}

// CutAnswer sends an answer's status, headers and first half, and breaks the connection. Without a body nothing of the
// answer is sent.
func CutAnswer() Fault {
	return Fault{Name: "answer cut", do: toHTTP(func(x *httpExchange) {
		kept := x.keep()
		whole := kept.Body.Bytes()
		if len(whole) == 0 {
			x.reset()
			return
		}
		for name, values := range kept.Header() {
			x.w.Header()[name] = values
		}
		x.w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		x.w.WriteHeader(kept.Code)
		_, _ = x.w.Write(whole[:len(whole)/2]) // the connection is about to break anyway
		_ = http.NewResponseController(x.w).Flush()
		panic(http.ErrAbortHandler)
	})}
}

// CutRequest passes on the first half of a request's body, and breaks both connections.
func CutRequest() Fault {
	return Fault{Name: "request cut", Fits: func(r Request) bool { return r.Length > 1 }, do: toHTTP(func(x *httpExchange) {
		whole, err := io.ReadAll(x.r.Body)
		if err == nil {
			half := x.r.Clone(x.r.Context())
			half.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), broken{}))
			answer, err := x.forward.Transport.RoundTrip(x.addressed(half))
			if err == nil {
				_ = answer.Body.Close() // nobody reads it
			}
		}
		x.reset()
	})}
}

// broken is a body that ends too soon.
type broken struct{}

var errCut = errors.New("faultproxy: the request is cut here")

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, errCut }

// Forgotten answers 404 to the reading of a table, as a catalog does for a moment whose replicas are behind.
func Forgotten() Fault {
	fault := Status(http.StatusNotFound, false)
	fault.Name = "404 for a moment"
	fault.Fits = func(r Request) bool { return r.Verb == http.MethodGet && strings.Contains(r.Object, "/tables/") }
	return fault
}

// IdleConnection answers 400 RequestTimeout to a request with a body: S3 says so when nothing more of it came for too long, and
// means it to be repeated (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). Nothing was applied.
func IdleConnection() Fault {
	return Fault{Name: "RequestTimeout", Fits: func(r Request) bool { return r.Length > 0 }, do: toHTTP(func(x *httpExchange) {
		x.say(answer{http.StatusBadRequest, "RequestTimeout", "Your socket connection to the server was not read from or written to within the timeout period."}, nil)
	})}
}

// Skewed answers, as S3 does to a request whose time is too far from its own, 403 RequestTimeTooSkewed with a Date that is
// so far off. Nothing was applied.
func Skewed(by time.Duration) Fault {
	return Fault{Name: "RequestTimeTooSkewed", do: toHTTP(func(x *httpExchange) {
		date := time.Now().Add(by).UTC().Format(http.TimeFormat)
		x.say(answer{http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the server's time is too large."}, http.Header{"Date": {date}})
	})}
}

// WrongDate passes a request on, and gives its answer a Date that is so far off, as a store does whose clock is wrong.
func WrongDate(by time.Duration) Fault {
	return Fault{Name: "wrong Date", do: toHTTP(func(x *httpExchange) {
		x.passWith(http.Header{"Date": {time.Now().Add(by).UTC().Format(http.TimeFormat)}})
	})}
}

// Expired answers that the credentials were good until now: 400 ExpiredToken of S3, 401 of a catalog. Nothing was applied.
func Expired() Fault {
	return Fault{Name: "expired credentials", do: toHTTP(func(x *httpExchange) { x.say(x.dialect.expired, nil) })}
}

func (x *httpExchange) refuse(status int, header http.Header) {
	said, ok := x.dialect.answers[status]
	if !ok {
		said = answer{status: status}
	}
	x.say(said, header)
}

// say answers in the dialect. The body that came is read to its end first, for the connection's sake.
func (x *httpExchange) say(a answer, header http.Header) {
	_, _ = io.Copy(io.Discard, x.r.Body) // a client that stops sending has gone
	for name, values := range header {
		x.w.Header()[name] = values
	}
	body, kind := fmt.Sprintf("<html><body><h1>%d %s</h1></body></html>\n", a.status, http.StatusText(a.status)), "text/html" // a gateway's
	if a.code != "" {
		body, kind = x.dialect.words(a), x.dialect.kind
		if x.dialect.header != "" {
			x.w.Header().Set(x.dialect.header, a.code)
		}
	}
	x.w.Header().Set("Content-Type", kind)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(a.status)
	if x.r.Method != http.MethodHead {
		_, _ = io.WriteString(x.w, body) // as above
	}
}
