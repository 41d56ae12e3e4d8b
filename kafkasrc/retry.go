package kafkasrc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
)

// pause waits for d, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// backoff is the pause before the retry with the given number, 0 being the first.
func (l Limits) backoff(retry int) time.Duration {
	return min(l.Backoff<<min(retry, 10), l.LongestBackoff)
}

// retry calls try until it succeeds, fails for good, or limit is over; then the last error tells why. A broker that was
// never reached gets Limits.Connect only. Each call gets what is left of the time.
func (s *Source) retry(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	var last error
	for n := 0; ; n++ {
		err := try(bounded)
		if err == nil || s.permanent(err) {
			return err
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		var never *neverReached
		if errors.As(err, &never) && time.Since(began) >= s.limits.Connect {
			return last
		}
		if pause(bounded, s.limits.backoff(n)) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("gave up after %s: %w", limit, last)
	}
}

// permanent reports whether asking again cannot help: faults are final, and so is what the broker or the TLS handshake
// says of our rights and of our request. Everything else may pass.
func permanent(err error) bool {
	var fault *batch.Fault
	return errors.As(err, &fault) || tlsRejected(err) ||
		errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.InvalidRequest) ||
		forbidden(err) || errors.Is(err, kerr.SaslAuthenticationFailed) ||
		errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.Is(err, kgo.ErrClientClosed)
}

// permanent is the same, and that a listener knows no SASL. One that did says so to a session that is renewed for the second time within
// a second, which brokers do not allow on one connection and the client does where sessions are short
// (https://github.com/twmb/franz-go/issues/249); the next connection is a new one.
func (s *Source) permanent(err error) bool {
	return permanent(err) || s.unasked(err)
}

// unasked says that the listener asks nobody to log in.
func (s *Source) unasked(err error) bool {
	return !s.connected && errors.Is(err, kerr.IllegalSaslState)
}

func tlsRejected(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &record) || alerted(err)
}

// alerted says that the broker ended the handshake with an alert, such as that it wants a certificate: crypto/tls has no
// type of its own for that over TCP. An internal error of the broker may pass.
func alerted(err error) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error" && !strings.Contains(remote.Error(), "internal error")
}
